"""The memory: everything that a process does with one home, as calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import structlog

from chronofile.domain.errors import BadRequest, ChronofileError, DatabaseUnavailable
from chronofile.domain.identity import storable
from chronofile.domain.memories import KIND_DEFAULT
from chronofile.infra import logs, upkeep
from chronofile.infra.capturing import capture_of
from chronofile.infra.database_errors import naming_database_errors
from chronofile.infra.progress import UNWATCHED, Progress
from chronofile.infra.reports import IngestReport, Status, Verified
from chronofile.infra.requests import question_of, require_scope_name, working_directory
from chronofile.infra.searches import record
from chronofile.infra.standing import status_of
from chronofile.infra.taking_back import TakingBack
from chronofile.infra.upkeep import REMEMBERED_CATCH_UP_S, SEARCH_CATCH_UP_S, WAITS, Outcome
from chronofile.ingest import known, spool
from chronofile.ingest.capture import Captured, Request
from chronofile.ingest.sighting import FORMAT_NAMES
from chronofile.query import catalogue
from chronofile.query.answer import Answer, Context
from chronofile.query.question import LIMIT_DEFAULT, Question
from chronofile.query.search import Models, search

if TYPE_CHECKING:
    from chronofile.infra.config import Config
    from chronofile.infra.drain import Drained
    from chronofile.infra.export import Exported
    from chronofile.infra.memories import Corrected, Remembered
    from chronofile.infra.parts import Parts
    from chronofile.ingest.selections import Selection

log = structlog.get_logger(__name__)


class MemoryClosed(DatabaseUnavailable):
    """This memory was closed; a new one can be opened in its place."""


class Memory(TakingBack):
    """One home, open: capture, search, look. A context manager; closing it stops the database if it is the last."""

    def __init__(self, parts: Parts, caller: str) -> None:
        logs.adopt()
        self._held, self._caller = parts, caller
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database. Closing again does nothing; every other call then raises MemoryClosed."""
        self._is_closed = True
        self._held.close()

    @property
    def config(self) -> Config:
        return self._held.config

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
        selected: Mapping[Path, Selection] | None = None,
        progress: Progress = UNWATCHED,
    ) -> IngestReport:
        """Capture files and folders, and make them searchable as far as `wait` says.

        Of folders that are `selected`, only the selected files are taken.

        `words`: by words and instant vectors; `all`: by transformer vectors too; `auto`: all when fewer than
        2,000 passages are without one; `none`: the projections are left as they are. Raises BadRequest for an
        unknown format, scope or wait, and what the database raises in the capture; whatever was appended by then
        stays. What keeps the captured from becoming searchable is told in the report, which is then `stopped`.
        """
        if wait not in WAITS:
            raise BadRequest(f"--wait is one of {', '.join(WAITS)}, not {wait!r}.")
        if format is not None and format not in FORMAT_NAMES:
            raise BadRequest(f"--format is one of {', '.join(FORMAT_NAMES)}, not {format!r}.")
        require_scope_name(scope)
        captured = self.capture(
            Request([Path(path) for path in paths], scope, format, again, dry_run, selected=selected or {}),
            progress,
        )
        log.info("captured", batch=captured.batch, revisions=captured.revisions, position=captured.position)
        outcome = Outcome()
        waited = wait != "none" and not dry_run
        if waited:
            outcome = upkeep.make_searchable(self._parts, wait, captured.position, progress)
        return self._report(captured, outcome, waited=waited)

    @naming_database_errors()
    def capture(self, request: Request, progress: Progress = UNWATCHED) -> Captured:
        """Capture what a request names; the projections are left as they are. Raises what the database raises."""
        return capture_of(self._parts, progress).run(request)

    @naming_database_errors()
    def drain(
        self,
        *,
        seconds: float = float("inf"),
        bytes_max: float = float("inf"),
        stopping: Callable[[], bool] = lambda: False,
    ) -> Drained:
        """Capture what agents' hooks noted in the spool; nothing where it is empty or another process is at it.

        The bounds are those of `chronofile.infra.drain`. Raises what the database raises, and OSError where the
        spool cannot be written.
        """
        from chronofile.infra.drain import Drained, drain

        if not spool.waiting(self._parts.config.home):
            return Drained()
        drained = drain(self._parts, seconds=seconds, bytes_max=bytes_max, stopping=stopping)
        log.info("drained", entries=drained.entries, revisions=drained.captured, set_aside=drained.set_aside)
        return drained

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
            record(self._parts, self._caller, answer)
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
    def turns(self, identifier: str) -> list[catalogue.Said]:
        """Return the turns of the source that a passage is from; a file is one. Raises UnknownPassage."""
        return catalogue.turns(self._parts.engine, storable(identifier) or "")

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
        return status_of(self._parts)

    @naming_database_errors()
    def remember(
        self, text: str, *, scope: str | None = None, kind: str = KIND_DEFAULT, key: str | None = None
    ) -> Remembered:
        """Remember a text, in the working directory's scope where none is given, and make it searchable.

        With an idempotency `key` a repeated call does no harm. Raises BadRequest, MemoryConflict, TextErased.
        """
        from chronofile.infra import memories

        found = memories.remember(self._parts, self._caller, text, scope=scope, kind=kind, key=key)
        self.catch_up(REMEMBERED_CATCH_UP_S)
        return found

    @naming_database_errors()
    def correct(self, identifier: str, text: str) -> Corrected:
        """Give a memory another text. Raises UnknownMemory, NotAMemory, MemoryIsForgotten, TextErased, BadRequest."""
        from chronofile.infra import memories

        self.catch_up(SEARCH_CATCH_UP_S)
        found = memories.correct(self._parts, self._caller, identifier, text)
        self.catch_up(REMEMBERED_CATCH_UP_S)
        return found

    @naming_database_errors()
    def verify(self, *, scope: str | None = None, source: str | None = None) -> Verified:
        """Compare what the log says was captured with the store, the files and the passages.

        `scope` and `source` (a URI or a path) name a part of it. Raises UnknownScope, UnknownSource.
        """
        from chronofile.infra.verifying import selected, verify

        self.catch_up()
        return verify(self._parts, selected(self._parts, scope, source))

    @naming_database_errors()
    def export(
        self,
        file: str | os.PathLike[str] | IO[bytes],
        *,
        format: str,  # noqa: A002  # The command's own word.
        scope: str | None = None,
        as_of: str | int | datetime | None = None,
        force: bool = False,
        tick: Callable[[int, int], None] = lambda done, of: None,
    ) -> Exported:
        """Write what every transcript says to a new file, or to one that is open for writing bytes.

        `format` is "turns": neutral turns, a line each. `as_of` is as in `search`; what was erased since is gone. With `force` a file that is there is replaced. `tick`
        hears how many sources were looked at, and of how many. Raises BadRequest,
        UnknownScope, FileIsThere, UnreadableTime, OSError.
        """
        from chronofile.infra.export import FORMATS, to_file

        if format not in FORMATS:
            raise BadRequest(f"An export is written as {', '.join(FORMATS)}, not as {format!r}.")
        position = self._question("", {"as_of": as_of}).as_of
        return to_file(self._parts, file, scope=scope, position=position, force=force, tick=tick)

    @naming_database_errors()
    def catch_up(self, seconds: float = float("inf"), progress: Progress = UNWATCHED) -> list[str]:
        """Apply what was appended, for so long at most; return what keeps a projection from it, as sentences."""
        return upkeep.catch_up(self._parts, seconds, progress)

    @naming_database_errors()
    def embed(self, progress: Progress = UNWATCHED, stopping: Callable[[], bool] = lambda: False) -> int:
        """Embed what is missing, unless another process is at it, and return how many passages were embedded."""
        return upkeep.embed(self._parts, progress, stopping)

    @naming_database_errors()
    def work(
        self, *, drain: bool, progress: Progress = UNWATCHED, stopping: Callable[[], bool] = lambda: False
    ) -> int:
        """Keep the projections at the log's head and the backlog of vectors empty; with `drain` stop when they are."""
        log.info("working", drain=drain)
        total = 0
        for _ in self.wakeups(stopping):
            self.catch_up(progress=progress)
            total += self.embed(progress, stopping)
            if stopping() or (drain and upkeep.is_drained(self._parts)):
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

    @property
    def _parts(self) -> Parts:
        if self._is_closed:
            raise MemoryClosed
        return self._held

    def _report(self, captured: Captured, outcome: Outcome, *, waited: bool) -> IngestReport:
        try:
            with naming_database_errors():
                counts = catalogue.counts(self._parts.engine)
        except ChronofileError as error:
            return IngestReport.of(captured, None, outcome.note or str(error), stopped=True)
        return IngestReport.of(captured, counts, outcome.note, stopped=outcome.stopped, waited=waited)

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
