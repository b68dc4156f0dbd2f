"""Export: what every transcript says, as neutral turns, straight from the log and its contents."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import structlog
import zstandard

from chronofile.domain import streams
from chronofile.domain.codec import event_of
from chronofile.domain.envelope import Recorded
from chronofile.domain.errors import UnknownScope
from chronofile.domain.events import ContentErased, RevisionCaptured, SourceRegistered
from chronofile.domain.formats import neutral
from chronofile.domain.identity import storable
from chronofile.domain.memories import memory_of
from chronofile.domain.scopes import ALL, GLOBAL
from chronofile.domain.sources import Source, shown, source_of
from chronofile.domain.times import FIRST
from chronofile.infra.turn_lines import Lines, Sessions
from chronofile.infra.writing import new_file
from chronofile.projections import histories
from chronofile.projections.histories import MEMORY, History, Reversals
from chronofile.projections.places import FILE

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

FORMATS = (neutral.name,)
"""What an export can be written as."""
BEGINNINGS_READ_MAX = 10_000
READ_BYTES_MAX = 8 << 20
READ_RANGES_MAX = 500
"""How much of one source is read together."""
HELD_BYTES_MAX = 16 << 20
"""How much of one source's text is held in memory; a longer one goes through a file that nobody else can open."""

Write = Callable[[bytes], object]
Tick = Callable[[int, int], None]
"""Hears how many sources and memories were looked at, and of how many."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Exported:
    """What an export wrote, as of a position, and what it left out.

    `conversations` are the sources that the turns are of, and `sessions` what an import makes of them. `renamed`
    turns have another id than in their source, see `Sessions`. `unread` counts transcripts that cannot be read
    or only in part, and `omitted` the records that gave no turn. `files` and `memories` are no conversations.
    """

    position: int
    scope: str | None
    file: str | None = None
    turns: int = 0
    conversations: int = 0
    sessions: int = 0
    bytes: int = 0
    renamed: int = 0
    unread: int = 0
    omitted: int = 0
    files: int = 0
    memories: int = 0
    took_s: float = 0.0


def export(
    parts: Parts,
    write: Write,
    *,
    scope: str | None = None,
    position: int | None = None,
    tick: Tick = lambda done, of: None,
) -> Exported:
    """Write each turn that is shown, now or as of a position, as one line, the sources of one session together.

    Text is verbatim as it is stored. No more is held than a part of one source. Raises UnknownScope, what the
    database raises, and what `write` raises.
    """
    began_s = time.monotonic()
    head = parts.store.position()
    position = head if position is None else min(position, head)
    wanted = None if scope == ALL else scope
    if wanted not in (None, GLOBAL) and not parts.store.read(streams.scope(wanted or "")):
        raise UnknownScope(f"({wanted})")
    names, sessions = _order(_beginnings(parts, position))
    run = _Run(parts, write, Exported(position, wanted), *_taken_back(parts, position), Sessions(sessions))
    for done, history in enumerate(_histories(parts, names, position), start=1):
        run.take(history)
        tick(done, len(names))
    found = run.found
    found.sessions, found.took_s = len(run.sessions.titled), round(time.monotonic() - began_s, 3)
    log.info("exported", turns=found.turns, conversations=found.conversations, position=position)
    return found


def to_file(
    parts: Parts,
    file: str | os.PathLike[str] | IO[bytes],
    *,
    scope: str | None,
    position: int | None,
    force: bool,
    tick: Tick,
) -> Exported:
    """Export to a new file, which is there when it is complete, or to one that is open for writing bytes.

    Raises what `export` does, FileIsThere, OSError.
    """
    if not isinstance(file, str | os.PathLike):
        return export(parts, file.write, scope=scope, position=position, tick=tick)
    path = Path(file)
    with new_file(path, force=force) as opened:
        found = export(parts, opened.write, scope=scope, position=position, tick=tick)
    found.file = str(path.absolute())
    return found


@dataclass(slots=True)
class _Run:
    """One export; `erased` is when each content, by key, and each source, by id, was erased last."""

    parts: Parts
    write: Write
    found: Exported
    reversals: Reversals
    erased: dict[str, int]
    sessions: Sessions

    def take(self, history: History) -> None:
        """Take in a source or a memory by its own events."""
        events = [recorded.event for recorded in history.events]
        if history.stream.startswith(f"{MEMORY}-"):
            memory = memory_of(events)
            self.found.memories += self._is_wanted(memory.scope) and not memory.forgotten
            return
        reverted = self.reversals.reverted(self.found.position)
        source = source_of(events, reverted)
        ranges = {id(event) for event in shown(events, reverted)}
        recorded = [one for one in history.events if id(one.event) in ranges]
        if not recorded or not self._is_wanted(source.scope):
            return
        if source.kind == FILE:
            self.found.files += 1
        else:
            self._write(history.source, source, recorded)

    def _is_wanted(self, scope: str) -> bool:
        return self.found.scope in (None, scope)

    def _write(self, identifier: str, source: Source, ranges: Sequence[Recorded]) -> None:
        session = _session(identifier, source.session)
        self.sessions.begin(session)
        home, found = self.parts.config.home, self.found
        # The system's own place for such files is often in memory.
        folder = str(home) if home.is_dir() else None
        with tempfile.SpooledTemporaryFile(HELD_BYTES_MAX, dir=folder) as file:
            lines = Lines(file, self.sessions, identifier, source.scope, session)
            unread = 0
            for event, content in self._read(identifier, ranges):
                # What cannot be read does not keep back what comes after it.
                unread += content is None or not lines.take(event, content)
            turns = found.turns
            for line in lines.ended(source.format):
                self.write(line)
                found.turns, found.bytes = found.turns + 1, found.bytes + len(line)
        found.conversations += found.turns > turns
        found.unread += bool(unread)
        found.renamed += lines.renamed
        found.omitted += lines.omitted

    def _read(
        self, identifier: str, ranges: Iterable[Recorded]
    ) -> Iterator[tuple[RevisionCaptured, bytes | None]]:
        """Yield each range that was not erased since, with its content, None where that is lost."""
        for some in _together(ranges):
            events = [
                recorded.event
                for recorded in some
                if isinstance(recorded.event, RevisionCaptured)
                and recorded.position
                >= max(self.erased.get(w, 0) for w in (recorded.event.content, identifier))
            ]
            contents = self._contents([event.content for event in events])
            for event in events:
                yield event, contents.get(event.content)

    def _contents(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        try:
            return self.parts.read(keys)
        except zstandard.ZstdError:
            # One of them cannot be unpacked: each is read by itself, so that the others are there.
            return {} if len(keys) == 1 else {k: v for key in keys for k, v in self._contents([key]).items()}


def _together(ranges: Iterable[Recorded]) -> Iterator[list[Recorded]]:
    """Yield ranges as many at a time as are read together."""
    some: list[Recorded] = []
    size = 0
    for recorded in ranges:
        assert isinstance(recorded.event, RevisionCaptured)
        size += recorded.event.end - recorded.event.start
        if some and (size > READ_BYTES_MAX or len(some) >= READ_RANGES_MAX):
            yield some
            some, size = [], recorded.event.end - recorded.event.start
        some.append(recorded)
    if some:
        yield some


def _beginnings(parts: Parts, position: int) -> Iterator[tuple[str, str | None]]:
    """Yield the streams of sources and memories in the order in which they began, each with a transcript's session."""
    after = 0
    while True:
        with parts.store.cursor() as cursor:
            cursor.execute(
                "SELECT originator_id AS stream, notification_id AS position, topic, state FROM log.events"
                " WHERE originator_version = 1 AND notification_id > %s AND notification_id <= %s"
                " AND (originator_id LIKE 'source-%%' OR originator_id LIKE 'memory-%%')"
                " ORDER BY notification_id LIMIT %s",
                (after, position, BEGINNINGS_READ_MAX),
            )
            rows = cursor.fetchall()
        if not rows:
            return
        for row in rows:
            envelope = json.loads(row["state"])
            event = event_of(row["topic"], envelope["v"], envelope["event"])
            session = None
            if isinstance(event, SourceRegistered) and event.kind != FILE:
                session = _session(streams.id_of(row["stream"]), event.session)
            yield row["stream"], session
        after = rows[-1]["position"]


def _order(beginnings: Iterable[tuple[str, str | None]]) -> tuple[list[str], Counter[str]]:
    """Return the streams with those of one session together, and how many there are of each session."""
    counts: Counter[str] = Counter()
    together: dict[str, list[str]] = {}
    for stream, session in beginnings:
        counts.update([] if session is None else [session])
        together.setdefault(stream if session is None else f"session:{session}", []).append(stream)
    return [stream for some in together.values() for stream in some], counts


def _session(identifier: str, session: str | None) -> str:
    return storable(session) or identifier


def _histories(parts: Parts, names: Sequence[str], position: int) -> Iterator[History]:
    for some in histories.read(parts.store, names, position):
        yield from some


def _taken_back(parts: Parts, position: int) -> tuple[Reversals, dict[str, int]]:
    """Return when batches were undone up to a position, and when contents and sources were erased until now."""
    with parts.store.cursor() as cursor:
        cursor.execute(
            "SELECT originator_id AS stream, notification_id AS position, topic FROM log.events"
            " WHERE topic IN ('BatchReverted', 'BatchRestored', 'ContentErased') ORDER BY notification_id"
        )
        rows = cursor.fetchall()
    erasures = [row["stream"] for row in rows if row["topic"] == "ContentErased"]
    erased: dict[str, int] = {}
    for found in parts.store.read_many(erasures).values():
        for recorded in found:
            if isinstance(recorded.event, ContentErased):
                for what in (*recorded.event.contents, *recorded.event.closed):
                    erased[what] = max(recorded.position, erased.get(what, 0))
    undone = [row for row in rows if row["topic"] != "ContentErased" and row["position"] <= position]
    reversals = (
        (streams.id_of(row["stream"]), row["position"], FIRST, row["topic"] == "BatchReverted")
        for row in undone
    )
    return Reversals(reversals), erased
