"""Questions of the search ledger that tell of what is erased."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import sqlalchemy as sa

from chronofile.domain.events import SearchServed
from chronofile.domain.identity import decoded
from chronofile.infra.erasing.quoting import exactly, names_of
from chronofile.projections.bulk import among
from chronofile.projections.passages import passage

if TYPE_CHECKING:
    from chronofile.infra.erasing.wanted import Found
    from chronofile.infra.parts import Parts

READ_MAX = 1_000
LINES_MAX, LINE_CHARS_MIN = 64, 12
"""So many lines are looked for in every row of every table, and none that is shorter."""
BEGINNING_CHARS = 8
"""Texts are looked for in a question by so many of their characters; a shorter one is in too many questions."""


@dataclass(slots=True)
class Told:
    """What is erased, so that a question can be asked whether it tells of it."""

    passages: set[str] = field(default_factory=set)
    names: set[bytes] = field(default_factory=set)
    """What our quotations of it are known by."""
    lines: dict[str, None] = field(default_factory=dict)
    """The longest lines of the texts, by which it is looked for whether any is left."""
    _folded: list[str] = field(default_factory=list)
    _beginnings: dict[str, list[str]] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Take in a text; white space and the case of letters make no difference."""
        folded = _folded(text)
        self._note(max(text.split("\n"), key=len).strip())
        self._folded.append(folded)
        if len(folded) >= BEGINNING_CHARS:
            self._beginnings.setdefault(folded[:BEGINNING_CHARS], []).append(folded)

    def _note(self, line: str) -> None:
        if len(line) < LINE_CHARS_MIN or line in self.lines:
            return
        if len(self.lines) >= LINES_MAX:
            shortest = min(self.lines, key=len)
            if len(shortest) >= len(line):
                return
            del self.lines[shortest]
        self.lines[line] = None

    @property
    def all(self) -> str:
        return "\n".join(self._folded)

    def is_in(self, question: str, everything: str) -> bool:
        """Tell whether a question is a part of what is erased (`everything` is `all`), or holds one of its texts."""
        asked = _folded(question)
        if not asked or asked in everything:
            return bool(asked)
        return any(
            asked.startswith(text, at)
            for at in range(len(asked) - BEGINNING_CHARS + 1)
            for text in self._beginnings.get(asked[at : at + BEGINNING_CHARS], ())
        )


def told_of(conn: sa.Connection, found: Found) -> Told:
    """Return the passages that are erased, of now and of before, and their texts; the connection is translated."""
    told = Told()
    sources = sorted({stream.split("-", 1)[1] for stream in found.whole})
    query = sa.select(passage.c.id, passage.c.text).where(among(passage.c.source, sources))
    for row in conn.execute(query):
        told.passages.add(row.id)
        told.names |= names_of(row.id, row.text)
        told.add(row.text)
    told.names |= {source.encode() for source in sources}
    holders = sorted({stream.split("-", 1)[1] for stream in found.holders})
    query = sa.select(passage.c.id, passage.c.text).where(among(passage.c.source, holders))
    for row in conn.execute(query) if holders else ():
        if any(text in row.text for text in found.texts):
            told.passages.add(row.id)
        if row.text.strip() in found.texts:
            told.names |= exactly(row.id, row.text)
    for text in found.texts:
        told.add(text)
    return told


def telling(parts: Parts, told: Told) -> set[str]:
    """Return the keys of the questions that got one of the passages, that are part of a text or hold one."""
    everything = told.all
    found: set[str] = set()
    asked: set[str] = set()
    for served in _served(parts):
        if told.passages.isdisjoint(served.passages):
            asked.add(served.question)
        else:
            found.add(served.question)
    for key, text in texts_of(parts, asked - found):
        if told.is_in(text, everything):
            found.add(key)
    return found


def asked(parts: Parts) -> set[str]:
    """Return the keys of every question."""
    return {served.question for served in _served(parts)}


def asked_since(parts: Parts, position: int) -> set[str]:
    """Return the keys of the questions that were asked after a position of the ledger."""
    return {served.question for served in _served(parts, position)}


def texts_of(parts: Parts, keys: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each key with its text, where that is still there."""
    for chunk in _chunks(sorted(keys), READ_MAX):
        with parts.engine.connect() as conn:
            for key, content in parts.contents.read(conn, chunk).items():
                yield key, decoded(content)


def _served(parts: Parts, position: int = 0) -> Iterator[SearchServed]:
    for page in parts.ledger.pages(position):
        for recorded in page.events:
            if isinstance(recorded.event, SearchServed):
                yield recorded.event


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _chunks(items: Iterable[str], size: int) -> Iterator[list[str]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
