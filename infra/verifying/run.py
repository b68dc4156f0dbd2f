"""A verification in the making: as of when it reads, what it reads with, and what it has found so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.events import ContentErased
from chronofile.domain.times import FIRST
from chronofile.infra.reports import Disagreement, Listed
from chronofile.infra.verifying.contents import KeptContents, named
from chronofile.ingest import known
from chronofile.ingest.comparing import Comparing
from chronofile.projections import control, passages, sources
from chronofile.projections.anew import Difference
from chronofile.projections.histories import Reversals
from chronofile.projections.passages import failure, omission

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

NAMED_MAX = 5
"""How many contents or passages a sentence names."""

_LOST = "Restore the database from a backup. Where the file is as it was, its bytes are there too."
_REBUILD = "Nothing is lost, the log holds the text: build the passages anew from it."
_SENTENCES: Mapping[str, tuple[str, str]] = {
    "content-missing": ("Bytes that the log names are not in the store", _LOST),
    "content-changed": ("Bytes in the store are not those that were captured", _LOST),
    "range-gap": ("A range does not begin where the one before it ended", _LOST),
    "range-size": ("A range holds another number of bytes than the log says", _LOST),
    "passage-missing": ("Passages of the text are not in the search index", _REBUILD),
    "passage-unknown": ("The search index holds passages that the text does not have", _REBUILD),
    "passage-changed": ("Passages in the search index are not the text's", _REBUILD),
    "passages-out-of-order": ("Passages stand in another order than in the text", _REBUILD),
    "text-not-covered": (
        "The passages do not cover the text",
        "Please report this with the source's format: it is a fault of the program.",
    ),
}


@dataclass(slots=True)
class Verification:
    """One reading of one moment, up to the position of the passages."""

    parts: Parts
    conn: sa.Connection
    position: int
    reversals: Reversals
    uris: Mapping[str, str]
    kept: KeptContents
    comparing: Comparing
    erased: Mapping[str, int]
    """When each content was erased last, as a position: the events before it have lost it for good."""
    erased_later: frozenset[str]
    """Contents of which the passages may still be there: the projection has not come to their erasure."""
    sources: int = 0
    passages: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    listed: list[Listed] = field(default_factory=list)

    @classmethod
    def begun(cls, parts: Parts, conn: sa.Connection) -> Verification:
        """Begin on a connection whose transaction sees one moment."""
        serving = control.read_active(conn)
        conn = control.translated(conn, serving)
        position = serving[passages.NAME].position
        erased, later = _erased(parts, conn, position)
        return cls(
            parts=parts,
            conn=conn,
            position=position,
            reversals=_reversals(conn, position),
            uris={row.id: row.uri for row in conn.execute(sa.select(sources.source))},
            kept=KeptContents(conn, parts.contents, erased.keys() | later),
            comparing=Comparing(parts.contents.key, partial(_copies, parts)),
            erased=erased,
            erased_later=later,
        )

    def text_at(self, texts: Mapping[str, str], key: str, position: int) -> str:
        """Return the text that an event at a position named; the empty one where it was erased since."""
        return "" if self.erased.get(key, 0) > position else texts.get(key, "")

    def tell_contents(self, identifier: str, contents: Mapping[str, bool]) -> None:
        """Tell what is wrong with the contents that a source names; each is there or not."""
        for fault, faulty in named(self.kept.faults, contents).items():
            self.disagree(identifier, fault, _some(faulty))
        gone = [key for key, is_there in contents.items() if key in self.kept.erased and not is_there]
        if gone:
            self.note(identifier, "erased", count=len(gone))

    def tell_difference(self, identifier: str, difference: Difference) -> None:
        turn = f"turn {difference.turn}" if difference.turn is not None else ""
        where = ", ".join(part for part in (turn, _some(difference.passages)) if part)
        self.disagree(identifier, difference.problem, where)

    def disagree(self, identifier: str, problem: str, where: str) -> None:
        sentence, remedy = _SENTENCES[problem]
        detail = f"{sentence}: {where}." if where else f"{sentence}."
        self.disagreements.append(
            Disagreement(identifier, self.uris.get(identifier) or None, problem, detail, remedy)
        )

    def note(self, identifier: str, state: str, *, count: int = 1, detail: str = "") -> None:
        self.listed.append(Listed(state, identifier, self.uris.get(identifier) or None, count, detail))

    def list_what_failed(self, only: Collection[str] | None) -> None:
        """List what gave no passages, in whole or in part, and what could not be captured."""
        for row in self.conn.execute(sa.select(failure).order_by(failure.c.source)):
            if only is None or row.source in only:
                self.note(row.source, "failed", detail=row.reason)
        for row in self.conn.execute(sa.select(omission).order_by(omission.c.source, omission.c.record)):
            if only is None or row.source in only:
                self.note(row.source, "omitted", count=row._mapping[omission.c["count"]], detail=row.record)
        rejected = sa.select(sources.source).where(sources.source.c.rejection.is_not(None))
        for row in self.conn.execute(rejected.order_by(sources.source.c.id)):
            if only is None or row.id in only:
                self.note(row.id, "rejected", detail=row.rejection)


def _copies(parts: Parts, source: str) -> list[Path]:
    with parts.store.cursor() as cursor:
        return known.copies(cursor, source)


def _reversals(conn: sa.Connection, position: int) -> Reversals:
    """Return when batches were undone and restored, up to a position."""
    query = sa.text(
        "SELECT originator_id, notification_id, topic FROM log.events WHERE notification_id <= :position"
        " AND topic IN ('BatchReverted', 'BatchRestored') ORDER BY notification_id"
    )
    return Reversals(
        (streams.id_of(row.originator_id), row.notification_id, FIRST, row.topic == "BatchReverted")
        for row in conn.execute(query, {"position": position})
    )


def _erased(parts: Parts, conn: sa.Connection, position: int) -> tuple[dict[str, int], frozenset[str]]:
    """Return when contents were erased up to a position, and which were later."""
    query = sa.text("SELECT originator_id FROM log.events WHERE topic = 'ContentErased'")
    recorded = parts.store.read_many(list(conn.scalars(query)))
    erased: dict[str, int] = {}
    later: set[str] = set()
    for found in (found for events in recorded.values() for found in events):
        if not isinstance(found.event, ContentErased):
            continue
        if found.position > position:
            later.update(found.event.contents)
            continue
        for key in found.event.contents:
            erased[key] = max(found.position, erased.get(key, 0))
    return erased, frozenset(later)


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")
