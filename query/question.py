"""Questions: what is asked, over which passages, as of when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from chronofile.domain.errors import UnknownScope
from chronofile.projections.passages import passage
from chronofile.projections.projection import alive

QUESTION_CHARS_MAX = 20_000
"""Of a longer question the end counts: agents put whole prompts in front of what they ask."""
CLOSE_CHARS_MAX = 1_200
"""About the 256 tokens that a model reads of a text: what it would otherwise read is the beginning."""

LIMIT_DEFAULT = 10


@dataclass(frozen=True, slots=True)
class Filters:
    """What a passage must be to be found; None asks for nothing. `scopes` None means every scope."""

    scopes: tuple[str, ...] | None = None
    topic: str | None = None
    kind: str | None = None
    session: str | None = None
    speaker: str | None = None
    source_ids: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `as_of` is a position, None for now; `at` is the moment it is asked at, for ages."""

    text: str
    filters: Filters
    at: datetime
    as_of: int | None = None
    limit: int = LIMIT_DEFAULT
    explain: bool = False

    @property
    def words(self) -> str:
        """The part of the question that is searched for."""
        return self.text[-QUESTION_CHARS_MAX:]

    @property
    def close(self) -> str:
        """The part of the question that the models read."""
        return self.text[-CLOSE_CHARS_MAX:]


@dataclass(frozen=True, slots=True)
class Within:
    """The passages that a question is about: filters resolved against one reading.

    `scope_numbers` None means every scope; `narrow` says that more than scope and position count.
    """

    position: int
    scope_numbers: tuple[int, ...] | None
    filters: Filters

    @property
    def narrow(self) -> bool:
        f = self.filters
        wanted = (f.topic, f.kind, f.session, f.speaker, f.source_ids, f.since, f.until)
        return any(item is not None for item in wanted)

    def holds(self, table: sa.FromClause) -> sa.ColumnElement[bool]:
        """The rows of a table with scope_no, recorded_from and recorded_to that are in scope and there as of then."""
        there = alive(table, self.position)
        if self.scope_numbers is None:
            return there
        return sa.and_(there, table.c.scope_no.in_(self.scope_numbers))

    def passages(self) -> sa.ColumnElement[bool]:
        """The rows of `passage` that pass every filter."""
        f = self.filters
        conditions = [self.holds(passage)]
        wanted: list[tuple[Any, Any]] = [
            (passage.c.topic, f.topic),
            (passage.c.kind, f.kind),
            (passage.c.session, f.session),
        ]
        conditions += [column == value for column, value in wanted if value is not None]
        if f.speaker is not None:
            # Both by the database, whose idea of lower case may be another than Python's.
            conditions.append(sa.func.lower(passage.c.speaker) == sa.func.lower(f.speaker))
        if f.source_ids is not None:
            conditions.append(passage.c.source.in_(f.source_ids))
        if f.since is not None:
            conditions.append(passage.c.event_at >= f.since)
        if f.until is not None:
            conditions.append(passage.c.event_at <= f.until)
        return sa.and_(*conditions)

    def numbers(self) -> sa.Select[tuple[int]]:
        """Select the numbers of the passages that pass every filter."""
        return sa.select(passage.c.no).where(self.passages())


def within(question: Question, position: int, numbers: Mapping[str, int]) -> Within:
    """Resolve a question's filters; `numbers` are those of the scopes that ever held a source, by name."""
    scopes = question.filters.scopes
    if scopes is None:
        return Within(position, None, question.filters)
    found = {numbers[name] for name in scopes if name in numbers}
    return Within(position, tuple(sorted(found)), question.filters)


def require_scopes(wanted: Iterable[str], known: set[str]) -> None:
    """Raise UnknownScope for the first scope that nobody created."""
    for name in wanted:
        if name not in known:
            raise UnknownScope(f"({name})")


def one_of(column: sa.ColumnElement[Any], numbers: Iterable[int]) -> sa.ColumnElement[bool]:
    """The rows whose column is one of the numbers.

    They travel as one parameter, so that the statement is the same however many there are, and written
    out here, since psycopg takes a list apart element by element.
    """
    written = "{" + ",".join(map(str, numbers)) + "}"
    return column == sa.any_(sa.cast(sa.literal(written), ARRAY(column.type)))
