"""Lending: the memory is opened in the background, lent to calls as soon as it is open, and let go at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING

from chronofile.domain.errors import ChronofileError, DatabaseUnavailable
from chronofile.infra.calls import Calls

if TYPE_CHECKING:
    from chronofile.infra.following import Follower
    from chronofile.infra.memory import Memory

OPEN_WAIT_S = 45.0
"""Clients give up after a minute; creating a home takes seconds, recovering one after a crash may take longer."""
FOLLOWER_STOP_S = 0.5
OPENING_STOP_S = 10.0


class StillOpening(ChronofileError):
    """The memory is still being opened, as after a crash or at its very first start; ask again in a moment."""


class Leaving(ChronofileError):
    """This server is about to end."""


class Lender:
    """Holds the memory of this process; any thread may borrow it."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self.calls = Calls()
        self._opened = opened
        self._guard, self._closing = Lock(), Lock()
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="open")
        self._coming: Future[Memory] | None = None
        self._follower: Follower | None = None
        self._closed = False

    def begin(self) -> Future[Memory]:
        """Open the memory in the background, unless it is open or on its way; what failed is tried again."""
        with self._guard:
            if self._closed:
                raise Leaving
            if self._coming is None or _failed(self._coming):
                self._coming = self._opener.submit(self._open)
            return self._coming

    @contextmanager
    def lend(self) -> Iterator[Memory]:
        """Lend the memory to a call, which waits until it is open.

        Raises what opening it raised, StillOpening after a while, Leaving at the end. A memory whose database
        went away is given up, and the next call opens it anew.
        """
        with self.calls.one():
            coming = self.begin()
            try:
                memory = coming.result(OPEN_WAIT_S)
            except TimeoutError:
                if coming.done():
                    raise
                raise StillOpening from None
            try:
                yield memory
            except Exception as error:
                if is_gone(error):
                    self._give_up(coming)
                raise

    def close(self) -> None:
        """Let the memory go, the database with it if nobody else uses it. A second caller waits for the first."""
        with self._closing:
            with self._guard:
                self._closed = True
                coming, self._coming = self._coming, None
            if coming is not None:
                self._let_go(coming)

    def _open(self) -> Memory:
        memory = self._opened()
        from chronofile.infra.following import Follower

        with self._guard:
            if not self._closed:
                self._follower = Follower(memory, self.calls)
                self._follower.start()
                return memory
        memory.close()
        raise Leaving

    def _give_up(self, coming: Future[Memory]) -> None:
        with self._guard:
            if self._coming is not coming:
                return
            self._coming = None
        self._let_go(coming)

    def _let_go(self, coming: Future[Memory]) -> None:
        if self._follower is not None:
            self._follower.stop(FOLLOWER_STOP_S)
            self._follower = None
        with suppress(TimeoutError):  # What opens too late lets go by itself.
            if coming.exception(OPENING_STOP_S) is None:
                coming.result().close()


def is_gone(error: Exception) -> bool:
    """Whether the database went away under a call, in its own words or in those of the libraries."""
    from chronofile.infra.database_errors import named

    return isinstance(error, DatabaseUnavailable) or isinstance(named(error), DatabaseUnavailable)


def is_of_the_database(error: Exception) -> bool:
    """Whether the database refused a statement: a mistake of ours, or a disk that is full."""
    import psycopg

    return isinstance(getattr(error, "orig", error), psycopg.Error)


def _failed(coming: Future[Memory]) -> bool:
    return coming.done() and coming.exception() is not None
