"""A capture while the database goes away: what it decided is in the log once, or it says what happened."""

from __future__ import annotations

import socket
import uuid
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from chronofile.domain.envelope import Addition
from chronofile.domain.errors import DatabaseUnavailable
from chronofile.domain.events import BatchStarted
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore
from chronofile.infra.event_store import EventStore
from chronofile.ingest.appending import PAUSES_S, Appending
from chronofile.ingest.capture import Capture, Captured, Request
from tests.builders import OBSERVED_AT, repository, turn_line, write
from tests.infra.proxy import proxy_before
from tests.world import World

STARTED = [Addition("batch-b", 0, [BatchStarted("ingest", OBSERVED_AT)])]


def new_id() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def let_in(conninfo: str, allowed: str) -> None:
    """Open or close the database to new connections, and end those there are when it is closed."""
    name = str(conninfo_to_dict(conninfo)["dbname"])
    with psycopg.connect(make_conninfo(conninfo, dbname="postgres"), autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}".encode())
        if allowed == "false":
            conn.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


def test_an_append_is_tried_again_until_the_database_is_back(conninfo: str, store: EventStore) -> None:
    pauses: list[float] = []

    def pause(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 2:
            let_in(conninfo, "true")

    assert store.position() == 0
    let_in(conninfo, "false")

    Appending(store, new_id, pause).append(STARTED)

    assert store.position() == 1
    assert pauses == list(PAUSES_S[:2])


def test_it_gives_up_after_some_seconds(contents: ContentStore, unused_port: int) -> None:
    pauses: list[float] = []

    with Datastore(f"host=127.0.0.1 port={unused_port}") as datastore, pytest.raises(DatabaseUnavailable):
        Appending(EventStore(datastore, contents), new_id, pauses.append).append(STARTED)

    assert pauses == list(PAUSES_S)
    assert 5 <= sum(pauses) <= 10


@pytest.mark.parametrize("losing", [b"DirectoryMapped", b"COMMIT"])
def test_a_capture_whose_acknowledgements_are_lost_goes_on_and_captures_once(
    world: World, tmp_path: Path, losing: bytes
) -> None:
    folder = repository(tmp_path / "api")
    write(folder / "a.md", "One.")
    write(folder / "t.turns.jsonl", turn_line("two", scope="x"))
    with proxy_before(world.conninfo) as proxy, Datastore(proxy.conninfo) as datastore:

        def lose(path: Path, captured: Captured) -> None:
            if not proxy.lost.is_set():
                proxy.losing = losing

        capture = Capture(
            EventStore(datastore, world.contents),
            world.contents.key,
            home=world.home,
            store_key=world.store_key,
            now=datetime.now(UTC),
            new_id=new_id,
            tick=lose,
        )
        captured = capture.run(Request([folder]))
        assert proxy.lost.is_set()

    assert captured.revisions == 2
    kinds = [type(event).__name__ for event in world.events()]
    assert (kinds.count("RevisionCaptured"), kinds.count("BatchStarted")) == (2, 1)
    assert (kinds.count("ScopeCreated"), kinds.count("DirectoryMapped")) == (2, 1)
    assert world.capture(folder, again=True).batch is None
