"""The catalogue: every source, where it is, how far it was captured, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.events import (
    BatchReverted,
    ContentErased,
    MemoryCorrected,
    MemoryRemembered,
    RevisionCaptured,
)
from chronofile.domain.sources import shown
from chronofile.projections import histories
from chronofile.projections.bulk import among, replace_rows
from chronofile.projections.catalogue_rows import ERASED, Row, Rows, contents_of
from chronofile.projections.histories import Contents, History, Reversals, Streams, Texts
from chronofile.projections.projection import Projection, Verbatim

NAME, VERSION = "sources", 1

tables = sa.MetaData(schema=NAME)

undone = histories.tables_in(tables)

source = sa.Table(
    "source",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("uri_key", sa.Text, nullable=False),
    sa.Column("uri", Verbatim, nullable=False),
    sa.Column("session", sa.Text),
    sa.Column("format", sa.Text),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("hidden", sa.Boolean, nullable=False),
    sa.Column("rejection", sa.Text),
    sa.Column("batch", sa.Text),
    sa.Column("captured_at", sa.DateTime(timezone=True)),
    sa.Column("git_commit", sa.Text),
    sa.Column("git_branch", Verbatim),
    sa.Column("git_dirty", sa.Boolean),
)
"""`state` is `captured`, `rejected`, `removed`, `reverted`, `forgotten` or `erased`.

`revision` and what goes with it are of what is shown, or was last; `rejection` is the reason code of what was
rejected last. `uri_key` is the content that the URI is, `uri` empty where that is gone. A source is `hidden`
when what it captured last was undone: what continues it is not shown. A memory has no batch.
"""

file = sa.Table(
    "file",
    tables,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("path_hash", sa.LargeBinary, primary_key=True),
    sa.Column("path", Verbatim, nullable=False),
)
"""Every file that a source was read from; `path_hash`, here and below, is the path's fingerprint."""

scope = sa.Table(
    "scope",
    tables,
    sa.Column("name_hash", sa.LargeBinary, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
)

directory = sa.Table(
    "directory",
    tables,
    sa.Column("path_hash", sa.LargeBinary, primary_key=True),
    sa.Column("path", Verbatim, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
)

batch = sa.Table(
    "batch",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("of", sa.Text),
    sa.Column("reverted_by", sa.Text),
    sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("finished_at", sa.DateTime(timezone=True)),
    sa.Column("revisions", sa.Integer),
    sa.Column("rejected", sa.Integer),
)
"""`of` is the batch that an undo took back or restored; `reverted_by` the undo by which this one is hidden now."""

closed = sa.Table(
    "closed",
    tables,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
)
"""When sources were last erased as a whole."""


def sources_projection(contents: Contents, log: Streams) -> Projection:
    """Return the projection; `log` is asked for the streams of which something was undone or erased."""
    return Projection(NAME, VERSION, tables, partial(_apply, _Given(contents, log)))


@dataclass(frozen=True, slots=True)
class _Given:
    contents: Contents
    log: Streams


def _apply(given: _Given, conn: sa.Connection, page: Page) -> None:
    for part in histories.parts(page):
        if isinstance(part, Page):
            _write(given, conn, part)
        elif isinstance(part.event, ContentErased):
            _erase(given, conn, part, part.event)
        else:
            _reverse(given, conn, part)


def _write(given: _Given, conn: sa.Connection, page: Page) -> None:
    histories.note_captures(conn, undone, page.events)
    reversals = Reversals.of(conn, undone, page.events)
    rows = Rows(Texts(conn, given.contents), reversals)
    rows.sources = _load(conn, source, page.events, ("source-", "memory-"))
    rows.batches = _load(conn, batch, page.events, ("batch-",))
    # A URI that was erased may have come again with whatever is captured now.
    lost = [row["uri_key"] for row in rows.sources.values() if not row["uri"]]
    rows.texts.ahead([*lost, *(key for recorded in page.events for key in contents_of(recorded))])
    for recorded in page.events:
        rows.write(recorded)
    _store(conn, rows)


def _store(conn: sa.Connection, rows: Rows) -> None:
    replace_rows(conn, source, list(rows.sources.values()))
    replace_rows(conn, file, list(rows.files.values()))
    replace_rows(conn, scope, list(rows.scopes.values()))
    replace_rows(conn, directory, list(rows.directories.values()))
    replace_rows(conn, batch, list(rows.batches.values()))


def _load(
    conn: sa.Connection, table: sa.Table, events: Iterable[Recorded], categories: tuple[str, ...]
) -> dict[str, Row]:
    ids = {streams.id_of(r.stream) for r in events if r.stream.startswith(categories)}
    rows = conn.execute(sa.select(table).where(among(table.c.id, sorted(ids)))).mappings()
    return {row["id"]: dict(row) for row in rows}


def _reverse(given: _Given, conn: sa.Connection, recorded: Recorded) -> None:
    identifier = histories.note_reversal(conn, undone, recorded)
    by = recorded.event.by if isinstance(recorded.event, BatchReverted) else None
    conn.execute(sa.update(batch).where(batch.c.id == identifier).values(reverted_by=by))
    concerned = [streams.source(s) for s in histories.captured_in(conn, undone, identifier)]
    for found in histories.read(given.log, concerned, recorded.position):
        _derive(given, conn, found, recorded.position)


def _erase(given: _Given, conn: sa.Connection, recorded: Recorded, event: ContentErased) -> None:
    histories.note_erased(conn, undone, recorded.position, event)
    replace_rows(
        conn, closed, [{"source": s, "position": recorded.position} for s in sorted(set(event.closed))]
    )
    conn.execute(sa.delete(directory).where(among(directory.c.content, event.contents)))
    for found in histories.read(given.log, sorted(set(event.streams)), recorded.position):
        _derive(given, conn, found, recorded.position)


def _derive(given: _Given, conn: sa.Connection, found: list[History], position: int) -> None:
    """Write the rows of sources anew from all their events, with what is undone now and what is left of contents."""
    sources = [history.source for history in found]
    events = [recorded for history in found for recorded in history.events]
    texts = Texts(conn, given.contents, undone)
    rows = Rows(texts, Reversals.of(conn, undone, events), reverted_as_of=position)
    shown_contents = {history.source: _shown_contents(history, rows, position) for history in found}
    named = [key for keys in shown_contents.values() for _, key in keys]
    texts.ahead(key for recorded in events for key in contents_of(recorded))
    texts.look_for([*named, *sources])
    for recorded in events:
        rows.write(recorded)
    last = dict(
        conn.execute(
            sa.select(closed.c.source, closed.c.position).where(among(closed.c.source, sources))
        ).all()
    )
    for identifier, row in rows.sources.items():
        kept = shown_contents[identifier]
        is_closed = last.get(identifier, 0) > max((at for at, _ in kept), default=0)
        if is_closed or (kept and all(texts.is_erased(key, at) for at, key in kept)):
            row |= {"state": ERASED, "bytes": 0}
    conn.execute(sa.delete(file).where(among(file.c.source, sources)))
    _store(conn, rows)


def _shown_contents(history: History, rows: Rows, position: int) -> list[tuple[int, str]]:
    """Return the contents that a source shows or, where it shows none, ever had, each with its position."""
    reverted = rows.reversals.reverted(position)
    ranges = {id(event) for event in shown([r.event for r in history.events], reverted)}
    every, kept = list[tuple[int, str]](), list[tuple[int, str]]()
    for recorded in history.events:
        match recorded.event:
            case RevisionCaptured(content=key) as event:
                every.append((recorded.position, key))
                kept += every[-1:] if id(event) in ranges else []
            case MemoryRemembered(text=key) | MemoryCorrected(text=key):
                kept = [(recorded.position, key)]
            case _:
                pass
    return kept or every
