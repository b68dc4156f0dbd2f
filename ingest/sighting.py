"""Sightings: what a file turned out to hold, before it is known what that means for the log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from chronofile.domain.formats import FORMATS, neutral, recognise
from chronofile.domain.identity import digest, storable
from chronofile.domain.rejection import NotRead, Rejected
from chronofile.domain.scopes import is_scope_name
from chronofile.domain.times import iso
from chronofile.domain.wording import counted
from chronofile.ingest.encodings import text_encoding
from chronofile.ingest.reading import (
    PLAIN_BYTES_MAX,
    RANGE_BYTES,
    Fingerprint,
    OpenFile,
    opened,
    read,
    read_range,
    sniff,
)
from chronofile.ingest.scan import Found

TEXT = "text"
FORMAT_NAMES = (TEXT, *FORMATS)
HEAD_BYTES, TAIL_BYTES = 4 << 10, 64 << 10
"""What a probe looks at: enough to tell a file that only grew from one that was written anew."""


class Bytes(Protocol):
    """Something with bytes in it: a file's, or what one session has of a file."""

    @property
    def size(self) -> int: ...

    def range(self, start: int, end: int) -> bytes: ...

    def ranges(self, start: int) -> Iterator[tuple[int, int]]:
        """Cut what stands after `start` into ranges that end with a line."""
        ...


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Bytes that were read."""

    content: bytes

    @property
    def size(self) -> int:
        return len(self.content)

    def range(self, start: int, end: int) -> bytes:
        return self.content[start:end]

    def ranges(self, start: int) -> Iterator[tuple[int, int]]:
        size = len(self.content)
        while size - start > RANGE_BYTES:
            cut = self.content.rfind(b"\n", start, start + RANGE_BYTES) + 1
            cut = cut or self.content.find(b"\n", start + RANGE_BYTES) + 1 or size
            yield start, cut
            start = cut
        if start < size or not start:
            yield start, size


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file that is too large to hold: its complete lines, read range by range."""

    path: Path
    size: int

    def range(self, start: int, end: int) -> bytes:
        return read_range(self.path, start, end)

    def ranges(self, start: int) -> Iterator[tuple[int, int]]:
        with opened(self.path) as file:
            yield from file.ranges(start, self.size)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One source's bytes as seen in one file. `growing`: ranges may be appended to what was captured."""

    path: Path
    root: Path | None
    kind: str
    format: str
    encoding: str
    session: str | None
    key: str
    uri: str
    cwd: str | None
    scope: str | None
    growing: bool
    content: Bytes
    event_time: str | None


@dataclass(frozen=True, slots=True)
class Looked:
    """A file that was looked at: what it holds, what is wrong with it, and what waits for its line's end.

    With `rejected`, and the state that it is rejected in, the file as a whole is, and its one sighting says
    no more than which it is. `left_out` are lines that could not be captured while the others were.
    """

    found: Found
    fingerprint: Fingerprint
    sightings: tuple[Sighting, ...]
    rejected: Rejected | None = None
    rejected_state: str | None = None
    left_out: tuple[Rejected, ...] = ()
    waiting_bytes: int = 0

    @property
    def is_told(self) -> bool:
        """Whether a later run that finds the file unchanged has nothing to say of it but that."""
        return not self.waiting_bytes and not self.left_out


def look(found: Found, *, format_name: str | None = None) -> Looked | None:
    """Read a file and say what it holds; None when it was to be taken only as a transcript and is none.

    Raises NotRead. A file that holds no text is no error here: `rejected` says so.
    """
    sniffed = sniff(found.path)
    form = recognise(sniffed.head, str(found.path)) if format_name is None else FORMATS.get(format_name)
    if form is None:
        return None if found.otherwise else _file(found)
    if form.name == neutral.name:
        return _turns(found)
    return _transcript(found, form.name, sniffed.head) or (None if found.otherwise else _file(found))


def is_part_of(path: Path, sighting: Sighting) -> bool:
    """Tell whether the file at a path has the sighting's session, and there begins with all that is seen of it."""
    try:
        looked = look(Found(path, named=True, root=None), format_name=sighting.format)
        others = looked.sightings if looked is not None else ()
        return any(_is_beginning(sighting.content, o.content) for o in others if o.key == sighting.key)
    except NotRead:
        return False


def uri_of(path: Path) -> str:
    """Return a file's URI: its absolute path, percent-encoded byte by byte."""
    return "file://" + quote(os.fsencode(path))


def _file(found: Found) -> Looked:
    taken = read(found.path, limit_bytes=PLAIN_BYTES_MAX)
    encoding = text_encoding(taken.content)
    if encoding is None:
        binary = Rejected(found.path, "binary")
        return rejected_file(found, taken.fingerprint, binary, state=digest(taken.content))
    sighting = _file_sighting(found, taken.content, encoding, taken.fingerprint)
    return Looked(found, taken.fingerprint, (sighting,))


def rejected_file(
    found: Found, fingerprint: Fingerprint, rejected: Rejected, *, state: str | None = None
) -> Looked:
    """Return a file that is there and cannot be captured; one that was not read has its size and time as state."""
    state = state or f"{fingerprint.size}/{fingerprint.mtime_ns}/{fingerprint.inode}"
    return Looked(found, fingerprint, (_file_sighting(found, b"", "utf-8", fingerprint),), rejected, state)


def _file_sighting(found: Found, content: bytes, encoding: str, fingerprint: Fingerprint) -> Sighting:
    uri = uri_of(found.path)
    changed = datetime.fromtimestamp(fingerprint.mtime_ns / 1e9, UTC)
    return Sighting(
        path=found.path,
        root=found.root,
        kind="file",
        format=TEXT,
        encoding=encoding,
        session=None,
        key=uri,
        uri=uri,
        cwd=None,
        scope=None,
        growing=False,
        content=HeldBytes(content),
        event_time=iso(changed),
    )


def _transcript(found: Found, format_name: str, head: tuple[str, ...]) -> Looked | None:
    identity = FORMATS[format_name].identify(head, str(found.path))
    if identity is None:
        return None
    with opened(found.path) as file:
        end = file.complete_end()
        held = HeldBytes(file.range(0, end)) if end <= RANGE_BYTES else None
        fingerprint = file.fingerprint
    sighting = Sighting(
        path=found.path,
        root=found.root,
        kind="transcript",
        format=format_name,
        encoding="utf-8-sig",
        session=storable(identity.session),
        key=f"{format_name}:{identity.key}",
        uri=uri_of(found.path),
        cwd=identity.cwd,
        scope=storable(identity.scope),
        growing=True,
        content=held or FileBytes(found.path, end),
        event_time=None,
    )
    return Looked(found, fingerprint, (sighting,), waiting_bytes=fingerprint.size - end)


def _turns(found: Found) -> Looked:
    """Part a file into its sessions, whose bytes are all held, and one of them twice, until they are appended.

    Of the file itself only a range is held at a time.
    """
    with opened(found.path) as file:
        fingerprint, end = file.fingerprint, file.complete_end()
        parted = _parted(file, end)
    sightings = []
    for scope, session in list(parted.sessions):
        content = HeldBytes(bytes(parted.sessions.pop((scope, session))))
        sightings.append(_session(found, scope, session, content))
    left_out: list[Rejected] = []
    if parted.unreadable:
        left_out.append(Rejected(found.path, "not-turns", counted(parted.unreadable, "line")))
    if parted.misnamed:
        left_out.append(Rejected(found.path, "scope-name", counted(parted.misnamed, "line")))
    return Looked(
        found,
        fingerprint,
        tuple(sightings),
        left_out=tuple(left_out),
        waiting_bytes=fingerprint.size - end,
    )


def _session(found: Found, scope: str | None, session: str, content: HeldBytes) -> Sighting:
    return Sighting(
        path=found.path,
        root=found.root,
        kind="transcript",
        format=neutral.name,
        encoding="utf-8-sig",
        session=storable(session),
        key=f"{neutral.name}:{session}",
        uri=f"{uri_of(found.path)}#{quote(session, errors='surrogatepass')}",
        cwd=None,
        scope=scope,
        growing=True,
        content=content,
        event_time=None,
    )


@dataclass(slots=True)
class _Parted:
    """The lines of neutral turns by (scope, session), and how many are no turns or name no possible scope."""

    sessions: dict[tuple[str | None, str], bytearray] = field(default_factory=dict)
    unreadable: int = 0
    misnamed: int = 0


def _parted(file: OpenFile, end: int) -> _Parted:
    parted = _Parted()
    for span in file.ranges(0, end):
        # Surrogate escapes bring every byte back as it was, also where it is no UTF-8.
        found = neutral.split(file.range(*span).decode("utf-8", "surrogateescape").split("\n"))
        parted.unreadable += len(found.unreadable)
        for (named, session), lines in found.sessions.items():
            scope = storable(named)
            if scope is not None and not is_scope_name(scope):
                parted.misnamed += len(lines)
                continue
            content = ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")
            parted.sessions.setdefault((scope, session), bytearray()).extend(content)
    return parted


def _is_beginning(shorter: Bytes, longer: Bytes) -> bool:
    if longer.size < shorter.size:
        return False
    starts = range(0, shorter.size, RANGE_BYTES)
    spans = [(start, min(start + RANGE_BYTES, shorter.size)) for start in starts]
    return all(shorter.range(*span) == longer.range(*span) for span in spans)


__all__ = ["FORMAT_NAMES", "Bytes", "Looked", "NotRead", "Sighting", "is_part_of", "look", "uri_of"]
