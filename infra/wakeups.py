"""LISTEN, with a clock behind it: a lost notification costs `every_s` seconds, never an event."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psycopg
from psycopg.sql import SQL, Identifier

RECONNECT_S = 1.0


def wakeups(
    conninfo: str, channel: str, *, every_s: float = 5.0, stopping: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Yield once when listening has begun, then at each notification and at least every `every_s` seconds.

    A connection that breaks is opened again; the wake-up after that finds whatever was appended meanwhile.
    """
    while not stopping():
        try:
            with psycopg.connect(conninfo, autocommit=True) as conn:
                conn.execute(SQL("LISTEN {}").format(Identifier(channel)))
                yield
                while not stopping():
                    _wait(conn, every_s, stopping)
                    yield
        except psycopg.OperationalError:
            time.sleep(RECONNECT_S)


def _wait(conn: psycopg.Connection, every_s: float, stopping: Callable[[], bool]) -> None:
    until = time.monotonic() + every_s
    while (left := until - time.monotonic()) > 0 and not stopping():
        if list(conn.notifies(timeout=min(left, 0.25), stop_after=1)):
            return
