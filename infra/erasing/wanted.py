"""What is to be erased, as a person names it, and the streams that this means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.erasure import SHORT_CHARS
from chronofile.domain.errors import UnknownPassage, UnknownScope, UnknownSource
from chronofile.domain.identity import encoded
from chronofile.domain.memories import UnknownMemory
from chronofile.infra.requests import names_of, sources_named
from chronofile.projections import control, passages, sources
from chronofile.projections.bulk import among

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

MEMORY = "memory"
MEMORY_PREFIX = f"{MEMORY}:"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person named: sources by URI, path or id, passages and memories by id, scopes by name."""

    sources: Sequence[str] = ()
    passages: Sequence[str] = ()
    memories: Sequence[str] = ()
    scopes: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.sources or self.passages or self.memories or self.scopes)


@dataclass(frozen=True, slots=True)
class Found:
    """What was meant: the streams of sources and memories that go as a whole, and texts that go from all that hold them.

    `holders` are the streams with a passage that holds one of the texts. A text is without the white space around it.
    `quoting` are other streams that hold one too, or in which Chronofile quoted something of what is erased, each with
    how many passages; what was quoted is known by `names`. `repeating` are contents, by key and with the streams that
    name them, that say a line of what goes as a whole. This was so at a position of the log.
    """

    whole: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    quoting: Mapping[str, int] = field(default_factory=dict)
    names: frozenset[bytes] = frozenset()
    repeating: Mapping[str, frozenset[str]] = field(default_factory=dict)
    position: int = 0

    @property
    def long_texts(self) -> tuple[str, ...]:
        """The texts that are looked for within longer ones."""
        return tuple(text for text in self.texts if len(text) >= SHORT_CHARS)

    def only(self, concerned: Collection[str] | None) -> Found:
        """Return what is meant of some streams; all of it for None, or where none of them is meant."""
        if concerned is None or not {*self.whole, *self.holders, *self.quoting} & {*concerned}:
            return self
        return replace(
            self,
            whole=tuple(stream for stream in self.whole if stream in concerned),
            holders=tuple(stream for stream in self.holders if stream in concerned),
            quoting={stream: count for stream, count in self.quoting.items() if stream in concerned},
        )


def find(parts: Parts, wanted: Wanted) -> Found:
    """Return what is meant. Raises UnknownSource, UnknownPassage, UnknownMemory, UnknownScope."""
    whole: dict[str, None] = {}
    for name in wanted.sources:
        whole |= dict.fromkeys(_source_streams(parts, name))
    for identifier in wanted.memories:
        whole[_memory_stream(parts, identifier)] = None
    with reading(parts.engine) as conn:
        for name in wanted.scopes:
            whole |= dict.fromkeys(_scope_streams(conn, name))
        named = dict(_text(conn, identifier) for identifier in wanted.passages)
        held = [stream for stream in holders_of(conn, named) if stream not in whole]
    # A source whose passage was named comes last: should this end in the middle, the passage can be named again.
    holders = sorted(held, key=set(named.values()).__contains__)
    return Found(tuple(whole), tuple(named), tuple(holders))


def holders_of(conn: sa.Connection, texts: Collection[str]) -> list[str]:
    """Return the streams with a passage, of now or of before, that holds one of the texts, in order."""
    table = passages.passage
    held: dict[str, None] = {}
    for text in texts:
        column = sa.type_coerce(table.c.text, sa.LargeBinary)
        bound = sa.literal(encoded(text), type_=sa.LargeBinary)
        query = (
            sa.select(table.c.source, sources.source.c.kind, table.c.text)
            .join(sources.source, sources.source.c.id == table.c.source)
            .where(sa.func.position(bound.op("IN")(column)) > 0)
            .order_by(table.c.no)
        )
        for row in conn.execute(query):
            if len(text) >= SHORT_CHARS or row.text.strip() == text:
                held[stream_of(row.source, row.kind)] = None
    return list(held)


def every(parts: Parts) -> tuple[str, ...]:
    """Return the streams of all sources and memories."""
    with parts.store.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT originator_id FROM log.events"
            " WHERE originator_id LIKE 'source-%%' OR originator_id LIKE 'memory-%%' ORDER BY 1"
        )
        return tuple(row["originator_id"] for row in cursor)


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One moment of the serving generations."""
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as conn, conn.begin():
        yield control.translated(conn, control.read_active(conn))


def stream_of(identifier: str, kind: str) -> str:
    return streams.memory(identifier) if kind == MEMORY else streams.source(identifier)


def uris(conn: sa.Connection, found: Collection[str]) -> dict[str, str]:
    """Return the URI of each stream's source as it is known now; empty where it was erased."""
    wanted = {streams.id_of(stream): stream for stream in found}
    query = sa.select(sources.source.c.id, sources.source.c.uri).where(
        among(sources.source.c.id, sorted(wanted))
    )
    return {wanted[row.id]: row.uri for row in conn.execute(query)}


def _source_streams(parts: Parts, name: str) -> list[str]:
    if name.startswith(MEMORY_PREFIX):
        return [_memory_stream(parts, name)]
    for stream in (streams.source(name), streams.memory(name)):
        if parts.store.read(stream):
            return [stream]
    try:
        ids = sources_named(name, parts.store, parts.engine)
    except UnknownSource:
        if erased := _erased_streams(parts, name):
            return erased
        raise
    with reading(parts.engine) as conn:
        query = sa.select(sources.source.c.id, sources.source.c.kind).where(
            among(sources.source.c.id, sorted(ids))
        )
        kinds = {row.id: row.kind for row in conn.execute(query)}
    return [stream_of(identifier, kinds.get(identifier, "file")) for identifier in ids]


def _erased_streams(parts: Parts, name: str) -> list[str]:
    """Return the closed sources that had the name: its text is gone, and its key is still in their events."""
    keys = [parts.contents.text_key(text) for text in names_of(name)]
    with parts.store.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT originator_id AS stream FROM log.events"
            " JOIN log.erased_source ON originator_id = 'source-' || source"
            " WHERE convert_from(state, 'UTF8') ~ %s ORDER BY 1",
            ("|".join(keys),),
        )
        return [row["stream"] for row in cursor]


def _memory_stream(parts: Parts, identifier: str) -> str:
    stream = streams.memory(identifier.removeprefix(MEMORY_PREFIX))
    if not parts.store.read(stream):
        raise UnknownMemory([identifier])
    return stream


def _scope_streams(conn: sa.Connection, name: str) -> Iterator[str]:
    query = sa.select(sources.source.c.id, sources.source.c.kind).where(sources.source.c.scope == name)
    rows = conn.execute(query.order_by(sources.source.c.id)).all()
    if not rows:
        known = conn.scalar(sa.select(sa.func.count()).where(sources.scope.c.name == name))
        if not known:
            raise UnknownScope(f"({name})")
    for row in rows:
        yield stream_of(row.id, row.kind)


def _text(conn: sa.Connection, identifier: str) -> tuple[str, str]:
    """Return a passage's text, and the stream that it is from."""
    table = passages.passage
    query = sa.select(table.c.text, table.c.source, sources.source.c.kind).join(
        sources.source, sources.source.c.id == table.c.source
    )
    row = conn.execute(query.where(table.c.id == identifier).limit(1)).first()
    if row is None or not row.text.strip():
        raise UnknownPassage(f"({identifier})")
    return row.text.strip(), stream_of(row.source, row.kind)
