"""Parting: the lines of one file by the conversation that they belong to, and those of a large file read when they are needed."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

from chronofile.domain.formats import aider
from chronofile.domain.identity import storable
from chronofile.domain.rejection import Rejected
from chronofile.domain.scopes import is_scope_name
from chronofile.domain.turns import PartedFormat, Session
from chronofile.domain.wording import counted
from chronofile.ingest.parts import PART_BYTES_MAX, PART_CONVERSATIONS_MAX
from chronofile.ingest.reading import RANGE_BYTES, Fingerprint, OpenFile, opened
from chronofile.ingest.scan import Found
from chronofile.ingest.sighting import TRANSCRIPT, Bytes, HeldBytes, Looked, Sighting, uri_of

HELD_BYTES_MAX = 32 << 20
"""Of a larger file only the places of its lines are held."""

_IN_PROJECTS = frozenset({aider.name})
"""Formats whose files lie in the project that their conversations are about."""

Piece = tuple[int, int] | bytes
"""Where lines stand in a file, or a line that does not stand there by itself."""


def parted(found: Found, form: PartedFormat) -> Iterator[Looked]:
    """Yield the sessions of a file: at once, and in parts where the file is too large to be held."""
    with opened(found.path) as file:
        fingerprint, end = file.fingerprint, file.complete_end()
        lines = _Lines(is_held=end <= HELD_BYTES_MAX)
        lines.take(file, end, form)
    part: list[Sighting] = []
    size = before = 0
    for sessions in lines.by_name():
        sightings = [_sighting(found, form.name, scope, name, lines.content(found.path, (scope, name)))
                     for scope, name in sessions]  # fmt: skip
        more = sum(one.content.size for one in sightings)
        is_full = size + more > PART_BYTES_MAX or len(part) >= PART_CONVERSATIONS_MAX
        if part and is_full and not lines.is_held:
            yield Looked(found, fingerprint, tuple(part), is_last=False, sources_before=before)
            before, part, size = before + len(part), [], 0
        part += sightings
        size += more
    yield _last(found, fingerprint, tuple(part), lines, fingerprint.size - end, before)


def _last(
    found: Found,
    fingerprint: Fingerprint,
    part: tuple[Sighting, ...],
    lines: _Lines,
    waiting_bytes: int,
    before: int,
) -> Looked:
    left_out: list[Rejected] = []
    if lines.unreadable:
        left_out.append(Rejected(found.path, "not-turns", counted(lines.unreadable, "line")))
    if lines.misnamed:
        left_out.append(Rejected(found.path, "scope-name", counted(lines.misnamed, "line")))
    return Looked(
        found,
        fingerprint,
        part,
        left_out=tuple(left_out),
        waiting_bytes=waiting_bytes,
        sources_before=before,
    )


def _sighting(found: Found, format_name: str, scope: str | None, session: str, content: Bytes) -> Sighting:
    return Sighting(
        path=found.path,
        root=found.root,
        kind=TRANSCRIPT,
        format=format_name,
        encoding="utf-8-sig",
        session=storable(session),
        key=f"{format_name}:{session}",
        uri=f"{uri_of(found.path)}#{quote(session, errors='surrogatepass')}",
        cwd=str(found.path.parent) if format_name in _IN_PROJECTS else None,
        scope=scope,
        growing=True,
        content=content,
        event_time=None,
    )


@dataclass(frozen=True, slots=True)
class SpannedBytes:
    """What one session has of a large file: its lines, read from where they stand as they are asked for."""

    path: Path
    pieces: tuple[Piece, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, path: Path, pieces: list[Piece]) -> SpannedBytes:
        return cls(path, tuple(pieces), tuple(accumulate(map(_length, pieces))))

    @property
    def size(self) -> int:
        return self.ends[-1] if self.ends else 0

    def range(self, start: int, end: int) -> bytes:
        blocks: list[bytes] = []
        with opened(self.path) as file:
            at = bisect_right(self.ends, start)
            while at < len(self.pieces) and start < end:
                piece, begin = self.pieces[at], self.ends[at] - _length(self.pieces[at])
                inner = (start - begin, min(end, self.ends[at]) - begin)
                if isinstance(piece, bytes):
                    blocks.append(piece[slice(*inner)])
                else:
                    blocks.append(file.range(piece[0] + inner[0], piece[0] + inner[1]))
                start, at = min(end, self.ends[at]), at + 1
        return b"".join(blocks)

    def ranges(self, start: int) -> Iterator[tuple[int, int]]:
        while self.size - start > RANGE_BYTES:
            cut = start + self.range(start, start + RANGE_BYTES).rfind(b"\n") + 1
            until = start + RANGE_BYTES
            while cut == start and until < self.size:  # One line that is longer than a range.
                found = self.range(until, until + RANGE_BYTES).find(b"\n")
                cut = until + found + 1 if found >= 0 else start
                until += RANGE_BYTES
            cut = cut if cut > start else self.size
            yield start, cut
            start = cut
        if start < self.size or not start:
            yield start, self.size


@dataclass(slots=True)
class _Lines:
    """The lines of a file by session, and how many are no turns or name no possible scope.

    `held` are the lines themselves, `placed` where they stand, one of the two.
    """

    is_held: bool
    held: dict[Session, bytearray] = field(default_factory=dict)
    placed: dict[Session, list[Piece]] = field(default_factory=dict)
    unreadable: int = 0
    misnamed: int = 0

    def take(self, file: OpenFile, end: int, form: PartedFormat) -> None:
        places: deque[tuple[int, bytes]] = deque()
        for whose, line in form.part(_lines(file, end, places)):
            content = line.encode("utf-8", "surrogateescape")
            place = _place(places, content)
            scope = None if whose is None else storable(whose[0])
            if whose is None:
                self.unreadable += 1
            elif scope is not None and not is_scope_name(scope):
                self.misnamed += 1
            elif self.is_held:
                lines = self.held.setdefault((scope, whose[1]), bytearray())
                lines += content
                lines += b"\n"
            else:
                # The last line of a file may have no end of its own.
                is_there = place is not None and place + len(content) < end
                piece = (
                    (place, place + len(content) + 1) if place is not None and is_there else content + b"\n"
                )
                _add(self.placed.setdefault((scope, whose[1]), []), piece)

    def by_name(self) -> Iterator[list[Session]]:
        """Yield the sessions, those of one name together: lines with and without a scope may be one source."""
        names: dict[str, list[Session]] = {}
        for session in (*self.held, *self.placed):
            names.setdefault(session[1], []).append(session)
        yield from names.values()

    def content(self, path: Path, session: Session) -> Bytes:
        """Return a session's lines; those that were held are let go of."""
        if self.is_held:
            return HeldBytes(bytes(self.held.pop(session)))
        return SpannedBytes.of(path, self.placed[session])


def _lines(file: OpenFile, end: int, places: deque[tuple[int, bytes]]) -> Iterator[str]:
    """Yield the complete lines of a file and note where they stand; each byte that is no UTF-8 comes back as it was."""
    at = 0
    for span in file.ranges(0, end):
        for line in file.range(*span).removesuffix(b"\n").split(b"\n"):
            places.append((at, line))
            at += len(line) + 1
            yield line.decode("utf-8", "surrogateescape")


def _place(places: deque[tuple[int, bytes]], content: bytes) -> int | None:
    """Return where a line stands, and forget those before it; None for one that shares its line with others."""
    for number, (start, line) in enumerate(places):
        if line == content:
            for _ in range(number + 1):
                places.popleft()
            return start
    return None


def _add(pieces: list[Piece], piece: Piece) -> None:
    last = pieces[-1] if pieces else None
    if isinstance(piece, tuple) and isinstance(last, tuple) and last[1] == piece[0]:
        pieces[-1] = (last[0], piece[1])
    else:
        pieces.append(piece)


def _length(piece: Piece) -> int:
    return len(piece) if isinstance(piece, bytes) else piece[1] - piece[0]
