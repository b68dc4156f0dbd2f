"""Exclusive: one erasure at a time in a database, and where it must be, one that the log waits for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.sql import SQL

from chronofile.domain.errors import ChronofileError
from chronofile.infra.datastore import LOCK_TIMEOUT_S, Datastore, connected
from chronofile.infra.event_store import EventStore

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

ERASURE_LEASE = 0x4552415345  # "ERASE"
LEASE_TIMEOUT_S = 30.0
POLL_S = 0.05

LOCK = SQL("SET LOCAL lock_timeout = {}; LOCK TABLE log.events IN EXCLUSIVE MODE").format(
    LOCK_TIMEOUT_S * 1000
)


class ErasureGoesOn(ChronofileError):
    """Another process erases in the same database; try again when it has ended."""


@contextmanager
def alone(parts: Parts) -> Iterator[None]:
    """Be the only one who erases; it ends with this process's connection, also by a kill. Raises ErasureGoesOn."""
    deadline = time.monotonic() + LEASE_TIMEOUT_S
    with connected(parts.conninfo) as conn:
        # Whoever waits within a statement keeps the rows that the other one deletes.
        while not _is_leased(conn):
            if time.monotonic() > deadline:
                raise ErasureGoesOn
            time.sleep(POLL_S)
        yield


@contextmanager
def locked(parts: Parts) -> Iterator[Parts]:
    """Yield the parts with a log to which nobody else appends meanwhile; all that goes into it is one transaction.

    Whoever captures waits, as long as he waits for the log's lock at all: this has to be short. Raises LogBusy.
    """
    with parts.store.cursor() as cursor, cursor.connection.transaction():
        cursor.execute(LOCK)
        lent = _Lent(parts.conninfo, cursor.connection)
        yield replace(parts, store=EventStore(lent, parts.contents, clock=parts.clock, new_id=parts.new_id))


class _Lent(Datastore):
    """A datastore of one connection, which is in a transaction: what it appends is committed with that."""

    def __init__(self, conninfo: str, conn: psycopg.Connection[Any]) -> None:
        super().__init__(conninfo)
        self._conn = conn

    @contextmanager
    def get_connection(self) -> Iterator[psycopg.Connection[Any]]:
        yield self._conn


def _is_leased(conn: psycopg.Connection[tuple[Any, ...]]) -> bool:
    row = conn.execute("SELECT pg_try_advisory_lock(%s)", (ERASURE_LEASE,)).fetchone()
    return bool(row and row[0])
