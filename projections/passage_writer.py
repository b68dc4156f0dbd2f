"""What a page of events does to the passages: what is new begins, what is no longer there ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.codec import dumps
from chronofile.domain.decoding import decode
from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.events import (
    DirectoryMapped,
    RevisionCaptured,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
    SourceRescoped,
)
from chronofile.domain.formats import FORMATS
from chronofile.domain.identity import decoded, storable
from chronofile.domain.turns import Folded, State
from chronofile.projections import drafts, passages
from chronofile.projections.bulk import among, copy_rows, replace_rows
from chronofile.projections.drafts import Draft
from chronofile.projections.live_passages import LivePassages
from chronofile.projections.projection import Projection, fingerprint
from chronofile.projections.turn_history import TurnHistory

TOPIC_FOLDERS_MAX = 2


class Contents(Protocol):
    """The content store, read on the page's own connection."""

    def read(self, conn: sa.Connection, keys: Sequence[str]) -> Mapping[str, bytes]: ...


def passages_projection(contents: Contents, store_key: bytes) -> Projection:
    """Return the projection; `store_key` goes into passage ids, so that they tell nothing of a short text."""
    apply = partial(_apply, contents, store_key)
    return Projection(passages.NAME, passages.VERSION, passages.tables, apply)


@dataclass(frozen=True, slots=True)
class _Source:
    """A source as this projection knows it; `turns` counts the ordinals given out."""

    id: str
    kind: str
    scope: str
    uri: str
    session: str | None
    revision: int = 0
    fold_state: State | None = None
    turns: int = 0
    name: str = ""
    topic: str | None = None

    @property
    def place(self) -> tuple[str, str, str | None]:
        return self.scope, self.name, self.topic

    def row(self) -> dict[str, Any]:
        fold_state = None if self.fold_state is None else dumps(dict(self.fold_state))
        return {name: getattr(self, name) for name in self.__slots__} | {"fold_state": fold_state}


def _apply(contents: Contents, store_key: bytes, conn: sa.Connection, page: Page) -> None:
    writer = _Writer(conn, page, contents.read(conn, _named(page)), store_key)
    for recorded in page.events:
        writer.write(recorded)
    writer.flush()


def _named(page: Page) -> list[str]:
    """Return the contents that a page's events name and this projection reads."""
    keys: list[str] = []
    for recorded in page.events:
        match recorded.event:
            case SourceRegistered(uri=key) | SourceMoved(uri=key) | RevisionCaptured(content=key):
                keys.append(key)
            case DirectoryMapped(directory=key):
                keys.append(key)
            case _:
                pass
    return keys


class _Writer:
    """One page's work: what it read, what it will write."""

    def __init__(
        self, conn: sa.Connection, page: Page, contents: Mapping[str, bytes], store_key: bytes
    ) -> None:
        self._conn, self._contents, self._store_key = conn, contents, store_key
        self._sources = _load_sources(conn, page)
        self._directories = {row.path: row.scope for row in conn.execute(sa.select(passages.directory))}
        self._live = LivePassages(conn)
        self._mapped: dict[str, str] = {}
        self._turns = TurnHistory(conn, page.after)
        self._new: set[str] = set()
        self._failures: list[dict[str, Any]] = []
        self._omissions: dict[str, Counter[str]] = {}

    def write(self, recorded: Recorded) -> None:
        match recorded.event:
            case DirectoryMapped() as event:
                self._mapped[self._text(event.directory)] = streams.id_of(recorded.stream)
                self._directories |= self._mapped
            case SourceRegistered() as event:
                identifier = streams.id_of(recorded.stream)
                uri = storable(self._text(event.uri)) or ""
                self._sources[identifier] = _Source(
                    identifier, event.kind, event.scope, uri, storable(event.session)
                )
                self._new.add(identifier)
                self._live.is_new(identifier)
                self._turns.is_new(identifier)
            case RevisionCaptured() as event:
                self._revise(recorded, event)
            case SourceMoved() as event:
                self._move(recorded, uri=storable(self._text(event.uri)) or "")
            case SourceRemoved():
                self._live.end_all(streams.id_of(recorded.stream), recorded.position)
            case SourceRescoped() as event:
                self._move(recorded, scope=event.scope)
            case _:
                pass

    def flush(self) -> None:
        self._live.flush()
        self._turns.flush()
        replace_rows(self._conn, passages.failure, self._failures)
        replace_rows(self._conn, passages.source, [found.row() for found in self._sources.values()])
        mapped = [
            {"path_hash": fingerprint(path), "path": path, "scope": scope}
            for path, scope in self._mapped.items()
        ]
        replace_rows(self._conn, passages.directory, mapped)
        omission = passages.omission
        if counted_before := self._omissions.keys() - self._new:
            self._conn.execute(sa.delete(omission).where(among(omission.c.source, sorted(counted_before))))
        counted = [(s, r, n) for s, records in self._omissions.items() for r, n in sorted(records.items())]
        copy_rows(self._conn, omission, counted)

    def _revise(self, recorded: Recorded, event: RevisionCaptured) -> None:
        found = self._change(recorded, revision=event.revision)
        content, is_whole = self._contents.get(event.content), event.start == 0
        if content is None:
            self._erased(recorded, found, is_whole=is_whole)
            return
        try:
            text, undecodable = decode(content, event.encoding)
        except LookupError:
            self._fail(recorded, found, f"the encoding {event.encoding} is not known here")
            return
        if is_whole or undecodable:
            self._omit(found.id, {"undecodable bytes": undecodable}, is_whole=is_whole)
        if found.kind == "file":
            placed = self._placed(found)
            pieces = drafts.of_file(found.id, placed.name, text, event.event_time, self._store_key)
            self._live.replace_all(found.id, pieces, self._begin(recorded, placed))
            self._settle(recorded, found, placed)
        elif (fold := FORMATS.get(event.format)) is None:
            self._fail(recorded, found, f"the format {event.format} is not known here")
        else:
            state = None if is_whole else found.fold_state
            folded = fold.fold(state, [line for line in text.split("\n") if line])
            self._take(recorded, found, folded, is_whole=is_whole)

    def _erased(self, recorded: Recorded, found: _Source, *, is_whole: bool) -> None:
        """There is no text any more; what a whole revision took the place of is over all the same."""
        if is_whole:
            self._live.end_all(found.id, recorded.position)
            self._sources[found.id] = replace(found, fold_state=None)

    def _take(self, recorded: Recorded, found: _Source, folded: Folded, *, is_whole: bool) -> None:
        """Take in the turns of a range; a whole revision begins the source anew."""
        begin = self._begin(recorded, found)
        keys = [turn.key for turn in folded.turns]
        known = self._live.ordinals(found.id, None if is_whole else keys)
        if is_whole and not _keeps_order(keys, known):
            known = {}
        count, pieces, ordinals = found.turns, list[Draft](), list[int]()
        for turn in folded.turns:
            ordinal = known.get(turn.key, count)
            count = max(count, ordinal + 1)
            ordinals.append(ordinal)
            pieces += drafts.of_turn(found.id, turn, ordinal, found.session, self._store_key)
        self._turns.note(found.id, list(zip(folded.turns, ordinals, strict=True)), recorded.position)
        if is_whole:
            self._live.replace_all(found.id, pieces, begin)
        else:
            self._live.replace_turns(found.id, [*keys, *folded.removed], pieces, begin)
        unknown = {f"unknown record: {record}": number for record, number in (folded.unknown or {}).items()}
        self._omit(found.id, {**unknown, "unreadable records": folded.unreadable})
        self._sources[found.id] = replace(found, fold_state=folded.state, turns=count)

    def _begin(self, recorded: Recorded, found: _Source) -> passages.Beginning:
        return passages.Beginning(
            source=found.id,
            scope=found.scope,
            topic=found.topic,
            revision=found.revision,
            recorded_at=recorded.recorded_at,
            position=recorded.position,
        )

    def _omit(self, source: str, counted: Mapping[str, int], *, is_whole: bool = False) -> None:
        """Count what gave no turn; the count of a source begins anew with each whole revision."""
        if is_whole:
            self._omissions[source] = Counter()
        elif source not in self._omissions and any(counted.values()):
            stored = sa.select(passages.omission).where(passages.omission.c.source == source)
            self._omissions[source] = Counter({r.record: r.count for r in self._conn.execute(stored)})
        for record, number in counted.items():
            if number:
                self._omissions[source][(storable(record) or "")[: passages.RECORD_CHARS_MAX]] += number

    def _fail(self, recorded: Recorded, found: _Source, reason: str) -> None:
        self._failures.append(
            {
                "source": found.id,
                "revision": found.revision,
                "reason": reason,
                "recorded_from": recorded.position,
            }
        )

    def _move(self, recorded: Recorded, **changes: Any) -> None:
        """Take in that a source is elsewhere from now on."""
        before = self._sources[streams.id_of(recorded.stream)]
        self._settle(recorded, before, self._placed(self._change(recorded, **changes)))

    def _settle(self, recorded: Recorded, before: _Source, now: _Source) -> None:
        """Begin anew, where the source is now, the passages that it keeps from before."""
        self._sources[now.id] = now
        if before.place != now.place:
            move = passages.Move(now.scope, now.topic, before.name, now.name, recorded.position)
            self._live.move(now.id, move)

    def _placed(self, found: _Source) -> _Source:
        """Return a file with its name within its scope and its topic, the first folders of that name."""
        if found.kind != "file":
            return found
        path = unquote(urlsplit(found.uri).path, errors="surrogateescape")
        roots = [root for root, scope in self._directories.items() if scope == found.scope]
        inside = [root for root in roots if path.startswith(root.rstrip("/") + "/")]
        name = path[len(max(inside, key=len).rstrip("/")) + 1 :] if inside else path.rpartition("/")[2]
        folders = name.split("/")[:-1] if inside else path.split("/")[-2:-1]
        topic = storable("/".join(folders[:TOPIC_FOLDERS_MAX])) or None
        return replace(found, name=storable(name) or "", topic=topic)

    def _change(self, recorded: Recorded, **changes: Any) -> _Source:
        identifier = streams.id_of(recorded.stream)
        self._sources[identifier] = replace(self._sources[identifier], **changes)
        return self._sources[identifier]

    def _text(self, key: str) -> str:
        return decoded(self._contents.get(key, b""))


def _load_sources(conn: sa.Connection, page: Page) -> dict[str, _Source]:
    ids = {streams.id_of(r.stream) for r in page.events if r.stream.startswith("source-")}
    rows = conn.execute(sa.select(passages.source).where(among(passages.source.c.id, sorted(ids))))
    return {
        row.id: _Source(**{**row._mapping, "fold_state": passages.state_of(row.fold_state)}) for row in rows
    }


def _keeps_order(keys: Sequence[str], known: Mapping[str, int]) -> bool:
    """Tell whether the turns that were there before come first, in the order that they had."""
    before = [known.get(key) for key in keys]
    count = len(before) - before.count(None)
    standing = [ordinal for ordinal in before[:count] if ordinal is not None]
    return len(standing) == count and all(a < b for a, b in pairwise(standing))
