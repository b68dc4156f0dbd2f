"""Following: while nobody asks, the projections are brought to the log's head and the backlog of vectors is embedded."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING

import structlog

from chronofile.domain.errors import ChronofileError
from chronofile.infra.failures import sentence_of
from chronofile.infra.progress import Progress

if TYPE_CHECKING:
    from chronofile.infra.calls import Calls
    from chronofile.infra.memory import Memory

IDLE_S = 5.0
"""So long nobody must have called before the backlog is embedded: an agent asks several times in a row."""
AT_ONCE_S = 0.0
"""For a process that nobody waits for: calls do not hold up embedding, which is at low priority anyway."""
SLICE_S = 0.2
"""So long projections are brought forward at a time; between two slices a call goes first."""
GIVE_WAY_S = 1.0
RETRY_S = 5.0
LOOK_AGAIN_S = 30.0
"""How often to look whether the process that was embedding has left something."""
NICENESS = 10

log = structlog.get_logger(__name__)


class Follower:
    """Two threads on a memory: one follows the log, the other embeds. Neither holds up a call.

    The second begins when nobody has called for `idle_s` seconds. It captures what hooks noted, unless somebody
    else in the process does: then it is not `draining`.
    """

    def __init__(
        self, memory: Memory, calls: Calls, *, idle_s: float = IDLE_S, draining: bool = True
    ) -> None:
        self._memory, self._calls, self._idle_s, self._draining = memory, calls, idle_s, draining
        self._stopped, self._fresh = Event(), Event()
        self._last_complaint = ""
        self._threads = [
            Thread(target=self._for_ever, args=(loop,), name=name, daemon=True)
            for name, loop in (("follow", self._follow), ("embed", self._embed))
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_s: float) -> None:
        """Let both end after what they are at; wait for so long at most."""
        self._stopped.set()
        self._fresh.set()
        for thread in self._threads:
            thread.join(timeout_s / len(self._threads))

    def _for_ever(self, loop: Callable[[], None]) -> None:
        while not self._stopped.is_set():
            try:
                loop()
            except Exception as error:  # noqa: BLE001  # The outermost loop: nobody else would tell.
                self._complain(f"{type(error).__name__}: {sentence_of(error)}")
                self._stopped.wait(RETRY_S)

    def _follow(self) -> None:
        for _ in self._memory.wakeups(self._stopped.is_set):
            if self._catch_up():
                self._fresh.set()

    def _catch_up(self) -> bool:
        """Bring the projections to the head of the log, and tell whether there was anything to do."""
        moved = False
        while not self._stopped.is_set() and self._one_slice():
            moved = True
        return moved

    def _one_slice(self) -> bool:
        pages = 0

        def tick(_projection: str, _position: int) -> None:
            nonlocal pages
            pages += 1

        self._calls.wait_until_none(GIVE_WAY_S)
        if kept := self._memory.catch_up(SLICE_S, Progress(applied=tick)):
            self._complain("; ".join(kept))
        return pages > 0

    def _embed(self) -> None:
        _lower_priority()
        self._fresh.set()
        while not self._stopped.is_set():
            self._fresh.wait(LOOK_AGAIN_S)
            self._fresh.clear()
            while (rest_s := self._idle_s - self._calls.idle_s) > 0 and not self._stopped.wait(rest_s):
                pass
            if not self._stopped.is_set():
                if self._draining:
                    self._drain()
                self._memory.embed(stopping=self._is_disturbed)
            if self._is_disturbed():
                self._fresh.set()

    def _drain(self) -> None:
        """Capture what agents' hooks noted; what prevents it does not keep the backlog from being embedded."""
        try:
            self._memory.drain(stopping=self._is_disturbed)
        except (ChronofileError, OSError) as error:
            self._complain(f"hooks: {sentence_of(error)}")

    def _is_disturbed(self) -> bool:
        return self._stopped.is_set() or self._calls.idle_s < self._idle_s

    def _complain(self, complaint: str) -> None:
        """Log what is wrong, once: what fails every few seconds would fill the log."""
        if complaint != self._last_complaint:
            self._last_complaint = complaint
            log.warning("not followed", error=complaint)


def _lower_priority() -> None:
    """Let everything else on the machine go first; on Linux this is for one thread and those that it starts."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
