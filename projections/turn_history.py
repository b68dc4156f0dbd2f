"""The turns as of every position: under which ids and where each one stood, whether it went on, and since when."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from chronofile.domain.identity import storable
from chronofile.domain.turns import Turn
from chronofile.projections.bulk import among, copy_rows, end_rows
from chronofile.projections.passages import turn
from chronofile.projections.projection import FOREVER, fingerprint

Row = dict[str, Any]


class TurnHistory:
    """Loads the turns of a page's sources as they come, and writes what changed at the end."""

    def __init__(self, conn: sa.Connection) -> None:
        self._conn = conn
        self._whole: set[str] = set()
        self._here: dict[str, dict[str, Row | None]] = {}
        self._begun: list[Row] = []
        self._ended: list[tuple[str, bytes, int, int]] = []

    def is_new(self, source: str) -> None:
        """A source that this page registers has nothing in the table: spare the look."""
        self._whole.add(source)

    def prepare(self, sources: Iterable[str]) -> None:
        """Load all turns of some sources."""
        missing = sorted(set(sources) - self._whole)
        self._whole |= set(missing)
        if missing:
            self._take(among(turn.c.source, missing))

    def note(self, source: str, turns: Sequence[tuple[Turn, int]], position: int) -> None:
        """Note turns with their ordinals; one that is as it was before goes on."""
        here = self._load(source, [said.key for said, _ in turns])
        for said, ordinal in turns:
            now = {
                "ordinal": ordinal,
                "native_ids": [storable(native) for native in said.native_ids],
                "superseded": said.superseded,
            }
            self._change(source, said.key, here, now, position)

    def supersede(self, source: str, keys: Sequence[str], position: int) -> None:
        """Note that something else took the place of turns; those that are not there are left out."""
        here = self._load(source, keys)
        for key in keys:
            if (row := here.get(key)) is not None:
                now = {name: row[name] for name in ("ordinal", "native_ids")} | {"superseded": True}
                self._change(source, key, here, now, position)

    def flush(self) -> None:
        end_rows(self._conn, turn, ["source", "key_hash", "recorded_from"], self._ended)
        names = turn.columns.keys()
        copy_rows(self._conn, turn, [[row[name] for name in names] for row in self._begun])

    def _change(self, source: str, key: str, here: dict[str, Row | None], now: Row, position: int) -> None:
        row = here.get(key)
        if row is not None and row["recorded_from"] == position:
            row |= now
        elif row is None or any(row[name] != value for name, value in now.items()):
            self._end(row, position)
            here[key] = self._begin(source, key, now, position)

    def _begin(self, source: str, key: str, now: Row, position: int) -> Row:
        hashed = fingerprint(key)
        row = {"source": source, "key_hash": hashed, "key": key, **now, "recorded_from": position}
        self._begun.append(row | {"recorded_to": FOREVER})
        return self._begun[-1]

    def _end(self, row: Row | None, position: int) -> None:
        if row is not None and "recorded_to" not in row:
            self._ended.append((row["source"], row["key_hash"], row["recorded_from"], position))
        elif row is not None:
            row["recorded_to"] = position

    def _load(self, source: str, keys: Sequence[str]) -> dict[str, Row | None]:
        here = self._here.setdefault(source, {})
        missing = [key for key in keys if key not in here]
        if missing and source not in self._whole:
            here |= dict.fromkeys(missing)
            wanted = among(turn.c.key_hash, [fingerprint(key) for key in missing])
            self._take((turn.c.source == source) & wanted)
        return here

    def _take(self, which: sa.ColumnElement[bool]) -> None:
        """Load rows that are not over; without an end they are told from those that are not stored yet."""
        columns = [column for column in turn.c if column.name != "recorded_to"]
        query = sa.select(*columns).where(which, turn.c.recorded_to == FOREVER)
        for row in self._conn.execute(query).mappings():
            here = self._here.setdefault(row["source"], {})
            if here.get(row["key"]) is None:
                here[row["key"]] = dict(row)
