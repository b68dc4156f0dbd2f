"""Shelves: the named entries of a folder or of a zip archive, read one at a time and never written to a disk."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from chronofile.domain.rejection import NotRead
from chronofile.ingest.reading import not_read, opened

ENTRY_BYTES_MAX = 64 << 20
"""The most that is read of an entry as a whole."""
RATIO_MAX = 200
BOMB_BYTES_MIN = 50 << 20
UNPACKED_BYTES_MAX = 32 << 30

_ENCRYPTED = 0x1
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What reading an entry of a damaged archive raises."""


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


class Zip:
    """The files of a zip archive that was opened with `opened_zip`."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path, self._archive = path, archive
        self.entries = {entry.filename: entry for entry in archive.infolist() if not entry.is_dir()}

    def names(self) -> Sequence[str]:
        return list(self.entries)

    def read(self, name: str) -> bytes | None:
        if name not in self.entries:
            return None
        with self.open(name) as stream:
            content = stream.read(ENTRY_BYTES_MAX + 1)
        if len(content) > ENTRY_BYTES_MAX:
            raise NotRead(self.path, "too-large", f"{name} is longer than {ENTRY_BYTES_MAX} bytes.")
        return content

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open an entry for reading; raises NotRead (`damaged`), also for what is found while it is read."""
        try:
            with self._archive.open(self.entries[name]) as stream:
                yield stream
        except BROKEN as failure:
            raise NotRead(self.path, "damaged", f"{name}: {failure}") from failure
        except OSError as failure:
            raise not_read(self.path, failure) from failure

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
    """Open a zip archive; raises NotRead (`damaged`, `zip-bomb`, and what reading a file raises)."""
    with opened(path) as file, os.fdopen(os.dup(file.descriptor), "rb") as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except (*BROKEN, ValueError, OSError) as failure:
            raise NotRead(path, "damaged", str(failure)) from failure
        with archive:
            shelf = Zip(path, archive)
            packed = sum(entry.compress_size for entry in shelf.entries.values())
            unpacked = sum(entry.file_size for entry in shelf.entries.values())
            if packed > file.fingerprint.size or unpacked > UNPACKED_BYTES_MAX:
                raise NotRead(path, "zip-bomb", f"It says that it unpacks to {unpacked:,} bytes.")
            yield shelf
