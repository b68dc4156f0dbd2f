"""Omissions: what of each source gave no turn or no text, counted since its last whole revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import sqlalchemy as sa

from chronofile.domain.identity import storable
from chronofile.projections.bulk import among, copy_rows
from chronofile.projections.passages import RECORD_CHARS_MAX, omission


class Omissions:
    """Loads the counts of a source when it has more to add, and writes what changed at the end."""

    def __init__(self, conn: sa.Connection) -> None:
        self._conn = conn
        self._new: set[str] = set()
        self._counted: dict[str, Counter[str]] = {}

    def is_new(self, source: str) -> None:
        """A source that this page registers has nothing in the table: spare the look."""
        self._new.add(source)

    def begin(self, source: str) -> None:
        """Count anew from here."""
        self._counted[source] = Counter()

    def add(self, source: str, counted: Mapping[str, int]) -> None:
        if source not in self._counted and any(counted.values()):
            stored = sa.select(omission).where(omission.c.source == source)
            rows = [] if source in self._new else self._conn.execute(stored).mappings().all()
            self._counted[source] = Counter({row["record"]: row["count"] for row in rows})
        for record, number in counted.items():
            if number:
                self._counted[source][(storable(record) or "")[:RECORD_CHARS_MAX]] += number

    def flush(self) -> None:
        if counted_before := self._counted.keys() - self._new:
            which = among(omission.c.source, sorted(counted_before))
            self._conn.execute(sa.delete(omission).where(which))
        counted = [(s, r, n) for s, records in self._counted.items() for r, n in sorted(records.items())]
        copy_rows(self._conn, omission, counted)
