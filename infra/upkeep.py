"""Upkeep: bringing the projections to the log's head, and embedding the backlog of vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from chronofile.domain.errors import ChronofileError, ProjectionStopped
from chronofile.domain.wording import counted
from chronofile.infra.database_errors import naming_database_errors
from chronofile.infra.failures import is_expected, sentence_of
from chronofile.projections import control, embedding, runner
from chronofile.query import catalogue

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts
    from chronofile.infra.progress import Progress
    from chronofile.projections.control import Generation

SEARCH_CATCH_UP_S = 0.2
REMEMBERED_CATCH_UP_S = 2.0
"""For how long at most a search waits for what was appended, and a call that appended something itself."""
AUTO_EMBED_MAX = 2_000
WAITS = ("auto", "words", "all", "none")
POLL_S = 0.05
EMBED_LEASE = 0x454D424544  # "EMBED"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How making a capture searchable ended: what is left to say, and whether it fell short of what was asked."""

    note: str | None = None
    stopped: bool = False


def left_alone(parts: Parts, serving: Mapping[str, Generation] | None = None) -> dict[str, str]:
    """Return the projections that this process does not move, each with a sentence that says why.

    `serving` spares reading again which generations serve.
    """
    standing = catalogue.serving(parts.engine) if serving is None else serving
    found = control.left_alone(standing, parts.all_projections)
    return {
        name: f"{name}: not brought up to date here, another version of Chronofile built it"
        if upstream is None
        else f"{name}: not brought up to date here, it is built from {upstream}"
        for name, upstream in found.items()
    }


def catch_up(parts: Parts, seconds: float, progress: Progress) -> list[str]:
    """Apply what was appended, for so long at most; return what keeps a projection from it, as sentences."""
    serving = catalogue.serving(parts.engine)
    alone = list(left_alone(parts, serving).values())
    if not _lagging(parts, serving, parts.store.position()) - {parts.vectors.name}:
        return alone
    try:
        runner.catch_up(
            parts.engine,
            parts.store,
            parts.projections,
            deadline_s=time.monotonic() + seconds,
            tick=progress.applied,
        )
    except ProjectionStopped as error:
        return [*alone, str(error)]
    return alone


def embed(parts: Parts, progress: Progress, stopping: Callable[[], bool] = lambda: False) -> int:
    """Embed what is missing, unless another process is at it, and return how many passages were embedded.

    Vectors that this process leaves alone get no new ones from it.
    """
    if parts.vectors.name in left_alone(parts):
        return 0
    runner.catch_up(parts.engine, parts.store, [parts.vectors])
    waiting = catalogue.pending_vectors(parts.engine)
    if not waiting:
        return 0
    embedder = parts.models.of_generation(catalogue.vector_configuration(parts.engine))
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        progress.embedded(done, waiting)

    with _lease(parts.conninfo) as held:
        if held:
            embedding.embed_pending(parts.engine, embedder, stopping=stopping, tick=tick)
    return done


def is_drained(parts: Parts) -> bool:
    """Whether nothing is left to do, or nothing that this process can do."""
    serving = catalogue.serving(parts.engine)
    if any(found.error for found in serving.values()):
        return True
    return not (_backlog(parts) or _lagging(parts, serving, parts.store.position()))


def make_searchable(parts: Parts, wait: str, position: int, progress: Progress) -> Outcome:
    """Make what was appended up to a position searchable as far as `wait` says; what prevents it is the outcome."""
    try:
        with naming_database_errors():
            return _made_searchable(parts, wait, position, progress)
    except Exception as error:
        # All is appended by now: whatever happened here, the run has its report.
        if not is_expected(error):
            log.debug("not made searchable", exc_info=error)
        return Outcome(sentence_of(error), stopped=True)


def _made_searchable(parts: Parts, wait: str, position: int, progress: Progress) -> Outcome:
    _wait_for(parts, position, progress)
    runner.catch_up(parts.engine, parts.store, [parts.vectors])
    notes = list(left_alone(parts).values())
    waiting = _backlog(parts)
    if wait == "words" or (wait == "auto" and waiting >= AUTO_EMBED_MAX):
        if waiting:
            wait_for = "waits for its" if waiting == 1 else "wait for their"
            notes.append(f"{counted(waiting, 'passage')} {wait_for} vectors: chronofile worker --drain")
        return Outcome("; ".join(notes) or None)
    try:
        while _backlog(parts):
            if not embed(parts, progress):
                time.sleep(POLL_S)  # Another process is at it.
    except ChronofileError as error:
        if wait == "all":
            raise
        notes.append(f"vectors: {error}")
    return Outcome("; ".join(notes) or None)


def _wait_for(parts: Parts, position: int, progress: Progress) -> None:
    """Catch up until every projection has seen the position, also where another process moves it."""
    while True:
        runner.catch_up(parts.engine, parts.store, parts.projections, tick=progress.applied)
        if not _lagging(parts, catalogue.serving(parts.engine), position) - {parts.vectors.name}:
            return
        time.sleep(POLL_S)


def _lagging(parts: Parts, serving: Mapping[str, Generation], head: int) -> set[str]:
    """Return the projections that are behind a position and can be waited for."""
    behind = {p.name for p in parts.all_projections if p.name in serving and serving[p.name].position < head}
    return behind - control.left_alone(serving, parts.all_projections).keys()


def _backlog(parts: Parts) -> int:
    """Count the passages whose vectors can be waited for: none where the vectors are left alone."""
    if parts.vectors.name in left_alone(parts):
        return 0
    return catalogue.pending_vectors(parts.engine)


@contextmanager
def _lease(conninfo: str) -> Iterator[bool]:
    """Hold the right to embed, if nobody else has it; it ends with this process's connection, also by a kill."""
    import psycopg

    with psycopg.connect(conninfo, autocommit=True) as conn:
        row = conn.execute("SELECT pg_try_advisory_lock(%s)", (EMBED_LEASE,)).fetchone()
        yield bool(row and row[0])
