"""The embedded Postgres: every property of its lifetime, with real processes and real signals."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from chronofile.infra.embedded import EmbeddedServer, remove, start
from chronofile.infra.embedded.errors import (
    InUse,
)
from chronofile.infra.embedded.place import place_for

from .embedded_home import (
    IS_ROOT,
    Operator,
    World,
    is_gone,
    root,
    temporary_home,
    user,
    wait_for,
)


@pytest.fixture(scope="module", params=["root", "user"])
def operator(request: pytest.FixtureRequest) -> Operator:
    return root() if request.param == "root" else user()


@pytest.fixture(scope="module")
def shared_home(operator: Operator) -> Iterator[Path]:
    yield from temporary_home(operator)


@pytest.fixture
def world(shared_home: Path, operator: Operator) -> Iterator[World]:
    """The module's home, whose server no process uses any more after each test."""
    world = World(shared_home, operator)
    yield world
    world.end()
    start(shared_home).close()


@pytest.fixture
def fresh(operator: Operator) -> Iterator[World]:
    """A home of its own that nobody has used."""
    for home in temporary_home(operator):
        world = World(home, operator)
        yield world
        world.end()


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of a user: root's data folders are on a slower disk."""
    yield from temporary_home(user())


def test_the_first_process_starts_the_server_and_the_last_one_stops_it(world: World) -> None:
    first, second = world.process(), world.process()
    postmaster = first.postmaster

    first.order("close")
    assert second.rows("SELECT 1") == [[1]]
    second.order("close")

    assert is_gone(postmaster)
    assert not (second.data_folder / "postmaster.pid").exists()


def test_processes_with_different_environments_share_one_server(world: World) -> None:
    misleading = {
        "PGHOST": "example.invalid",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "nobody",
        "PGDATABASE": "other",
        "PGOPTIONS": "-c default_transaction_read_only=on",
        "PGSSLMODE": "require",
        "TMPDIR": "/nowhere",
        "XDG_RUNTIME_DIR": "/nowhere",
        "LC_ALL": "C.UTF-8",
    }
    whole, stripped, led = world.process(), world.process({}), world.process(misleading)

    whole.rows("CREATE TABLE IF NOT EXISTS seen (who text)")
    led.rows("INSERT INTO seen VALUES ('led')")

    assert stripped.rows("SELECT who FROM seen") == [["led"]]
    assert {process.hello["conninfo"] for process in (whole, stripped, led)} == {whole.hello["conninfo"]}


def test_a_process_that_exits_without_closing_stops_the_server_if_it_is_the_last(world: World) -> None:
    process = world.process()
    postmaster = process.postmaster

    process.leave()

    assert is_gone(postmaster)


def test_the_server_survives_the_death_of_the_process_that_started_it(world: World) -> None:
    starter, other = world.process(), world.process()
    postmaster = starter.postmaster

    starter.kill()
    assert other.rows("SELECT 1") == [[1]]
    other.order("close")

    assert is_gone(postmaster)


def test_after_every_process_was_killed_the_next_one_attaches_and_stops_the_server(world: World) -> None:
    killed = [world.process(), world.process()]
    postmaster = killed[0].postmaster
    for process in killed:
        process.kill()

    late = world.process()
    assert late.postmaster == postmaster
    assert late.rows("SELECT 1") == [[1]]
    late.order("close")

    assert is_gone(postmaster)


def test_a_killed_server_recovers_what_was_committed(world: World) -> None:
    witness = world.process()
    witness.rows("DROP TABLE IF EXISTS kept")
    witness.rows("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    os.kill(witness.postmaster, signal.SIGKILL)

    # The witness lives and started the server: it must not keep the dead one as a zombie that looks alive.
    survivor = world.process()

    assert survivor.rows("SELECT count(*) FROM kept") == [[1000]]
    assert witness.rows("SELECT count(*) FROM kept") == [[1000]]


def test_a_process_id_that_something_else_has_got_does_not_keep_the_server_down(world: World) -> None:
    killed = world.process()
    postmaster = killed.postmaster
    killed.kill()
    os.kill(postmaster, signal.SIGKILL)
    assert is_gone(postmaster)
    pid_file = killed.data_folder / "postmaster.pid"
    bystander = subprocess.Popen(["sleep", "60"])
    pid_file.write_text(pid_file.read_text().replace(str(postmaster), str(bystander.pid), 1))

    assert world.process().rows("SELECT 1") == [[1]]

    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_a_server_that_lost_its_socket_is_replaced(world: World) -> None:
    world.process().kill()
    place = place_for(world.home)
    place.socket.unlink()

    assert world.process().rows("SELECT 1") == [[1]]


def test_processes_that_start_at_once_get_one_server(world: World) -> None:
    processes = [world.begin() for _ in range(4)]

    assert len({process.greet().postmaster for process in processes}) == 1
    assert all(process.rows("SELECT 1") == [[1]] for process in processes)


def test_a_newcomer_is_never_given_a_server_that_is_being_stopped(world: World) -> None:
    for _ in range(2):
        leaving = world.process()
        coming = [world.begin(), world.begin()]
        leaving.leave()
        assert [process.greet().rows("SELECT 1") for process in coming] == [[[1]], [[1]]]
        world.end()


def test_the_server_is_in_its_own_session_and_holds_no_lock(world: World) -> None:
    process = world.process()

    assert os.getsid(process.postmaster) == process.postmaster
    descriptors = Path(f"/proc/{process.postmaster}/fd")
    if descriptors.exists() and IS_ROOT:
        opened = [str(path.readlink()) for path in descriptors.iterdir()]
        assert not [name for name in opened if name.endswith(("postgres.start", "postgres.inuse"))]


def test_a_forked_child_that_exits_does_not_stop_the_server(world: World) -> None:
    process = world.process()
    postmaster = process.postmaster

    process.order("fork")

    assert process.rows("SELECT 1") == [[1]]
    process.order("close")
    assert is_gone(postmaster)


def test_a_data_folder_deleted_under_its_server_is_created_anew(fresh: World) -> None:
    process = fresh.process()
    postmaster = process.postmaster
    process.rows("CREATE TABLE lost (n int)")
    process.kill()
    shutil.rmtree(process.data_folder)
    (fresh.home / "postgres").unlink(missing_ok=True)

    anew = fresh.process()

    assert is_gone(postmaster)
    assert anew.rows("SELECT to_regclass('lost')") == [[None]]


def test_a_creation_that_was_killed_is_begun_again(fresh: World) -> None:
    for delay_s in (0.1, 0.4):
        process = fresh.begin()
        wait_for(fresh.home / "postgres.start")
        time.sleep(delay_s)
        process.kill()

    process = fresh.process()
    parent = process.data_folder.parent

    assert process.rows("SELECT extname FROM pg_extension WHERE extname = 'vector'") == [["vector"]]
    assert not list(parent.glob(f"{process.data_folder.name}.new-*"))


def test_the_role_is_no_superuser_and_owns_its_database(world: World) -> None:
    process = world.process()

    query = """SELECT current_user, rolsuper, pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datlocale,
                      current_setting('data_checksums'), current_setting('listen_addresses')
               FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()"""
    assert process.rows(query) == [["chronofile", False, "chronofile", "UTF8", "C.UTF-8", "on", ""]]
    process.rows("CREATE SCHEMA built")
    process.rows("CREATE TABLE built.vectors (v vector(2))")
    process.rows("CREATE INDEX ON built.vectors USING hnsw (v vector_l2_ops)")
    process.rows("DROP SCHEMA built CASCADE")


def test_nobody_else_can_reach_the_socket_and_the_package_is_not_imported(world: World) -> None:
    process = world.process()
    place = place_for(world.home)

    assert stat.S_IMODE(place.socket_folder.stat().st_mode) == 0o700
    assert stat.S_ISSOCK(place.socket.stat().st_mode)
    assert not process.hello["imported"]


def test_many_holds_in_one_process_share_the_server_and_close_in_any_order(home: Path) -> None:
    servers: list[EmbeddedServer] = []
    threads = [threading.Thread(target=lambda: servers.append(start(home))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    postmaster = int((servers[0].data_folder / "postmaster.pid").read_text().split("\n", 1)[0])

    for server in servers[:3]:
        server.close()
        server.close()
        with psycopg.connect(servers[3].conninfo) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    servers[3].close()

    assert is_gone(postmaster)


def test_a_home_that_was_deleted_while_in_use_leaves_no_server(home: Path) -> None:
    server = start(home)
    postmaster = int((server.data_folder / "postmaster.pid").read_text().split("\n", 1)[0])
    shutil.rmtree(server.data_folder)
    shutil.rmtree(home)

    server.close()

    assert is_gone(postmaster)
    home.mkdir()


def test_removing_is_refused_while_the_server_is_in_use(home: Path) -> None:
    with start(home) as server:
        with pytest.raises(InUse, match="end the other processes"):
            remove(home)
        assert server.data_folder.exists()

    remove(home)

    assert not server.data_folder.exists()
