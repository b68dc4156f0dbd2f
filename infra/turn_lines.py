"""Turn lines: the turns of one source as lines of neutral turns, each as it stands when all of its ranges are folded."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import IO

from chronofile.domain.events import RevisionCaptured
from chronofile.domain.formats import neutral
from chronofile.domain.identity import encoded, storable
from chronofile.domain.turns import State, Turn
from chronofile.projections.reading import Reading

SUFFIX_CHARS = 12
"""How much of a source's id tells its turns from those of another source with the same session."""
_FIELDS = 4
_KEY_BYTES = 16


@dataclass(slots=True)
class Sessions:
    """The sessions of an export: which ids of turns are taken in each, and which have their title.

    `registered` counts the sources that have a session for their own. Several have one where the days of a channel
    are sources, and where a transcript was written anew and what it said before is kept. A turn whose id another
    source has in the same scope and session gets a part of its own source's id behind its own, so that no line takes
    the place of another. So does one of a sidechain whose session is a source of its own too.
    """

    registered: Mapping[str, int]
    titled: set[tuple[str, str]] = field(default_factory=set)
    _taken: dict[tuple[str, str], dict[bytes, str]] = field(default_factory=dict)
    _own: str | None = None

    def begin(self, session: str) -> None:
        """Begin with a source; those of one session come together, so that only their ids are remembered."""
        if self._own not in (None, session):
            self._taken = {place: ids for place, ids in self._taken.items() if place[1] != self._own}
        self._own = session

    def name(self, key: str, scope: str, session: str, source: str) -> str:
        """Return the id that a turn has in an export."""
        is_aside = session != self._own
        if not is_aside and self.registered[session] < 2 and (scope, session) not in self._taken:
            return key
        taken = self._taken.setdefault((scope, session), {})
        name = f"{key}@{source[:SUFFIX_CHARS]}" if is_aside and session in self.registered else key
        while taken.setdefault(_hashed(name), source) != source:
            name = f"{name}@{source[:SUFFIX_CHARS]}"
        return name

    def begins(self, scope: str, session: str) -> bool:
        """Tell whether this is the session's first line, which has its title."""
        before = len(self.titled)
        self.titled.add((scope, session))
        return len(self.titled) > before


@dataclass(slots=True)
class Lines:
    """The turns of one source as lines that have no end yet, in a file, and where each stands there.

    What a later range says of a turn takes the place of what was said before, and the turn stands where it
    began. In memory a turn takes some 200 bytes, whatever it says.
    """

    file: IO[bytes]
    names: Sessions
    source: str
    scope: str
    session: str
    state: State | None = None
    title: str | None = None
    renamed: int = 0
    omitted: int = 0
    _size: int = 0
    _numbers: dict[bytes, int] = field(default_factory=dict)
    """Each turn's number, by a hash of its key, in the order in which they began."""
    _places: array[int] = field(default_factory=lambda: array("q"))
    """By number: where its line begins, how long that is, the number of its session, whether it is superseded."""
    _sessions: dict[str, int] = field(default_factory=dict)

    def take(self, event: RevisionCaptured, content: bytes) -> bool:
        """Take in what one more range says; tell whether it can be read."""
        reading = Reading(self.state)
        reason = reading.read(content, event, is_file=False)
        for key in reading.removed:
            self._numbers.pop(_hashed(key), None)
        for turn in reading.turns.values():
            self._keep(turn)
        for key in reading.superseded:
            if (number := self._numbers.get(_hashed(key))) is not None:
                self._places[number * _FIELDS + 3] = True
        self.state, self.title = reading.state, reading.title or self.title
        self.omitted += reading.omitted.total()
        return reason is None

    def ended(self, form: str | None) -> Iterator[bytes]:
        """Yield the lines in order; what was read from another format has its name."""
        origin = neutral.origin_of(self.state) if form == neutral.name else form
        sessions = list(self._sessions)
        for number in self._numbers.values():
            at, size, session, superseded = self._places[number * _FIELDS : (number + 1) * _FIELDS]
            if not size:
                continue
            self.file.seek(at)
            is_first = self.names.begins(self.scope, sessions[session])
            title = storable(self.title) if is_first else None
            yield neutral.ended(self.file.read(size), superseded=bool(superseded), title=title, origin=origin)

    def _keep(self, turn: Turn) -> None:
        session = storable(turn.session) or self.session
        key = self.names.name(turn.key, self.scope, session, self.source)
        line = neutral.begun(turn, session=session, scope=self.scope, key=key) if turn.text else b""
        hashed, number = _hashed(turn.key), len(self._places) // _FIELDS
        if (before := self._numbers.setdefault(hashed, number)) == number:
            self._places.extend([0] * _FIELDS)
            self.renamed += key != turn.key
        place = (
            self._size,
            len(line),
            self._sessions.setdefault(session, len(self._sessions)),
            turn.superseded,
        )
        self._places[before * _FIELDS : (before + 1) * _FIELDS] = array("q", place)
        self.file.seek(self._size)
        self._size += self.file.write(line)


def _hashed(key: str) -> bytes:
    return blake2b(encoded(key), digest_size=_KEY_BYTES).digest()
