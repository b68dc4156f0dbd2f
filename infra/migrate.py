"""The database's own schema: numbered SQL files, applied in order, each once, each in a transaction."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Iterator
from importlib.resources import files

import psycopg

from chronofile.domain.errors import ChronofileError
from chronofile.infra.datastore import connected

MIGRATION_LOCK = 0x4348524F4E4F  # "CHRONO": one process migrates, the others wait.
POSTGRES_MIN, PGVECTOR_MIN = 150000, (0, 8)
CONTENT_KEY_BYTES = 32


class NewerDatabase(ChronofileError):
    """The database was written by a newer version of Chronofile: upgrade Chronofile to open it."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(f"(Its schema is {found}, this version knows {known}.)")
        self.found, self.known = found, known


class UnsuitableDatabase(ChronofileError):
    """The database cannot hold Chronofile's tables."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason[:1].upper()}{reason[1:]}.")
        self.reason = reason


def migrate(conninfo: str) -> int:
    """Bring the schema to this version's and return its number.

    Raises NewerDatabase, UnsuitableDatabase, DatabaseUnavailable.
    """
    known = list(_migrations())
    with connected(conninfo) as conn:
        found = _version(conn)
        if found < len(known):
            # Waiting here is also what keeps two processes from creating the extension at once, which fails.
            conn.execute("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
            found = _version(conn)
        if found > len(known):
            raise NewerDatabase(found, len(known))
        if found < len(known):
            _check_server(conn)
        for number, statements in enumerate(known[found:], start=found + 1):
            _apply(conn, number, statements)
    return len(known)


def _migrations() -> Iterator[bytes]:
    folder = files("chronofile.infra") / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", entry.name))
    for number, name in enumerate(names, start=1):
        assert int(name[:4]) == number, f"migration {number} is missing"
        yield (folder / name).read_bytes()


def _version(conn: psycopg.Connection) -> int:
    if conn.execute("SELECT to_regclass('log.schema_version')").fetchone() == (None,):
        return 0
    row = conn.execute("SELECT coalesce(max(version), 0) FROM log.schema_version").fetchone()
    return int(row[0]) if row else 0


def _apply(conn: psycopg.Connection, number: int, statements: bytes) -> None:
    with conn.transaction():
        if number == 1:
            conn.execute("CREATE SCHEMA IF NOT EXISTS log")
            conn.execute(
                "CREATE TABLE log.schema_version (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
            )
        conn.execute(statements)
        if number == 1:
            row = (uuid.uuid4().hex, secrets.token_bytes(CONTENT_KEY_BYTES))
            conn.execute("INSERT INTO log.store (id, content_key) VALUES (%s, %s)", row)
        conn.execute("INSERT INTO log.schema_version (version) VALUES (%s)", (number,))


def _check_server(conn: psycopg.Connection) -> None:
    if conn.info.server_version < POSTGRES_MIN:
        raise UnsuitableDatabase(f"PostgreSQL {conn.info.server_version // 10000} is older than 15")
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise UnsuitableDatabase(f"its encoding is {encoding}; create it with ENCODING 'UTF8'")
    try:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.errors.FeatureNotSupported as error:
        raise UnsuitableDatabase("pgvector is not installed on its server") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise UnsuitableDatabase("run CREATE EXTENSION vector in it as a superuser first") from error
    row = conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    version = tuple(int(part) for part in str(row[0]).split(".")[:2]) if row else (0, 0)
    if version < PGVECTOR_MIN:
        raise UnsuitableDatabase(f"pgvector {'.'.join(map(str, version))} is older than 0.8")


def store_key(conninfo: str) -> bytes:
    """Return the key under which this store names its contents."""
    with connected(conninfo) as conn:
        row = conn.execute("SELECT content_key FROM log.store").fetchone()
    assert row is not None, "the migration wrote it"
    return bytes(row[0])
