"""The database's own schema: brought up to date once, by whoever comes first, or refused with a sentence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString

import psycopg
import pytest
from eventsourcing.postgres import PostgresApplicationRecorder
from psycopg.sql import SQL, Identifier

from chronofile.domain.errors import DatabaseUnavailable
from chronofile.infra.datastore import Datastore
from chronofile.infra.migrate import NewerDatabase, UnsuitableDatabase, migrate, store_key
from tests.servers import Server

C_LOCALE = "LOCALE_PROVIDER libc LOCALE 'C'"

COLUMNS = """
    SELECT table_name, column_name, ordinal_position, data_type, is_nullable, column_default
    FROM information_schema.columns WHERE table_schema = 'log' AND table_name = ANY(%s) ORDER BY 1, 3
"""
INDEXES = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'log' AND tablename = ANY(%s) ORDER BY 2"
OPTIONS = """
    SELECT relname, reloptions, relpersistence FROM pg_class
    WHERE relnamespace = 'log'::regnamespace AND relname = ANY(%s) ORDER BY 1
"""
TYPE = """
    SELECT attname, atttypid::regtype::text FROM pg_attribute
    WHERE attrelid = 'log.stored_event_text'::regclass AND %s::text[] IS NOT NULL ORDER BY attnum
"""
TABLES = ["events", "ledger"]


@pytest.fixture
def empty(any_postgres: Server) -> Iterator[str]:
    """A database that was never migrated, on each kind of server in turn."""
    with any_postgres.database("template1") as conninfo:
        yield conninfo


def rows(conninfo: str, query: LiteralString, *arguments: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        cursor = conn.execute(query, arguments or None)
        return cursor.fetchall() if cursor.description else []


def shape(conninfo: str) -> list[list[tuple[Any, ...]]]:
    """Return everything about the event tables that a recorder may rely on."""
    return [rows(conninfo, query, TABLES) for query in (COLUMNS, INDEXES, OPTIONS, TYPE)]


def create_tables(conninfo: str) -> None:
    """Let the library create what its own recorder wants."""
    with Datastore(conninfo) as datastore:
        for table in TABLES:
            PostgresApplicationRecorder(datastore, events_table_name=table).create_table()


def test_the_event_tables_are_those_that_the_library_creates(empty: str, any_postgres: Server) -> None:
    rows(empty, "CREATE SCHEMA log")
    create_tables(empty)

    with any_postgres.database() as migrated:
        before = shape(migrated)
        create_tables(migrated)

        assert before == shape(empty)
        assert before == shape(migrated)


def test_migrating_twice_is_migrating_once(empty: str) -> None:
    number = migrate(empty)
    versions, key = rows(empty, "SELECT * FROM log.schema_version ORDER BY 1"), store_key(empty)

    assert migrate(empty) == number == len(versions)
    assert rows(empty, "SELECT * FROM log.schema_version ORDER BY 1") == versions
    assert store_key(empty) == key
    assert len(key) == 32


@pytest.mark.timeout(60)
def test_processes_that_migrate_at_once_migrate_once(empty: str) -> None:
    together = threading.Barrier(4, timeout=20)

    def migrated(_: int) -> int:
        together.wait()
        return migrate(empty)

    with ThreadPoolExecutor(4) as threads:
        numbers = list(threads.map(migrated, range(4)))

    assert numbers == [numbers[0]] * 4
    assert rows(empty, "SELECT count(*) FROM log.store") == [(1,)]


def test_each_store_has_a_key_of_its_own(embedded_postgres: Server) -> None:
    keys = []
    for _ in range(2):
        with embedded_postgres.database("template1") as conninfo:
            migrate(conninfo)
            keys.append(store_key(conninfo))

    assert keys[0] != keys[1]


def test_a_database_of_a_newer_version_is_refused_and_left_as_it_is(conninfo: str) -> None:
    rows(conninfo, "INSERT INTO log.schema_version (version) VALUES (99)")

    with pytest.raises(NewerDatabase, match="upgrade Chronofile") as refused:
        migrate(conninfo)

    assert refused.value.found == 99
    assert str(refused.value.known) in str(refused.value)
    assert rows(conninfo, "SELECT count(*) FROM log.schema_version WHERE version > 90") == [(1,)]


def test_a_migration_that_fails_leaves_nothing_behind(empty: str) -> None:
    rows(empty, "CREATE SCHEMA log; CREATE TABLE log.content (somebody text)")

    with pytest.raises(psycopg.errors.DuplicateTable):
        migrate(empty)
    assert rows(empty, "SELECT tablename FROM pg_tables WHERE schemaname = 'log'") == [("content",)]

    rows(empty, "DROP TABLE log.content")
    assert migrate(empty) > 0


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_in_another_encoding_is_refused(any_postgres: Server, encoding: str) -> None:
    with any_postgres.database("template0", f"ENCODING '{encoding}' {C_LOCALE}") as conninfo:
        with pytest.raises(UnsuitableDatabase, match=f"Its encoding is {encoding}; create it with"):
            migrate(conninfo)
        assert rows(conninfo, "SELECT 1 FROM pg_namespace WHERE nspname = 'log'") == []


def test_a_role_that_may_not_create_the_extension_is_told_who_may(embedded_postgres: Server) -> None:
    with (
        embedded_postgres.database("template0") as conninfo,
        pytest.raises(UnsuitableDatabase, match="Run CREATE EXTENSION vector in it as a superuser first"),
    ):
        migrate(conninfo)


def test_a_server_without_pgvector_is_refused(external_postgres: Server) -> None:
    with external_postgres.database("template0") as conninfo:
        _require_superuser(conninfo)
        # The server then finds no extension at all, as if none had been installed.
        _execute_for_database(
            conninfo, "ALTER DATABASE {} SET extension_control_path = '/nonexistent'", since=180000
        )

        with pytest.raises(UnsuitableDatabase, match="Pgvector is not installed on its server"):
            migrate(conninfo)


def test_a_pgvector_that_is_too_old_is_refused(external_postgres: Server) -> None:
    with external_postgres.database("template0") as conninfo:
        _require_superuser(conninfo)
        rows(conninfo, "CREATE EXTENSION vector")
        rows(conninfo, "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")

        with pytest.raises(UnsuitableDatabase, match=r"Pgvector 0.7 is older than 0.8"):
            migrate(conninfo)


def test_a_database_that_does_not_answer_is_named() -> None:
    with pytest.raises(DatabaseUnavailable, match="refused"):
        migrate("host=127.0.0.1 port=1 user=nobody dbname=nothing")


def _require_superuser(conninfo: str) -> None:
    if rows(conninfo, "SHOW is_superuser") != [("on",)]:
        pytest.skip("only a superuser can stage this")


def _execute_for_database(conninfo: str, statement: LiteralString, *, since: int) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        if conn.info.server_version < since:
            pytest.skip("this server cannot stage it")
        name = Identifier(conn.info.dbname)
        conn.execute(SQL(statement).format(name))
