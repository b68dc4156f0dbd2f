"""Unreadable revisions: why the ranges that a source shows could not be read, or only in part."""

from __future__ import annotations

import sqlalchemy as sa

from chronofile.projections.bulk import among, replace_rows
from chronofile.projections.passages import failure

Row = dict[str, object]


class Unreadable:
    """Notes reasons, and writes them at the end; what a whole takes the place of is forgotten."""

    def __init__(self, conn: sa.Connection) -> None:
        self._conn = conn
        self._new: set[str] = set()
        self._begun: set[str] = set()
        self._rows: dict[tuple[str, int], Row] = {}

    def is_new(self, source: str) -> None:
        """A source that this page registers has nothing in the table: spare the look."""
        self._new.add(source)

    def begin(self, source: str) -> None:
        """Forget what was noted of a source: it begins anew."""
        self._begun.add(source)
        for key in [key for key in self._rows if key[0] == source]:
            del self._rows[key]

    def note(self, source: str, revision: int, reason: str, position: int) -> None:
        row: Row = {"source": source, "revision": revision, "reason": reason, "recorded_from": position}
        self._rows[source, revision] = row

    def flush(self) -> None:
        if begun := self._begun - self._new:
            self._conn.execute(sa.delete(failure).where(among(failure.c.source, sorted(begun))))
        replace_rows(self._conn, failure, list(self._rows.values()))
