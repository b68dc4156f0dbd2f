"""The passages that are there now, for one page of events: what begins, what ends, what only shifts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from chronofile.domain.envelope import Recorded
from chronofile.projections.bulk import copy_rows
from chronofile.projections.drafts import Draft
from chronofile.projections.passages import Beginning, occurrence, passage, scope
from chronofile.projections.projection import FOREVER

Row = dict[str, Any]
Place = tuple[int, int, int, int | None, int | None]


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


class LivePassages:
    """Loads what is there by source and turn as it is asked for, and writes all changes at the end."""

    def __init__(self, conn: sa.Connection) -> None:
        self._conn = conn
        self._scopes = {row.name: row.no for row in conn.execute(sa.select(scope))}
        self._scopes_known = len(self._scopes)
        self._next_no = (conn.execute(sa.select(sa.func.max(passage.c.no))).scalar() or 0) + 1
        self._live: dict[tuple[str, str | None], dict[str, _Live]] = {}
        self._whole: set[str] = set()
        self._new: set[str] = set()
        self._rows: list[Row] = []
        self._occurrences: list[Row] = []
        self._ended: list[Row] = []
        self._shifted: list[Row] = []

    def is_new(self, source: str) -> None:
        """A source that this page registers has nothing in the tables: spare the look."""
        self._whole.add(source)
        self._new.add(source)

    def began_here(self, source: str) -> bool:
        return source in self._new

    def replace_all(self, source: str, drafts: Sequence[Draft], begin: Beginning) -> None:
        """Make the drafts all that there is of the source."""
        self._load_whole(source)
        turns = {turn for owner, turn in self._live if owner == source} | {draft.turn for draft in drafts}
        self._replace(source, turns, drafts, begin)

    def replace_turns(
        self, source: str, turns: Sequence[str], drafts: Sequence[Draft], begin: Beginning
    ) -> None:
        """Make the drafts all that there is of the given turns; other turns stay."""
        self._load_turns(source, turns)
        self._replace(source, set(turns), drafts, begin)

    def end_all(self, source: str, position: int) -> None:
        self._load_whole(source)
        for (owner, _), found in self._live.items():
            if owner == source:
                for live in found.values():
                    self._end(live, position)
                found.clear()

    def rescope(self, source: str, name: str, recorded: Recorded) -> None:
        """End every passage of the source and begin it anew in the other scope."""
        self._load_whole(source)
        for (owner, _), found in self._live.items():
            for live in [*found.values()] if owner == source else []:
                old = live.row or self._stored(passage, passage.c.no == live.no)
                place = live.occurrence or self._stored(
                    occurrence, (occurrence.c.passage_no == live.no) & (occurrence.c.recorded_to == FOREVER)
                )
                self._end(live, recorded.position)
                moved = {
                    **old,
                    "no": self._number(),
                    "scope_no": self._scope(name),
                    "recorded_from": recorded.position,
                    "recorded_to": FOREVER,
                }
                found[live.id] = self._add(moved, place, live.place)

    def flush(self) -> None:
        """Write what this page changed."""
        new_scopes = [
            {"no": no, "name": name} for name, no in list(self._scopes.items())[self._scopes_known :]
        ]
        if new_scopes:
            self._conn.execute(sa.insert(scope), new_scopes)
        for table, ended in ((passage, self._ended), (occurrence, self._shifted)):
            if ended:
                self._conn.execute(_end_statement(table), ended)
        copy_rows(self._conn, passage, [[row[c.name] for c in passage.c] for row in self._rows])
        copy_rows(self._conn, occurrence, [[row[c.name] for c in occurrence.c] for row in self._occurrences])

    def _replace(
        self, source: str, turns: Iterable[str | None], drafts: Sequence[Draft], begin: Beginning
    ) -> None:
        wanted: dict[str | None, dict[str, Draft]] = {turn: {} for turn in turns}
        for draft in drafts:
            wanted[draft.turn][draft.id] = draft
        for turn, found in wanted.items():
            standing = self._live.setdefault((source, turn), {})
            for identifier in [i for i in standing if i not in found]:
                self._end(standing.pop(identifier), begin.position)
            for draft in found.values():
                if (live := standing.get(draft.id)) is None:
                    standing[draft.id] = self._begin(draft, begin)
                elif live.place != _place(draft):
                    self._shift(live, draft, begin)

    def _begin(self, draft: Draft, begin: Beginning) -> _Live:
        row = {
            "no": self._number(),
            "id": draft.id,
            "source": begin.source,
            "turn": draft.turn,
            "session": draft.session,
            "scope_no": self._scope(begin.scope),
            "topic": begin.topic,
            "role": draft.role,
            "speaker": draft.speaker,
            "part": draft.part,
            "title": draft.title,
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
            self._ended.append({"at_no": live.no, "at_from": None, "position": position})
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
            self._shifted.append({"at_no": live.no, "at_from": live.occurs_from, "position": position})

    def _load_whole(self, source: str) -> None:
        if source not in self._whole:
            self._whole.add(source)
            self._load(source, passage.c.source == source)

    def _load_turns(self, source: str, turns: Sequence[str]) -> None:
        missing = [turn for turn in turns if (source, turn) not in self._live]
        if missing and source not in self._whole:
            self._load(source, (passage.c.source == source) & passage.c.turn.in_(missing))

    def _load(self, source: str, which: sa.ColumnElement[bool]) -> None:
        query = (
            sa.select(passage.c.no, passage.c.id, passage.c.turn, occurrence)
            .join(occurrence, occurrence.c.passage_no == passage.c.no)
            .where(which, passage.c.recorded_to == FOREVER, occurrence.c.recorded_to == FOREVER)
        )
        loaded = {key for key in self._live if key[0] == source}
        for row in self._conn.execute(query).mappings():
            key = (source, row["turn"])
            if key in loaded:
                continue  # It was loaded with its turn, and may have changed on this page.
            place = tuple(row[name] for name in ("seq", "span_start", "span_end", "line_first", "line_last"))
            live = _Live(row["no"], row["id"], source, place, row["recorded_from"])
            self._live.setdefault(key, {})[row["id"]] = live

    def _stored(self, table: sa.Table, which: sa.ColumnElement[bool]) -> Row:
        return dict(self._conn.execute(sa.select(table).where(which)).mappings().one())

    def _number(self) -> int:
        self._next_no += 1
        return self._next_no - 1

    def _scope(self, name: str) -> int:
        return self._scopes.setdefault(name, len(self._scopes) + 1)


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


def _end_statement(table: sa.Table) -> sa.Update:
    number = table.c.no if table is passage else table.c.passage_no
    which = number == sa.bindparam("at_no")
    if table is occurrence:
        which &= table.c.recorded_from == sa.bindparam("at_from")
    return sa.update(table).where(which).values(recorded_to=sa.bindparam("position"))
