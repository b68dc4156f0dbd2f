"""Connections: what happens when the database goes away, comes back, or has no room left."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import make_conninfo
from sqlalchemy.exc import OperationalError

from chronofile.domain.envelope import Addition
from chronofile.domain.errors import DatabaseUnavailable, LogBusy
from chronofile.infra.datastore import POOL_MAX, Datastore, DiskFull, connected, engine_of
from chronofile.infra.event_store import EventStore
from tests.builders import finished, many, started
from tests.infra.test_event_store import opened
from tests.servers import Server, postmaster

NOWHERE = "host=127.0.0.1 port=1 user=nobody dbname=nothing"


def test_importing_the_library_does_not_silence_psycopg() -> None:
    program = (
        "import logging; logging.getLogger('psycopg').setLevel(logging.INFO);"
        "import chronofile.infra.event_store;"
        "print([logging.getLogger(name).level for name in ('psycopg', 'psycopg.pool')])"
    )

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert printed.stdout.strip() == str([logging.INFO, logging.NOTSET])


def test_a_datastore_connects_only_when_it_is_used() -> None:
    with opened(NOWHERE) as store:
        assert store.channel == "events"


def test_a_database_that_does_not_answer_is_named_at_once_and_with_the_reason() -> None:
    begun = time.monotonic()

    with opened(NOWHERE) as store:
        with pytest.raises(DatabaseUnavailable, match=r"does not answer.*connection.*refused"):
            store.append([Addition("batch-b", 0, [started()])])
        with pytest.raises(DatabaseUnavailable):
            store.position()
    with pytest.raises(DatabaseUnavailable, match="refused"):
        connected(NOWHERE)

    assert time.monotonic() - begun < 8


def test_a_wrong_password_is_the_reason_that_is_given(external_postgres: Server) -> None:
    wrong = make_conninfo(external_postgres.conninfo, password="wrong")

    with opened(wrong) as store, pytest.raises(DatabaseUnavailable, match="password"):
        store.position()


def test_a_pool_whose_connections_are_all_at_work_is_busy_and_not_gone(
    conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronofile.infra.datastore.CONNECT_TIMEOUT_S", 1)

    with Datastore(conninfo) as datastore:
        lent = [datastore.get_connection() for _ in range(POOL_MAX)]
        for one in lent:
            one.__enter__()
        with pytest.raises(LogBusy), datastore.get_connection():
            pass
        for one in lent:
            one.__exit__(None, None, None)
        with datastore.get_connection() as conn:
            assert conn.execute("SELECT 1 AS one").fetchone() == {"one": 1}


def test_a_database_goes_away_and_comes_back_under_a_live_store_and_engine(any_postgres: Server) -> None:
    if any_postgres.stop is None or any_postgres.start is None:
        pytest.skip("the server is not ours to stop")
    with any_postgres.database() as conninfo, opened(conninfo) as store:
        engine = engine_of(conninfo)
        assert store.append([Addition("batch-b", 0, [started()])]) == [1]
        assert _one(engine) == 1

        any_postgres.stop()
        try:
            with pytest.raises(DatabaseUnavailable):
                store.append([Addition("batch-b", 1, [finished()])])
            with pytest.raises(OperationalError):
                _one(engine)
        finally:
            any_postgres.start()

        assert store.append([Addition("batch-b", 1, [finished()])])
        assert _one(engine) == 1
        assert [recorded.event for recorded in store.read("batch-b")] == [started(), finished()]
        engine.dispose()


def test_a_connection_that_breaks_in_an_append_is_named_and_nothing_is_written(any_conninfo: str) -> None:
    def cut(cursor: psycopg.Cursor[dict[str, object]]) -> None:
        with psycopg.connect(any_conninfo, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (cursor.connection.info.backend_pid,))

    with opened(any_conninfo) as store:
        with pytest.raises(DatabaseUnavailable, match="terminat"):
            store.append([Addition("batch-b", 0, [started()])], alongside=cut)

        assert store.position() == 0
        assert store.append([Addition("batch-b", 0, [started()])])


def test_a_full_disk_is_named_and_nothing_is_written(conninfo: str) -> None:
    refuse = """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON log.events EXECUTE FUNCTION refuse()
    """
    with psycopg.connect(conninfo) as conn:
        conn.execute(refuse)

    with opened(conninfo) as store:
        with pytest.raises(DiskFull, match="make room"):
            store.append([Addition("batch-b", 0, [started()])])
        assert store.position() == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_disk_that_really_is_full_takes_appends_again_when_there_is_room(tmp_path: Path) -> None:
    with postmaster() as server, _small_disk(server.folder / "small", server.account.uid) as disk:
        owner = Server(server.conninfo)
        owner.prepare()
        with psycopg.connect(owner.conninfo, autocommit=True) as conn:
            conn.execute(f"CREATE TABLESPACE small LOCATION '{disk}'".encode())
        with owner.database() as conninfo, opened(conninfo) as store:
            with psycopg.connect(conninfo) as conn:
                conn.execute("ALTER TABLE log.events SET TABLESPACE small")
            filler = disk / "filler"
            filler.write_bytes(bytes(3 << 20))
            with pytest.raises(DiskFull, match="No space left"):
                _fill(store)
            whole = len(store.after(0, 1_000_000))

            filler.unlink()
            assert whole % 2_000 == 0
            assert len(store.append([Addition("batch-after", 0, many(2_000))])) == 2_000
        with suppress(psycopg.Error), psycopg.connect(owner.conninfo, autocommit=True) as conn:
            conn.execute("DROP TABLESPACE small")


def test_an_engine_reads_texts_as_utf_8_whatever_the_environment_says(
    conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    engine = engine_of(conninfo)

    with engine.connect() as conn:
        assert conn.exec_driver_sql("SELECT 'Grüezi, 世界'").scalar() == "Grüezi, 世界"
        assert conn.exec_driver_sql("SHOW client_encoding").scalar() == "UTF8"
    engine.dispose()


def _fill(store: EventStore) -> None:
    for number in range(100):
        store.append([Addition(f"batch-{number}", 0, many(2_000))])


def _one(engine: sa.Engine) -> int:
    with engine.connect() as conn:
        return int(conn.execute(sa.text("SELECT 1")).scalar_one())


@contextmanager
def _small_disk(folder: Path, uid: int) -> Iterator[Path]:
    """Yield a folder that holds 4 MB, for the server's account."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size=4m,uid={uid},mode=0700", "tmpfs", str(folder)], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
