"""Connections: one small pool for the log, and an engine for everything else, on the same database."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row

_LOGGERS = ("psycopg", "psycopg.pool")
_LEVELS = {name: logging.getLogger(name).level for name in _LOGGERS}
from eventsourcing.postgres import ConnectionPool, PostgresDatastore  # noqa: E402

# The library silences psycopg's own warnings when it is imported; they are wanted.
for _name, _level in _LEVELS.items():
    logging.getLogger(_name).setLevel(_level)

LOCK_TIMEOUT_S = 30
CONNECT_TIMEOUT_S = 10
POOL_MAX = 4


class Datastore(PostgresDatastore):
    """The library's datastore on any libpq connection string, which it takes only in five parts."""

    def __init__(self, conninfo: str, *, schema: str = "log") -> None:
        super().__init__(
            dbname="", host="", port="", user="", password="",
            schema=schema, originator_id_type="text", lock_timeout=LOCK_TIMEOUT_S,
        )  # fmt: skip
        self.pool = ConnectionPool(
            conninfo,
            connection_class=psycopg.Connection[Any],
            kwargs={"row_factory": dict_row, "autocommit": True},
            min_size=1,
            max_size=POOL_MAX,
            timeout=CONNECT_TIMEOUT_S,
            reconnect_timeout=0,
            check=ConnectionPool.check_connection,
            open=False,
        )


def engine_of(conninfo: str) -> sa.Engine:
    """Return an engine on a libpq connection string; its connections test themselves before use."""
    parts = conninfo_to_dict(conninfo)

    def connect() -> psycopg.Connection:
        return psycopg.connect(**{**parts, "connect_timeout": CONNECT_TIMEOUT_S})  # type: ignore[arg-type]

    return sa.create_engine(
        "postgresql+psycopg://", creator=connect, pool_pre_ping=True, pool_size=2, max_overflow=4
    )
