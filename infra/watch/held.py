"""The memory of a watch: opened when it is first needed, and opened anew after its database went away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from chronofile.domain.errors import DatabaseUnavailable, LogBusy, WrongExpectedVersion
from chronofile.infra.calls import Calls
from chronofile.infra.database_errors import DiskFull, named
from chronofile.infra.embedded.errors import StartLockBusy, StartTimedOut
from chronofile.infra.following import AT_ONCE_S, Follower

if TYPE_CHECKING:
    from chronofile.infra.memory import Memory

FOLLOWER_STOP_S = 2.0
PASSING = (
    DatabaseUnavailable,
    LogBusy,
    DiskFull,
    WrongExpectedVersion,
    StartLockBusy,
    StartTimedOut,
    OSError,
)
"""What goes away by itself, or by somebody who makes room; the same may work later."""


def is_passing(error: BaseException) -> bool:
    """Tell whether the world is in the way, and not what was to be captured."""
    return isinstance(named(error) or error, PASSING)


class Held:
    """Holds the memory, and with it the threads that follow the log and embed; for one thread."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened = opened
        self._calls = Calls()
        self.was_open = False
        self._memory: Memory | None = None
        self._follower: Follower | None = None

    @property
    def is_open(self) -> bool:
        return self._memory is not None

    @contextmanager
    def lend(self) -> Iterator[Memory]:
        """Lend the memory; one whose database went away is let go of. Raises what opening it raises."""
        memory = self._open()
        try:
            with self._calls.one():
                yield memory
        except Exception as error:
            if isinstance(error, DatabaseUnavailable) or isinstance(named(error), DatabaseUnavailable):
                self.close()
            raise

    def close(self) -> None:
        """Let the memory go, the database with it if nobody else uses it. Closing again does nothing."""
        follower, self._follower = self._follower, None
        memory, self._memory = self._memory, None
        if follower is not None:
            follower.stop(FOLLOWER_STOP_S)
        if memory is not None:
            memory.close()

    def _open(self) -> Memory:
        if self._memory is None:
            self._memory = self._opened()
            self.was_open = True
            self._follower = Follower(self._memory, self._calls, idle_s=AT_ONCE_S, draining=False)
            self._follower.start()
        return self._memory
