"""Comparing: a file as it is now with what was captured of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes

from chronofile.domain.formats import neutral
from chronofile.domain.rejection import NotRead
from chronofile.ingest.gathered import KeyOf
from chronofile.ingest.known import is_gone
from chronofile.ingest.looking import looks
from chronofile.ingest.reading import opened
from chronofile.ingest.scan import Found
from chronofile.ingest.sighting import Bytes, FileBytes, Looked, Sighting
from chronofile.ingest.spooled import MARK

FileState = Literal["same", "behind", "changed", "gone", "unreadable", "recovered"]
_SCHEME = "file://"
_NOT_HELD = "The file does not hold this session any more."
_MARKS = (MARK, "former-")
"""So the fragment begins of what no file holds: copies of hooks, and what a file said before it was written anew."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What was captured of a source: `ranges` are (start, end, key of the bytes as they were in the file)."""

    uri: str
    files: tuple[Path, ...]
    """Where else it was read from, the last first."""
    kind: str
    scope: str
    format: str
    session: str | None
    ranges: Sequence[tuple[int, int, str]]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """How the file stands to what was captured of it.

    `behind`: it only grew, by so many bytes that end with a line; those of a line that is not complete are
    waiting. `changed`: what was captured is not what stands there now. `recovered`: it was captured because no
    file has it any more, and there is nothing to compare it with.
    """

    state: FileState
    behind_bytes: int = 0
    waiting_bytes: int = 0
    detail: str = ""


Copies = Callable[[str], Iterable[Path]]
"""Returns by a source's id the files that it may be in, also those of which nothing had to be captured."""


@dataclass(slots=True)
class Comparing:
    """Compares one source after the other; those of one file should come together, since it is read once for them."""

    key_of: KeyOf
    copies: Copies = lambda source: ()
    _looked: tuple[Path, str, _Seen | None] | None = field(default=None, repr=False)
    _held: dict[Path, frozenset[tuple[str | None, str]]] = field(default_factory=dict, repr=False)
    """By path, the sessions and formats in a file that may be a copy."""

    def compare(self, captured: Captured) -> Compared:
        """Compare the ranges with the file that holds them now, a range at a time."""
        if _is_recovered(captured):
            return Compared("recovered")
        paths = [found for found in (path_of(captured.uri), *captured.files) if found is not None]
        path = next((path for path in paths if not is_gone(path)), None)
        return self._at(path, captured) if path is not None else self._in_copies(captured)

    def _in_copies(self, captured: Captured) -> Compared:
        """Compare what is in no file any more that anything was captured from; a copy that holds it as it is counts most."""
        found = [
            self._at(path, captured)
            for path in self.copies(captured.source)
            if captured.kind != "file" and (captured.session, captured.format) in self._sessions(path)
        ]
        return next((one for one in found if one.state == "same"), next(iter(found), Compared("gone")))

    def _sessions(self, path: Path) -> frozenset[tuple[str | None, str]]:
        """Return the sessions and formats that a file holds now; none if it is gone or cannot be read."""
        if path not in self._held:
            try:
                parts = looks(Found(path, named=True, root=None))
                held = frozenset((one.session, one.format) for part in parts for one in part.sightings)
            except NotRead:
                held = frozenset()
            self._held[path] = held
        return self._held[path]

    def _at(self, path: Path, captured: Captured) -> Compared:
        try:
            if captured.kind == "file":
                return self._whole(path, captured)
            return self._transcript(path, captured)
        except NotRead as error:
            if error.reason in ("other-format", "no-conversation"):
                return Compared("changed", detail=_NOT_HELD)
            return Compared("unreadable", detail=str(error))

    def _whole(self, path: Path, captured: Captured) -> Compared:
        with opened(path) as file:
            return self._against(FileBytes(path, file.fingerprint.size), captured)

    def _transcript(self, path: Path, captured: Captured) -> Compared:
        seen = self._look(path, captured.format)
        sighting = None if seen is None else _own(seen, captured)
        if seen is None or sighting is None:
            return Compared("changed", detail=_NOT_HELD)
        if isinstance(sighting, _Whole):
            is_same = sighting.original == captured.ranges[-1][2] if captured.ranges else False
            return Compared("same") if is_same else Compared("changed", detail="The conversation is another.")
        found = self._against(sighting.content, captured)
        return Compared(found.state, found.behind_bytes, seen.waiting_bytes, found.detail)

    def _look(self, path: Path, format_name: str) -> _Seen | None:
        if self._looked is None or self._looked[:2] != (path, format_name):
            self._looked = None  # The former is let go of before the next is read.
            parts = looks(Found(path, named=True, root=None), format_name=format_name)
            self._looked = (path, format_name, self._seen(parts))
        return self._looked[2]

    def _seen(self, parts: Iterator[Looked]) -> _Seen | None:
        """Read a file's parts; of whole conversations only the keys are kept, since there may be many."""
        seen: _Seen | None = None
        for looked in parts:
            seen = seen or _Seen({}, looked.waiting_bytes)
            for one in looked.sightings:
                found = one if one.growing else self._key(one)
                seen.sightings.setdefault((one.session, one.format), []).append(found)
        return seen

    def _key(self, one: Sighting) -> _Whole:
        original = self.key_of(one.content.range(0, one.content.size))
        return _Whole(_name(one.uri), one.scope, original)

    def _against(self, content: Bytes, captured: Captured) -> Compared:
        end = captured.ranges[-1][1] if captured.ranges else 0
        if content.size < end:
            return Compared("changed", detail=f"It is shorter by {end - content.size:,} bytes.")
        for start, until, original in captured.ranges:
            if self.key_of(content.range(start, until)) != original:
                return Compared("changed", detail=f"Bytes {start:,} to {until:,} are others.")
        return Compared("behind" if content.size > end else "same", content.size - end)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A conversation that is captured as a whole, by the key of its bytes; `name` is what it is called in its file."""

    name: str
    scope: str | None
    original: str


@dataclass(slots=True)
class _Seen:
    """What a file holds now, by session and format."""

    sightings: dict[tuple[str | None, str], list[Sighting | _Whole]]
    waiting_bytes: int


def path_of(uri: str) -> Path | None:
    """Return the path that a file's URI names, also where it goes on with a session; None for another URI."""
    if not uri.startswith(_SCHEME):
        return None
    return Path(os.fsdecode(unquote_to_bytes(uri.removeprefix(_SCHEME).partition("#")[0])))


def _is_recovered(captured: Captured) -> bool:
    """Tell whether no file ever held the source as it is; a session of turns may have a name that looks like it."""
    return captured.format != neutral.name and _name(captured.uri).startswith(_MARKS)


def _name(uri: str) -> str:
    """Return what a source is called within its file, empty where it is all of it."""
    return uri.partition("#")[2]


def _own(seen: _Seen, captured: Captured) -> Sighting | _Whole | None:
    """Return the sighting of the source's session; lines that name the source's scope come before those without.

    Of several conversations with one id it is the one that is called as the source is.
    """
    same = seen.sightings.get((captured.session, captured.format), [])
    named = [sighting for sighting in same if sighting.scope == captured.scope]
    unnamed = [sighting for sighting in same if sighting.scope is None]
    wholes = [one for one in (*named, *unnamed) if isinstance(one, _Whole)]
    called = [one for one in wholes if one.name == _name(captured.uri)]
    return next(iter([*called, *named, *unnamed]), None)
