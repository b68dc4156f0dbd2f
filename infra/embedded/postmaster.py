"""The postmaster: the server's first process, launched, asked whether it answers, and stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from chronofile.infra.embedded.binaries import binaries, spawn_options
from chronofile.infra.embedded.cluster import DATABASE, LOG_LINES_MAX, ROLE, configure, failure
from chronofile.infra.embedded.errors import AccessRefused, StartTimedOut
from chronofile.infra.embedded.place import Place, open_in_home, prepare_socket_folder

Answer = Literal["ready", "busy", "absent"]

PROBE_TIMEOUT_S = 5.0
POLL_S = 0.01
STOP_TIMEOUT_S = 60.0
LOG_BYTES_MAX = 1 << 20

_PROTOCOL_3 = 196608
_CANNOT_CONNECT_NOW = "57P03"
_TOO_MANY_CONNECTIONS = "53300"
_STILL_IN_USE = "is still in use"
_HAS_PROC = sys.platform == "linux"


def run(place: Place, timeout_s: float) -> None:
    """Return once the server answers, launching it where it does not run. Call it under the start lock.

    Waits for another server's shutdown, for crash recovery, and for the remains of a killed server to go.
    Raises StartTimedOut (and leaves the server to its recovery), StartFailed, DiskFull, AccessRefused.
    """
    deadline = time.monotonic() + timeout_s
    launched: subprocess.Popen[Any] | None = None
    while (answer := probe(place.socket)) != "ready":
        if time.monotonic() > deadline:
            raise StartTimedOut(place.data_folder, timeout_s)
        if answer == "absent":
            if launched is None and not _is_on_its_way(place):
                launched = _launch(place)
            elif launched is not None and launched.poll() is not None:
                output = "\n".join(log_lines(place))
                if _STILL_IN_USE not in output:
                    raise failure(place, output)
                launched = None
        time.sleep(POLL_S)


def probe(path: Path) -> Answer:
    """Ask the server behind a socket for a connection: `busy` while it starts, recovers or shuts down.

    This speaks the first words of the protocol itself, because libpq gives no SQLSTATE for a connection that
    failed, only a sentence. https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
    """
    words = b"user\0" + ROLE.encode() + b"\0database\0" + DATABASE.encode() + b"\0\0"
    start_up = (8 + len(words)).to_bytes(4, "big") + _PROTOCOL_3.to_bytes(4, "big") + words
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(PROBE_TIMEOUT_S)
        try:
            client.connect(os.fspath(path))
            client.sendall(start_up)
            reply = client.recv(8192)
            if reply[:1] == b"R":
                client.sendall(b"X\0\0\0\4")
                return "ready"
        except (FileNotFoundError, ConnectionRefusedError):
            return "absent"
        except (TimeoutError, ConnectionError):
            return "busy"
    # An error is fields of one letter and a text that ends with a zero byte, behind five bytes of header.
    fields = {field[:1]: field[1:].decode("utf-8", "replace") for field in reply[5:].split(b"\0")}
    sqlstate = fields.get(b"C", "")
    if sqlstate in ("", _CANNOT_CONNECT_NOW):
        return "busy"
    if sqlstate == _TOO_MANY_CONNECTIONS:
        return "ready"
    raise AccessRefused(sqlstate, fields.get(b"M", ""))


def stop(place: Place) -> None:
    """Stop the server in fast mode and wait until it is gone, for a minute at most."""
    pid = _running_pid(place)
    if pid is not None:
        _interrupt(pid, signal.SIGINT, place.data_folder)


def stop_strays(data_folder: Path) -> None:
    """End the servers whose data folder was deleted under them, before another takes its name.

    They notice by themselves within a minute, and would then remove the new server's socket.
    """
    for pid in _pids():
        if _serves(pid, data_folder):
            _interrupt(pid, signal.SIGQUIT, data_folder)


def log_lines(place: Place) -> list[str]:
    """Return the last lines that the server logged, from before and after it opened its own log."""
    logs = sorted((place.data_folder / "log").glob("*.log"), key=lambda path: path.stat().st_mtime)
    lines = chain.from_iterable(_tail(path) for path in (place.startup_log, *logs[-1:]))
    return [line for line in lines if line][-LOG_LINES_MAX:]


def _is_on_its_way(place: Place) -> bool:
    """Whether a server that cannot be reached is starting or stopping; one that lost its socket is stopped here."""
    if _running_pid(place) is None:
        return False
    if _status(place) == "ready" and not place.socket.exists():
        stop(place)
    return True


def _launch(place: Place) -> subprocess.Popen[Any]:
    # PostgreSQL does not start while a file names a live process, even if that process is something else that
    # got the number later, or a dead one that nobody has waited for. That ours is not alive has been established.
    for path in (
        place.data_folder / "postmaster.pid",
        place.socket,
        place.socket.with_name(place.socket.name + ".lock"),
    ):
        path.unlink(missing_ok=True)
    prepare_socket_folder(place)
    configure(place)
    log = open_in_home(place.startup_log, os.O_WRONLY | os.O_TRUNC)
    try:
        launched = subprocess.Popen(
            [str(binaries(place.account) / "postgres"), "-D", str(place.data_folder)],
            stdout=log,
            stderr=log,
            **spawn_options(place.account),
        )
    finally:
        os.close(log)
    # The server may end while we live; without somebody who waits for it, it would look alive for ever.
    threading.Thread(target=launched.wait, name="postgres-wait", daemon=True).start()
    return launched


def _running_pid(place: Place) -> int | None:
    try:
        pid = int((place.data_folder / "postmaster.pid").read_text("utf-8").split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None
    return pid if pid > 0 and _serves(pid, place.data_folder) else None


def _status(place: Place) -> str:
    with suppress(FileNotFoundError, IndexError):
        return (place.data_folder / "postmaster.pid").read_text("utf-8").split("\n")[7].strip()
    return ""


def _serves(pid: int, data_folder: Path) -> bool:
    """Whether the process is a postmaster on the folder. A zombie has no command and is none."""
    return _command(pid).endswith(f"postgres -D {data_folder}")


def _command(pid: int) -> str:
    if _HAS_PROC:
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().removesuffix(b"\0")
            return os.fsdecode(words.replace(b"\0", b" "))
        return ""
    listed = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
    return os.fsdecode(listed.stdout.rstrip(b"\n"))


def _pids() -> list[int]:
    if _HAS_PROC:
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    listed = subprocess.run(["ps", "-axo", "pid="], capture_output=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def _interrupt(pid: int, number: signal.Signals, data_folder: Path) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    while _serves(pid, data_folder) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES_MAX))
            return file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
