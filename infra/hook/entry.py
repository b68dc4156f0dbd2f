"""An entry of the spool as the hook writes it: one line of JSON, and behind it the bytes that it copied."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

VERSION = 1
"""Of an entry: one line of JSON, and behind it the bytes of the copies that it names."""
COPY_BYTES_MAX = 16 << 20
HEAD_BYTES = TAIL_BYTES = 64 << 10
"""What is copied with new bytes: by the file's beginning the session is recognised, by the other where they belong."""
PROBE_BYTES = 4 << 10
"""So many bytes before the captured offset have to be those that were captured, or the file was written anew."""
SPOOL_BYTES_MAX = 512 << 20
"""A larger spool takes no more copies."""
README = """\
What agents' hooks noted, waiting to be captured. NOTHING IN HERE IS REDACTED: entries hold the hook's JSON and may
hold parts of transcripts as they were. `chronofile watch`, an idle `chronofile mcp` or the next command captures
them, redacted, and deletes them. set-aside/ holds what could not be used, each with its reason.
"""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_READ_FILE = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


class Copy(NamedTuple):
    """Bytes of a transcript: those of each span [start, end), one after the other; from `offset` on they are new."""

    offset: int
    spans: list[tuple[int, int]]
    content: bytes
    left_out: int


def spool_in(home: str) -> str:
    """Return the spool's folder; it and the home are made where they are missing, for this user alone."""
    spool = os.path.join(home, "spool")
    if not os.path.isdir(spool):
        os.makedirs(home, 0o700, exist_ok=True)
        try:
            os.mkdir(spool, 0o700)
        except FileExistsError:
            if not os.path.isdir(spool):
                raise
        _sync_folder(home)
    with suppress(OSError):
        _write(os.path.join(spool, "README.txt"), [README.encode()])
    return spool


def append(spool: str, entry: Mapping[str, Any], paths: Sequence[str], copies: Sequence[Copy | None]) -> None:
    """Write an entry under a name that nobody reads, and give it its own name once it is on the disk."""
    transcripts = [_transcript(path, copy) for path, copy in zip(paths, copies, strict=True)]
    line = json.dumps({**entry, "transcripts": transcripts}).encode("ascii") + b"\n"
    name = f"{entry['at_ns']:020}-{os.getpid()}-{os.urandom(4).hex()}"
    temporary = os.path.join(spool, f".{name}.part")
    try:
        _write(temporary, [line, *(copy.content for copy in copies if copy)])
        os.rename(temporary, os.path.join(spool, f"{name}.entry"))
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(spool)


def copied(spool: str, path: str) -> Copy | None:
    """Return the bytes past what was captured, with the file's beginning and what stands before them.

    A file that does not have there what was captured last is another one, of which everything is new.
    """
    try:
        descriptor = os.open(path, _READ_FILE)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        size = status.st_size
        offset = _captured(spool, path, descriptor)
        if offset >= size:
            return None
        end = min(size, offset + COPY_BYTES_MAX)
        if _bytes_below(spool) + end - offset > SPOOL_BYTES_MAX:
            return Copy(offset, [], b"", size - offset)
        blocks, spans = [], []
        for start, stop in _merged([(0, min(HEAD_BYTES, size)), (max(0, offset - TAIL_BYTES), end)]):
            block = _read(descriptor, start, stop)
            blocks.append(block)
            spans.append((start, start + len(block)))
        return Copy(offset, spans, b"".join(blocks), size - end)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def without_bytes(copy: Copy | None) -> Copy | None:
    if copy is None or not copy.spans:
        return copy
    kept = max(0, copy.spans[-1][1] - copy.offset)
    return Copy(copy.offset, [], b"", copy.left_out + kept)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    first, second = spans
    return [(0, max(first[1], second[1]))] if second[0] <= first[1] else spans


def _read(descriptor: int, start: int, end: int) -> bytes:
    blocks = []
    while start < end and (block := os.pread(descriptor, min(end - start, 1 << 20), start)):
        blocks.append(block)
        start += len(block)
    return b"".join(blocks)


def _captured(spool: str, path: str, descriptor: int) -> int:
    """Return the offset up to which the open file was captured, 0 where that is unknown or was another file.

    The capture left it beside the spool, with a salt and the hash of what it had read before the offset.
    """
    from hashlib import blake2b

    name = blake2b(os.fsencode(path), digest_size=16).hexdigest()
    try:
        with open(os.path.join(os.path.dirname(spool), "captured", name), "rb") as file:
            offset, salt, probe = file.read(128).decode("ascii").split(" ")
        end = int(offset)
        start = max(0, end - PROBE_BYTES)
        last = _read(descriptor, start, end)
        found = blake2b(last, digest_size=16, salt=bytes.fromhex(salt)).hexdigest()
    except (OSError, ValueError, OverflowError):
        return 0
    return end if len(last) == end - start and found == probe else 0


def _bytes_below(spool: str) -> int:
    total = 0
    for folder in (spool, os.path.join(spool, "set-aside")):
        try:
            with os.scandir(folder) as entries:
                total += sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
        except OSError:
            continue
    return total


def _transcript(path: str, copy: Copy | None) -> dict[str, Any]:
    size = None
    with suppress(OSError, ValueError):
        size = os.stat(path).st_size
    if copy is None:
        return {"path": path, "size": size}
    copied = {"offset": copy.offset, "spans": copy.spans, "left_out": copy.left_out}
    return {"path": path, "size": size, "copied": copied}


def _write(path: str, blocks: Sequence[bytes]) -> None:
    descriptor = os.open(path, _NEW_FILE, 0o600)
    try:
        for block in blocks:
            left = memoryview(block)
            while left:
                left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: str) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with suppress(OSError):  # Some file systems cannot, and do not need it.
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
