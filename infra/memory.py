"""The memory: everything that a process does with one home, as calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import structlog

from chronofile.domain import streams
from chronofile.domain.envelope import Addition
from chronofile.domain.errors import BadRequest, ChronofileError, DatabaseUnavailable, ProjectionStopped
from chronofile.domain.events import SearchServed
from chronofile.domain.identity import storable
from chronofile.domain.times import iso
from chronofile.infra import logs
from chronofile.infra.reports import DatabaseStatus, IngestReport, Status
from chronofile.infra.requests import question_of, require_scope_name, working_directory
from chronofile.ingest import known
from chronofile.ingest.capture import Capture, Captured, Request
from chronofile.ingest.gathered import Gathered
from chronofile.ingest.sighting import FORMAT_NAMES
from chronofile.projections import embedding, runner
from chronofile.projections.projection import Projection
from chronofile.query import catalogue
from chronofile.query.answer import Answer, Context
from chronofile.query.question import LIMIT_DEFAULT, Question
from chronofile.query.search import Models, search

if TYPE_CHECKING:
    import sqlalchemy as sa

    from chronofile.infra.config import Config
    from chronofile.infra.contents import ContentStore
    from chronofile.infra.event_store import EventStore
    from chronofile.infra.models import LoadedModels

AUTO_EMBED_MAX = 2_000
SEARCH_CATCH_UP_S = 0.2
WAITS = ("auto", "words", "all", "none")
POLL_S = 0.05

log = structlog.get_logger(__name__)


@contextmanager
def naming_database_errors() -> Iterator[None]:
    """Raise DatabaseUnavailable where a connection broke or is refused, whichever library says so, and how to go on."""
    import psycopg
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, DBAPIError) as error:
        cause = getattr(error, "orig", error)
        state = getattr(cause, "sqlstate", None)
        broken = isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)
        # A connection that breaks has no code; 08 and 57P are the server's words for the same.
        if not broken or not (state is None or state.startswith(("08", "57P"))):
            raise
        said = str(cause).strip().split("\n", 1)[0]
        raise DatabaseUnavailable(
            f"({said}) An embedded one starts when the memory is opened anew."
        ) from error


@dataclass(frozen=True, slots=True)
class Progress:
    """Hears of a run as it goes: files read, pages applied, passages embedded out of those that wait."""

    captured: Callable[[Path, Captured], None] = lambda path, captured: None
    applied: Callable[[str, int], None] = lambda projection, position: None
    embedded: Callable[[int, int], None] = lambda done, of: None


@dataclass(frozen=True, slots=True)
class Parts:
    """What a memory is made of; wiring builds it."""

    config: Config
    conninfo: str
    data_folder: Path | None
    store: EventStore
    ledger: EventStore
    contents: ContentStore
    store_key: bytes
    engine: sa.Engine
    models: LoadedModels
    projections: Sequence[Projection]
    vectors: Projection
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    notes: tuple[str, ...]
    close: Callable[[], None]


class Memory:
    """One home, open: capture, search, look. A context manager; closing it stops the database if it is the last."""

    def __init__(self, parts: Parts, caller: str) -> None:
        logs.adopt()
        self._parts, self._caller = parts, caller

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database. Closing again does nothing."""
        self._parts.close()

    @property
    def config(self) -> Config:
        return self._parts.config

    @naming_database_errors()
    def ingest(
        self,
        paths: Iterable[str | os.PathLike[str]],
        *,
        scope: str | None = None,
        format: str | None = None,  # noqa: A002  # The command's own word.
        wait: str = "auto",
        again: bool = False,
        dry_run: bool = False,
        progress: Progress = Progress(),
    ) -> IngestReport:
        """Capture files and folders, and make them searchable as far as `wait` says.

        `words`: by words and instant vectors; `all`: by transformer vectors too; `auto`: all when fewer than
        2,000 passages are without one; `none`: the projections are left as they are. Raises BadRequest for an
        unknown format, scope or wait, and what the database raises; whatever was appended by then stays.
        """
        if wait not in WAITS:
            raise BadRequest(f"--wait is one of {', '.join(WAITS)}, not {wait!r}.")
        if format is not None and format not in FORMAT_NAMES:
            raise BadRequest(f"--format is one of {', '.join(FORMAT_NAMES)}, not {format!r}.")
        require_scope_name(scope)
        capture = Capture(
            self._parts.store,
            self._parts.contents.key,
            home=self._parts.config.home,
            store_key=self._parts.store_key,
            now=self._parts.clock(),
            new_id=self._parts.new_id,
            tick=progress.captured,
        )
        request = Request([Path(path) for path in paths], scope, format, again, dry_run)
        captured = capture.run(request)
        log.info("captured", batch=captured.batch, revisions=captured.revisions, position=captured.position)
        note = None
        if wait != "none" and not dry_run:
            note = self._make_searchable(wait, captured.position, progress)
        return IngestReport.of(captured, catalogue.counts(self._parts.engine), note)

    def search(
        self,
        query: str,
        *,
        scope: str | Sequence[str] | None = None,
        topic: str | None = None,
        kind: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        source: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        as_of: str | int | datetime | None = None,
        at: str | datetime | None = None,
        limit: int = LIMIT_DEFAULT,
        explain: bool = False,
    ) -> Answer:
        """Answer a question with passages, best first.

        `scope` is one or several names, "all" for every scope, None for those of the working directory.
        `as_of` is a position, or a time: the last position recorded by then. Raises BadRequest, UnknownScope,
        UnknownSource, UnreadableTime.
        """
        fields: dict[str, Any] = {"topic": topic, "kind": kind, "session": session, "speaker": speaker}
        fields |= {"scope": scope, "source": source, "since": since, "until": until, "as_of": as_of}
        fields |= {"at": at, "limit": limit, "explain": explain}
        return next(self.search_all([(query, fields)]))

    def search_all(self, questions: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Answer]:
        """Answer several questions, each with its own fields of `search`, in order."""
        degraded = self.catch_up(SEARCH_CATCH_UP_S)
        head = self._parts.store.position()
        models = Models(self._parts.models.static, self._parts.models.of_generation)
        for query, fields in questions:
            with naming_database_errors():
                answer = search(self._parts.engine, models, self._question(query, fields), head)
            answer = replace(answer, degraded=(*self._parts.notes, *degraded, *answer.degraded))
            self._record(answer)
            log.info("answered", hits=len(answer.hits), matched=answer.matched, took_ms=answer.took_ms)
            yield answer

    @naming_database_errors()
    def get(self, identifier: str, *, context: int = 0, source: bool = False) -> Context:
        """Return a passage by id, with passages around it, and with `source` its source's whole text."""
        self.catch_up(SEARCH_CATCH_UP_S)
        return catalogue.get(
            self._parts.engine,
            storable(identifier) or "",
            at=self._parts.clock(),
            context=context,
            whole=source,
        )

    @naming_database_errors()
    def sources(self, scope: str | None = None) -> list[catalogue.SourceEntry]:
        """Return every source that was ever seen, with what went wrong."""
        self.catch_up(SEARCH_CATCH_UP_S)
        entries = catalogue.list_sources(self._parts.engine, scope=storable(scope))
        # A file that only held what was known already has appended nothing; the write side remembers it.
        with self._parts.store.cursor() as cursor:
            read = known.files_of(cursor, [entry.id for entry in entries])
        return [
            replace(
                entry, files=tuple(sorted({*entry.files, *(str(f.path) for f in read.get(entry.id, ()))}))
            )
            for entry in entries
        ]

    @naming_database_errors()
    def topics(self) -> list[catalogue.TopicCount]:
        """Return how many passages each topic of each scope holds."""
        self.catch_up(SEARCH_CATCH_UP_S)
        return catalogue.list_topics(self._parts.engine)

    @naming_database_errors()
    def status(self) -> Status:
        """Return where everything stands, without moving anything."""
        from chronofile import __version__

        head = self._parts.store.position()
        counts = catalogue.counts(self._parts.engine)
        folder = None if self._parts.data_folder is None else str(self._parts.data_folder)
        return Status(
            position=head,
            projections=catalogue.projection_status(self._parts.engine, head),
            passages=counts.passages,
            vectors=counts.vectors,
            pending_vectors=counts.pending_vectors,
            embedder=str(catalogue.vector_configuration(self._parts.engine).get("embedder", "none")),
            bytes=counts.bytes,
            database=DatabaseStatus("external" if folder is None else "embedded", folder),
            sources=counts.sources,
            rejected=counts.rejected,
            home=str(self._parts.config.home),
            version=__version__,
            notes=self._parts.notes,
        )

    @naming_database_errors()
    def catch_up(self, seconds: float = float("inf"), progress: Progress = Progress()) -> list[str]:
        """Apply what was appended, for so long at most; return what kept a projection from it, as sentences."""
        if not any(self._lags(self._parts.projections, self._parts.store.position()).values()):
            return []
        try:
            runner.catch_up(
                self._parts.engine,
                self._parts.store,
                self._parts.projections,
                deadline_s=time.monotonic() + seconds,
                tick=progress.applied,
            )
        except ProjectionStopped as error:
            return [str(error)]
        return []

    @naming_database_errors()
    def embed(self, progress: Progress = Progress(), stopping: Callable[[], bool] = lambda: False) -> int:
        """Embed what is missing, unless another process is at it, and return how many passages were embedded."""
        runner.catch_up(self._parts.engine, self._parts.store, [self._parts.vectors])
        waiting = catalogue.counts(self._parts.engine).pending_vectors
        if not waiting:
            return 0
        configuration = catalogue.vector_configuration(self._parts.engine)
        embedder = self._parts.models.of_generation(configuration)
        done = 0

        def tick(count: int) -> None:
            nonlocal done
            done += count
            progress.embedded(done, waiting)

        with self._lease() as held:
            if held:
                embedding.embed_pending(self._parts.engine, embedder, stopping=stopping, tick=tick)
        return done

    @naming_database_errors()
    def work(
        self, *, drain: bool, progress: Progress = Progress(), stopping: Callable[[], bool] = lambda: False
    ) -> int:
        """Keep the projections at the log's head and the backlog of vectors empty; with `drain` stop when they are."""
        log.info("working", drain=drain)
        total = 0
        for _ in self.wakeups(stopping):
            self.catch_up(progress=progress)
            total += self.embed(progress, stopping)
            if stopping() or (drain and self._is_drained()):
                break
        return total

    def wakeups(self, stopping: Callable[[], bool]) -> Iterator[None]:
        """Yield at once, and then whenever something was appended, or may have been."""
        from chronofile.infra.wakeups import wakeups

        return wakeups(self._parts.conninfo, self._parts.store.channel, stopping=stopping)

    @naming_database_errors()
    def scopes_here(self, directory: Path) -> tuple[str, ...] | None:
        """Return the scopes that belong to a directory, None where none does."""
        return catalogue.scopes_for(self._parts.engine, str(directory))

    def _is_drained(self) -> bool:
        lags = self._lags([*self._parts.projections, self._parts.vectors], self._parts.store.position())
        stuck = any(found.error for found in catalogue.serving(self._parts.engine).values())
        return stuck or not (catalogue.counts(self._parts.engine).pending_vectors or any(lags.values()))

    def _lags(self, projections: Sequence[Projection], head: int) -> dict[str, int]:
        """Return how far each projection is behind, but for those that another version or configuration built."""
        serving = catalogue.serving(self._parts.engine)
        return {
            projection.name: max(0, head - serving[projection.name].position)
            for projection in projections
            if projection.name in serving and serving[projection.name].matches(projection)
        }

    def _make_searchable(self, wait: str, position: int, progress: Progress) -> str | None:
        self._wait_for(position, progress)
        runner.catch_up(self._parts.engine, self._parts.store, [self._parts.vectors])
        waiting = catalogue.counts(self._parts.engine).pending_vectors
        if wait == "words" or (wait == "auto" and waiting >= AUTO_EMBED_MAX):
            return (
                f"{waiting} passages wait for their vectors: chronofile worker --drain" if waiting else None
            )
        try:
            while catalogue.counts(self._parts.engine).pending_vectors:
                if not self.embed(progress):
                    time.sleep(POLL_S)  # Another process is at it.
        except ChronofileError as error:
            if wait == "all":
                raise
            return f"vectors: {error}"
        return None

    def _wait_for(self, position: int, progress: Progress) -> None:
        """Catch up until every projection has seen the position, also where another process moves it."""
        while True:
            runner.catch_up(
                self._parts.engine, self._parts.store, self._parts.projections, tick=progress.applied
            )
            if not any(self._lags(self._parts.projections, position).values()):
                return
            time.sleep(POLL_S)

    def _question(self, query: str, fields: Mapping[str, Any]) -> Question:
        here = working_directory()
        return question_of(
            query,
            fields,
            scopes_here=lambda: None if here is None else self.scopes_here(here),
            store=self._parts.store,
            engine=self._parts.engine,
            now=self._parts.clock(),
        )

    def _record(self, answer: Answer) -> None:
        """Write down in the ledger what was asked and what went out; a search does not fail over it."""
        gathered = Gathered(self._parts.contents.key)
        served = SearchServed(
            question=gathered.text(answer.query),
            caller=self._caller,
            scopes=answer.scopes,
            mode=answer.mode,
            position=answer.position,
            as_of=answer.as_of,
            matched=answer.matched,
            passages=tuple(hit.id for hit in answer.hits),
            took_ms=answer.took_ms,
            observed_at=iso(self._parts.clock()),
        )
        try:
            stream = streams.search(self._parts.new_id())
            self._parts.ledger.append([Addition(stream, 0, [served])], contents=gathered.contents)
        except Exception as error:  # noqa: BLE001  # The answer is there; that it is not in the ledger is said.
            log.warning("search not recorded", error=type(error).__name__)

    @contextmanager
    def _lease(self) -> Iterator[bool]:
        """Hold the right to embed, if nobody else has it; it ends with this process's connection, also by a kill."""
        import psycopg

        with psycopg.connect(self._parts.conninfo, autocommit=True) as conn:
            row = conn.execute("SELECT pg_try_advisory_lock(%s)", (EMBED_LEASE,)).fetchone()
            yield bool(row and row[0])


EMBED_LEASE = 0x454D424544  # "EMBED"
