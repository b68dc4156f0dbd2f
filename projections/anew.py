"""Anew: the passages that a source must have, folded and cut once more from what is kept of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby
from typing import Literal

import sqlalchemy as sa

from chronofile.domain.echoes import turn_echoes
from chronofile.domain.events import RevisionCaptured, SourceMoved, SourceRegistered, SourceRemoved
from chronofile.domain.identity import encoded
from chronofile.domain.ports import Extractor
from chronofile.domain.turns import Turn
from chronofile.projections import drafts
from chronofile.projections.drafts import Draft
from chronofile.projections.file_kinds import text_kind
from chronofile.projections.histories import History, Reversals, Shift
from chronofile.projections.passages import occurrence, passage
from chronofile.projections.places import FILE
from chronofile.projections.projection import alive
from chronofile.projections.reading import Reading

ROWS_MAX = 1_000
_ID_CHARS = 32
_HASH_BYTES = 8

Problem = Literal[
    "passage-missing", "passage-unknown", "passage-changed", "passages-out-of-order", "text-not-covered"
]


@dataclass(frozen=True, slots=True)
class Outline:
    """The passages of a turn or a file: their ids in reading order, and a hash of where each stands and its text.

    It takes 24 bytes a passage, so that a source of any length is compared without holding its text.
    """

    ids: bytes
    hashes: bytes

    def __len__(self) -> int:
        """The number of passages."""
        return len(self.hashes) // _HASH_BYTES

    def passages(self) -> list[tuple[str, bytes]]:
        """Return each passage's id with its hash."""
        ids = self.ids.hex()
        return [
            (ids[i * _ID_CHARS : (i + 1) * _ID_CHARS], self.hashes[i * _HASH_BYTES : (i + 1) * _HASH_BYTES])
            for i in range(len(self))
        ]


Outlines = Mapping[str | None, Outline]


@dataclass(frozen=True, slots=True)
class Difference:
    """What one turn's rows, or a file's, have wrong: the ids of the passages that it is about."""

    problem: Problem
    turn: str | None
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """How a range comes into the passages: under which name its file is cut, and with which ranges it is read.

    Ranges with the same `reading` are read together, as an undo shows them again.
    """

    name: str
    reading: int


@dataclass(slots=True)
class Anew:
    """A source as the ranges that it shows make it, taken in one after the other, in order.

    `failure` says why the source cannot be read, `differences` what the cutting itself left out.
    """

    source: str
    kind: str
    session: str | None
    store_key: bytes
    extractor: Extractor | None = None
    failure: str | None = None
    differences: list[Difference] = field(default_factory=list)
    _reading: Reading | None = None
    _number: int = -1
    _count: int = 0
    _ordinals: dict[str | None, int] = field(default_factory=dict)
    _outlines: dict[str | None, Outline] = field(default_factory=dict)

    def take(self, event: RevisionCaptured, content: bytes | None, place: Place) -> None:
        """Take in the next range; `content` is None where it was erased."""
        if event.start == 0:
            self._reading = self.failure = None
            self._ordinals.clear()
            self._outlines.clear()
        elif place.reading != self._number:
            self._forget_silent()
        self._number = place.reading
        if content is None:
            return
        # Only the fold's state goes on to the next range: turns are let go of as they are cut.
        reading = Reading(None if self._reading is None else self._reading.state, self.extractor)
        self.failure = reading.read(content, event, is_file=self.kind == FILE)
        self._reading = reading
        if reading.text is not None:
            self._cut_file(reading, place.name)
        for key in reading.removed:
            self._ordinals.pop(key, None)
            self._outlines.pop(key, None)
        for turn in reading.turns.values():
            self._cut_turn(turn)
        reading.turns.clear()

    def outlines(self) -> Outlines:
        """Return what there must be, turn by turn in reading order."""
        order = sorted(self._outlines, key=self._ordinals.__getitem__)
        return {turn: self._outlines[turn] for turn in order}

    def _cut_file(self, reading: Reading, name: str) -> None:
        text = reading.text or ""
        kind = text_kind(name, reading.format)
        pieces = drafts.of_file(self.source, name, text, reading.event_time, self.store_key, kind)
        self._require_covered(None, text, pieces, ())
        self._note(None, pieces)

    def _cut_turn(self, turn: Turn) -> None:
        # Where a turn stands matters here, not at which number: it is cut as if it were the first.
        pieces = drafts.of_turn(self.source, turn, 0, self.session, self.store_key)
        self._require_covered(turn.key, turn.text, pieces, turn_echoes(turn))
        self._note(turn.key, pieces)

    def _require_covered(
        self, turn: str | None, text: str, pieces: Sequence[Draft], echoes: Sequence[tuple[int, int]]
    ) -> None:
        at = 0
        for start, end in sorted([*((piece.start, piece.end) for piece in pieces), *echoes]):
            if start != at:
                break
            at = end
        if at != len(text):
            self.differences.append(Difference("text-not-covered", turn, ()))

    def _note(self, turn: str | None, pieces: Sequence[Draft]) -> None:
        self._ordinals.setdefault(turn, self._count)
        self._count += 1
        if pieces:
            self._outlines[turn] = _outline(_row(piece) for piece in pieces)
        else:
            self._outlines.pop(turn, None)

    def _forget_silent(self) -> None:
        """Let go of the places of turns without passages: one that has some later comes at the end."""
        for turn in self._ordinals.keys() - self._outlines.keys():
            del self._ordinals[turn]


def places(
    history: History, reversals: Reversals, position: int, name_at: Callable[[str, int], str]
) -> dict[int, Place]:
    """Return the place of each range that a source shows as of a position, by the number of its revision.

    `name_at` gives the name of a file from the key of its URI, as an event at a position had it.
    """
    found: dict[int, Place] = {}
    uri, name, hidden = "", "", False
    for number, step in enumerate(history.steps(reversals, position)):
        if isinstance(step, Shift):
            hidden = step.hidden
            if step.is_changed:
                events = (recorded.event for recorded in step.ranges)
                shown = [event for event in events if isinstance(event, RevisionCaptured)]
                found = {event.revision: Place(name, number) for event in shown}
            continue
        match step.event:
            case SourceRegistered(uri=key) | SourceMoved(uri=key):
                uri, name = key, name_at(key, step.position)
            case RevisionCaptured() as event:
                name = name or name_at(uri, step.position)
                undone = reversals.is_reverted(event.batch, step.position)
                hidden = undone or (hidden and event.start > 0)
                if not hidden:
                    found = found if event.start else {}
                    found[event.revision] = Place(name, number)
            case SourceRemoved(batch=batch) if not reversals.is_reverted(batch, step.position):
                found, hidden = {}, False
            case _:
                pass
    return found


def of_memory(source: str, text: str, store_key: bytes) -> Outlines:
    """Return the outline of a memory's passages; none of an empty text."""
    pieces = drafts.of_memory(source, text, "", store_key)
    return {None: _outline(_row(piece) for piece in pieces)} if pieces else {}


def standing(conn: sa.Connection, source: str, position: int) -> Iterator[tuple[str | None, Outline]]:
    """Yield the outline of each turn as the serving rows have it as of a position, in their order."""
    query = (
        sa.select(
            passage.c.turn,
            passage.c.id,
            occurrence.c.span_start,
            occurrence.c.span_end,
            occurrence.c.line_first,
            occurrence.c.line_last,
            passage.c.text,
        )
        .select_from(
            sa.outerjoin(
                passage, occurrence, (occurrence.c.passage_no == passage.c.no) & alive(occurrence, position)
            )
        )
        .where(passage.c.source == source, alive(passage, position))
        .order_by(occurrence.c.seq, passage.c.no)
        .execution_options(yield_per=ROWS_MAX)
    )
    for turn, rows in groupby(conn.execute(query), key=lambda row: row.turn):
        yield turn, _outline(row[1:] for row in rows)


def differences(expected: Outlines, found: Iterable[tuple[str | None, Outline]]) -> Iterator[Difference]:
    """Yield what is wrong with the outlines that were found, in the order that they have."""
    order: list[str | None] = []
    for turn, outline in found:
        order.append(turn)
        yield from _compared(turn, expected.get(turn), outline)
    here = set(order)
    for turn in expected:
        if turn not in here:
            yield Difference("passage-missing", turn, tuple(i for i, _ in expected[turn].passages()))
    if [turn for turn in order if turn in expected] != [turn for turn in expected if turn in here]:
        yield Difference("passages-out-of-order", None, ())


def _compared(turn: str | None, expected: Outline | None, found: Outline) -> Iterator[Difference]:
    if found == expected:
        return
    wanted = [] if expected is None else expected.passages()
    there = found.passages()
    hashes, wanted_hashes = dict(there), dict(wanted)
    groups: tuple[tuple[Problem, list[str]], ...] = (
        ("passage-missing", [i for i in wanted_hashes if i not in hashes]),
        ("passage-unknown", [i for i in hashes if i not in wanted_hashes]),
        ("passage-changed", [i for i in hashes if i in wanted_hashes and hashes[i] != wanted_hashes[i]]),
    )
    if not any(identifiers for _, identifiers in groups):
        yield Difference("passages-out-of-order", turn, tuple(hashes))
    for problem, identifiers in groups:
        if identifiers:
            yield Difference(problem, turn, tuple(identifiers))


def _row(piece: Draft) -> Sequence[object]:
    return piece.id, piece.start, piece.end, piece.line_first, piece.line_last, piece.text


def _outline(rows: Iterable[Sequence[object]]) -> Outline:
    """Return the outline of rows (id, start, end, first line, last line, text)."""
    ids, hashes = bytearray(), bytearray()
    for identifier, start, end, first, last, text in rows:
        assert isinstance(identifier, str)
        assert isinstance(text, str)
        ids += _id_bytes(identifier)
        place = f"{start} {end} {first} {last} ".encode()
        hashes += blake2b(place + encoded(text), digest_size=_HASH_BYTES).digest()
    return Outline(bytes(ids), bytes(hashes))


def _id_bytes(identifier: str) -> bytes:
    try:
        found = bytes.fromhex(identifier)
    except ValueError:
        found = b""
    # An id that is none of ours must not shift those behind it.
    size = _ID_CHARS // 2
    return found if len(found) == size else blake2b(identifier.encode(), digest_size=size).digest()
