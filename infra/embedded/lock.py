"""The two locks of an embedded Postgres: one for starting and stopping it, one held by everybody who uses it.

Both are flocks, which the kernel gives back when a process dies in whatever way. A forked child shares the locks
of its parent. So what is held for a moment is unlocked, which frees it in the child too, and a use is only closed:
unlocking it in the child would take it from the parent.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chronofile.infra.embedded.errors import StartLockBusy
from chronofile.infra.embedded.place import open_in_home

RETRY_S = 0.02


@contextmanager
def start_lock(home: Path, timeout_s: float) -> Iterator[None]:
    """Let one process at a time decide about starting and stopping; raises StartLockBusy after `timeout_s`."""
    path = home / "postgres.start"
    lock = _open(path)
    deadline = time.monotonic() + timeout_s
    try:
        while not _try_exclusive(lock):
            if time.monotonic() > deadline:
                raise StartLockBusy(path, timeout_s)
            time.sleep(RETRY_S)
        try:
            yield
        finally:
            _unlock(lock)
    finally:
        os.close(lock)


def join(home: Path) -> int:
    """Become one of the users, until the returned descriptor is closed. Call it under the start lock."""
    from fcntl import LOCK_SH, flock

    lock = _open(home / "postgres.inuse")
    flock(lock, LOCK_SH)
    return lock


def is_unused(home: Path) -> bool:
    """Whether nobody uses the server, this process with another descriptor included.

    Call it under the start lock, so that the answer holds until that is given back.
    """
    lock = _open(home / "postgres.inuse")
    try:
        unused = _try_exclusive(lock)
        _unlock(lock)
        return unused
    finally:
        os.close(lock)


def _open(path: Path) -> int:
    # Python opens with O_CLOEXEC: a server that inherited the lock would keep itself in use for ever.
    return open_in_home(path, os.O_RDWR)


def _try_exclusive(lock: int) -> bool:
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(lock: int) -> None:
    from fcntl import LOCK_UN, flock

    flock(lock, LOCK_UN)
