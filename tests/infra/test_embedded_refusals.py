"""The embedded Postgres: what keeps it from starting, and the sentence that a person gets."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path

import pytest

from chronofile.infra.embedded import data_folder_for, start
from chronofile.infra.embedded.binaries import MAJOR_VERSION
from chronofile.infra.embedded.errors import (
    DataFolderOfAnotherVersion,
    DataFolderTooNew,
    DataFolderTooOld,
    DiskFull,
    EmbeddedPostgresError,
    NoPermission,
    NotADataFolder,
    StartFailed,
    StartLockBusy,
    naming,
)

from .embedded_home import AS_ROOT, WAIT_S, World, temporary_home, user


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of a user: root's data folders are on a slower disk."""
    yield from temporary_home(user())


@pytest.mark.parametrize(
    ("version", "error", "sentence"),
    [
        (MAJOR_VERSION + 1, DataFolderTooNew, "use the newer Chronofile"),
        (MAJOR_VERSION - 1, DataFolderTooOld, "back it up with the Chronofile that wrote it"),
    ],
)
def test_a_data_folder_of_another_version_is_refused_with_what_to_do(
    home: Path, version: int, error: type[DataFolderOfAnotherVersion], sentence: str
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
    mounted = home / "small"
    mounted.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mounted], check=False
    ).returncode:
        pytest.skip("this root may not mount")
    try:
        os.chown(mounted, user().uid, user().gid)
        mounted.chmod(0o700)
        with pytest.raises(DiskFull, match="free some and try again"):
            start(mounted)
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_a_home_that_may_not_be_written_is_named(home: Path) -> None:
    home.chmod(0o500)

    refused = World(home, user()).begin()
    answer = json.loads(refused.popen.communicate(timeout=WAIT_S)[0])
    home.chmod(0o700)

    assert (answer["error"], "postgres.start" in answer["message"]) == ("NoPermission", True)


@pytest.mark.parametrize(("number", "error"), [(errno.EROFS, NoPermission), (errno.ENOSPC, DiskFull)])
def test_the_systems_errors_get_names(number: int, error: type[EmbeddedPostgresError]) -> None:
    with pytest.raises(error, match="/some/where"), naming(Path("/other")):
        raise OSError(number, os.strerror(number), "/some/where")


def test_waiting_for_another_process_ends_with_a_sentence(home: Path) -> None:
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
