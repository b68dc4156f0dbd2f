"""What the write side knows: which source answers to a name, which scope to a directory, how files looked.

Names and directories decide, and are written in the transaction of the events that make them. What files
looked like is a cache that spares reading them again.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg

from chronofile.ingest.reading import Fingerprint

Cursor = psycopg.Cursor[dict[str, Any]]
CAPTURED, ERASED = "captured", "erased"

_BEGINNING_BYTES = 1_024
"""How much of a path the index on its beginning holds."""


@dataclass(frozen=True, slots=True)
class Name:
    """A key in a scope, and the source that it was given to; `ordinal` counts earlier ones."""

    scope: str
    key: str
    ordinal: int
    source: str


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was when it was last read; `outcome` is `captured` or the reason of a rejection.

    Of an archive it goes on with what was left out of it: `captured too-large:1 encrypted:2 older-copy:3`. `scope` is
    empty where the conversations in it have scopes of their own.
    """

    path: Path
    root: Path | None
    scope: str
    source: str | None
    sources: int
    content: str | None
    fingerprint: Fingerprint
    outcome: str

    @property
    def left_out(self) -> Mapping[str, int] | None:
        """How often something was left out for each reason; None of a file of which nothing was captured."""
        outcome, *reasons = self.outcome.split(" ")
        parted = (reason.rpartition(":") for reason in reasons)
        return {reason: int(count) for reason, _, count in parted} if outcome == CAPTURED else None


def captured_but(left_out: Mapping[str, int]) -> str:
    """Return the outcome of an archive that was captured but for what was left out, counted by reason."""
    return " ".join([CAPTURED, *(f"{reason}:{count}" for reason, count in sorted(left_out.items()))])


def with_older(file: KnownFile, count: int) -> KnownFile:
    """Return a file of which so many conversations are captured already in a later state."""
    if not count or file.left_out is None:
        return file
    return replace(file, outcome=captured_but({**file.left_out, "older-copy": count}))


def names(cursor: Cursor, keys: Collection[str]) -> dict[tuple[str, str], list[Name]]:
    """Return every name given out for the keys, oldest first, by (scope, key)."""
    cursor.execute(
        "SELECT scope, key, ordinal, source FROM log.source_names WHERE key = ANY(%s) ORDER BY ordinal",
        (list(keys),),
    )
    found: dict[tuple[str, str], list[Name]] = {}
    for row in cursor:
        found.setdefault((row["scope"], row["key"]), []).append(Name(**row))
    return found


def write_names(cursor: Cursor, given: Iterable[Name]) -> None:
    """Give names out; a name that somebody else gave out meanwhile is a conflict of the append."""
    # In one order for all writers, so that two that give out the same names cannot wait for each other.
    rows = sorted((name.scope, name.key, name.ordinal, name.source) for name in given)
    if rows:
        cursor.execute(
            "INSERT INTO log.source_names (scope, key, ordinal, source)"
            " SELECT * FROM unnest(%s::text[], %s::text[], %s::integer[], %s::text[])",
            _columns(rows),
        )


def directories(cursor: Cursor) -> dict[str, str]:
    """Return the scope of every mapped directory."""
    cursor.execute("SELECT directory, scope FROM log.directories")
    return {os.fsdecode(bytes(row["directory"])): row["scope"] for row in cursor}


def write_directory(cursor: Cursor, directory: str, scope: str) -> None:
    cursor.execute(
        "INSERT INTO log.directories (directory, scope) VALUES (%s, %s)", (os.fsencode(directory), scope)
    )


def files(cursor: Cursor, paths: Sequence[Path]) -> dict[Path, KnownFile]:
    """Return what is known of the files, by path."""
    cursor.execute("SELECT * FROM log.files WHERE sha256(path) = ANY(%s)", (_digests(paths),))
    return {found.path: found for found in map(_known, cursor)}


def files_below(cursor: Cursor, folders: Sequence[Path]) -> list[KnownFile]:
    """Return what is known of the files below the folders."""
    prefixes = [os.fsencode(folder).rstrip(b"/") + b"/" for folder in folders]
    ends = [prefix[:-1] + b"0" for prefix in prefixes]
    # A path between the bounds has its beginning between theirs, which are equal where the folder's path is long.
    cursor.execute(
        "SELECT file.* FROM unnest(%s::bytea[], %s::bytea[], %s::bytea[], %s::bytea[])"
        " AS below (first, last, first_beginning, last_beginning) JOIN log.files AS file"
        " ON substr(file.path, 1, 1024) BETWEEN below.first_beginning AND below.last_beginning"
        " AND file.path >= below.first AND file.path < below.last ORDER BY file.path",
        (prefixes, ends, *([bound[:_BEGINNING_BYTES] for bound in bounds] for bounds in (prefixes, ends))),
    )
    return [_known(row) for row in cursor]


def files_at_or_below(cursor: Cursor, paths: Sequence[Path]) -> list[KnownFile]:
    """Return what is known of the files at the paths; a path at which none is known stands for a folder."""
    found = files(cursor, paths)
    return [*found.values(), *files_below(cursor, [path for path in paths if path not in found])]


def shared_files(cursor: Cursor) -> list[Path]:
    """Return the files that hold several sources each."""
    cursor.execute("SELECT path FROM log.files WHERE sources > 1 ORDER BY path")
    return [Path(os.fsdecode(bytes(row["path"]))) for row in cursor]


def files_with_content(cursor: Cursor, contents: Collection[str]) -> list[KnownFile]:
    """Return the files that held one of the contents when they were last read."""
    cursor.execute("SELECT * FROM log.files WHERE content = ANY(%s) ORDER BY path", (list(contents),))
    return [_known(row) for row in cursor]


def files_of(cursor: Cursor, sources: Collection[str]) -> dict[str, list[KnownFile]]:
    """Return the files that each source was read from."""
    cursor.execute("SELECT * FROM log.files WHERE source = ANY(%s) ORDER BY path", (list(sources),))
    found: dict[str, list[KnownFile]] = {}
    for row in cursor:
        found.setdefault(row["source"], []).append(_known(row))
    return found


def copies(cursor: Cursor, source: str) -> list[Path]:
    """Return the files that a source may be in: its own, and those that hold several."""
    own = [file.path for file in files_of(cursor, [source]).get(source, ())]
    return [*own, *shared_files(cursor)]


def write_files(cursor: Cursor, seen: Iterable[KnownFile], gone: Iterable[Path] = ()) -> None:
    """Remember how files look now, and forget files that are gone."""
    if left := _digests(gone):
        cursor.execute("DELETE FROM log.files WHERE sha256(path) = ANY(%s)", (left,))
    if rows := sorted(map(_row, seen)):
        cursor.execute(
            "INSERT INTO log.files SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::text[], %s::text[],"
            " %s::integer[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::numeric[], %s::numeric[],"
            " %s::text[]) ON CONFLICT (sha256(path)) DO UPDATE SET (root, scope, source, sources, content, size, mtime_ns,"
            " ctime_ns, inode, device, outcome) = ROW (excluded.root, excluded.scope, excluded.source,"
            " excluded.sources, excluded.content, excluded.size, excluded.mtime_ns, excluded.ctime_ns,"
            " excluded.inode, excluded.device, excluded.outcome)",
            _columns(rows),
        )


def unsettled(fingerprint: Fingerprint) -> Fingerprint:
    """Return a fingerprint that no file has, to be remembered of one that is to be looked at again."""
    return replace(fingerprint, mtime_ns=-1)


def is_gone(path: Path) -> bool:
    """Tell whether nothing is at a path any more. Where the system does not let us look, it may still be there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _digests(paths: Iterable[Path]) -> list[bytes]:
    """Return the keys under which paths stand: one of up to 4,096 bytes is too long for an index."""
    return [sha256(os.fsencode(path)).digest() for path in paths]


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _row(file: KnownFile) -> tuple[Any, ...]:
    look = file.fingerprint
    return (
        os.fsencode(file.path),
        None if file.root is None else os.fsencode(file.root),
        *(file.scope, file.source, file.sources, file.content),
        *(look.size, look.mtime_ns, look.ctime_ns, look.inode, look.device, file.outcome),
    )


def _known(row: dict[str, Any]) -> KnownFile:
    root = row["root"]
    return KnownFile(
        path=Path(os.fsdecode(bytes(row["path"]))),
        root=None if root is None else Path(os.fsdecode(bytes(root))),
        scope=row["scope"],
        source=row["source"],
        sources=row["sources"],
        content=row["content"],
        fingerprint=Fingerprint(
            row["size"], row["mtime_ns"], row["ctime_ns"], int(row["inode"]), int(row["device"])
        ),
        outcome=row["outcome"],
    )
