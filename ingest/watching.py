"""Watching: which paths have changed and when they are captured, from what events say and what the clock says.

Times are seconds of a clock that only goes forward.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

QUIET_S = 0.4
"""So long nothing must have changed before a capture: an editor's save is several events."""
LONGEST_S = 1.2
"""So long at most a change waits for others, however much goes on changing."""
PATHS_MAX = 20_000
"""Beyond so many changed paths a scan of everything costs no more than a look at each."""
RECONCILE_S = 60.0
"""How often everything is looked through although no event said so."""
RESCAN_S = 5.0
"""How often a folder is looked through that the system will not watch for us."""
SCAN_SHARE = 10
"""Scans by the clock take one part of so many of the time at most."""
RETRIES_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""When a file that did not rest is looked at again; after that the clock's scans come to it."""
BACKOFFS_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""How long to wait after the first, second ... failure in a row; the last holds for all further ones."""


def next_scan_s(took_s: float, every_s: float = RECONCILE_S) -> float:
    """Return how long to wait after a scan that took so long."""
    return max(every_s, took_s * (SCAN_SHARE - 1))


def backoff_s(failures: int) -> float:
    """Return how long to wait after so many failures in a row, one at least."""
    return BACKOFFS_S[min(failures, len(BACKOFFS_S)) - 1]


@dataclass(frozen=True, slots=True)
class Taken:
    """What is to be captured now: single paths, or everything where it was too much to remember."""

    paths: frozenset[Path] = frozenset()
    everything: bool = False


@dataclass(slots=True)
class Changes:
    """The changed paths that wait to be captured together; events may come from any thread.

    It remembers `paths_max` of them. Beyond that it forgets them all, and everything is to be looked through.
    """

    paths_max: int = PATHS_MAX
    _paths: set[str] = field(default_factory=set)
    _overflown: bool = False
    _first_s: float = 0.0
    _last_s: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def add(self, paths: Collection[str], now_s: float) -> bool:
        """Note changed paths, and tell whether they are the first since some were taken."""
        with self._lock:
            first = not self._waits
            if first:
                self._first_s = now_s
            self._last_s = now_s
            if not self._overflown:
                self._paths.update(paths)
                if len(self._paths) > self.paths_max:
                    self._overflow()
            return first

    def lost(self, now_s: float) -> None:
        """Note that there were changes of which nothing is known."""
        with self._lock:
            if not self._waits:
                self._first_s = self._last_s = now_s
            self._overflow()

    @property
    def due_s(self) -> float:
        """When the changes are to be taken: once it is quiet, and before the first has waited for too long."""
        with self._lock:
            if not self._waits:
                return float("inf")
            return min(self._last_s + QUIET_S, self._first_s + LONGEST_S)

    def take(self) -> Taken:
        """Hand over what waits, and begin anew."""
        with self._lock:
            taken = Taken(frozenset(map(Path, self._paths)), self._overflown)
            self._paths, self._overflown = set(), False
            return taken

    @property
    def _waits(self) -> bool:
        return self._overflown or bool(self._paths)

    def _overflow(self) -> None:
        self._overflown = True
        self._paths = set()


@dataclass(slots=True)
class Restless:
    """Files that changed while they were read, or whose last line was not complete: when to look at them again."""

    _tries: dict[Path, int] = field(default_factory=dict)
    _due_s: dict[Path, float] = field(default_factory=dict)

    def looked_at(self, paths: Collection[Path], restless: Collection[Path], now_s: float) -> None:
        """Note what a look at the paths came to. One that never rests is left to the clock in the end."""
        for path in set(paths).difference(restless):
            self._tries.pop(path, None)
            self._due_s.pop(path, None)
        for path in restless:
            tries = self._tries.get(path, 0)
            if tries < len(RETRIES_S):
                self._tries[path] = tries + 1
                self._due_s[path] = now_s + RETRIES_S[tries]
            else:
                self._tries.pop(path)
        # What is left to the clock is not remembered, so neither is more than what was changing lately.

    @property
    def due_s(self) -> float:
        return min(self._due_s.values(), default=float("inf"))

    def take(self, now_s: float) -> frozenset[Path]:
        """Hand over the paths whose time has come."""
        due = frozenset(path for path, due_s in self._due_s.items() if due_s <= now_s)
        for path in due:
            del self._due_s[path]
        return due
