"""Connections: one small pool for the log, and an engine for everything else, on the same database."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import PoolTimeout

from chronofile.infra.database_errors import DiskFull, named

__all__ = ["Datastore", "DiskFull", "PostgresApplicationRecorder", "connected", "engine_of"]

_LOGGERS = ("psycopg", "psycopg.pool")
_LEVELS = {name: logging.getLogger(name).level for name in _LOGGERS}
from eventsourcing.postgres import (  # noqa: E402
    ConnectionPool,
    PostgresApplicationRecorder,
    PostgresDatastore,
)

# The library silences psycopg's own warnings when it is imported; they are wanted. So nobody else imports it.
for _name, _level in _LEVELS.items():
    logging.getLogger(_name).setLevel(_level)

LOCK_TIMEOUT_S = 30
CONNECT_TIMEOUT_S = 10
PATIENCE_S = 0.5
POOL_MAX = 4

# Whatever the environment or the database's own settings say: texts are UTF-8, and a statement sees what
# was committed before it began, which is what checking versions under the lock rests on.
_SESSION: dict[str, Any] = {"client_encoding": "utf8", "connect_timeout": CONNECT_TIMEOUT_S}


class Datastore(PostgresDatastore):
    """The library's datastore on any libpq connection string, which it takes only in five parts.

    It connects when it is first used. Errors that a caller can do something about are Chronofile's own;
    all others are psycopg's.
    """

    def __init__(self, conninfo: str, *, schema: str = "log", lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        super().__init__(
            dbname="", host="", port="", user="", password="",
            schema=schema, originator_id_type="text", lock_timeout=LOCK_TIMEOUT_S,
        )  # fmt: skip
        self.conninfo, self.lock_timeout_s = conninfo, lock_timeout_s
        self.pool = ConnectionPool(
            conninfo,
            connection_class=psycopg.Connection[Any],
            kwargs={"row_factory": dict_row, "autocommit": True, **_SESSION},
            min_size=1,
            max_size=POOL_MAX,
            timeout=CONNECT_TIMEOUT_S,
            reconnect_timeout=0,
            configure=_read_committed,
            check=ConnectionPool.check_connection,
            open=False,
        )

    def register_type_adapters(self) -> None:
        """Do nothing: the library's composite type goes unused, and looking it up would need a connection."""

    @contextmanager
    def get_connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection. Raises DatabaseUnavailable, LogBusy after a lock timeout, DiskFull."""
        self.pool.open()
        try:
            conn = self._lent()
            try:
                with conn:
                    yield conn
            finally:
                self.pool.putconn(conn)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if (found := named(error)) is None:
                raise
            raise found from error

    def _lent(self) -> psycopg.Connection[Any]:
        """Wait for a connection only as long as the server answers: the pool itself would not say why it waits."""
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        while True:
            try:
                return self.pool.getconn(timeout=PATIENCE_S)
            except PoolTimeout:
                connected(self.conninfo).close()
                if time.monotonic() > deadline:
                    raise


def connected(conninfo: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection of one's own, each statement a transaction; raises DatabaseUnavailable with the reason."""
    try:
        return psycopg.connect(conninfo, autocommit=True, **_SESSION)
    except psycopg.OperationalError as error:
        raise named(error) or error from error


def engine_of(conninfo: str) -> sa.Engine:
    """Return an engine on a libpq connection string; its connections test themselves before use."""
    parts = {**conninfo_to_dict(conninfo), **_SESSION}

    def connect() -> psycopg.Connection:
        return psycopg.connect(**parts)

    return sa.create_engine(
        "postgresql+psycopg://", creator=connect, pool_pre_ping=True, pool_size=2, max_overflow=4
    )


def _read_committed(conn: psycopg.Connection[Any]) -> None:
    conn.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
