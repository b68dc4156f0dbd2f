"""Reading: the bytes of one file, steadily, whole or by ranges that end with a line."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chronofile.domain.formats.heads import Head
from chronofile.domain.rejection import NotRead, RejectionReason
from chronofile.ingest.marked import beginning_text

PLAIN_BYTES_MAX = 10_000_000
RANGE_BYTES = 8 << 20
SNIFF_BYTES = 64 << 10
FIRST_LINE_BYTES_MAX = 8 << 20
LAST_LINE_BYTES_MAX = 64 << 20
READS_MAX = 3
SETTLED_AFTER_NS = 2_000_000_000

_BLOCK_BYTES = 64 << 10
_UTF8_MARK = b"\xef\xbb\xbf"
_NO_LINK_NO_WAIT = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_REASONS: dict[int | None, RejectionReason] = {
    errno.ENOENT: "vanished",
    errno.ENOTDIR: "vanished",
    errno.ENAMETOOLONG: "path-too-long",
    errno.ELOOP: "not-regular",
    errno.EISDIR: "not-regular",
    errno.ENXIO: "not-regular",
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells without reading that a file has not changed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int

    def settled(self, at_ns: int) -> bool:
        """Tell whether a change after `at_ns` (nanoseconds since 1970) must show in the fingerprint.

        File systems stamp in steps of up to two seconds: two changes in one step leave the same stamp.
        """
        return at_ns - max(self.mtime_ns, self.ctime_ns) > SETTLED_AFTER_NS


@dataclass(frozen=True, slots=True)
class Read:
    """A whole file as it was at one moment. `growing`: it was appended to while it was read."""

    path: Path
    content: bytes
    fingerprint: Fingerprint
    growing: bool = False


@dataclass(frozen=True, slots=True)
class Sniffed:
    """The head of a file, and its first bytes as they are, by which an archive or a document is known."""

    path: Path
    head: Head
    beginning: bytes
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A regular file held open, so that all that is asked of it is asked of the same file."""

    path: Path
    descriptor: int
    fingerprint: Fingerprint
    """As it was when the file was opened."""

    def now(self) -> Fingerprint:
        """Return the fingerprint as it is at this moment."""
        return fingerprint_of(os.fstat(self.descriptor))

    def range(self, start: int, end: int) -> bytes:
        """Return the bytes [start, end); raises NotRead where the file has become shorter than that."""
        content = self._up_to(start, end)
        if len(content) < end - start:
            raise NotRead(self.path, "changed-while-read", f"It ends before byte {end}.")
        return content

    def complete_end(self, start: int = 0, end: int | None = None) -> int:
        """Return the offset after the last complete line of [start, end); `end` is the size at opening if not given.

        A line is complete with its LF; a last one without is, if it is a whole JSON object: some tools write
        the LF before the next record. `start` has to be the beginning of a line. Reads backwards from the
        end, in blocks, and holds no more than the last line.
        """
        end = self.fingerprint.size if end is None else end
        after = self._after_last_line(start, end)
        tail = after if after is not None else start
        return end if tail < end and self._is_object(tail, end) else tail

    def ranges(self, start: int, end: int, range_bytes: int = RANGE_BYTES) -> Iterator[tuple[int, int]]:
        """Cut [start, end) after line ends into ranges of `range_bytes` at most, or of one longer line each."""
        while end - start > range_bytes:
            cut = self._after_last_line(start, start + range_bytes) or self._after_next_line(
                start + range_bytes, end
            )
            yield start, cut
            start = cut
        if start < end:
            yield start, end

    def head(self, beginning: bytes | None = None) -> tuple[str, ...]:
        """Return the complete lines of the first 64 KiB, or the first line where it is longer (8 MiB at most).

        None unless the file begins with `{`, after a byte order mark and white space: no other can be JSON Lines.
        `beginning` are the first 64 KiB where they were read already.
        """
        content = (self._up_to(0, SNIFF_BYTES) if beginning is None else beginning).removeprefix(_UTF8_MARK)
        if not content.lstrip().startswith(b"{"):
            return ()
        if b"\n" not in content.strip():
            content = self._up_to(0, FIRST_LINE_BYTES_MAX).removeprefix(_UTF8_MARK)
        lines = content[: max(SNIFF_BYTES, content.find(b"\n") + 1)].split(b"\n")
        if not _json_object(lines[-1]):
            lines.pop()
        return tuple(line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines)

    def _up_to(self, start: int, end: int) -> bytes:
        blocks: list[bytes] = []
        try:
            while start < end and (block := os.pread(self.descriptor, end - start, start)):
                blocks.append(block)
                start += len(block)
        except OSError as failure:
            raise not_read(self.path, failure) from failure
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def _after_last_line(self, start: int, end: int) -> int | None:
        while start < end:
            block_start = max(start, end - _BLOCK_BYTES)
            found = self.range(block_start, end).rfind(b"\n")
            if found >= 0:
                return block_start + found + 1
            end = block_start
        return None

    def _after_next_line(self, start: int, end: int) -> int:
        while start < end:
            block_end = min(end, start + _BLOCK_BYTES)
            found = self.range(start, block_end).find(b"\n")
            if found >= 0:
                return start + found + 1
            start = block_end
        return end

    def _is_object(self, start: int, end: int) -> bool:
        if end - start > LAST_LINE_BYTES_MAX or self.range(end - 1, end) not in b"} \t\r":
            return False
        line = self.range(start, end)
        return _json_object(line.removeprefix(_UTF8_MARK) if start == 0 else line)


@contextmanager
def opened(path: Path) -> Iterator[OpenFile]:
    """Open a regular file for reading: no link is followed, and a pipe or a device is never opened.

    Raises NotRead (`vanished`, `unreadable`, `not-regular`, `path-too-long`).
    """
    try:
        _require_regular(path, os.lstat(path))
        descriptor = os.open(path, _NO_LINK_NO_WAIT)
    except OSError as failure:
        raise not_read(path, failure) from failure
    try:
        status = os.fstat(descriptor)
        _require_regular(path, status)
        yield OpenFile(path, descriptor, fingerprint_of(status))
    finally:
        os.close(descriptor)


def read(path: Path, *, limit_bytes: int | None = PLAIN_BYTES_MAX, may_grow: bool = False) -> Read:
    """Return the whole file as it was at one moment.

    A file that changes meanwhile is read again, and rejected (`changed-while-read`) when it never rests. Where
    it `may_grow`, what it held when it was opened is taken although more was appended. One that is larger
    than the limit is rejected (`too-large`) and not read. An empty file is a file like any other. Raises NotRead.
    """
    for _ in range(READS_MAX):
        with opened(path) as file:
            before = file.fingerprint
            if limit_bytes is not None and before.size > limit_bytes:
                raise NotRead(path, "too-large", f"{before.size} bytes, the limit is {limit_bytes}.")
            # One byte more than there should be, to see that the file ends where it should.
            content = file._up_to(0, before.size + 1)
            after = file.now()
        if after == before and len(content) == before.size:
            return Read(path, content, before)
        if may_grow and after.size > before.size <= len(content):
            return Read(path, content[: before.size], before, growing=True)
    raise NotRead(path, "changed-while-read", f"It was read {READS_MAX} times.")


def sniff(path: Path) -> Sniffed:
    """Return the head of a file, by which its format is recognised; raises NotRead."""
    with opened(path) as file:
        beginning = file._up_to(0, SNIFF_BYTES)
        head = Head.of(beginning_text(beginning), str(path), file.head(beginning))
        return Sniffed(path, head, beginning, file.fingerprint)


def read_range(path: Path, start: int, end: int) -> bytes:
    """Return the bytes [start, end) of a file; raises NotRead."""
    with opened(path) as file:
        return file.range(start, end)


def complete_end(path: Path, start: int = 0) -> int:
    """Return the offset after the last complete line of a file, as `OpenFile.complete_end` has it; raises NotRead."""
    with opened(path) as file:
        return file.complete_end(start)


def not_read(path: Path, failure: OSError) -> NotRead:
    """Say why the system refused a file."""
    return NotRead(path, _REASONS.get(failure.errno, "unreadable"), failure.strerror or "")


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRead(path, "not-regular")


def fingerprint_of(status: os.stat_result) -> Fingerprint:
    """Return what tells a file from its later self."""
    return Fingerprint(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)


def _json_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8", "replace")), dict)
    except (ValueError, RecursionError):
        return False
