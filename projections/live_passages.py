"""The passages that are there now, for one page of events: what begins, what ends, what only shifts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from chronofile.projections.bulk import among, copy_rows, end_rows
from chronofile.projections.drafts import Draft
from chronofile.projections.passages import (
    BLOCK_SIZE,
    SEQ_PER_TURN,
    Beginning,
    Move,
    blocks_of,
    occurrence,
    passage,
    scope,
    within,
)
from chronofile.projections.projection import FOREVER

LOOKS_MAX = 8
"""How often a page looks for some of a source's turns before it loads all of them."""

Row = dict[str, Any]
Place = tuple[int, int, int, int | None, int | None]
"""Sequence number, span and lines of a passage."""


@dataclass(slots=True)
class _Live:
    """A passage that is there; `row` and `occurrence` are set while this page has not written them yet."""

    no: int
    id: str
    source: str
    place: Place
    occurs_from: int
    row: Row | None = None
    occurrence: Row | None = None


Turns = dict[str | None, dict[str, _Live]]
"""What is there of a source, by turn and passage id."""


class LivePassages:
    """Loads what is there by source and turn as it is asked for, and writes all changes at the end.

    Passages are numbered in the block of an event and there in the order of the text: never in that of a load.
    """

    def __init__(self, conn: sa.Connection) -> None:
        self._conn = conn
        self._scopes = {row.name: row.no for row in conn.execute(sa.select(scope).order_by(scope.c.no))}
        self._scopes_known = len(self._scopes)
        self._next: dict[int, int] = {}
        self._live: dict[str, Turns] = {}
        self._whole: set[str] = set()
        self._looks: Counter[str] = Counter()
        self._rows: list[Row] = []
        self._occurrences: list[Row] = []
        self._ended: list[tuple[int, int]] = []
        self._ended_occurrences: list[tuple[int, int, int]] = []

    def is_new(self, source: str) -> None:
        """A source that this page registers has nothing in the tables: spare the look."""
        self._whole.add(source)

    def prepare(self, sources: Set[str], blocks: Set[int]) -> None:
        """Load all that is there of some sources, and go on with the numbers of blocks."""
        missing = sorted(sources - self._whole)
        self._whole |= sources
        if missing:
            self._load(among(passage.c.source, missing))
        wanted = sorted(blocks - self._next.keys())
        if not wanted:
            return
        held = blocks_of(wanted)
        last = sa.select(sa.func.max(passage.c.no)).where(within(held, passage.c.no)).correlate(held)
        for block, highest in self._conn.execute(sa.select(held.c.block, last.scalar_subquery())):
            if highest is not None:
                self._next[block] = highest + 1

    def scope(self, name: str) -> int:
        """Return a scope's number; one that is new gets the next."""
        number: int = self._scopes.setdefault(name, len(self._scopes) + 1)
        return number

    def ordinals(self, source: str, turns: Sequence[str] | None) -> dict[str, int]:
        """Return the ordinals of those of the turns that are there; of all of them for None."""
        found = self._load_whole(source) if turns is None else self._load_turns(source, turns)
        return {
            turn: next(iter(here.values())).place[0] // SEQ_PER_TURN
            for turn, here in found.items()
            if here and turn is not None
        }

    def replace_all(self, source: str, drafts: Sequence[Draft], begin: Beginning) -> None:
        """Make the drafts all that there is of the source."""
        turns = self._load_whole(source)
        self._replace(source, [*turns], drafts, begin)

    def replace_turns(
        self, source: str, turns: Sequence[str], drafts: Sequence[Draft], begin: Beginning
    ) -> None:
        """Make the drafts all that there is of the given turns; other turns stay."""
        self._load_turns(source, turns)
        self._replace(source, turns, drafts, begin)

    def end_all(self, source: str, position: int) -> None:
        for found in self._load_whole(source).values():
            for live in found.values():
                self._end(live, position)
            found.clear()

    def move(self, source: str, move: Move) -> None:
        """End the passages of the source and begin them anew where they belong now, under their ids.

        Those that began at this very position were begun there.
        """
        standing = [
            (found, live)
            for found in self._load_whole(source).values()
            for live in found.values()
            if live.row is None or live.row["recorded_from"] < move.position
        ]
        rows = self._stored(passage, passage.c.no, [live.no for _, live in standing if not live.row])
        placed = [live.no for _, live in standing if not live.occurrence]
        occurrences = self._stored(occurrence, occurrence.c.passage_no, placed)
        for found, live in sorted(standing, key=lambda pair: pair[1].place[0]):
            old, where = live.row or rows[live.no], live.occurrence or occurrences[live.no]
            self._end(live, move.position)
            moved = {
                **old,
                "no": self._number(move.block),
                "scope_no": self.scope(move.scope),
                "topic": move.topic,
                "title": move.title(old["title"]),
                "recorded_from": move.position,
                "recorded_to": FOREVER,
            }
            found[live.id] = self._add(moved, where, live.place)

    def flush(self) -> None:
        """Write what this page changed."""
        scopes = [[no, name] for name, no in self._scopes.items()][self._scopes_known :]
        copy_rows(self._conn, scope, scopes)
        end_rows(self._conn, passage, ["no"], self._ended)
        end_rows(self._conn, occurrence, ["passage_no", "recorded_from"], self._ended_occurrences)
        copy_rows(self._conn, passage, _in_order(passage, self._rows))
        # What a revision shifts and its move ends at the same position was never there.
        lasting = [row for row in self._occurrences if row["recorded_from"] < row["recorded_to"]]
        copy_rows(self._conn, occurrence, _in_order(occurrence, lasting))

    def _replace(
        self, source: str, turns: Iterable[str | None], drafts: Sequence[Draft], begin: Beginning
    ) -> None:
        here = self._live.setdefault(source, {})
        wanted = {(draft.turn, draft.id) for draft in drafts}
        for turn in turns:
            found = here.get(turn, {})
            for identifier in [i for i in found if (turn, i) not in wanted]:
                self._end(found.pop(identifier), begin.position)
        for draft in drafts:
            found = here.setdefault(draft.turn, {})
            if (live := found.get(draft.id)) is None:
                found[draft.id] = self._begin(draft, begin)
            elif live.place != _place(draft):
                self._shift(live, draft, begin)

    def _begin(self, draft: Draft, begin: Beginning) -> _Live:
        row = {
            "no": self._number(begin.block),
            "id": draft.id,
            "source": begin.source,
            "turn": draft.turn,
            "session": draft.session,
            "scope_no": self.scope(begin.scope),
            "topic": begin.topic,
            "kind": begin.kind,
            "role": draft.role,
            "speaker": draft.speaker,
            "part": draft.part,
            "title": draft.title,
            "title_embedded": draft.title,
            "text": draft.text,
            "event_time": draft.event_time,
            "event_at": draft.event_at,
            "recorded_at": begin.recorded_at,
            "recorded_from": begin.position,
            "recorded_to": FOREVER,
        }
        return self._add(row, {"source": begin.source, "revision": begin.revision}, _place(draft))

    def _add(self, row: Row, where: Row, place: Place) -> _Live:
        self._rows.append(row)
        added = _occurrence(row["no"], where, place, row["recorded_from"])
        self._occurrences.append(added)
        return _Live(row["no"], row["id"], row["source"], place, row["recorded_from"], row, added)

    def _end(self, live: _Live, position: int) -> None:
        if live.row is not None:
            live.row["recorded_to"] = position
        else:
            self._ended.append((live.no, position))
        self._end_occurrence(live, position)

    def _shift(self, live: _Live, draft: Draft, begin: Beginning) -> None:
        self._end_occurrence(live, begin.position)
        live.place, live.occurs_from = _place(draft), begin.position
        where = {"source": begin.source, "revision": begin.revision}
        live.occurrence = _occurrence(live.no, where, live.place, begin.position)
        self._occurrences.append(live.occurrence)

    def _end_occurrence(self, live: _Live, position: int) -> None:
        if live.occurrence is not None:
            live.occurrence["recorded_to"] = position
        else:
            self._ended_occurrences.append((live.no, live.occurs_from, position))

    def _load_whole(self, source: str) -> Turns:
        if source not in self._whole:
            self._whole.add(source)
            self._load(passage.c.source == source)
        return self._live.setdefault(source, {})

    def _load_turns(self, source: str, turns: Sequence[str]) -> Turns:
        if self._looks[source] >= LOOKS_MAX:
            self._load_whole(source)
        here = self._live.setdefault(source, {})
        missing = [turn for turn in turns if turn not in here]
        if missing and source not in self._whole:
            self._looks[source] += 1
            self._load((passage.c.source == source) & among(passage.c.turn, missing))
        return {turn: here.get(turn, {}) for turn in turns}

    def _load(self, which: sa.ColumnElement[bool]) -> None:
        query = (
            sa.select(passage.c.no, passage.c.id, passage.c.turn, occurrence)
            .join(occurrence, occurrence.c.passage_no == passage.c.no)
            .where(which, passage.c.recorded_to == FOREVER, occurrence.c.recorded_to == FOREVER)
        )
        loaded = {source: set(turns) for source, turns in self._live.items()}
        for row in self._conn.execute(query):
            if row.turn in loaded.get(row.source, ()):
                continue  # It was loaded with its turn, and may have changed on this page.
            place = (row.seq, row.span_start, row.span_end, row.line_first, row.line_last)
            live = _Live(row.no, row.id, row.source, place, row.recorded_from)
            self._live.setdefault(row.source, {}).setdefault(row.turn, {})[row.id] = live

    def _stored(self, table: sa.Table, key: sa.Column[Any], numbers: Sequence[int]) -> dict[int, Row]:
        """Return the rows that are not over, by passage."""
        query = sa.select(table).where(among(key, numbers), table.c.recorded_to == FOREVER)
        return {row[key.name]: dict(row) for row in self._conn.execute(query).mappings()} if numbers else {}

    def _number(self, block: int) -> int:
        number = self._next.get(block, block * BLOCK_SIZE)
        assert number // BLOCK_SIZE == block, "an event brings fewer passages than a block has numbers"
        self._next[block] = number + 1
        return number


def _in_order(table: sa.Table, rows: Sequence[Row]) -> list[list[Any]]:
    names = table.columns.keys()
    return [[row[name] for name in names] for row in rows]


def _place(draft: Draft) -> Place:
    return draft.seq, draft.start, draft.end, draft.line_first, draft.line_last


def _occurrence(no: int, where: Row, place: Place, position: int) -> Row:
    seq, start, end, first, last = place
    return {
        "passage_no": no,
        "source": where["source"],
        "revision": where["revision"],
        "seq": seq,
        "span_start": start,
        "span_end": end,
        "line_first": first,
        "line_last": last,
        "recorded_from": position,
        "recorded_to": FOREVER,
    }
