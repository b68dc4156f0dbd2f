"""Calls: how many of them are in progress, and how long none has been."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition


class Calls:
    """The calls of this process, as the threads in the background heed them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = Condition()
        self._count = 0
        self._ended = clock()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one as long as it runs."""
        with self._changed:
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._ended = self._clock()
                self._changed.notify_all()

    @property
    def idle_s(self) -> float:
        """Seconds since the last call ended, 0 while one is in progress."""
        with self._changed:
            return 0.0 if self._count else self._clock() - self._ended

    def wait_until_none(self, timeout_s: float) -> None:
        """Return when no call is in progress, or after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count, timeout_s)
