"""Companions: files that belong to a conversation which another file begins, and stand for nothing by themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives.databases import MAGIC, beside
from chronofile.ingest.archives.storages import SUFFIX, Storage, Storages
from chronofile.ingest.reading import Fingerprint, read_range

LOGS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database."""
PARTS = (SUFFIX, *LOGS)
"""What the names of files end with that may be a part of a conversation."""
DATABASES = (".vscdb", ".db", ".db3", ".sqlite", ".sqlite3", ".backup")
"""Names of files beside which a log is looked for."""


@dataclass(slots=True)
class Companions:
    """Finds, within one run, the file that is to be looked at in place of another."""

    _storages: Storages = field(default_factory=Storages)
    _databases: dict[Path, bool] = field(default_factory=dict)

    def leader(self, path: Path) -> Path | None:
        """Return the file that begins the conversation which a file is a part of, None where it is none."""
        suffix = next((one for one in LOGS if path.name.endswith(one)), None)
        if suffix is None:
            return self._storages.leader(path)
        leader = path.with_name(path.name.removesuffix(suffix))
        if leader not in self._databases:
            self._databases[leader] = _is_database(leader)
        return leader if self._databases[leader] else None

    def leading(self, paths: Iterable[Path]) -> Iterator[Path]:
        """Yield the files that begin what the paths belong to, and the paths that are no part of anything."""
        yield from dict.fromkeys(self.leader(path) or path for path in paths)


def fingerprint(path: Path, own: Fingerprint) -> Fingerprint:
    """Return what tells that neither a file nor what belongs to it has changed: all sizes and the latest time.

    When a companion's entry in its folder was changed does not count: SQLite changes that of a log that it opens.
    """
    found = list(_companions(path))
    return replace(
        own,
        size=own.size + sum(status.st_size for status in found),
        mtime_ns=max([own.mtime_ns, *(status.st_mtime_ns for status in found)]),
    )


def leads(path: Path) -> bool:
    """Tell whether a file has companions."""
    return next(_companions(path), None) is not None


def _companions(path: Path) -> Iterator[os.stat_result]:
    if path.name.endswith(DATABASES):
        try:
            yield beside(path, "-wal").lstat()
        except OSError:
            return
    elif (storage := Storage.of_session(path)) is not None:
        yield from storage.companions(path)


def _is_database(path: Path) -> bool:
    try:
        return read_range(path, 0, len(MAGIC)) == MAGIC
    except NotRead:
        return False
