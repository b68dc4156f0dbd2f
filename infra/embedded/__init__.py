"""The embedded Postgres: started by the first process that needs it, shared, and stopped by the last."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from chronofile.infra.embedded.cluster import DATABASE, ROLE, create, exists
from chronofile.infra.embedded.errors import (
    EmbeddedPostgresError,
    InUse,
    StartLockBusy,
    StartTimedOut,
    UnsupportedSystem,
    naming,
)
from chronofile.infra.embedded.lock import is_unused, join, start_lock
from chronofile.infra.embedded.place import (
    PORT,
    Place,
    data_folder_for,
    is_left,
    left_from,
    link_from_home,
    place_for,
    set_aside,
)
from chronofile.infra.embedded.postmaster import run, stop, stop_strays

__all__ = ["EmbeddedPostgresError", "EmbeddedServer", "data_folder_for", "remove", "start"]

CLOSE_TIMEOUT_S = 60.0


class EmbeddedServer:
    """One process's hold on a home's server, which runs at least until `close`; a context manager.

    `conninfo` is a libpq connection string: the database `chronofile` as the role `chronofile`, which owns it and
    is no superuser, over a Unix socket and without a password. It does not depend on the PG* variables.
    """

    __slots__ = ("_guard", "_place", "_use", "conninfo", "data_folder")

    def __init__(self, place: Place, use: int) -> None:
        self.conninfo = _conninfo(place)
        self.data_folder = place.data_folder
        self._place, self._guard = place, threading.Lock()
        self._use: int | None = use
        atexit.register(self.close)

    def close(self) -> None:
        """Give up the hold, and stop the server if this was the last one. Closing again does nothing.

        Where another process is busy starting the server this does not wait for ever: that one stops it.
        """
        with self._guard:
            use, self._use = self._use, None
        if use is not None:
            atexit.unregister(self.close)
            _leave(self._place, use)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start(home: Path, *, timeout_s: float = 60.0) -> EmbeddedServer:
    """Attach to the home's server; start it where it does not run, create it where there is none.

    Several holds in one process, from any threads, and in many processes with whatever environments share one
    server. `timeout_s` bounds the waiting for other processes and for crash recovery together.
    Raises a named EmbeddedPostgresError.
    """
    deadline = time.monotonic() + timeout_s
    if find_spec("fcntl") is None:
        raise UnsupportedSystem
    with naming(home):
        place = place_for(home)
        with start_lock(place.home, timeout_s):
            use = join(place.home)
            try:
                _bring_about(place)
                run(place, deadline - time.monotonic())
            except StartTimedOut:
                # Its recovery would begin anew with the next start; so it goes on without us.
                os.close(use)
                raise
            except BaseException:
                _stop_if_last(place, use)
                raise
    return EmbeddedServer(place, use)


def remove(home: Path) -> None:
    """Stop the home's server and delete its data folder for ever; raises InUse while anybody uses it."""
    with naming(home):
        place = place_for(home)
        with start_lock(place.home, CLOSE_TIMEOUT_S):
            if not is_unused(place.home):
                raise InUse(place.home)
            stop(place)
            for folder in {place.data_folder, place.socket_folder, left_from(place)}:
                if folder.exists():
                    shutil.rmtree(folder)
            link = place.home / "postgres"
            if link.is_symlink():
                link.unlink()


def _bring_about(place: Place) -> None:
    if is_left(place) or not exists(place):
        stop_strays(place.data_folder)
        set_aside(place)
        create(place)
        link_from_home(place)


def _leave(place: Place, use: int) -> None:
    try:
        with start_lock(place.home, CLOSE_TIMEOUT_S):
            _stop_if_last(place, use)
    except StartLockBusy:
        os.close(use)
    except FileNotFoundError:
        # Somebody deleted the home, the data with it.
        os.close(use)
        stop_strays(place.data_folder)


def _stop_if_last(place: Place, use: int) -> None:
    os.close(use)
    if is_unused(place.home):
        stop(place)


def _conninfo(place: Place) -> str:
    from psycopg.conninfo import make_conninfo

    # The empty and explicit values keep PGHOSTADDR, PGOPTIONS and their like from sending us elsewhere.
    return make_conninfo(
        host=str(place.socket_folder),
        hostaddr="",
        port=PORT,
        dbname=DATABASE,
        user=ROLE,
        options="",
        sslmode="disable",
        gssencmode="disable",
        client_encoding="utf8",
    )
