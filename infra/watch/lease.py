"""The lease: one watch per home, held by a lock that the kernel gives back when its process dies in whatever way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chronofile.domain.errors import ChronofileError
from chronofile.infra.embedded.place import open_in_home

FILE_NAME = "watch.lock"
PID_BYTES_MAX = 20


class AlreadyWatching(ChronofileError):
    """Another watch runs on this home; one is enough, and a second would capture nothing more."""

    def __init__(self, path: Path, pid: str) -> None:
        super().__init__(f"(process {pid or 'unknown'} holds {path})")
        self.path, self.pid = path, pid


@contextmanager
def lease(home: Path) -> Iterator[None]:
    """Be the home's watch; raises AlreadyWatching. The file stays: deleting it would let in a second one."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = home / FILE_NAME
    # Python opens with O_CLOEXEC: a server that inherited the lock would hold it for ever.
    lock = open_in_home(path, os.O_RDWR)
    try:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, PID_BYTES_MAX, 0).decode("ascii", "replace").strip()
            raise AlreadyWatching(path, holder) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)
