"""Shelves: the named entries of a folder or of a zip archive, read one at a time and never written to a disk."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from chronofile.domain.rejection import NotRead
from chronofile.domain.times import parse
from chronofile.ingest.reading import OpenFile, opened

ENTRY_BYTES_MAX = 64 << 20
"""The most that is read of an entry as a whole."""
RATIO_MAX = 200
BOMB_BYTES_MIN = 50 << 20
BOMB_TOTAL_BYTES_MIN = 1 << 30
UNPACKED_BYTES_MAX = 32 << 30
DIRECTORY_BYTES_MAX = 32 << 20
"""Of a list of entries; in memory it takes about seven times as much."""
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, struct.error)
"""What reading a damaged archive raises."""

_ENCRYPTED = 0x1
# What exports are packed with. Others may ask for gigabytes of memory in a few bytes.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_PIECE_BYTES = 16 << 10
"""How much of a damaged entry is lost before the damage."""
_NEVER_YEAR = 1980
"""What the year of an entry is where nobody set its time."""
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_END_BYTES_MAX = 70 << 10
"""An archive ends with its last record within so many bytes, since a comment may follow it."""


class Shelf(Protocol):
    """Something with named entries; names have `/` between folders."""

    def names(self) -> Sequence[str]: ...

    def read(self, name: str) -> bytes | None:
        """Return all of an entry, None where there is none; raises NotRead where it cannot be read."""
        ...


class Folder:
    """The files of a folder and of the folders in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> Sequence[str]:
        found: list[str] = []
        for folder, folders, files in os.walk(self.path):
            folders.sort()
            inside = Path(folder).relative_to(self.path)
            found += [str(PurePosixPath(inside, name)) for name in sorted(files)]
        return found

    def read(self, name: str) -> bytes | None:
        path = self.path / name
        if not os.path.lexists(path):
            return None
        with opened(path) as file:
            size = file.fingerprint.size
            if size > ENTRY_BYTES_MAX:
                raise NotRead(path, "too-large", f"{size} bytes, the limit is {ENTRY_BYTES_MAX}.")
            return file.range(0, size)


class Entry:
    """An entry of a zip archive while it is read. What can be read of a damaged one is, and then it raises."""

    def __init__(self, path: Path, name: str, stream: IO[bytes], expected: int) -> None:
        self._path, self._name, self._stream = path, name, stream
        self._expected, self._sum = expected, 0
        self._failure: Exception | None = None

    def read(self, size: int) -> bytes:
        """Return up to so many bytes more, none at the end; raises NotRead (`damaged`) after the last good ones."""
        content = b"" if self._failure else b"".join(self._pieces(size))
        self._sum = zlib.crc32(content, self._sum)
        if not content and size and (self._failure or self._sum != self._expected):
            told = self._failure or "its checksum is another"
            raise NotRead(self._path, "damaged", f"{self._name}: {told}") from self._failure
        return content

    def _pieces(self, size: int) -> Iterator[bytes]:
        try:
            while size and (piece := self._stream.read(min(size, _PIECE_BYTES))):
                yield piece
                size -= len(piece)
        except (*BROKEN, OSError) as failure:
            self._failure = failure


class Zip:
    """The files of a zip archive that was opened with `opened_zip`; of several with one name the last one counts."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self._archive = path, archive
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
        self.entries = {entry.filename: entry for entry in files}
        self.repeated = len(files) - len(self.entries)
        """How many entries have the name of a later one."""
        self._sums = {name: entry.CRC for name, entry in self.entries.items()}
        for entry in self.entries.values():
            # Or the last bytes of an entry that does not add up would be kept back.
            entry.CRC = None  # type: ignore[assignment]

    def names(self) -> Sequence[str]:
        return list(self.entries)

    def read(self, name: str) -> bytes | None:
        if name not in self.entries:
            return None
        with self.open(name) as entry:
            content = entry.read(ENTRY_BYTES_MAX + 1)
            if len(content) > ENTRY_BYTES_MAX:
                raise NotRead(self.path, "too-large", f"{name} is longer than {ENTRY_BYTES_MAX} bytes.")
            entry.read(1)  # Whether it is whole shows at its end.
        return content

    @contextmanager
    def open(self, name: str) -> Iterator[Entry]:
        """Open an entry for reading; raises NotRead (`damaged`, `changed-while-read`)."""
        entry = self.entries.get(name)
        if entry is None:
            raise NotRead(self.path, "changed-while-read", f"{name} is not there any more.")
        if entry.compress_type not in _METHODS:
            raise NotRead(self.path, "damaged", f"{name} is packed in a way that is not read here.")
        try:
            stream = self._archive.open(entry)
        except (*BROKEN, OSError) as failure:
            raise NotRead(self.path, "damaged", f"{name}: {failure}") from failure
        with stream:
            yield Entry(self.path, name, stream, self._sums[name])

    def changed(self, name: str) -> str | None:
        """Return when an entry was last changed, by the clock of whoever packed it; None where that is not told."""
        year, *others = self.entries[name].date_time
        changed = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(year, *others)
        return changed if year > _NEVER_YEAR and parse(changed) is not None else None

    def is_encrypted(self, name: str) -> bool:
        return bool(self.entries[name].flag_bits & _ENCRYPTED)

    def is_bomb(self, name: str) -> bool:
        """Tell whether an entry unpacks to far more than text does."""
        entry = self.entries[name]
        return entry.file_size > BOMB_BYTES_MIN and entry.file_size > RATIO_MAX * max(1, entry.compress_size)


def is_unsafe(name: str) -> bool:
    """Tell whether a name leads out of its archive."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return ".." in parts or parts[:1] == ("/",) or (bool(parts) and parts[0].endswith(":"))


@contextmanager
def opened_zip(path: Path) -> Iterator[Zip]:
    """Open a zip archive; raises NotRead (`damaged`, `zip-bomb`, `too-large`, and what reading a file raises)."""
    with opened(path) as file, os.fdopen(os.dup(file.descriptor), "rb") as stream:
        listed = _directory_bytes(file)
        if listed > DIRECTORY_BYTES_MAX:
            raise NotRead(path, "too-large", f"The list of what is in it has {listed:,} bytes.")
        try:
            archive = zipfile.ZipFile(stream)
        except (*BROKEN, OSError) as failure:
            raise NotRead(path, "damaged", str(failure)) from failure
        with archive:
            packed = sum(entry.compress_size for entry in archive.infolist())
            unpacked = sum(entry.file_size for entry in archive.infolist())
            # Entries that lie over each other are more than the file.
            is_bomb = unpacked > BOMB_TOTAL_BYTES_MIN and unpacked > RATIO_MAX * file.fingerprint.size
            if packed > file.fingerprint.size or unpacked > UNPACKED_BYTES_MAX or is_bomb:
                raise NotRead(path, "zip-bomb", f"It says that it unpacks to {unpacked:,} bytes.")
            yield Zip(path, archive)


def _directory_bytes(file: OpenFile) -> int:
    """Return how long the list of entries says that it is: all of it is read at once when an archive is opened."""
    size = file.fingerprint.size
    end = file.range(max(0, size - _END_BYTES_MAX), size)
    at, at_64 = end.rfind(_END), end.rfind(_END_64)
    if at_64 >= 0:
        return int.from_bytes(end[at_64 + 40 : at_64 + 48], "little")
    return int.from_bytes(end[at + 12 : at + 16], "little") if at >= 0 else 0
