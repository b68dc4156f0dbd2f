"""Sightings: what a file turned out to hold, before it is known what that means for the log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from chronofile.domain.formats import FORMATS, holds_json
from chronofile.domain.rejection import OmissionReason, Rejected
from chronofile.ingest.reading import RANGE_BYTES, Fingerprint, opened, read_range
from chronofile.ingest.scan import Found

TEXT, TRANSCRIPT = "text", "transcript"
FORMAT_NAMES = (TEXT, *FORMATS)
_PASSING = ("changed-while-read", "unreadable", "vanished")
"""Reasons that may not hold the next time."""
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
    """One source's bytes as seen in one file.

    `growing`: ranges may be appended to what was captured; else it is captured as a whole. `event_time` is when a
    file was last changed, or a whole conversation, as far as that tells.
    """

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

    @property
    def holds_json(self) -> bool:
        """Whether its lines are JSON objects."""
        return self.kind == TRANSCRIPT and holds_json(self.format)


@dataclass(frozen=True, slots=True)
class Looked:
    """A file that was looked at: what it holds, what is wrong with it, and what waits for its line's end.

    An archive is looked at in several parts, of which `is_last` is the last one; `sources_before` are in those before.

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
    omitted: Mapping[OmissionReason, int] = field(default_factory=dict)
    is_last: bool = True
    sources_before: int = 0
    is_archive: bool = False
    """Whether it is remembered what was left out, since it takes long to read it again."""

    @property
    def held_bytes(self) -> int:
        """How much memory its bytes take."""
        return sum(one.content.size for one in self.sightings if isinstance(one.content, HeldBytes))

    @property
    def is_told(self) -> bool:
        """Whether a later run that finds the file unchanged has nothing to say of it but what is remembered."""
        is_passing = any(one.reason in _PASSING for one in self.left_out)
        is_remembered = not self.left_out or (self.is_archive and not is_passing)
        return not self.waiting_bytes and is_remembered


def uri_of(path: Path) -> str:
    """Return a file's URI: its absolute path, percent-encoded byte by byte."""
    return "file://" + quote(os.fsencode(path))
