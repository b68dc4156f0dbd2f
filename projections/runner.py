"""Bring projections up to the head of the log, and keep them there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import psycopg
import sqlalchemy as sa
import structlog
from sqlalchemy.exc import TimeoutError as PoolExhausted

from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.errors import DatabaseUnavailable, LogBusy, ProjectionStopped
from chronofile.domain.events import RevisionCaptured
from chronofile.projections import control
from chronofile.projections.control import Generation
from chronofile.projections.projection import Projection

PAGE_EVENTS_MAX = 1_000
PAGE_BYTES_MAX = 8 * 1024 * 1024
NOT_THE_EVENTS = ("08", "57P", "40", "53", "55P03")
"""What SQLSTATEs begin with that a page may meet whatever is on it: away, rolled back, out of room, locked."""
HURRIED_EVENTS_MAX = 50
HURRIED_BYTES_MAX = 256 * 1024

log = structlog.get_logger(__name__)


class Events(Protocol):
    """The log as a runner reads it."""

    def after(self, position: int, limit: int) -> list[Recorded]: ...

    def position(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one page holds at most: events, and bytes of the contents that they name."""

    events: int = PAGE_EVENTS_MAX
    content_bytes: int = PAGE_BYTES_MAX


HURRIED = Limits(HURRIED_EVENTS_MAX, HURRIED_BYTES_MAX)
"""For whoever has a deadline: the clock is looked at between two pages."""


def catch_up(
    engine: sa.Engine,
    events: Events,
    projections: Sequence[Projection],
    *,
    limits: Limits | None = None,
    deadline_s: float = float("inf"),
    tick: Callable[[str, int], None] = lambda name, position: None,
) -> bool:
    """Apply pages until every serving generation is at the head of the log; tell whether all of them are.

    A projection whose checkpoint another process holds is left to it, and one that this process's code or
    configuration does not match is left alone. `deadline_s` is a time of `time.monotonic()`; where there is
    one, pages are small unless `limits` says how large. `tick` hears of each page. Raises ProjectionStopped
    where an event cannot be applied, once the others are caught up.
    """
    limits = limits or (Limits() if deadline_s == float("inf") else HURRIED)
    at_head = True
    stopped: ProjectionStopped | None = None
    for projection in projections:
        try:
            while (moved := step(engine, events, projection, limits)) is not None and moved:
                tick(projection.name, moved)
                if time.monotonic() > deadline_s:
                    return False
        except ProjectionStopped as error:
            stopped = stopped or error
        else:
            at_head = at_head and moved is not None
    if stopped is not None:
        raise stopped
    return at_head


def step(engine: sa.Engine, events: Events, projection: Projection, limits: Limits) -> int | None:
    """Apply the next page of the serving generation, and its checkpoint with it, in one transaction.

    Returns the new checkpoint, 0 when there was nothing to do, None when another process is at it. A page
    that cannot be applied is halved until what is left is the event that is to blame. Raises what the
    database raises where it is away, busy or full.
    """
    moved: int | None = None
    failed: Exception | None = None
    with engine.connect() as conn:
        try:
            with conn.begin():
                moved = _step(conn, events, projection, limits)
        except Exception as error:
            if _is_the_databases(error, conn):
                raise
            failed = error
    if failed is not None:
        if limits.events > 1:
            return step(engine, events, projection, replace(limits, events=limits.events // 2))
        raise _stopped(engine, events, projection, failed) from failed
    if moved:
        log.debug("page applied", projection=projection.name, position=moved)
    return moved


def _step(conn: sa.Connection, events: Events, projection: Projection, limits: Limits) -> int | None:
    serving = control.read_active(conn)
    mine = serving.get(projection.name)
    if mine is None or not mine.matches(projection):
        return None
    held = conn.execute(
        sa.select(control.generation.c.position)
        .where(control.generation.c.id == mine.id)
        .with_for_update(skip_locked=True)
    ).scalar()
    if held is None:
        return None
    page = _page(conn, events, mine, held, limits)
    if page is None:
        return 0
    projection.apply(control.translated(conn, serving), page)
    conn.execute(
        sa.update(control.generation)
        .where(control.generation.c.id == mine.id)
        .values(position=page.position, error=None, error_position=None)
    )
    return page.position


def _is_the_databases(error: Exception, conn: sa.Connection) -> bool:
    """Tell whether an error is the database's, away or busy or full, so that nothing is known of the events.

    Everything else is the event's: too long for an index has the same class as a server that is shut down.
    """
    if isinstance(error, (DatabaseUnavailable, LogBusy, PoolExhausted)):
        return True
    found = _database_error(error)
    if found is None:
        return False
    if found.sqlstate is not None:
        return found.sqlstate.startswith(NOT_THE_EVENTS)
    # A broken connection has no code, but neither has a statement that the driver refuses to send.
    return conn.closed or conn.invalidated or _is_broken(conn)


def _is_broken(conn: sa.Connection) -> bool:
    raw = conn.connection.driver_connection
    return isinstance(raw, psycopg.Connection) and raw.closed


def _database_error(error: BaseException) -> psycopg.Error | None:
    """Return the driver's own error, which SQLAlchemy and the log wrap."""
    for found in (error, getattr(error, "orig", None), error.__cause__):
        if isinstance(found, psycopg.Error):
            return found
    return None


def _page(conn: sa.Connection, events: Events, mine: Generation, after: int, limits: Limits) -> Page | None:
    """Return the next page: never past an upstream's checkpoint, and not more content than memory likes."""
    ceiling = _ceiling(conn, mine)
    found: list[Recorded] = []
    size = 0
    for event in events.after(after, limits.events):
        size += _content_size(event)
        if event.position > ceiling or (found and size > limits.content_bytes):
            break
        found.append(event)
    return Page(after, found[-1].position, found) if found else None


def _ceiling(conn: sa.Connection, mine: Generation) -> int:
    if not mine.upstream:
        return 2**63 - 1
    upstream = sa.select(sa.func.min(control.generation.c.position)).where(
        control.generation.c.id.in_(mine.upstream.values())
    )
    return int(conn.execute(upstream).scalar_one())


def _content_size(event: Recorded) -> int:
    captured = event.event
    return captured.end - captured.start if isinstance(captured, RevisionCaptured) else 0


def _stopped(
    engine: sa.Engine, events: Events, projection: Projection, error: Exception
) -> ProjectionStopped:
    """Note with the generation which event stopped it, and return what to raise."""
    with engine.connect() as conn:
        mine = control.read_active(conn)[projection.name]
        page = _page(conn, events, mine, mine.position, Limits(events=1))
    position = page.position if page else mine.position
    reason = _reason(error)
    log.debug("event not applied", projection=projection.name, position=position, message=str(error))
    control.record_error(engine, mine.id, position, reason)
    return ProjectionStopped(projection.name, position, reason)


def _reason(error: Exception) -> str:
    """Name an error by its type and code alone: its message may quote what somebody wrote."""
    found = _database_error(error) or error
    code = getattr(found, "sqlstate", None)
    return f"{type(found).__name__} {code}" if code else type(found).__name__
