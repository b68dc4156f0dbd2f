"""Bring projections up to the head of the log, and keep them there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import psycopg
import sqlalchemy as sa
import structlog
from sqlalchemy.exc import OperationalError

from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.errors import DatabaseUnavailable, ProjectionStopped
from chronofile.domain.events import RevisionCaptured
from chronofile.projections import control
from chronofile.projections.control import Generation
from chronofile.projections.projection import Projection

PAGE_EVENTS_MAX = 1_000
PAGE_BYTES_MAX = 8 * 1024 * 1024

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


def catch_up(
    engine: sa.Engine,
    events: Events,
    projections: Sequence[Projection],
    *,
    limits: Limits = Limits(),
    deadline_s: float = float("inf"),
    tick: Callable[[str, int], None] = lambda name, position: None,
) -> bool:
    """Apply pages until every serving generation is at the head of the log; tell whether all of them are.

    A projection whose checkpoint another process holds is left to it, and one that this process's code or
    configuration does not match is left alone. `deadline_s` is a time of `time.monotonic()`; `tick` hears
    of each page. Raises ProjectionStopped where an event cannot be applied, once the others are caught up.
    """
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
    that cannot be applied is halved until what is left is the event that is to blame.
    """
    try:
        moved = _step(engine, events, projection, limits)
    except (DatabaseUnavailable, OperationalError, psycopg.OperationalError):
        # The database is away, or busy: nothing is known of the events.
        raise
    except Exception as error:
        if limits.events > 1:
            return step(engine, events, projection, replace(limits, events=limits.events // 2))
        raise _stopped(engine, events, projection, error) from error
    if moved:
        log.debug("page applied", projection=projection.name, position=moved)
    return moved


def _step(engine: sa.Engine, events: Events, projection: Projection, limits: Limits) -> int | None:
    with engine.begin() as conn:
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


def follow(
    engine: sa.Engine,
    events: Events,
    projections: Sequence[Projection],
    wakeups: Iterator[None],
    stopping: Callable[[], bool],
) -> None:
    """Catch up at every wake-up. `wakeups` must be listening before it yields first, or an append between sleeps."""
    for _ in wakeups:
        if stopping():
            return
        catch_up(engine, events, projections)


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
    reason = f"{type(error).__name__}: {error}".split("\n", 1)[0]
    with engine.connect() as conn:
        mine = control.read_active(conn)[projection.name]
        page = _page(conn, events, mine, mine.position, Limits(events=1))
    position = page.position if page else mine.position
    control.record_error(engine, mine.id, position, reason)
    return ProjectionStopped(projection.name, position, reason)
