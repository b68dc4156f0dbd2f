"""Databases: SQLite files that tools keep conversations in, read without a trace beside them, also while they are in use."""

from __future__ import annotations

import os
import sqlite3
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from chronofile.domain.rejection import NotRead
from chronofile.ingest.reading import not_read, read_range

if sys.platform != "win32":
    import fcntl

MAGIC = b"SQLite format 3\0"
BUSY_S = 5.0
"""How long to wait for a program that is writing."""
VALUE_BYTES_MAX = 64 << 20
"""The longest value that is read: one that is longer is left out."""

_HEADER_BYTES = 100
_WAL_MODE = 2
_WAL_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_SHARED = (0x40000002, 510)
"""The bytes on which SQLite locks a file that it reads: https://sqlite.org/fileformat2.html#lockbyte"""
_NO_LOCKS = "win32-none" if os.name == "nt" else "unix-none"
_BUSY, _LOCKED, _READONLY, _CORRUPT, _NO_DATABASE = 5, 6, 8, 11, 26


class Damaged(Exception):
    """A part of the database cannot be read."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database that is open for reading. Texts come out as bytes, as they are stored."""

    path: Path
    connection: sqlite3.Connection
    tables: frozenset[str]

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield a query's rows; raises Damaged, and NotRead where another program keeps it from being read."""
        try:
            yield from self.connection.execute(query, values)
        except sqlite3.Error as failure:
            raise _failed(self.path, failure) from failure

    def records(self, query: str, values: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
        """Yield a query's rows by the names of their columns; raises what `rows` raises."""
        try:
            found = self.connection.execute(query, values)
            names = [column[0] for column in found.description]
            for row in found:
                yield dict(zip(names, row, strict=True))
        except sqlite3.Error as failure:
            raise _failed(self.path, failure) from failure

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all that is read meanwhile be of one moment. It is to be short: it keeps others from writing.

        Raises what `rows` raises.
        """
        try:
            self.connection.execute("BEGIN")
        except sqlite3.Error as failure:
            raise _failed(self.path, failure) from failure
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    def columns(self, table: str) -> list[str]:
        """Return the names of a table's columns, none where there is no such table."""
        found = self.rows("SELECT name FROM pragma_table_info(?)", (table,))
        return [_text(name) for (name,) in found]


@contextmanager
def opened_database(path: Path) -> Iterator[Database]:
    """Open a database for reading; what another program has written and not yet moved into the file is seen.

    Nothing is written: no lock file, no index, no log. Raises NotRead: `locked` where another program has
    it for itself, `damaged` where it is no database that can be read, `changed-while-read`.
    """
    try:
        with _connected(path) as connection:
            connection.text_factory = bytes
            # What is sorted is not to be written to a disk either.
            connection.execute("PRAGMA temp_store = MEMORY")
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = frozenset(_text(name) for (name,) in names)
            yield Database(path, connection, tables)
    except sqlite3.Error as failure:
        raise _not_read(path, failure) from failure


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    log, index = beside(path, "-wal"), beside(path, "-shm")
    log_bytes = _size(log)
    if log_bytes is not None and _size(index):
        # The program that writes has made an index of its log, which is read and not touched.
        with _open(path, "mode=ro&readonly_shm=1") as connection:
            yield connection
    elif log_bytes and _holds_commit(log):
        with _as_it_is(path), _shared(path), _open(path, f"mode=ro&vfs={_NO_LOCKS}") as connection:
            # The index of the log is made in memory then.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            yield connection
    elif log_bytes is not None or _is_logged(path):
        with _as_it_is(path), _open(path, "mode=ro&immutable=1") as connection:
            yield connection
    else:
        with _open(path, "mode=ro") as connection:
            yield connection


@contextmanager
def _open(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    uri = f"file:{quote(os.fsencode(path))}?{how}"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None)) as connection:
        yield connection


@contextmanager
def _as_it_is(path: Path) -> Iterator[None]:
    """Raise NotRead where the file or its log was written while it was read without locks."""
    before = states(path)
    yield
    if states(path) != before:
        raise NotRead(path, "changed-while-read", "It was written to while it was read.")


@contextmanager
def _shared(path: Path) -> Iterator[None]:
    """Hold the lock of a reader, so that no program that has the file for itself writes meanwhile."""
    if sys.platform == "win32":
        # There the system itself keeps two programs apart.
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        start, length = _SHARED
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, length, start)
        except OSError as failure:
            raise NotRead(path, "locked") from failure
        yield
    finally:
        os.close(descriptor)


def states(path: Path) -> list[tuple[int, int, int]]:
    """Return size, time and inode of a database's file and of its log, of the log only where it is there."""
    found = []
    for one in (path, beside(path, "-wal")):
        try:
            status = one.lstat()
        except OSError:
            continue
        found.append((status.st_size, status.st_mtime_ns, status.st_ino))
    return found


def beside(path: Path, suffix: str) -> Path:
    """Return the path of a file that SQLite keeps beside a database."""
    return path.with_name(path.name + suffix)


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size
    except OSError:
        return None


def _is_logged(path: Path) -> bool:
    """Tell whether the database is written through a log: then its file alone is whole when there is none."""
    header = read_range(path, 0, min(_HEADER_BYTES, _size(path) or 0))
    return len(header) >= 20 and _WAL_MODE in header[18:20]


def _holds_commit(log: Path) -> bool:
    """Tell whether a log holds a transaction as a whole.

    Where it does not, SQLite takes the log for void, and would remove it:
    https://sqlite.org/fileformat2.html#the_write_ahead_log
    """
    try:
        with log.open("rb") as file:
            header = file.read(_WAL_HEADER_BYTES)
            if len(header) < _WAL_HEADER_BYTES:
                return False
            magic, _, page_bytes, *_ = struct.unpack(">8I", header)
            if magic not in _WAL_MAGIC or not 512 <= page_bytes <= 65536:
                return False
            order = ">" if magic & 1 else "<"
            sums = _checksum(order, header[:24], (0, 0))
            if sums != struct.unpack(">2I", header[24:]):
                return False
            while (
                len(frame := file.read(_FRAME_HEADER_BYTES + page_bytes)) == _FRAME_HEADER_BYTES + page_bytes
            ):
                sums = _checksum(order, frame[:8] + frame[_FRAME_HEADER_BYTES:], sums)
                if frame[8:16] != header[16:24] or sums != struct.unpack(">2I", frame[16:24]):
                    return False
                if frame[4:8] != b"\0\0\0\0":
                    return True
    except OSError as failure:
        raise not_read(log, failure) from failure
    return False


def _checksum(order: str, content: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    for one, other in struct.iter_unpack(f"{order}2I", content):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _failed(path: Path, failure: sqlite3.Error) -> Exception:
    code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
    return _not_read(path, failure) if code in (_BUSY, _LOCKED) else Damaged(str(failure))


def _not_read(path: Path, failure: sqlite3.Error) -> NotRead:
    code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
    if code in (_BUSY, _LOCKED):
        return NotRead(path, "locked")
    if code == _READONLY:
        return NotRead(
            path, "unreadable", "Its last change was broken off; the program it is of has to open it first."
        )
    if code == _NO_DATABASE:
        return NotRead(path, "damaged", f"It is encrypted or broken: {failure}.")
    return NotRead(path, "damaged" if code == _CORRUPT else "unreadable", f"{failure}.")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
