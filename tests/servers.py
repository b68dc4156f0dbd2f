"""The PostgreSQL servers that tests run on: the embedded one over its socket, and another one over TCP."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from chronofile.infra import embedded
from chronofile.infra.embedded.binaries import binaries, spawn_options
from chronofile.infra.embedded.place import Account, place_for
from chronofile.infra.migrate import migrate

WAIT_S = 60.0
FAST = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nautovacuum = off\n"
"""Tests crash processes and servers, never the machine."""


@dataclass(slots=True)
class Server:
    """A server with a template database that is migrated once and copied for each test."""

    conninfo: str
    """Of a database from which others are made."""
    stop: Callable[[], None] | None = None
    start: Callable[[], None] | None = None
    """Both None for a server that is not ours to stop."""
    template: str = field(default_factory=lambda: f"template_{secrets.token_hex(4)}")
    _numbers: Iterator[int] = field(default_factory=count)

    def prepare(self) -> None:
        with self._admin() as conn:
            conn.execute(SQL("CREATE DATABASE {}").format(Identifier(self.template)))
        migrate(self.of(self.template))

    def unprepare(self) -> None:
        self._drop(self.template)

    def of(self, name: str) -> str:
        return make_conninfo(self.conninfo, dbname=name)

    @contextmanager
    def database(self, template: str | None = None, options: str = "") -> Iterator[str]:
        """Yield a fresh database, a copy of the migrated template unless another is named; drop it after."""
        name = f"test_{os.getpid()}_{next(self._numbers)}_{secrets.token_hex(2)}"
        with self._admin() as conn:
            statement = SQL("CREATE DATABASE {} TEMPLATE {}").format(
                Identifier(name), Identifier(template or self.template)
            )
            conn.execute(statement.as_bytes(conn) + f" {options}".encode())
        try:
            yield self.of(name)
        finally:
            self._drop(name)

    def _drop(self, name: str) -> None:
        with self._admin() as conn:
            conn.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))

    def _admin(self) -> psycopg.Connection:
        return psycopg.connect(self.conninfo, autocommit=True)


@dataclass(slots=True)
class Postmaster:
    """A server of our own over TCP, with a password, from the binaries of the embedded one."""

    folder: Path
    account: Account
    port: int
    password: str
    settings: str = ""
    launched: subprocess.Popen[Any] | None = None

    @property
    def conninfo(self) -> str:
        return make_conninfo(
            host="127.0.0.1", port=self.port, user="tester", password=self.password, dbname="postgres"
        )

    def create(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        data = self._data_folder
        data.mkdir(mode=0o700)
        if self.account.is_other:
            os.chown(data, self.account.uid, self.account.gid)
        command = [str(binaries(self.account) / "initdb"), f"--pgdata={data}", f"--pwfile={secret}"]
        options = ["--no-sync", "--username=tester", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        subprocess.run(
            [*command, *options], check=True, stdout=subprocess.DEVNULL, **spawn_options(self.account)
        )
        with (data / "postgresql.conf").open("a") as file:
            file.write(f"listen_addresses = '127.0.0.1'\nport = {self.port}\nunix_socket_directories = ''\n")
            file.write(f"shared_buffers = '32MB'\n{FAST}{self.settings}")

    def start(self) -> None:
        command = [str(binaries(self.account) / "postgres"), "-D", str(self._data_folder)]
        with (self.folder / "log").open("ab") as log:
            self.launched = subprocess.Popen(command, stdout=log, stderr=log, **spawn_options(self.account))
        wait_until(lambda: answers(self.conninfo))

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop in fast mode; SIGQUIT is a crash."""
        if self.launched is not None:
            self.launched.send_signal(number)
            self.launched.wait(WAIT_S)
            self.launched = None

    @property
    def _data_folder(self) -> Path:
        return self.folder / "data"


@contextmanager
def embedded_server() -> Iterator[Server]:
    """Yield the embedded server of a home of its own, in a hurry: it syncs nothing."""
    with temporary_folder() as home:
        with embedded.start(home) as held:
            (held.data_folder / "postgresql.local.conf").write_text(FAST)
            os.kill(postmaster_pid(held.data_folder), signal.SIGHUP)

            def stop() -> None:
                pid = postmaster_pid(held.data_folder)
                os.kill(pid, signal.SIGINT)
                wait_until(lambda: not Path(f"/proc/{pid}").exists() and not answers(held.conninfo))

            with prepared(Server(held.conninfo, stop, lambda: embedded.start(home).close())) as server:
                yield server
            # What it would write before it ends is deleted at once.
            os.kill(postmaster_pid(held.data_folder), signal.SIGQUIT)
        embedded.remove(home)


@contextmanager
def external_server() -> Iterator[Server]:
    """Yield a server over TCP: the one that is named, one in a container, or one of our own."""
    url = os.environ.get("CHRONOFILE_TEST_DATABASE_URL")
    opened = nullcontext(Server(url)) if url else _contained() if _docker_answers() else _own()
    with opened as found, prepared(found) as server:
        yield server


@contextmanager
def postmaster(settings: str = "") -> Iterator[Postmaster]:
    """Yield a running server of our own over TCP, which a test may stop and start as it likes."""
    with temporary_folder() as folder:
        account = place_for(folder).account
        server = Postmaster(folder, account, _free_port(), secrets.token_hex(8), settings)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)


@contextmanager
def prepared(server: Server) -> Iterator[Server]:
    server.prepare()
    try:
        yield server
    finally:
        server.unprepare()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder with a short path that every account can pass through, deleted after."""
    folder = Path(tempfile.mkdtemp(prefix="chronofile-test-", dir="/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def postmaster_pid(data_folder: Path) -> int:
    return int((data_folder / "postmaster.pid").read_text().split("\n", 1)[0])


def answers(conninfo: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(conninfo, connect_timeout=2):
        return True
    return False


def wait_until(condition: Callable[[], bool], timeout_s: float = WAIT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass in time"
        time.sleep(0.02)


@contextmanager
def _contained() -> Iterator[Server]:
    from testcontainers.postgres import PostgresContainer

    with PostgresContainer("pgvector/pgvector:pg18", driver=None) as container:
        yield Server(container.get_connection_url())


@contextmanager
def _own() -> Iterator[Server]:
    with postmaster() as server:
        yield Server(server.conninfo, server.stop, server.start)


def _docker_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    try:
        asked = subprocess.run(["docker", "info"], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return False
    return asked.returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
