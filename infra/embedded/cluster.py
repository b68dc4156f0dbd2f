"""The cluster: what initdb creates once, and the configuration that every start writes."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from chronofile.infra.embedded.binaries import MAJOR_VERSION, binaries, spawn_options
from chronofile.infra.embedded.errors import (
    AccountMissing,
    DataFolderTooNew,
    DataFolderTooOld,
    DiskFull,
    NotADataFolder,
    StartFailed,
)
from chronofile.infra.embedded.place import (
    PORT,
    Place,
    write_for_account,
)

DATABASE = "chronofile"
ROLE = "chronofile"
SUPERUSER = "postgres"

COMMAND_TIMEOUT_S = 300.0
LOG_LINES_MAX = 20
SHARED_MEMORY_BYTES_MIN = 1 << 30

SETTINGS: dict[str, str] = {
    # Nobody connects but over the socket, in a folder of mode 0700.
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    # A handful of processes with small pools each; every connection costs a few megabytes.
    "max_connections": "40",
    # A small machine: the operating system's cache does the rest.
    "shared_buffers": "160MB",
    "effective_cache_size": "1GB",
    "work_mem": "32MB",
    # Building an HNSW index is several times slower once it no longer fits.
    "maintenance_work_mem": "256MB",
    "huge_pages": "off",
    # The data is on a local disk, today a solid-state one.
    "random_page_cost": "1.1",
    # Queries take milliseconds; compiling them takes longer.
    "jit": "off",
    # A search shares two cores with the embedder, so only index builds get a second process.
    "max_worker_processes": "4",
    "max_parallel_workers": "2",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "1",
    # Reads come from the cache; the three input-output workers of the default would only cost memory.
    "io_method": "sync",
    # An acknowledged event is on the disk, also after the power fails.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Nobody replicates, so the log need not carry what only replicas read.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Imports and rebuilds write gigabytes: fewer checkpoints, at most this much disk, all of it given back.
    "max_wal_size": "1GB",
    "min_wal_size": "64MB",
    # A segment that is done with is deleted and not kept to be written over: erased text must not wait in it.
    "wal_recycle": "off",
    "checkpoint_timeout": "15min",
    "autovacuum": "on",
    # A query whose client was killed must not go on for minutes.
    "client_connection_check_interval": "10s",
    # One file for each weekday, the one of last week overwritten.
    "logging_collector": "on",
    "log_directory": "log",
    "log_filename": "postgresql-%a.log",
    "log_rotation_age": "1d",
    "log_rotation_size": "0",
    "log_truncate_on_rotation": "on",
    "log_checkpoints": "off",
    # Statements and the details of errors quote rows; erased text must not survive in a log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "datestyle": "iso, ymd",
    "lc_messages": "C",
    "default_text_search_config": "pg_catalog.simple",
}

_INITDB_OPTIONS = (
    "--no-sync",
    "--no-instructions",
    "--data-checksums",
    f"--username={SUPERUSER}",
    "--auth=reject",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    # Nothing outside the folder, so that nothing stays behind if the process is killed.
    "--set=dynamic_shared_memory_type=mmap",
)
_SINGLE_OPTIONS = ("-F", "-c", "exit_on_error=on", "template1")

# The extension is not marked as trusted, so only the superuser can create it: in template1, where later
# databases get it from.
_FIRST_STATEMENTS = f"""\
CREATE EXTENSION vector
CREATE ROLE {ROLE} LOGIN CREATEDB
CREATE DATABASE {DATABASE} OWNER {ROLE}
"""


def exists(place: Place) -> bool:
    """Whether there is a data folder of our version; raises DataFolderTooNew, DataFolderTooOld or NotADataFolder."""
    folder = place.data_folder
    try:
        found = (folder / "PG_VERSION").read_text("utf-8").strip()
    except FileNotFoundError:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise NotADataFolder(folder) from None
        return False
    except NotADirectoryError:
        raise NotADataFolder(folder) from None
    if not found.isdigit():
        raise NotADataFolder(folder)
    major = int(found)
    if major > MAJOR_VERSION:
        raise DataFolderTooNew(folder, major, MAJOR_VERSION)
    if major < MAJOR_VERSION:
        raise DataFolderTooOld(folder, major, MAJOR_VERSION)
    return True


def create(place: Place) -> None:
    """Create the cluster with its role, database and extension, under another name until it is complete.

    Raises StartFailed, DiskFull or AccountMissing; a process that is killed leaves what the next one removes.
    """
    parent, prefix = place.data_folder.parent, f"{place.data_folder.name}.new-"
    _remove_unfinished(parent, prefix)
    # The name is new each time, since the initdb of a process that was killed may go on for a moment.
    new = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        if place.account.is_other:
            os.chown(new, place.account.uid, place.account.gid, follow_symlinks=False)
        _fill(place, new)
        if place.data_folder.exists():
            place.data_folder.rmdir()
        new.rename(place.data_folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    # What such an initdb wrote while its folder was being removed.
    _remove_unfinished(parent, prefix)
    _sync(parent)


def _remove_unfinished(parent: Path, prefix: str) -> None:
    for unfinished in parent.glob(f"{glob.escape(prefix)}*"):
        shutil.rmtree(unfinished, ignore_errors=True)


def configure(place: Place) -> None:
    """Write the server's configuration: the settings of this version, and who may connect."""
    settings = SETTINGS | {
        "unix_socket_directories": str(place.socket_folder),
        "dynamic_shared_memory_type": shared_memory_type(Path("/dev/shm")),
    }
    if sys.platform == "linux":
        # Recovery syncs everything before it begins; one call takes a tenth of the time of a thousand files' calls.
        settings["recovery_init_sync_method"] = "syncfs"
    lines = [f"{name} = '{value}'" for name, value in settings.items()]
    lines.append("include_if_exists = 'postgresql.local.conf'")
    names = [name.replace('"', '""') for name in place.account.names]
    users = [f'chronofile "{name}" {role}' for name in names for role in (ROLE, SUPERUSER)]
    texts = {
        "postgresql.conf": lines,
        "pg_hba.conf": ["local all all peer map=chronofile"],
        "pg_ident.conf": users,
    }
    for name, text in texts.items():
        written = "\n".join(["# Written by Chronofile at every start.", *text, ""])
        write_for_account(place.data_folder / name, written, place.account)


def shared_memory_type(folder: Path) -> str:
    """Return `mmap` (files in the data folder) where /dev/shm is too small for a parallel index build.

    Containers often have 64 MB of it, and an HNSW build asks for `maintenance_work_mem` at once.
    """
    if sys.platform != "linux":
        return "posix"
    try:
        size = os.statvfs(folder)
    except OSError:
        return "mmap"
    return "posix" if size.f_frsize * size.f_bavail >= SHARED_MEMORY_BYTES_MIN else "mmap"


def failure(place: Place, output: str) -> StartFailed | DiskFull | AccountMissing:
    """Return the error that says why PostgreSQL gave up, from what it printed."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return DiskFull(place.data_folder)
    if "could not look up effective user ID" in output:
        return AccountMissing(place.account.uid)
    return StartFailed(place.data_folder, output.strip().splitlines()[-LOG_LINES_MAX:])


def _fill(place: Place, new: Path) -> None:
    folder = binaries(place.account)
    initdb = [str(folder / "initdb"), f"--pgdata={new}"]
    _run(place, [*initdb, *_INITDB_OPTIONS])
    _run(place, [str(folder / "postgres"), "--single", "-D", str(new), *_SINGLE_OPTIONS], _FIRST_STATEMENTS)
    # Syncing once at the end, the whole file system in one call where Linux offers it, takes a tenth of the time
    # that initdb takes to sync a thousand files one by one.
    _run(place, [*initdb, "--sync-only", *(["--sync-method=syncfs"] if sys.platform == "linux" else [])])


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _run(place: Place, command: Sequence[str], statements: str | None = None) -> None:
    options = spawn_options(place.account)
    if statements is not None:
        del options["stdin"]
    done = subprocess.run(
        command,
        input=statements,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=COMMAND_TIMEOUT_S,
        check=False,
        **options,
    )
    if done.returncode != 0:
        raise failure(place, done.stdout)
