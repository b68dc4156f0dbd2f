"""What a page of events does to the passages: what is new begins, what is no longer there ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.events import ContentErased, RevisionCaptured
from chronofile.projections import histories, passages
from chronofile.projections.bulk import among, copy_rows
from chronofile.projections.histories import MEMORY, Contents, History, Reversals, Shift, Step, Streams, Texts
from chronofile.projections.projection import Projection
from chronofile.projections.reading import Files
from chronofile.projections.source_writer import SourceWriter, contents_of, source_of

STEPS_MAX = 1_000
SHIFTS_MAX = 100
"""Sources of which all passages are loaded together."""
CONTENT_BYTES_MAX = 8 * 1024 * 1024
DERIVED = (
    passages.passage,
    passages.occurrence,
    passages.turn,
    passages.failure,
    passages.omission,
    passages.source,
)
"""What holds the rows of single sources."""


def passages_projection(
    contents: Contents, store_key: bytes, log: Streams, files: Files | None = None
) -> Projection:
    """Return the projection; `store_key` goes into passage ids, so that they tell nothing of a short text.

    `log` is asked for the streams of sources of which something was undone or erased. Without `files` no document is
    read and no language told.
    """
    apply = partial(_apply, _Given(contents, store_key, log, files or Files()))
    return Projection(passages.NAME, passages.VERSION, passages.tables, apply)


@dataclass(frozen=True, slots=True)
class _Given:
    contents: Contents
    store_key: bytes
    log: Streams
    files: Files


def _apply(given: _Given, conn: sa.Connection, page: Page) -> None:
    for part in histories.parts(page):
        if isinstance(part, Page):
            histories.note_captures(conn, passages.undone, part.events)
            reversals = Reversals.of(conn, passages.undone, part.events)
            _write(given, conn, part.events, Texts(conn, given.contents), reversals)
        elif isinstance(part.event, ContentErased):
            _erase(given, conn, part, part.event)
        else:
            _reverse(given, conn, part)


def _write(
    given: _Given, conn: sa.Connection, steps: Sequence[Step], texts: Texts, reversals: Reversals
) -> None:
    if sum(map(_size, steps)) <= CONTENT_BYTES_MAX or all(isinstance(step, Recorded) for step in steps):
        texts.ahead(key for step in steps for key in contents_of(step))
    texts.look_for(source_of(step) for step in steps)
    writer = SourceWriter(conn, steps, texts, reversals, given.store_key, given.files)
    for step in steps:
        writer.take(step)
    writer.flush()


def _reverse(given: _Given, conn: sa.Connection, recorded: Recorded) -> None:
    """A batch was undone or restored: each of its sources shows from now on what is left of it."""
    batch = histories.note_reversal(conn, passages.undone, recorded)
    sources = histories.captured_in(conn, passages.undone, batch)
    for found in histories.read(given.log, [streams.source(s) for s in sources], recorded.position):
        reversals = Reversals.of(conn, passages.undone, (event for h in found for event in h.events))
        shifts = (history.shift(recorded.position, recorded.recorded_at, reversals) for history in found)
        for segment in _segments(shifts):
            _write(given, conn, segment, Texts(conn, given.contents, passages.undone), reversals)


def _erase(given: _Given, conn: sa.Connection, recorded: Recorded, event: ContentErased) -> None:
    """Contents are gone: derive the sources that named them anew, from their own events with what is left."""
    position = recorded.position
    histories.note_erased(conn, passages.undone, position, event)
    concerned = sorted({*event.streams, *_below_erased_directories(conn, event)})
    for found in histories.read(given.log, concerned, position):
        sources = [history.source for history in found]
        for table in DERIVED:
            column = table.c.id if table is passages.source else table.c.source
            conn.execute(sa.delete(table).where(among(column, sources)))
        blocks = [(position, history.source, e.position) for history in found for e in history.events]
        copy_rows(conn, passages.rederived, blocks)
        reversals = Reversals.of(conn, passages.undone, (e for h in found for e in h.events))
        for segment in _segments(_steps(found, reversals, position)):
            _write(given, conn, segment, Texts(conn, given.contents, passages.undone), reversals)


def _below_erased_directories(conn: sa.Connection, event: ContentErased) -> list[str]:
    """Forget the directories whose paths were erased; return the streams of all that was named by them."""
    directory, passage, source, scope = (
        passages.directory,
        passages.passage,
        passages.source,
        passages.scope,
    )
    gone = sa.delete(directory).where(among(directory.c.content, event.contents)).returning(directory.c.scope)
    scopes = sorted(set(conn.scalars(gone)))
    if not scopes:
        return []
    named = sa.select(passage.c.source).join(scope, scope.c.no == passage.c.scope_no)
    ids = sa.union(
        named.where(among(scope.c.name, scopes)), sa.select(source.c.id).where(among(source.c.scope, scopes))
    ).subquery()
    query = sa.select(source.c.id, source.c.kind).join(ids, ids.c.source == source.c.id)
    return [
        streams.memory(row.id) if row.kind == MEMORY else streams.source(row.id)
        for row in conn.execute(query)
    ]


def _steps(found: Iterable[History], reversals: Reversals, last: int) -> Iterator[Step]:
    for history in found:
        yield from history.steps(reversals, last)


def _segments(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Yield steps as many at a time as memory likes; one that is too large by itself is alone."""
    segment: list[Step] = []
    size = shifts = 0
    for step in steps:
        size += _size(step)
        shifts += isinstance(step, Shift)
        if segment and (size > CONTENT_BYTES_MAX or len(segment) >= STEPS_MAX or shifts > SHIFTS_MAX):
            yield segment
            segment, size, shifts = [], _size(step), int(isinstance(step, Shift))
        segment.append(step)
    if segment:
        yield segment


def _size(step: Step) -> int:
    """Return how many bytes of content are read for a step."""
    if isinstance(step, Shift):
        return sum(map(_size, step.ranges)) if step.is_changed else 0
    event = step.event
    return event.end - event.start if isinstance(event, RevisionCaptured) else 0
