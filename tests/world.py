"""The world of a test: capture, log and projections wired together on a database of its own."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from psycopg.rows import tuple_row

from chronofile.domain.envelope import Addition
from chronofile.domain.events import Event
from chronofile.infra.contents import ContentStore
from chronofile.infra.embedders.static import L2Supercat
from chronofile.infra.event_store import EventStore
from chronofile.infra.languages import Languages
from chronofile.infra.unread import unread_documents
from chronofile.ingest.capture import Capture, Captured, Request
from chronofile.projections import control, runner
from chronofile.projections.embedding import embed_pending
from chronofile.projections.instant import instant_projection
from chronofile.projections.lexical import lexical_projection
from chronofile.projections.passage_writer import passages_projection
from chronofile.projections.projection import Projection
from chronofile.projections.reading import Files
from chronofile.projections.runner import Limits
from chronofile.projections.sources import sources_projection
from chronofile.projections.vectors import vectors_projection

if TYPE_CHECKING:
    from chronofile.domain.ports import Extractor, Vectors


Dump = dict[str, list[tuple[Any, ...]]]
"""Rows by projection and table, as in `passages.passage`."""


@dataclass(frozen=True, slots=True)
class WordHashes:
    """An embedder for tests: a text is the sum of its words' hashed directions, so shared words mean near."""

    dimension: int = 16
    identity: str = "word-hashes@16"

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.array([self._sum(text) for text in texts], dtype=np.float32).reshape(-1, self.dimension)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def _sum(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        words = ["", *text.lower().split()]
        digests = [blake2b(word.encode("utf-8", "replace"), digest_size=self.dimension) for word in words]
        directions = np.array([np.frombuffer(found.digest(), dtype=np.uint8) for found in digests])
        total: np.ndarray[tuple[int], np.dtype[np.float64]] = (directions - 127.5).sum(axis=0)
        return total


@dataclass(slots=True)
class World:
    """Everything on one database; `now` is the clock of captures, the wall clock when it is None.

    `keeps_former`: captures keep what a transcript said before its file was written anew. `extractor` reads documents.
    """

    conninfo: str
    home: Path
    store_key: bytes
    contents: ContentStore
    store: EventStore
    engine: sa.Engine
    embedder: WordHashes = field(default_factory=WordHashes)
    now: datetime | None = None
    keeps_former: bool = True
    extractor: Extractor | None = None
    projections: list[Projection] = field(init=False)
    """Sources, passages, lexical, instant, vectors: upstream first, each with a serving generation."""

    def __post_init__(self) -> None:
        self.projections = [
            sources_projection(self.contents, self.store),
            passages_projection(
                self.contents, self.store_key, self.store, Files(self.extractor, languages())
            ),
            lexical_projection("english"),
            instant_projection(static_vectors()),
            vectors_projection("word-hashes", self.embedder.identity, self.embedder.dimension),
        ]
        control.ensure(self.engine, self.projections)

    def capture(self, *paths: Path, **request: Any) -> Captured:
        """Capture the paths as `ingest` does; `request` are the other fields of a Request."""
        return self.capturing().run(Request(paths, **request))

    def capturing(self) -> Capture:
        """Return a run that has not begun, for a test that does something to it first."""
        return Capture(
            self.store,
            self.contents.key,
            home=self.home,
            store_key=self.store_key,
            now=self.now or datetime.now(UTC),
            new_id=lambda: uuid.uuid4().hex,
            read=self.read if self.keeps_former else None,
            extractor=self.extractor,
            unread=lambda: unread_documents(self.engine),
        )

    def read(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return contents by their keys."""
        with self.engine.connect() as conn:
            return self.contents.read(conn, keys)

    def given(self, stream: str, *events: Event, texts: Sequence[str] = ()) -> list[int]:
        """Append events at the stream's end, with texts as contents, and return the positions."""
        contents = {self.contents.text_key(text): text.encode() for text in texts}
        after = len(self.store.read(stream))
        return self.store.append([Addition(stream, after, events)], contents=contents)

    def catch_up(self, page_events: int = 1_000, *, embed: bool = False) -> None:
        """Bring every projection to the head of the log, and embed what is pending if asked."""
        limits = Limits(events=page_events)
        assert runner.catch_up(self.engine, self.store, self.projections, limits=limits)
        if embed:
            embed_pending(self.engine, self.embedder)

    def events(self) -> list[Event]:
        """Return every event of the log, in order."""
        return [recorded.event for page in self.store.pages() for recorded in page.events]

    def schemas(self) -> Mapping[str, str]:
        """Return the schema of the serving generation of each projection, by the projection's name."""
        with self.engine.connect() as conn:
            return {name: found.schema for name, found in control.read_active(conn).items()}

    def dump(self) -> Dump:
        """Return all rows of all tables of the serving generations, by projection and table, each in one order."""
        found: Dump = {}
        with self.engine.connect() as plain:
            conn = control.translated(plain, control.read_active(plain))
            for projection in self.projections:
                for table in projection.tables.sorted_tables:
                    rows = [tuple(map(_comparable, row)) for row in conn.execute(sa.select(table))]
                    found[f"{projection.name}.{table.name}"] = sorted(rows, key=repr)
        return found

    def rebuilt(self, page_events: int = 1_000) -> Dump:
        """Return what `dump` would if every projection were built from the log as it is now.

        The generations that serve are left as they are.
        """
        with self.engine.connect() as conn:
            serving = control.read_active(conn)
        built: dict[str, control.Generation] = {}
        with self.engine.begin() as conn:
            for projection in self.projections:
                built[projection.name] = control.create(conn, projection, built)
        self._serve(built)
        try:
            self.catch_up(page_events)
            return self.dump()
        finally:
            self._serve(serving)
            with self.engine.begin() as conn:
                for found in built.values():
                    conn.execute(sa.schema.DropSchema(found.schema, cascade=True))
                    conn.execute(sa.delete(control.generation).where(control.generation.c.id == found.id))

    def _serve(self, generations: Mapping[str, control.Generation]) -> None:
        with self.engine.begin() as conn:
            for name, found in generations.items():
                chosen = sa.update(control.active).where(control.active.c.projection == name)
                conn.execute(chosen.values(generation=found.id))

    def rows(self, query: str, *arguments: Any) -> list[tuple[Any, ...]]:
        """Return a query's rows. `{passages}` in it is the schema of the serving generation of `passages`."""
        for name, schema in self.schemas().items():
            query = query.replace(f"{{{name}}}", schema)
        with self.store.cursor() as cursor:
            cursor.row_factory = tuple_row  # type: ignore[assignment]
            cursor.execute(query.encode(), arguments or None)
            return cursor.fetchall()  # type: ignore[return-value]


@cache
def static_vectors() -> L2Supercat:
    """Return the static vectors that all tests share: they load 16 MB."""
    return L2Supercat()


@cache
def languages() -> Languages:
    """Return what tells languages, which all tests share: it takes a while to load."""
    return Languages()


def _comparable(value: Any) -> Any:
    return value.to_list() if hasattr(value, "to_list") else value
