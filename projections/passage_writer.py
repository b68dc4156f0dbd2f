"""What a page of events does to the passages: what is new begins, what is no longer there ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

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
from chronofile.domain.identity import storable
from chronofile.domain.turns import Folded, Turn
from chronofile.projections import drafts, passages
from chronofile.projections.drafts import Draft
from chronofile.projections.live_passages import LivePassages
from chronofile.projections.projection import Projection

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
    fold_state: str | None = None
    turns: int = 0


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
        self._turns: dict[tuple[str, str], dict[str, Any]] = {}
        self._failures: list[dict[str, Any]] = []
        self._omissions: Counter[tuple[str, str]] = Counter()

    def write(self, recorded: Recorded) -> None:
        match recorded.event:
            case DirectoryMapped() as event:
                self._directories[self._text(event.directory)] = streams.id_of(recorded.stream)
            case SourceRegistered() as event:
                identifier = streams.id_of(recorded.stream)
                uri = storable(self._text(event.uri)) or ""
                self._sources[identifier] = _Source(
                    identifier, event.kind, event.scope, uri, storable(event.session)
                )
                self._live.is_new(identifier)
            case RevisionCaptured() as event:
                self._revise(recorded, event)
            case SourceMoved() as event:
                self._change(recorded, uri=storable(self._text(event.uri)) or "")
            case SourceRemoved():
                self._live.end_all(streams.id_of(recorded.stream), recorded.position)
            case SourceRescoped() as event:
                self._change(recorded, scope=event.scope)
                self._live.rescope(streams.id_of(recorded.stream), event.scope, recorded)
            case _:
                pass

    def flush(self) -> None:
        self._live.flush()
        upsert(self._conn, passages.turn, list(self._turns.values()))
        upsert(self._conn, passages.failure, self._failures)
        sources = [
            {name: getattr(found, name) for name in found.__slots__} for found in self._sources.values()
        ]
        upsert(self._conn, passages.source, sources)
        mapped = [{"path": path, "scope": scope} for path, scope in self._directories.items()]
        upsert(self._conn, passages.directory, mapped)
        counted = [{"source": s, "record": r, "count": n} for (s, r), n in sorted(self._omissions.items())]
        upsert(self._conn, passages.omission, counted, adding="count")

    def _revise(self, recorded: Recorded, event: RevisionCaptured) -> None:
        found = self._change(recorded, revision=event.revision)
        content = self._contents.get(event.content)
        if content is None:
            return  # It was erased: there is no text any more.
        text, undecodable = decode(content, event.encoding)
        if undecodable:
            self._omissions[found.id, "undecodable bytes"] += undecodable
        if found.kind == "file":
            name, topic = self._place(found)
            pieces = drafts.of_file(found.id, name, text, event.event_time, self._store_key)
            self._live.replace_all(found.id, pieces, self._begin(recorded, found, topic))
        elif (fold := FORMATS.get(event.format)) is None:
            self._failures.append(_failure(recorded, found, f"the format {event.format} is not known here"))
        else:
            state = None if event.start == 0 else passages.state_of(found.fold_state)
            folded = fold.fold(state, [line for line in text.split("\n") if line])
            self._take(recorded, found, folded, whole=event.start == 0)

    def _take(self, recorded: Recorded, found: _Source, folded: Folded, *, whole: bool) -> None:
        """Take in the turns of a range; a whole revision begins the source anew."""
        begin = self._begin(recorded, found, None)
        known = {} if whole else self._ordinals(found.id, [turn.key for turn in folded.turns])
        count, pieces = found.turns, list[Draft]()
        for turn in folded.turns:
            ordinal = known.get(turn.key, count)
            count = max(count, ordinal + 1)
            self._turns[found.id, turn.key] = _turn_row(found, turn, ordinal)
            pieces += drafts.of_turn(found.id, turn, ordinal, found.session, self._store_key)
        if whole:
            self._live.replace_all(found.id, pieces, begin)
        else:
            self._live.replace_turns(found.id, [turn.key for turn in folded.turns], pieces, begin)
            self._live.replace_turns(found.id, folded.removed, [], begin)
        for record, number in (folded.unknown or {}).items():
            self._omissions[found.id, storable(f"unknown record: {record}") or ""] += number
        if folded.unreadable:
            self._omissions[found.id, "unreadable records"] += folded.unreadable
        self._sources[found.id] = replace(
            self._sources[found.id], fold_state=dumps_state(folded), turns=count
        )

    def _begin(self, recorded: Recorded, found: _Source, topic: str | None) -> passages.Beginning:
        return passages.Beginning(
            source=found.id,
            scope=found.scope,
            topic=topic,
            revision=found.revision,
            recorded_at=recorded.recorded_at,
            position=recorded.position,
        )

    def _ordinals(self, source: str, keys: Sequence[str]) -> dict[str, int]:
        here = {key: self._turns[source, key]["ordinal"] for key in keys if (source, key) in self._turns}
        missing = [key for key in keys if key not in here]
        if missing and not self._live.began_here(source):
            query = sa.select(passages.turn.c.key, passages.turn.c.ordinal).where(
                passages.turn.c.source == source, passages.turn.c.key.in_(missing)
            )
            here |= {row.key: row.ordinal for row in self._conn.execute(query)}
        return here

    def _place(self, found: _Source) -> tuple[str, str | None]:
        """Return a file's name within its scope, and its topic: the first folders of that name."""
        path = unquote(urlsplit(found.uri).path)
        roots = [root for root, scope in self._directories.items() if scope == found.scope]
        inside = [root for root in roots if path.startswith(root.rstrip("/") + "/")]
        name = path[len(max(inside, key=len).rstrip("/")) + 1 :] if inside else path.rpartition("/")[2]
        folders = name.split("/")[:-1] if inside else path.split("/")[-2:-1]
        return storable(name) or "", storable("/".join(folders[:TOPIC_FOLDERS_MAX])) or None

    def _change(self, recorded: Recorded, **changes: Any) -> _Source:
        identifier = streams.id_of(recorded.stream)
        self._sources[identifier] = replace(self._sources[identifier], **changes)
        return self._sources[identifier]

    def _text(self, key: str) -> str:
        return self._contents.get(key, b"").decode("utf-8", "surrogatepass")


def upsert(
    conn: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]], *, adding: str | None = None
) -> None:
    """Insert rows, or overwrite those with the same primary key; the column `adding` is added to instead."""
    if not rows:
        return
    statement = insert(table)
    keys = [column.name for column in table.primary_key]
    changes: dict[str, Any] = {
        column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys
    }
    if adding is not None:
        changes[adding] = table.c[adding] + statement.excluded[adding]
    conn.execute(statement.on_conflict_do_update(index_elements=keys, set_=changes), list(rows))


def dumps_state(folded: Folded) -> str:
    return dumps(dict(folded.state))


def _load_sources(conn: sa.Connection, page: Page) -> dict[str, _Source]:
    ids = {streams.id_of(r.stream) for r in page.events if r.stream.startswith("source-")}
    rows = conn.execute(sa.select(passages.source).where(passages.source.c.id.in_(ids)))
    return {row.id: _Source(**row._mapping) for row in rows}


def _turn_row(found: _Source, turn: Turn, ordinal: int) -> dict[str, Any]:
    return {
        "source": found.id,
        "key": turn.key,
        "ordinal": ordinal,
        "native_ids": [storable(native) for native in turn.native_ids],
    }


def _failure(recorded: Recorded, found: _Source, reason: str) -> dict[str, Any]:
    return {
        "source": found.id,
        "revision": found.revision,
        "reason": reason,
        "recorded_from": recorded.position,
    }
