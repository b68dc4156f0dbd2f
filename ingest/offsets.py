"""Offsets: how far each transcript is captured, left beside the spool for the hooks, which cannot ask the log."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from chronofile.domain.rejection import NotRead
from chronofile.ingest.sighting import Bytes
from chronofile.ingest.small_files import replace_file

FOLDER = "captured"
PROBE_BYTES = 4 << 10
"""So many bytes before the offset are hashed: a file that has others there was written anew."""
SALT_BYTES = 16
_FILE_BYTES_MAX = 128


def write(home: Path, captured: Mapping[Path, Bytes]) -> None:
    """Leave how many bytes of each transcript are captured, with a salted hash of the last of them.

    Where that cannot be written a hook copies more than it needs to, and that is all.
    """
    beside = home / FOLDER
    with suppress(OSError):
        beside.mkdir(mode=0o700, exist_ok=True)
        for path, content in captured.items():
            with suppress(NotRead):
                last = content.range(max(0, content.size - PROBE_BYTES), content.size)
                replace_file(_file(home, path), _line(content.size, last))


def read(home: Path, path: Path) -> int:
    """Return how many bytes of a transcript were captured when that was last left; 0 where nobody knows."""
    try:
        with _file(home, path).open("rb") as file:
            return max(0, int(file.read(_FILE_BYTES_MAX).split(b" ")[0]))
    except (OSError, ValueError):
        return 0


def _line(offset: int, last: bytes) -> bytes:
    salt = os.urandom(SALT_BYTES)
    probe = blake2b(last, digest_size=16, salt=salt).hexdigest()
    return f"{offset} {salt.hex()} {probe}".encode()


def _file(home: Path, path: Path) -> Path:
    return home / FOLDER / blake2b(os.fsencode(path), digest_size=16).hexdigest()
