"""Undo: what a batch captured is hidden from now on, and an undo is undone in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from chronofile.domain import batches, streams
from chronofile.domain.batches import AmbiguousBatch, Batch, NothingToUndo, UnknownBatch
from chronofile.domain.envelope import Addition, Recorded
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.domain.events import (
    BatchFinished,
    BatchReverted,
    BatchStarted,
    Event,
    RevisionCaptured,
    SourceRemoved,
)
from chronofile.domain.sources import shown
from chronofile.domain.times import iso
from chronofile.infra import upkeep
from chronofile.infra.progress import UNWATCHED, Progress
from chronofile.ingest import erased
from chronofile.ingest.appending import Appending
from chronofile.projections import control, passages, sources

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

TRIES_MAX = 20
NAMED_MAX = 5
"""How many batches are named where a beginning fits several."""
SOURCES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class UndoReport:
    """What an undo did. `batch` is its own, by which it is undone; None in a dry run.

    `of` is the batch that was undone and `captured_by` the one that captured what this is about; `action` is
    `hidden` or `restored`. Both can show and hide: with the newest revision hidden, the one before it is shown again.
    """

    batch: str | None
    of: str
    captured_by: str
    action: str
    sources: int
    revisions_hidden: int
    revisions_shown: int
    passages_hidden: int | None
    """None, as `passages_shown`, in a dry run and where the passages are not brought up to date."""
    passages_shown: int | None
    position: int
    note: str | None = None
    stopped: bool = False
    """Whether searches do not show it yet; `note` says why."""


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """A batch; what it counted is None where it did not end by itself, and `of` is the batch that it undid."""

    id: str
    tool: str
    started_at: datetime
    finished_at: datetime | None
    revisions: int | None
    rejected: int | None
    of: str | None
    reverted: bool
    changed_by: str | None
    """The batch that reverted or restored it last."""


@dataclass(slots=True)
class _Effect:
    """What changes if a batch is reverted, or restored; `touched` counts the sources of which it captured something."""

    touched: int = 0
    sources: int = 0
    hidden: int = 0
    shown: int = 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An undo in the making: what is appended to the batch that captured, and to a batch of its own."""

    of: str
    captured_by: str
    hides: bool
    effect: _Effect
    changes: Addition
    own: Addition

    @property
    def additions(self) -> list[Addition]:
        return [self.changes, self.own]

    def note(self, cursor: Any) -> None:
        """Note on the write side what is decided: captures ask it which batches are reverted."""
        if self.hides:
            statement = "INSERT INTO log.reverted (batch) VALUES (%s) ON CONFLICT DO NOTHING"
        else:
            statement = "DELETE FROM log.reverted WHERE batch = %s"
        cursor.execute(statement, (self.captured_by,))


def undo(parts: Parts, named: str, *, dry_run: bool = False, progress: Progress = UNWATCHED) -> UndoReport:
    """Undo a batch, or the undo of one; `named` is its id or a beginning that no other has.

    Raises UnknownBatch, AmbiguousBatch, UndoneAlready, NothingToUndo.
    """
    by = parts.new_id()
    for tries_left in reversed(range(TRIES_MAX)):
        wanted = _wanted(parts, _identified(parts, named), by)
        if not wanted.effect.touched:
            raise NothingToUndo
        if dry_run:
            return _report(parts, wanted, None, parts.store.position())
        try:
            Appending(parts.store, parts.new_id).append(wanted.additions, alongside=wanted.note)
        except WrongExpectedVersion:
            if not tries_left:
                raise
            continue
        position = parts.store.read(wanted.changes.stream)[wanted.changes.after].position
        outcome = upkeep.make_searchable(parts, "words" if wanted.hides else "auto", position, progress)
        return _report(parts, wanted, by, position, outcome)
    raise AssertionError("the last try returns or raises")


def last_batches(parts: Parts, limit: int) -> list[BatchEntry]:
    """Return the last batches, newest first."""
    with parts.engine.connect() as conn:
        table = sources.batch
        latest = sa.select(table.c.id).order_by(table.c.started_at.desc(), table.c.id).limit(limit)
        found = list(control.translated(conn, control.read_active(conn)).scalars(latest))
    stored = parts.store.read_many([streams.batch(identifier) for identifier in found])
    return [_listed(identifier, stored[streams.batch(identifier)]) for identifier in found]


def _identified(parts: Parts, named: str) -> str:
    """Return the id of the only batch that is called so or whose id begins so."""
    named = named.strip().lower()
    if named and parts.store.read(streams.batch(named)):
        return named
    if len(named) < batches.PREFIX_CHARS_MIN or not named.isalnum() or not named.isascii():
        raise UnknownBatch(named)
    # Ids are in hexadecimal, so that "g" stands behind all that begin like this, whatever the collation.
    beginning = streams.batch(named)
    with parts.store.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT originator_id AS stream FROM log.events WHERE originator_id BETWEEN %s AND %s"
            " AND starts_with(originator_id, %s) ORDER BY stream LIMIT %s",
            (beginning, beginning + "g", beginning, NAMED_MAX + 1),
        )
        found = [streams.id_of(row["stream"]) for row in cursor]
    if not found:
        raise UnknownBatch(named)
    if len(found) > 1:
        raise AmbiguousBatch(named, found[:NAMED_MAX])
    return found[0]


def _wanted(parts: Parts, identifier: str, by: str) -> _Wanted:
    """Decide what undoing a batch comes to, as the log stands. Raises UndoneAlready."""
    chain = _chain(parts, identifier)
    captured_by, captured = chain[-1]
    now = iso(parts.clock())
    event = batches.undo([batch for _, batch in chain], by, now)
    hides = isinstance(event, BatchReverted)
    return _Wanted(
        of=identifier,
        captured_by=captured_by,
        hides=hides,
        effect=_effect(parts, captured_by, hides=hides),
        changes=Addition(streams.batch(captured_by), captured.version, [event]),
        own=Addition(
            streams.batch(by), 0, [BatchStarted(batches.UNDO, now, identifier), BatchFinished(0, 0, now)]
        ),
    )


def _chain(parts: Parts, identifier: str) -> list[tuple[str, Batch]]:
    """Return the batch, the one that it undid, and so on to the one that captured."""
    chain: list[tuple[str, Batch]] = []
    following: str | None = identifier
    while following is not None:
        batch = batches.batch_of(_events(parts.store.read(streams.batch(following))))
        chain.append((following, batch))
        following = batch.of
    return chain


def _effect(parts: Parts, batch: str, *, hides: bool) -> _Effect:
    """Count what is shown of the batch's sources before and after it is reverted, or restored."""
    effect = _Effect()
    for stored in _sources_of(parts, batch):
        captured_in = {
            e.batch for events in stored for e in events if isinstance(e, RevisionCaptured | SourceRemoved)
        }
        with parts.store.cursor() as cursor:
            before = erased.reverted(cursor, captured_in)
        after = before | {batch} if hides else before - {batch}
        for events in stored:
            was = {event.revision for event in shown(events, before)}
            will = {event.revision for event in shown(events, after)}
            effect.touched += 1
            effect.sources += was != will
            effect.hidden += len(was - will)
            effect.shown += len(will - was)
    return effect


def _sources_of(parts: Parts, batch: str) -> Iterator[list[list[Event]]]:
    """Yield the events of the sources that a batch captured or removed, some sources at a time."""
    found = parts.store.read(streams.batch(batch))
    ends = [one.position for one in found if isinstance(one.event, BatchFinished)] or [parts.store.position()]
    with parts.store.cursor() as cursor:
        # What a batch appended lies between its beginning and its end, so no more of the log is looked through.
        cursor.execute(
            "SELECT DISTINCT originator_id AS stream FROM log.events WHERE notification_id BETWEEN %s AND %s"
            " AND topic IN ('RevisionCaptured', 'SourceRemoved') AND position(%s::bytea IN state) > 0"
            " ORDER BY stream",
            (found[0].position, ends[-1], f'"batch":"{batch}"'.encode()),
        )
        touched = [row["stream"] for row in cursor]
    for start in range(0, len(touched), SOURCES_AT_ONCE):
        stored = parts.store.read_many(touched[start : start + SOURCES_AT_ONCE])
        yield [_events(recorded) for recorded in stored.values()]


def _report(
    parts: Parts, wanted: _Wanted, by: str | None, position: int, outcome: upkeep.Outcome | None = None
) -> UndoReport:
    ended, begun = (None, None) if by is None else _passages(parts, position)
    return UndoReport(
        batch=by,
        of=wanted.of,
        captured_by=wanted.captured_by,
        action="hidden" if wanted.hides else "restored",
        sources=wanted.effect.sources,
        revisions_hidden=wanted.effect.hidden,
        revisions_shown=wanted.effect.shown,
        passages_hidden=ended,
        passages_shown=begun,
        position=position,
        note=None if outcome is None else outcome.note,
        stopped=outcome is not None and outcome.stopped,
    )


def _passages(parts: Parts, position: int) -> tuple[int | None, int | None]:
    """Count the passages that ended and began at a position; None where the projection has not seen it."""
    passage = passages.passage
    with parts.engine.connect() as conn:
        standing = control.read_active(conn)
        if passages.NAME not in standing or standing[passages.NAME].position < position:
            return None, None
        reading = control.translated(conn, standing)
        ended, begun = (
            reading.scalar(sa.select(sa.func.count()).select_from(passage).where(column == position))
            for column in (passage.c.recorded_to, passage.c.recorded_from)
        )
    return ended, begun


def _listed(identifier: str, stored: Sequence[Recorded]) -> BatchEntry:
    batch = batches.batch_of(_events(stored))
    ended = [one.recorded_at for one in stored if isinstance(one.event, BatchFinished)]
    return BatchEntry(
        id=identifier,
        tool=batch.tool,
        started_at=stored[0].recorded_at,
        finished_at=ended[0] if ended else None,
        revisions=None if batch.finished is None else batch.finished.revisions,
        rejected=None if batch.finished is None else batch.finished.rejected,
        of=batch.of,
        reverted=batch.reverted,
        changed_by=batch.by,
    )


def _events(stored: Sequence[Recorded]) -> list[Event]:
    return [recorded.event for recorded in stored]
