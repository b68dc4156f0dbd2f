"""What happens to sources, one step after the other, written as passages that begin, end and move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.envelope import Recorded
from chronofile.domain.events import (
    DirectoryMapped,
    MemoryCorrected,
    MemoryForgotten,
    MemoryRemembered,
    RevisionCaptured,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
    SourceRescoped,
)
from chronofile.domain.identity import storable
from chronofile.projections import drafts, passages, places
from chronofile.projections.bulk import replace_rows
from chronofile.projections.drafts import Draft
from chronofile.projections.file_kinds import CHAT, file_kind, text_kind
from chronofile.projections.histories import MEMORY, Reversals, Shift, Step, Texts
from chronofile.projections.live_passages import LivePassages
from chronofile.projections.omissions import Omissions
from chronofile.projections.places import FILE, Directories, Directory, Known
from chronofile.projections.projection import fingerprint
from chronofile.projections.reading import Files, Reading
from chronofile.projections.turn_history import TurnHistory
from chronofile.projections.unreadable import Unreadable

LANGUAGE_CHARS_MAX = 4_000
"""How much of a text tells the language that it is in."""


def contents_of(step: Step) -> list[str]:
    """Return the contents that a step names and this projection reads."""
    if isinstance(step, Shift):
        ranges = step.ranges if step.is_changed else ()
        return [r.event.content for r in ranges if isinstance(r.event, RevisionCaptured)]
    match step.event:
        case SourceRegistered(uri=key) | SourceMoved(uri=key) | RevisionCaptured(content=key):
            return [key]
        case DirectoryMapped(directory=key) | MemoryRemembered(text=key) | MemoryCorrected(text=key):
            return [key]
        case _:
            return []


class SourceWriter:
    """Some steps' work: what it read, what it will write."""

    def __init__(
        self,
        conn: sa.Connection,
        steps: Sequence[Step],
        texts: Texts,
        reversals: Reversals,
        store_key: bytes,
        files: Files,
    ) -> None:
        self._conn, self._texts, self._reversals, self._store_key = conn, texts, reversals, store_key
        self._files = files
        self._sources = places.load(conn, map(source_of, steps))
        self._directories = Directories.load(conn)
        self._live, self._turns, self._omissions = LivePassages(conn), TurnHistory(conn), Omissions(conn)
        self._mapped: list[dict[str, Any]] = []
        self._unreadable = Unreadable(conn)
        if shifts := [step for step in steps if isinstance(step, Shift)]:
            shifting = {shift.source for shift in shifts}
            self._live.prepare(shifting, {shift.block for shift in shifts})
            self._turns.prepare(shifting)
        # A URI that was erased may have come again with whatever is captured now.
        self._texts.ahead(known.uri_key for known in self._sources.values() if not known.uri)

    def take(self, step: Step) -> None:
        if isinstance(step, Shift):
            self._shift(step)
            return
        identifier = streams.id_of(step.stream)
        match step.event:
            case DirectoryMapped() as event:
                self._map(step, event)
            case SourceRegistered() as event:
                uri = self._uri(event.uri, step.position, identifier)
                session = storable(event.session)
                self._register(Known(identifier, event.kind, event.scope, event.uri, uri, session))
            case RevisionCaptured() as event:
                self._revise(step, event)
            case SourceMoved() as event:
                uri = self._uri(event.uri, step.position, identifier)
                self._move(step, uri_key=event.uri, uri=uri)
            case SourceRemoved() as event if not self._is_reverted(event, step):
                self._live.end_all(identifier, step.position)
                self._change(step, hidden=False)
            case SourceRescoped() as event:
                self._live.scope(event.scope)
                self._move(step, scope=event.scope)
            case MemoryRemembered() | MemoryCorrected() as event:
                self._remember(step, event)
            case MemoryForgotten():
                self._live.end_all(identifier, step.position)
            case _:
                pass

    def flush(self) -> None:
        self._live.flush()
        self._turns.flush()
        self._omissions.flush()
        self._unreadable.flush()
        replace_rows(self._conn, passages.source, [found.row() for found in self._sources.values()])
        replace_rows(self._conn, passages.directory, self._mapped)

    def _register(self, found: Known) -> None:
        self._live.scope(found.scope)
        self._sources[found.id] = found
        self._live.is_new(found.id)
        self._turns.is_new(found.id)
        self._omissions.is_new(found.id)
        self._unreadable.is_new(found.id)

    def _map(self, recorded: Recorded, event: DirectoryMapped) -> None:
        path = self._texts.text(event.directory, recorded.position, None)
        if not path:
            return
        scope = streams.id_of(recorded.stream)
        self._directories.add(Directory(path, scope, recorded.position))
        row = {"path_hash": fingerprint(path), "path": path, "scope": scope, "content": event.directory}
        self._mapped.append(row | {"recorded_from": recorded.position})

    def _is_reverted(self, event: RevisionCaptured | SourceRemoved, recorded: Recorded) -> bool:
        return self._reversals.is_reverted(event.batch, recorded.position)

    def _revise(self, recorded: Recorded, event: RevisionCaptured) -> None:
        before = self._sources[streams.id_of(recorded.stream)]
        is_whole = event.start == 0
        hidden = self._is_reverted(event, recorded) or (before.hidden and not is_whole)
        uri = before.uri or self._uri(before.uri_key, recorded.position, before.id)
        found = self._change(recorded, hidden=hidden, uri=uri)
        if hidden:
            return
        found = self._change(recorded, revision=event.revision)
        if is_whole:
            self._begin(found)
        content = self._texts.get(event.content, recorded.position, found.id)
        if content is None:
            # There is no text any more; what a whole revision took the place of is over all the same.
            if is_whole:
                self._end(found, recorded.position)
            return
        reading = Reading(None if is_whole else found.fold_state, self._files.extractor)
        reason = reading.read(content, event, is_file=found.kind == FILE)
        self._omissions.add(found.id, reading.omitted)
        if reason is None:
            language = None if is_whole else found.language
            language = language if found.kind == FILE else self._language(language, reading)
            self._show(found, reading, _beginning(found, recorded), language, is_whole=is_whole)
        else:
            self._unreadable.note(found.id, found.revision, reason, recorded.position)

    def _begin(self, found: Known) -> None:
        """Count and note anew what a source leaves out."""
        self._omissions.begin(found.id)
        self._unreadable.begin(found.id)

    def _remember(self, recorded: Recorded, event: MemoryRemembered | MemoryCorrected) -> None:
        identifier = streams.id_of(recorded.stream)
        if isinstance(event, MemoryRemembered):
            found = self._sources.get(identifier)
            if found is None:
                self._register(Known(identifier, MEMORY, event.scope, "", f"memory:{identifier}"))
            self._change(recorded, memory_kind=event.kind)
        found = self._change(recorded, revision=self._sources[identifier].revision + 1)
        text = self._texts.text(event.text, recorded.position, identifier)
        pieces = drafts.of_memory(identifier, text, event.observed_at, self._store_key)
        self._live.replace_all(identifier, pieces, _beginning(found, recorded))

    def _shift(self, shift: Shift) -> None:
        """Make what a source shows after an undo all that there is of it; its contents are read anew."""
        found = self._sources[shift.source] = replace(self._sources[shift.source], hidden=shift.hidden)
        if not shift.is_changed:
            return
        reading, revision, language = Reading(None, self._files.extractor), 0, None
        self._begin(found)
        for recorded in shift.ranges:
            assert isinstance(recorded.event, RevisionCaptured)
            revision = recorded.event.revision
            content = self._texts.get(recorded.event.content, recorded.position, found.id)
            if content is None:
                continue
            reason = reading.read(content, recorded.event, is_file=found.kind == FILE)
            if reason is not None:
                self._unreadable.note(found.id, revision, reason, recorded.position)
            elif found.kind != FILE:
                # It is told where it was when the range was new, and not by all ranges together.
                language = self._language(language, reading)
        found = replace(found, revision=revision)
        self._omissions.add(found.id, reading.omitted)
        if shift.ranges:
            self._show(found, reading, _beginning(found, shift), language, is_whole=True)
        else:
            self._end(found, shift.position)

    def _show(
        self,
        found: Known,
        reading: Reading,
        begin: passages.Beginning,
        language: str | None,
        *,
        is_whole: bool,
    ) -> None:
        """Show what was read; `language` is a conversation's."""
        if found.kind != FILE:
            self._take_turns(replace(found, language=language), reading, begin, is_whole=is_whole)
        elif reading.text is None:
            self._end(found, begin.position)
        else:
            placed = self._directories.placed(found, begin.position)
            kind = text_kind(placed.name, reading.format)
            pieces = drafts.of_file(
                found.id, placed.name, reading.text, reading.event_time, self._store_key, kind
            )
            self._live.replace_all(found.id, pieces, replace(begin, topic=placed.topic))
            language = None if kind == "code" else self._files.language_of(reading.text[:LANGUAGE_CHARS_MAX])
            kind_of_file = file_kind(placed.name, reading.format, was_document=reading.is_less)
            placed = replace(placed, language=language, kind_of_file=kind_of_file)
            self._settle(found, placed, begin.position, begin.block)

    def _end(self, found: Known, position: int) -> None:
        self._live.end_all(found.id, position)
        self._sources[found.id] = replace(found, fold_state=None, title=None, language=None)

    def _take_turns(
        self, found: Known, reading: Reading, begin: passages.Beginning, *, is_whole: bool
    ) -> None:
        """Take in turns; where they are the whole, they begin the source anew."""
        turns = list(reading.turns.values())
        keys = [turn.key for turn in turns]
        known = self._live.ordinals(found.id, None if is_whole else keys)
        if is_whole and not _keeps_order(keys, known):
            known = {}
        count, pieces, ordinals = found.turns, list[Draft](), list[int]()
        for turn in turns:
            ordinal = known.get(turn.key, count)
            count = max(count, ordinal + 1)
            ordinals.append(ordinal)
            pieces += drafts.of_turn(found.id, turn, ordinal, found.session, self._store_key)
        self._turns.note(found.id, list(zip(turns, ordinals, strict=True)), begin.position)
        self._turns.supersede(found.id, reading.superseded, begin.position)
        if is_whole:
            self._live.replace_all(found.id, pieces, begin)
        else:
            self._live.replace_turns(found.id, [*keys, *reading.removed], pieces, begin)
        title = storable(reading.title) or (None if is_whole else found.title)
        self._sources[found.id] = replace(
            found, fold_state=reading.state, turns=count, title=title, kind_of_file=CHAT
        )

    def _language(self, before: str | None, reading: Reading) -> str | None:
        """Return a conversation's language: that before the last range, else that of what was said in the range.

        What tools gave does not count.
        """
        if before is not None:
            return before
        text = ""
        for turn in reading.latest:
            if turn.role in ("user", "assistant"):
                text += "".join(f"{part.text}\n" for part in turn.parts if part.type == "text")
            if len(text) >= LANGUAGE_CHARS_MAX:
                break
        return self._files.language_of(text[:LANGUAGE_CHARS_MAX])

    def _move(self, recorded: Recorded, **changes: Any) -> None:
        """Take in that a source is elsewhere from now on."""
        before = self._sources[streams.id_of(recorded.stream)]
        now = self._directories.placed(self._change(recorded, **changes), recorded.position)
        self._settle(before, now, recorded.position, recorded.position)

    def _settle(self, before: Known, now: Known, position: int, block: int) -> None:
        """Begin anew, where the source is now, the passages that it keeps from before."""
        self._sources[now.id] = now
        if before.place != now.place:
            move = passages.Move(now.scope, now.topic, before.name, now.name, position, block)
            self._live.move(now.id, move)

    def _change(self, recorded: Recorded, **changes: Any) -> Known:
        identifier = streams.id_of(recorded.stream)
        self._sources[identifier] = replace(self._sources[identifier], **changes)
        return self._sources[identifier]

    def _uri(self, key: str, position: int, source: str) -> str:
        return storable(self._texts.text(key, position, source)) or ""


def source_of(step: Step) -> str:
    """Return the id of the source, or of the memory, that a step is about."""
    return step.source if isinstance(step, Shift) else streams.id_of(step.stream)


def _beginning(found: Known, step: Step) -> passages.Beginning:
    return passages.Beginning(
        source=found.id,
        scope=found.scope,
        topic=found.topic,
        revision=found.revision,
        recorded_at=step.recorded_at,
        position=step.position,
        block=step.block if isinstance(step, Shift) else step.position,
        kind=found.memory_kind,
    )


def _keeps_order(keys: Sequence[str], known: Mapping[str, int]) -> bool:
    """Tell whether the turns that were there before come first, in the order that they had."""
    before = [known.get(key) for key in keys]
    count = len(before) - before.count(None)
    standing = [ordinal for ordinal in before[:count] if ordinal is not None]
    return len(standing) == count and all(a < b for a, b in pairwise(standing))
