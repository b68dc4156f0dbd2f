"""Reclaiming: the room that deleted rows took is given back, so that no file of the database holds them any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL

from chronofile.infra.datastore import connected
from chronofile.infra.embedded.cluster import SUPERUSER
from chronofile.infra.erasing.tables import CACHE, CONTENT, FILES, Table, tables
from chronofile.projections import control

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

LOCK_TIMEOUT_MS = 30_000
READERS_TIMEOUT_S = 30.0
POLL_S = 0.05

EXTERNAL = (
    "The server's write-ahead log, its archives and its replicas hold what was deleted until they are recycled.",
    "Backups that were made before hold it too.",
)


@dataclass(slots=True)
class Reclaimed:
    """How many bytes the database became smaller by, and what could not be done, each as a sentence.

    `left` are those of them that a later try can make up for.
    """

    bytes: int = 0
    left: list[str] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)


def reclaim(parts: Parts, tick: Callable[[str], None] = lambda table: None) -> Reclaimed:
    """Write every table that held texts anew, and let the server forget its write-ahead log.

    VACUUM FULL, since a plain VACUUM leaves the bytes of deleted rows in their pages.
    """
    found = Reclaimed()
    with connected(parts.conninfo) as conn:
        conn.execute(SQL("SET lock_timeout = {}").format(LOCK_TIMEOUT_MS))
        before = _size(conn)
        if not _readers_gone(conn):
            found.left.append("A transaction that began before the erasure goes on and keeps deleted rows.")
        for table in _written(parts, conn):
            tick(f"{table.schema}.{table.name}")
            try:
                conn.execute(SQL("VACUUM (FULL, ANALYZE) {}").format(table.identifier))
            except psycopg.errors.LockNotAvailable:
                found.left.append(f"{table.schema}.{table.name} is in use and was not written anew.")
            except psycopg.errors.DiskFull:
                found.left.append(f"The disk has no room to write {table.schema}.{table.name} anew.")
            except psycopg.errors.UndefinedTable:
                continue  # Its generation was dropped.
        _forget_log(parts, found)
        found.bytes = max(0, before - _size(conn))
    return found


def _forget_log(parts: Parts, found: Reclaimed) -> None:
    """Begin a new segment of the write-ahead log, and let a checkpoint delete those before it."""
    if parts.data_folder is None:
        found.impossible += EXTERNAL
    conninfo = parts.conninfo
    if parts.data_folder is not None:
        # The embedded server lets its own account in as this one too.
        conninfo = make_conninfo(conninfo, user=SUPERUSER)
    try:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            for statement in _FORGETTING:
                conn.execute(statement)
    except psycopg.errors.InsufficientPrivilege:
        found.impossible.append(
            "This role may not CHECKPOINT or switch the write-ahead log: ask the server's owner to."
        )
    except psycopg.OperationalError:
        found.left.append("The server did not begin a new write-ahead log.")


_FORGETTING: tuple[LiteralString, ...] = ("SELECT pg_switch_wal()", "CHECKPOINT")


def _written(parts: Parts, conn: psycopg.Connection[Any]) -> Iterator[Table]:
    """Yield the tables that hold, or held, texts and what is derived from them."""
    with parts.engine.connect() as engine_conn:
        schemas = {generation.schema for generation in control.read_all(engine_conn)}
    for table in tables(conn):
        if table.schema in schemas or f"{table.schema}.{table.name}" in (CONTENT, FILES, CACHE):
            yield table


def _readers_gone(conn: psycopg.Connection[Any]) -> bool:
    """Wait until no transaction is left that may still see what was deleted, and tell whether none is."""
    (row,) = conn.execute("SELECT pg_current_xact_id()::xid::text")
    deadline = time.monotonic() + READERS_TIMEOUT_S
    while True:
        (older,) = conn.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend' AND age(backend_xmin) > age(%s::text::xid)",
            (row[0],),
        )
        if not older[0]:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)


def _size(conn: psycopg.Connection[Any]) -> int:
    (row,) = conn.execute("SELECT pg_database_size(current_database())")
    return int(row[0])
