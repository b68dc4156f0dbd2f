"""Fixtures that all tests share: real databases, a copy of a migrated template for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
import structlog

from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore, engine_of
from chronofile.infra.event_store import EventStore
from chronofile.infra.migrate import store_key as migrated_store_key
from chronofile.ingest.agents import VARIABLES
from tests.servers import Server, embedded_server, external_server
from tests.world import World


@pytest.fixture(scope="session", autouse=True)
def nobodys_agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the tests run as a user without agents: whoever runs them may have some, and `status` tells of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("user")))
        for variable in sorted(VARIABLES):
            patch.delenv(variable, raising=False)
        yield


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    """Undo that a test set up structlog: whatever looks at it later would take that for a program's choice."""
    was_configured = structlog.is_configured()
    yield
    if structlog.is_configured() and not was_configured:
        structlog.reset_defaults()


@pytest.fixture(scope="session")
def embedded_postgres() -> Iterator[Server]:
    """The embedded server of this run."""
    with embedded_server() as server:
        yield server


@pytest.fixture(scope="session")
def external_postgres() -> Iterator[Server]:
    """A server over TCP; CHRONOFILE_TEST_DATABASE_URL names one of your own, whose role may create databases."""
    with external_server() as server:
        yield server


@pytest.fixture
def conninfo(embedded_postgres: Server) -> Iterator[str]:
    """A fresh migrated database on the embedded server."""
    with embedded_postgres.database() as found:
        yield found


@pytest.fixture(params=["embedded", "external"])
def any_postgres(request: pytest.FixtureRequest) -> Server:
    """Each kind of server in turn, for what must hold on both."""
    server: Server = request.getfixturevalue(f"{request.param}_postgres")
    return server


@pytest.fixture
def any_conninfo(any_postgres: Server) -> Iterator[str]:
    """A fresh migrated database on each kind of server in turn."""
    with any_postgres.database() as found:
        yield found


@pytest.fixture
def store_key(conninfo: str) -> bytes:
    """The key under which the database's contents are hashed."""
    return migrated_store_key(conninfo)


@pytest.fixture
def contents(store_key: bytes) -> ContentStore:
    return ContentStore(store_key)


@pytest.fixture
def store(conninfo: str, contents: ContentStore) -> Iterator[EventStore]:
    """The log on `conninfo`."""
    with Datastore(conninfo) as datastore:
        yield EventStore(datastore, contents)


@pytest.fixture
def engine(conninfo: str) -> Iterator[sa.Engine]:
    found = engine_of(conninfo)
    yield found
    found.dispose()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home. Nobody starts a server in it."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def world(
    *,
    conninfo: str,
    home: Path,
    store_key: bytes,
    contents: ContentStore,
    store: EventStore,
    engine: sa.Engine,
) -> World:
    """Capture, log and projections, wired on `conninfo`."""
    return World(conninfo, home, store_key, contents, store, engine)
