"""Candidates: what the legs found and what stands next to it, with every score that ranking needs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from chronofile.projections.passages import occurrence, passage
from chronofile.projections.projection import alive
from chronofile.query.identifiers import identifiers, standing
from chronofile.query.people import asks_of_self, named_person
from chronofile.query.question import Within, one_of
from chronofile.query.scores import Ints

NEIGHBOURS = 2
TAIL_BYTES = 16
USER = "user"


@dataclass(frozen=True, slots=True)
class Pool:
    """Passages to be ranked: `numbers` with, by index, their neighbours (-1: none) and their source.

    `eligible` tells those that pass every filter; the others are there as neighbours and are never hits.
    """

    numbers: tuple[int, ...]
    previous: Ints
    following: Ints
    group: Ints
    eligible: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    named: NDArray[np.bool_]
    self_said: NDArray[np.bool_]
    of_file: NDArray[np.bool_]
    standing: NDArray[np.float64]
    """Shape (n, 2): the shares of the question's identifiers that stand whole in the passage, and that it defines."""
    spans: tuple[Hashable, ...]
    """Equal for two passages that are the same words of the same turn at the same time, in whichever file.

    Turns that are merely numbered have equal keys in many sessions: without a time a passage equals itself alone.
    """


def pool(conn: sa.Connection, within: Within, question: str, found: Sequence[int]) -> Pool:
    """Gather what the legs found, in that order, and the passages next to it in the same source."""
    links = _links(conn, within.position, found)
    named = dict.fromkeys([*found, *(no for chain in links.values() for no in chain if no)])
    names = identifiers(question)
    rows = {row.no: row for row in conn.execute(_facts(within, tuple(named), with_text=bool(names))).all()}
    # Of what was erased a moment ago a leg may still know the number.
    numbers = tuple(number for number in named if number in rows)
    index = {number: i for i, number in enumerate(numbers)}
    previous, following = _chains(links, index)
    sources: dict[str, int] = {}
    about_asker = asks_of_self(question)
    speakers = [row.speaker for row in rows.values() if row.speaker]
    person = named_person(question, speakers)
    ordered = [rows[number] for number in numbers]
    return Pool(
        numbers=numbers,
        previous=previous,
        following=following,
        group=np.array([sources.setdefault(row.source, len(sources)) for row in ordered], dtype=np.int64),
        eligible=np.array([row.eligible for row in ordered], dtype=np.bool_),
        asks=np.array([_asks(row.tail) for row in ordered], dtype=np.bool_),
        named=np.array([person is not None and row.speaker == person for row in ordered], dtype=np.bool_),
        self_said=np.array([about_asker and row.role == USER for row in ordered], dtype=np.bool_),
        of_file=np.array([row.turn is None for row in ordered], dtype=np.bool_),
        standing=np.array([standing(names, row.text if names else "") for row in ordered]),
        spans=tuple(
            row.no if row.turn is None or row.event_time is None else (row.turn, row.event_time, row.digest)
            for row in ordered
        ),
    )


def _links(conn: sa.Connection, position: int, found: Sequence[int]) -> dict[int, list[int | None]]:
    """Return for each passage its two predecessors (nearest first) and its two successors in its source."""
    here, near = occurrence.alias("here"), occurrence.alias("near")

    def side(*, after: bool) -> sa.ColumnElement[Any]:
        beyond = near.c.seq > here.c.seq if after else near.c.seq < here.c.seq
        nearest = (
            sa.select(near.c.passage_no)
            .where(near.c.source == here.c.source, beyond, alive(near, position))
            .order_by(near.c.seq.asc() if after else near.c.seq.desc())
            .limit(NEIGHBOURS)
            .correlate(here)
        )
        return sa.func.array(nearest.scalar_subquery())

    query = (
        sa.select(here.c.passage_no, side(after=False).label("before"), side(after=True).label("after"))
        .where(one_of(here.c.passage_no, found))
        .where(alive(here, position))
    )
    return {row.passage_no: [*_padded(row.before), *_padded(row.after)] for row in conn.execute(query).all()}


def _padded(numbers: Sequence[int] | None) -> list[int | None]:
    known = list(numbers or ())
    return [*known, *[None] * (NEIGHBOURS - len(known))]


def _chains(links: dict[int, list[int | None]], index: dict[int, int]) -> tuple[Ints, Ints]:
    previous = np.full(len(index), -1, dtype=np.int64)
    following = np.full(len(index), -1, dtype=np.int64)
    for number, (before, second_before, after, second_after) in links.items():
        chain = [second_before, before, number, after, second_after]
        for first, second in pairwise(chain):
            if first is not None and second is not None:
                following[index[first]] = index[second]
                previous[index[second]] = index[first]
    return previous, following


def _facts(within: Within, numbers: Sequence[int], *, with_text: bool) -> sa.Select[*tuple[Any, ...]]:
    text = sa.type_coerce(passage.c.text, sa.LargeBinary)
    size = sa.func.octet_length(text)
    columns = [passage.c.text] if with_text else []
    return sa.select(
        *columns,
        passage.c.no,
        passage.c.source,
        passage.c.role,
        passage.c.speaker,
        passage.c.turn,
        passage.c.event_time,
        sa.func.md5(text).label("digest"),
        sa.func.substring(text, sa.func.greatest(size - TAIL_BYTES + 1, 1)).label("tail"),
        within.passages().label("eligible"),
    ).where(one_of(passage.c.no, numbers))


def _asks(tail: bytes) -> bool:
    return bytes(tail).decode("utf-8", "ignore").rstrip().endswith("?")
