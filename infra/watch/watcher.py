"""The watcher: waits for changes, captures them in flushes, and looks through everything now and then."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import structlog

from chronofile.infra.failures import sentence_of
from chronofile.infra.progress import Progress
from chronofile.infra.watch.flush import Flush, Reason
from chronofile.infra.watch.held import Held, is_passing
from chronofile.infra.watch.jobs import Job, parts
from chronofile.infra.watch.observing import Observing
from chronofile.infra.watch.roots import Roots
from chronofile.infra.watch.spool import Spool
from chronofile.ingest.agents import Kept, selections
from chronofile.ingest.capture import Captured, Request
from chronofile.ingest.selections import Selection
from chronofile.ingest.watching import RECONCILE_S, RESCAN_S, Changes, Restless, backoff_s, next_scan_s

if TYPE_CHECKING:
    from chronofile.infra.memory import Memory

TICK_S = 1.0
"""How often it is looked whether the roots and the spool are as they were."""
FINISH_S = 5.0
"""So long a flush may go on after the watch was told to stop; then it ends between two appends."""
WAITING_MAX = 200
"""How many paths of one flush are looked at again because a line waits for its end."""
TOOL = "watch"

log = structlog.get_logger(__name__)


class _ToldToStop(Exception):
    """The watch was told to stop and what it was at takes too long; the next start goes on from there."""


class Watcher:
    """Captures what changes below the paths until it is told to stop; for one thread, but for `stop`.

    Events only wake it: what they miss is found by scans, at the start, by the clock, and after whatever went
    wrong. `told` hears of each flush that came to something, `say` of all else that a person should know. `more` is
    asked now and at each scan by the clock for what agents keep, which is to be watched too.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        opened: Callable[[], Memory],
        *,
        home: Path,
        spared: Iterable[Path] = (),
        told: Callable[[Flush], None],
        say: Callable[[str], None],
        more: Callable[[], Iterable[Kept]] = tuple,
    ) -> None:
        self._told, self._say, self._more = told, say, more
        self._woken: SimpleQueue[None] = SimpleQueue()
        self._stop_asked_s: float | None = None
        self._changes, self._restless = Changes(), Restless()
        self._observing = Observing(self._changes, self._wake, [home, *spared])
        self._roots = Roots(paths, self._observing)
        self._given, self._selected = frozenset(paths), dict[Path, Selection]()
        self._take_more()
        self._held = Held(opened)
        self._spool = Spool(home)
        self._returned: dict[Path, None] = {}
        self._suspect: deque[Job] = deque()
        self._given_up: set[Path] = set()
        self._whole_reason: Reason = "start"
        self._whole_due_s, self._part_due_s, self._renewed_s = 0.0, 0.0, 0.0
        self._failures, self._not_before_s = 0, 0.0

    def run(self) -> None:
        """Watch until `stop` is called. What goes wrong is said, and tried again later."""
        try:
            while self._stop_asked_s is None:
                self._turn()
                self._wait()
        finally:
            self._observing.close()
            self._held.close()

    def stop(self) -> None:
        """End after the flush that it is at. A handler of signals may call it."""
        self._stop_asked_s = time.monotonic()
        self._wake()

    def _wake(self) -> None:
        self._woken.put(None)

    def _turn(self) -> None:
        """Do everything that is due."""
        job: Job | None = None
        try:
            self._look()
            if time.monotonic() < self._not_before_s:
                return
            while self._stop_asked_s is None and (job := self._next()) is not None:
                self._flush(job)
            self._drain()
        except _ToldToStop as stopped:
            self._say(str(stopped.__doc__))
        except BrokenPipeError:
            raise  # Whoever read what is told has gone.
        except Exception as error:
            if not self._held.was_open and not is_passing(error):
                raise
            self._failed(error, job)
        else:
            if self._failures:
                self._say("The watch captures again.")
            self._failures = 0

    def _look(self) -> None:
        news = self._roots.look()
        for sentence in news.sentences:
            self._say(sentence)
        self._returned |= dict.fromkeys(news.changed)

    def _next(self) -> Job | None:
        """Take what is due from what waits; None where nothing is."""
        now_s = time.monotonic()
        counting = self._roots.counting
        if self._suspect:
            return self._suspect.popleft()
        if self._whole_due_s <= now_s:
            self._take_more()
            self._changes.take()
            self._returned.clear()
            return Job(self._whole_reason, counting)
        if self._returned:
            returned = [path for path in self._returned if path in counting]
            self._returned.clear()
            return Job("returned", returned)
        if self._part_due_s <= now_s and (unwatched := self._roots.unwatched):
            return Job("clock", unwatched)
        if min(self._changes.due_s, self._restless.due_s) > now_s:
            return None
        taken = self._changes.take()
        if taken.everything:
            return Job("lost", counting)
        return Job("changes", counting, taken.paths | self._restless.take(now_s))

    def _take_more(self) -> None:
        kept = [place for place in self._more() if place.path not in self._given]
        self._selected = selections(kept)
        for place in kept:
            self._roots.add([place.path], sparse=place.sparse)

    def _flush(self, job: Job) -> None:
        """Capture, make it searchable, and tell; a failure leaves everything to the next scan."""
        began_s = time.monotonic()
        request = Request(job.paths, tool=TOOL, only=job.only, selected=self._selected)
        with self._held.lend() as memory:
            captured = memory.capture(request, Progress(captured=lambda path, captured: self._go_on()))
            if captured.batch is not None or job.reason == "start":
                memory.catch_up(progress=Progress(applied=lambda projection, position: self._go_on()))
        ended_s = time.monotonic()
        self._plan(job, captured, ended_s, ended_s - began_s)
        flush = Flush(job.reason, captured, ended_s - began_s)
        log.info("flushed", reason=flush.reason, batch=captured.batch, took_s=flush.took_s)
        if flush.is_news:
            self._told(flush)

    def _drain(self) -> None:
        """Capture what hooks have noted."""
        self._observing.ring_at(self._spool.folder, self._wake)
        if self._stop_asked_s is not None or not self._spool.is_due(time.monotonic()):
            return
        with self._held.lend() as memory:
            said = self._spool.drain(memory, lambda: self._stop_asked_s is not None)
        if said:
            self._say(said)

    def _plan(self, job: Job, captured: Captured, now_s: float, took_s: float) -> None:
        """Set when what is looked at next."""
        restless = {found.path for found in captured.rejected if found.reason == "changed-while-read"}
        if captured.waiting_bytes and len(job.only or ()) <= WAITING_MAX:
            restless |= job.only or frozenset()
        self._restless.looked_at(job.only or (), restless, now_s)
        if job.only is not None:
            return
        self._part_due_s = now_s + next_scan_s(took_s, RESCAN_S)
        if set(job.paths) == set(self._roots.counting):
            # After changes were lost the watches are made anew; what comes until then is found by one more scan.
            every_s = RESCAN_S if job.reason == "lost" else RECONCILE_S
            self._whole_due_s, self._whole_reason = now_s + next_scan_s(took_s, every_s), "clock"
        is_due = job.reason == "clock" and now_s >= self._renewed_s + RECONCILE_S
        if is_due and (self._observing.limit or self._is_deaf(captured)):
            self._renewed_s = now_s
            self._roots.renew()

    def _is_deaf(self, captured: Captured) -> bool:
        """Whether a scan by the clock found what no event had told: then events may no longer come."""
        found = captured.revisions or captured.removed or captured.moved
        return bool(found) and self._changes.due_s == float("inf") and self._roots.is_told_everything

    def _failed(self, error: Exception, job: Job | None) -> None:
        """Wait where the world is in the way, and then look through everything; else find out what is the matter.

        What cannot be captured is parted until the rest is, and comes up again with the next scan by the clock.
        """
        is_in_the_way = is_passing(error) or not self._held.is_open
        log.debug("flush failed", exc_info=None if is_in_the_way else error)
        if job is not None and not is_in_the_way:
            self._suspect.extend(parts(job))
            if job.only is None:
                self._whole_due_s, self._whole_reason = time.monotonic() + RECONCILE_S, "clock"
            elif not parts(job):
                self._give_up(job.only, error)
            return
        self._failures += 1
        self._not_before_s = time.monotonic() + backoff_s(self._failures)
        self._whole_due_s, self._whole_reason = 0.0, "start" if self._whole_reason == "start" else "retry"
        if self._failures == 1:
            self._say(
                f"{sentence_of(error)} The watch goes on, and captures what it missed as soon as it can."
            )

    def _give_up(self, paths: frozenset[Path], error: Exception) -> None:
        """Say once of a file that it cannot be captured."""
        for path in paths - self._given_up:
            self._say(f"{path} cannot be captured, all else is. {sentence_of(error)}")
            self._given_up.add(path)

    def _go_on(self) -> None:
        """Raise where a flush that cannot end soon has to end now."""
        asked_s = self._stop_asked_s
        if asked_s is not None and time.monotonic() > asked_s + FINISH_S:
            raise _ToldToStop

    def _wait(self) -> None:
        """Wait until something is due, until somebody wakes us, or for a tick."""
        dues_s = (self._whole_due_s, self._changes.due_s, self._restless.due_s)
        due_s = max(min(dues_s), self._not_before_s)
        with suppress(Empty):
            self._woken.get(timeout=min(TICK_S, max(0.0, due_s - time.monotonic())))
            while True:
                self._woken.get_nowait()
