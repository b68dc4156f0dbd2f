"""The catalogue: every source, where it is, how far it was captured, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.events import (
    BatchFinished,
    BatchStarted,
    CaptureRejected,
    DirectoryMapped,
    RevisionCaptured,
    ScopeCreated,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
    SourceRescoped,
)
from chronofile.domain.identity import decoded
from chronofile.projections.bulk import replace_rows
from chronofile.projections.passage_writer import Contents
from chronofile.projections.projection import Projection, Verbatim, fingerprint

NAME, VERSION = "sources", 1

_Row = dict[str, Any]
_Rows = dict[sa.Table, dict[Any, _Row]]

tables = sa.MetaData(schema=NAME)

source = sa.Table(
    "source",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("uri", Verbatim, nullable=False),
    sa.Column("session", sa.Text),
    sa.Column("format", sa.Text),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("rejection", sa.Text),
    sa.Column("batch", sa.Text, nullable=False),
    sa.Column("captured_at", sa.DateTime(timezone=True)),
)
"""`state` is `captured`, `rejected` or `removed`; `rejection` the reason code of what was rejected last."""

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
    sa.Column("scope", sa.Text, nullable=False),
)

batch = sa.Table(
    "batch",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("finished_at", sa.DateTime(timezone=True)),
)


def sources_projection(contents: Contents) -> Projection:
    return Projection(NAME, VERSION, tables, partial(_apply, contents))


def _apply(contents: Contents, conn: sa.Connection, page: Page) -> None:
    texts = contents.read(conn, _named(page))
    rows: _Rows = {t: {} for t in (source, file, scope, directory, batch)}
    rows[source] = _load(conn, source, "source", page)
    rows[batch] = _load(conn, batch, "batch", page)
    named = {key: decoded(text) for key, text in texts.items()}
    for recorded in page.events:
        _write(rows, recorded, named)
    for table, found in rows.items():
        replace_rows(conn, table, list(found.values()))


def _named(page: Page) -> list[str]:
    keys: list[str] = []
    for recorded in page.events:
        match recorded.event:
            case SourceRegistered(uri=uri):
                keys.append(uri)
            case RevisionCaptured(file=path) | CaptureRejected(file=path):
                keys.append(path)
            case SourceMoved(uri=uri, file=path):
                keys += [uri, path]
            case DirectoryMapped(directory=path):
                keys.append(path)
            case _:
                pass
    return keys


def _load(conn: sa.Connection, table: sa.Table, category: str, page: Page) -> dict[Any, _Row]:
    ids = {streams.id_of(r.stream) for r in page.events if r.stream.startswith(f"{category}-")}
    rows = conn.execute(sa.select(table).where(table.c.id.in_(ids))).mappings()
    return {row["id"]: dict(row) for row in rows}


def _write(rows: _Rows, recorded: Recorded, texts: Mapping[str, str]) -> None:
    identifier = streams.id_of(recorded.stream)
    match recorded.event:
        case SourceRegistered() as event:
            rows[source][identifier] = _registered(identifier, event, texts.get(event.uri, ""))
            _note_scope(rows, event.scope)
        case RevisionCaptured() as event:
            rows[source][identifier] |= _captured(recorded, event)
            _note_file(rows, identifier, texts.get(event.file))
        case CaptureRejected() as event:
            rejected = rows[source][identifier]
            rejected["rejection"] = event.reason
            if not rejected["revision"]:
                rejected["state"] = "rejected"
            _note_file(rows, identifier, texts.get(event.file))
        case SourceMoved() as event:
            rows[source][identifier]["uri"] = texts.get(event.uri, "")
            _note_file(rows, identifier, texts.get(event.file))
        case SourceRemoved():
            rows[source][identifier]["state"] = "removed"
        case SourceRescoped() as event:
            rows[source][identifier]["scope"] = event.scope
            _note_scope(rows, event.scope)
        case _:
            _write_beside(rows, recorded, texts)


def _write_beside(rows: _Rows, recorded: Recorded, texts: Mapping[str, str]) -> None:
    """Write what an event says of scopes and batches."""
    identifier = streams.id_of(recorded.stream)
    match recorded.event:
        case ScopeCreated():
            _note_scope(rows, identifier)
        case DirectoryMapped() as event:
            path = texts.get(event.directory, "")
            rows[directory][path] = {"path_hash": fingerprint(path), "path": path, "scope": identifier}
        case BatchStarted() as event:
            rows[batch][identifier] = {
                "id": identifier,
                "tool": event.tool,
                "started_at": recorded.recorded_at,
                "finished_at": None,
            }
        case BatchFinished():
            rows[batch][identifier]["finished_at"] = recorded.recorded_at
        case _:
            pass


def _registered(identifier: str, event: SourceRegistered, uri: str) -> _Row:
    return {
        "id": identifier,
        "kind": event.kind,
        "scope": event.scope,
        "uri": uri,
        "session": event.session,
        "format": None,
        "revision": 0,
        "bytes": 0,
        "state": "captured",
        "rejection": None,
        "batch": event.batch,
        "captured_at": None,
    }


def _captured(recorded: Recorded, event: RevisionCaptured) -> _Row:
    return {
        "format": event.format,
        "revision": event.revision,
        "bytes": event.end,
        "state": "captured",
        "rejection": None,
        "batch": event.batch,
        "captured_at": recorded.recorded_at,
    }


def _note_scope(rows: _Rows, name: str) -> None:
    rows[scope][name] = {"name_hash": fingerprint(name), "name": name}


def _note_file(rows: _Rows, identifier: str, path: str | None) -> None:
    if path is not None:
        rows[file][identifier, path] = {"source": identifier, "path_hash": fingerprint(path), "path": path}
