"""Histories: what happened to a source, from its own stream, with what was undone and erased of it since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from chronofile.domain import streams
from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.events import (
    BatchRestored,
    BatchReverted,
    ContentErased,
    ContentKey,
    RevisionCaptured,
    SourceRemoved,
)
from chronofile.domain.identity import decoded
from chronofile.domain.sources import shown, source_of
from chronofile.projections.bulk import among, listed

STREAMS_READ_MAX = 200
MEMORY = "memory"


class Contents(Protocol):
    """The content store, read on the page's own connection."""

    def read(self, conn: sa.Connection, keys: Sequence[str]) -> Mapping[str, bytes]: ...


class Streams(Protocol):
    """The log, read by stream."""

    def read_many(self, streams: Sequence[str]) -> Mapping[str, Sequence[Recorded]]: ...


@dataclass(frozen=True, slots=True)
class Tables:
    """What a projection remembers of batches and erasures; each has tables of its own.

    `capture` tells which sources a batch captured or removed, `reversal` when a batch was undone or restored,
    `erased` the last position at which a content, by its key, or all of a source, by its id, was erased.
    """

    capture: sa.Table
    reversal: sa.Table
    erased: sa.Table


def tables_in(metadata: sa.MetaData) -> Tables:
    return Tables(
        sa.Table(
            "capture",
            metadata,
            sa.Column("batch", sa.Text, primary_key=True),
            sa.Column("source", sa.Text, primary_key=True),
        ),
        sa.Table(
            "reversal",
            metadata,
            sa.Column("batch", sa.Text, primary_key=True),
            sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
            sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
            sa.Column("is_reverted", sa.Boolean, nullable=False),
        ),
        sa.Table(
            "erased",
            metadata,
            sa.Column("what", sa.Text, primary_key=True),
            sa.Column("position", sa.BigInteger, nullable=False),
        ),
    )


def parts(page: Page) -> Iterator[Page | Recorded]:
    """Yield a page's parts in order: what happens to single sources, and between them each undo and erasure."""
    after, events = page.after, list[Recorded]()
    for recorded in page.events:
        if isinstance(recorded.event, BatchReverted | BatchRestored | ContentErased):
            if events:
                yield Page(after, events[-1].position, events)
            yield recorded
            after, events = recorded.position, []
        else:
            events.append(recorded)
    if events:
        yield Page(after, events[-1].position, events)


def batch_of(recorded: Recorded) -> str | None:
    """Return the batch that an undo takes the event back with."""
    event = recorded.event
    return event.batch if isinstance(event, RevisionCaptured | SourceRemoved) else None


def note_captures(conn: sa.Connection, tables: Tables, events: Iterable[Recorded]) -> None:
    """Note which batch captured or removed which source."""
    found = {(batch, streams.id_of(r.stream)) for r in events if (batch := batch_of(r)) is not None}
    if found:
        columns = [tables.capture.c.batch, tables.capture.c.source]
        given = listed(columns, sorted(found))
        rows = sa.select(*(given.c[column.name] for column in columns))
        noted = insert(tables.capture).from_select([column.name for column in columns], rows)
        conn.execute(noted.on_conflict_do_nothing())


def note_reversal(conn: sa.Connection, tables: Tables, recorded: Recorded) -> str:
    """Note that a batch was undone or restored, and return it."""
    batch = streams.id_of(recorded.stream)
    row = {
        "batch": batch,
        "position": recorded.position,
        "recorded_at": recorded.recorded_at,
        "is_reverted": isinstance(recorded.event, BatchReverted),
    }
    conn.execute(sa.insert(tables.reversal).values(row))
    return batch


def note_erased(conn: sa.Connection, tables: Tables, position: int, event: ContentErased) -> None:
    """Note when contents and sources were erased: what named them before then has lost them for good.

    A content that another source has too is still there, and is lost to the source that was erased.
    """
    rows = [{"what": what, "position": position} for what in sorted({*event.contents, *event.closed})]
    if rows:
        later = insert(tables.erased)
        conn.execute(
            later.on_conflict_do_update(index_elements=["what"], set_={"position": later.excluded.position}),
            rows,
        )


def captured_in(conn: sa.Connection, tables: Tables, batch: str) -> list[str]:
    """Return the sources that a batch captured or removed, in one order."""
    query = sa.select(tables.capture.c.source).where(tables.capture.c.batch == batch)
    return list(conn.scalars(query.order_by(tables.capture.c.source)))


class Reversals:
    """When batches were undone and restored."""

    def __init__(self, rows: Iterable[tuple[str, int, datetime, bool]] = ()) -> None:
        self._by_batch: dict[str, list[tuple[int, datetime, bool]]] = {}
        for batch, position, recorded_at, is_reverted in rows:
            self._by_batch.setdefault(batch, []).append((position, recorded_at, is_reverted))

    @classmethod
    def of(cls, conn: sa.Connection, tables: Tables, events: Iterable[Recorded]) -> Reversals:
        """Load those of the batches that captured or removed in the events."""
        batches = {batch for recorded in events if (batch := batch_of(recorded)) is not None}
        columns = [tables.reversal.c[name] for name in ("batch", "position", "recorded_at", "is_reverted")]
        query = sa.select(*columns).where(among(tables.reversal.c.batch, sorted(batches)))
        rows = conn.execute(query.order_by(tables.reversal.c.position)).all() if batches else []
        return cls((row.batch, row.position, row.recorded_at, row.is_reverted) for row in rows)

    def is_reverted(self, batch: str, position: int) -> bool:
        """Tell whether the batch was undone as of a position."""
        flags = [flag for at, _, flag in self._by_batch.get(batch, ()) if at <= position]
        return bool(flags) and flags[-1]

    def reverted(self, position: int) -> frozenset[str]:
        return frozenset(batch for batch in self._by_batch if self.is_reverted(batch, position))

    def after(self, batch: str, position: int, last: int) -> list[tuple[int, datetime]]:
        """Return when the batch was undone or restored in `(position, last]`."""
        return [(at, moment) for at, moment, _ in self._by_batch.get(batch, ()) if position < at <= last]


@dataclass(frozen=True, slots=True)
class Shift:
    """What a source shows from a position on, where a batch of it was undone or restored.

    `ranges` are the events of the ranges that it shows then, and `block` is the position of its own last event:
    what begins here is numbered there.
    """

    source: str
    position: int
    recorded_at: datetime
    block: int
    ranges: tuple[Recorded, ...]
    is_changed: bool
    hidden: bool


Step = Recorded | Shift


@dataclass(frozen=True)
class History:
    """The events of one source's or memory's own stream, up to a position."""

    stream: str
    events: Sequence[Recorded]

    @property
    def source(self) -> str:
        return streams.id_of(self.stream)

    @cached_property
    def _plain(self) -> list[Any]:
        return [recorded.event for recorded in self.events]

    def shift(self, position: int, recorded_at: datetime, reversals: Reversals) -> Shift:
        """Return what a reversal at a position changes."""
        own = [recorded for recorded in self.events if recorded.position < position]
        events = self._plain[: len(own)]
        by_event = {id(recorded.event): recorded for recorded in own}
        before, now = (reversals.reverted(at) for at in (position - 1, position))
        ranges = shown(events, now)
        return Shift(
            source=self.source,
            position=position,
            recorded_at=recorded_at,
            block=own[-1].position,
            ranges=tuple(by_event[id(event)] for event in ranges),
            is_changed=list(map(id, ranges)) != list(map(id, shown(events, before))),
            hidden=source_of(events, now).hidden,
        )

    def steps(self, reversals: Reversals, last: int) -> list[Step]:
        """Return all that happened to the source up to a position, in order."""
        first: dict[str, int] = {}
        for recorded in self.events:
            if (batch := batch_of(recorded)) is not None:
                first.setdefault(batch, recorded.position)
        found = {at: moment for batch, p in first.items() for at, moment in reversals.after(batch, p, last)}
        shifts: list[Step] = [self.shift(at, moment, reversals) for at, moment in found.items()]
        return sorted([*self.events, *shifts], key=lambda step: step.position)


def read(log: Streams, named: Sequence[str], position: int) -> Iterator[list[History]]:
    """Yield the histories of streams up to a position, some at a time; a stream that does not exist is left out."""
    remaining = iter(named)
    while chunk := list(islice(remaining, STREAMS_READ_MAX)):
        found = log.read_many(chunk)
        cut = {stream: [r for r in found[stream] if r.position <= position] for stream in chunk}
        yield [History(stream, events) for stream, events in cut.items() if events]


class Texts:
    """Contents as the events that name them had them: erased since then, they are gone from these for good.

    The same bytes may have come again with a later event, which has them.
    """

    def __init__(self, conn: sa.Connection, contents: Contents, tables: Tables | None = None) -> None:
        """Without `tables` nothing is asked for that was erased later: on a page of new events nothing was."""
        self._conn, self._contents, self._tables = conn, contents, tables
        self._read: dict[ContentKey, bytes | None] = {}
        self._erased: dict[str, int] = {}

    def ahead(self, keys: Iterable[ContentKey]) -> None:
        """Read contents together."""
        wanted = sorted({key for key in keys if key not in self._read})
        if wanted:
            self._read |= {**dict.fromkeys(wanted), **self._contents.read(self._conn, wanted)}
            self._erased |= self._erasures(wanted)

    def look_for(self, whats: Iterable[str]) -> None:
        """Ask together which of the contents, by key, and sources, by id, were erased."""
        wanted = sorted(set(whats))
        self._erased |= {**dict.fromkeys(wanted, 0), **self._erasures(wanted)}

    def get(self, key: ContentKey, position: int, source: str | None) -> bytes | None:
        """Return the content that an event at a position named; None where it, or the event's source, was erased."""
        if source is not None and self._closed(source) > position:
            return None
        if key in self._read:
            return None if self.is_erased(key, position) else self._read[key]
        # It is large: it is read by itself and not kept.
        if key not in self._erased:
            self.look_for([key])
        if self.is_erased(key, position):
            return None
        return self._contents.read(self._conn, [key]).get(key)

    def text(self, key: ContentKey, position: int, source: str | None) -> str:
        """Return a text that an event at a position named; the empty one where `get` gives none."""
        return decoded(self.get(key, position, source) or b"")

    def is_erased(self, key: ContentKey, position: int) -> bool:
        return self._erased.get(key, 0) > position

    def _closed(self, source: str) -> int:
        if source not in self._erased:
            self.look_for([source])
        return self._erased[source]

    def _erasures(self, whats: Sequence[str]) -> dict[str, int]:
        if self._tables is None:
            return {}
        erased = self._tables.erased
        query = sa.select(erased.c.what, erased.c.position).where(among(erased.c.what, whats))
        return {row.what: row.position for row in self._conn.execute(query)}
