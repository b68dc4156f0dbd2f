"""Asking: searches of a world without a memory around it, and what of an answer is compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from chronofile.domain.envelope import Recorded
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore, engine_of
from chronofile.infra.event_store import EventStore
from chronofile.infra.migrate import store_key
from chronofile.projections import control, runner
from chronofile.projections.control import Generation
from chronofile.query import legs
from chronofile.query.answer import Answer
from chronofile.query.question import Filters, Question, Within, within
from chronofile.query.search import Models, search
from tests.builders import turn_line
from tests.servers import Server
from tests.world import World, static_vectors

AT = datetime(2026, 6, 1, tzinfo=UTC)


def ask(
    world: World,
    text: str,
    *,
    as_of: int | None = None,
    limit: int = 10,
    explain: bool = False,
    head: int | None = None,
    **filters: Any,
) -> Answer:
    """Return the answer to a question asked at AT; `filters` are the fields of Filters."""
    models = Models(static_vectors(), lambda configuration: world.embedder)
    question = Question(text, Filters(**filters), AT, as_of, limit, explain)
    return search(world.engine, models, question, world.store.position() if head is None else head)


def texts(answer: Answer) -> list[str]:
    return [hit.text for hit in answer.hits]


def verdict(answer: Answer) -> tuple[Any, ...]:
    """Return what must be equal of two answers that come to the same."""
    hits = [
        (hit.id, hit.score, hit.text, hit.span, hit.lines, hit.source.revision, hit.position, hit.recorded_at)
        for hit in answer.hits
    ]
    return answer.matched, hits


@contextmanager
def opened(server: Server, home: Path) -> Iterator[World]:
    """Yield a world on a database of its own, for tests that share what they only read."""
    with server.database() as conninfo, Datastore(conninfo) as datastore:
        key = store_key(conninfo)
        contents, engine = ContentStore(key), engine_of(conninfo)
        yield World(conninfo, home, key, contents, EventStore(datastore, contents), engine)
        engine.dispose()


@contextmanager
def reading(
    world: World, *, as_of: int = 2**62, **filters: Any
) -> Iterator[tuple[sa.Connection, Within, Mapping[str, Generation]]]:
    """Yield a connection to the serving generations, and filters resolved as a search does it."""
    with world.engine.connect().execution_options(isolation_level="REPEATABLE READ") as conn, conn.begin():
        serving = control.read_active(conn)
        here = control.translated(conn, serving)
        legs.settle(here)
        numbers = dict(world.rows("SELECT name, no FROM {passages}.scope"))
        yield here, within(Question("?", Filters(**filters), AT), as_of, numbers), serving


def plan(conn: sa.Connection, query: sa.Select[Any]) -> str:
    """Return how the database would run a query: its plan as text."""
    rendered: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        rendered.append((statement, parameters))

    event.listen(conn, "before_cursor_execute", note)
    conn.execute(query).all()
    event.remove(conn, "before_cursor_execute", note)
    statement, parameters = rendered[0]
    return "\n".join(row[0] for row in conn.exec_driver_sql(f"EXPLAIN {statement}", parameters))


@dataclass(frozen=True, slots=True)
class Until:
    """The log as it was at a position."""

    store: EventStore
    last: int

    def after(self, position: int, limit: int) -> list[Recorded]:
        return [recorded for recorded in self.store.after(position, limit) if recorded.position <= self.last]

    def position(self) -> int:
        return self.last


@dataclass(frozen=True, slots=True)
class Twin:
    """A second build of every projection in the same database, which is replayed as far as it is told."""

    world: World
    first: Mapping[str, Generation]
    second: Mapping[str, Generation]

    @classmethod
    def of(cls, world: World) -> Twin:
        built: dict[str, Generation] = {}
        with world.engine.begin() as conn:
            first = control.read_active(conn)
            for projection in world.projections:
                built[projection.name] = control.create(conn, projection, built)
        return cls(world, first, built)

    def ask(self, text: str, position: int, **fields: Any) -> Answer:
        """Replay the second build up to a position and ask it what it knows."""
        self._serve(self.second)
        try:
            runner.catch_up(self.world.engine, Until(self.world.store, position), self.world.projections)
            return ask(self.world, text, head=position, **fields)
        finally:
            self._serve(self.first)

    def _serve(self, generations: Mapping[str, Generation]) -> None:
        with self.world.engine.begin() as conn:
            for name, found in generations.items():
                chosen = sa.update(control.active).where(control.active.c.projection == name)
                conn.execute(chosen.values(generation=found.id))


def lines_of(turns: Sequence[str], **fields: Any) -> list[str]:
    """Return the lines of a session in the neutral format, its turns numbered from 1."""
    return [turn_line(text, turn=str(number), **fields) for number, text in enumerate(turns, start=1)]
