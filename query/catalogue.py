"""The catalogue: one passage with its surroundings, the sources, topics and scopes there are, and where all stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from chronofile.domain.errors import UnknownPassage, UnknownSource
from chronofile.domain.identity import encoded
from chronofile.domain.scopes import GLOBAL, scope_of
from chronofile.domain.turns import PART_SEPARATOR
from chronofile.projections import control, embedding, passages, sources, vectors
from chronofile.projections.control import Generation
from chronofile.projections.passages import failure, occurrence, omission, passage
from chronofile.projections.projection import FOREVER, alive
from chronofile.query import legs
from chronofile.query.answer import Context, Git
from chronofile.query.hits import hits

CONTEXT_MAX = 1_000
LEFT_OUT = "[quotation of Chronofile left out]"
"""What stands in a source's text for an echo that more of the turn follows."""


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A source; `files` are the absolute paths of every file it was read from, `failure` why it gave no passages."""

    id: str
    uri: str
    files: tuple[str, ...]
    format: str | None
    scope: str
    session: str | None
    revision: int
    bytes: int
    captured_at: datetime | None
    state: str
    failure: str | None
    omissions: dict[str, int]
    """Records that gave no turn, and bytes that gave no text, counted by what they are."""
    git: Git | None = None
    language: str | None = None
    """The natural language of its text as ISO 639-1 has it; None where it is too short, code, or not sure."""
    kind_of_file: str | None = None
    """`chat`, a document's format, or what its name says: `python`, `markdown`, `text`."""


@dataclass(frozen=True, slots=True)
class Said:
    """The whole text of one turn, who said it and when; a file has one, which nobody said."""

    text: str
    role: str | None
    speaker: str | None
    event_time: str | None


@dataclass(frozen=True, slots=True)
class TopicCount:
    """How many passages a topic of a scope holds now; topic None counts those without one."""

    scope: str
    topic: str | None
    passages: int


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """How far the serving generation of a projection is, and what stopped it where something did."""

    position: int
    lag: int
    failures: int
    generation: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """What is there now; `bytes` by scope are the sources' own sizes."""

    passages: int
    vectors: int
    pending_vectors: int
    sources: int
    rejected: int
    omissions: int
    bytes: dict[str, int]


def get(
    engine: sa.Engine, identifier: str, *, at: datetime, context: int = 0, whole: bool = False
) -> Context:
    """Return a passage by id with `context` passages on either side, and with `whole` its source's whole text.

    A passage that is over is shown among those that were there when it last was. Raises UnknownPassage.
    """
    with _reading(engine) as conn:
        row = _last(conn, identifier)
        position = row.recorded_to - 1
        seq = sa.select(occurrence.c.seq).where(
            occurrence.c.passage_no == row.no, alive(occurrence, position)
        )
        here = int(conn.execute(seq).scalar_one())
        count = min(max(context, 0), CONTEXT_MAX)
        before = _beside(conn, row.source, here, position, count, after=False)
        after = _beside(conn, row.source, here, position, count, after=True)
        found = hits(conn, [*before, row.no, *after], position=position, at=at)
        text = _whole(conn, row.source, position) if whole else None
        git = _git(conn, row.source) if row.recorded_to == FOREVER else None
    at_index = len(before)
    return Context(found[at_index], tuple(found[:at_index]), tuple(found[at_index + 1 :]), text, git)


def turns(engine: sa.Engine, identifier: str) -> list[Said]:
    """Return the turns of a passage's source, as they were when it last was there. Raises UnknownPassage."""
    with _reading(engine) as conn:
        row = _last(conn, identifier)
        return _turns(conn, row.source, row.recorded_to - 1)


def list_sources(engine: sa.Engine, *, scope: str | None = None) -> list[SourceEntry]:
    """Return every source, by scope and URI."""
    with _reading(engine) as conn:
        files: dict[str, list[str]] = {}
        for row in conn.execute(sa.select(sources.file).order_by(sources.file.c.path)):
            files.setdefault(row.source, []).append(row.path)
        failed = {
            row.source: row.reason for row in conn.execute(sa.select(failure).order_by(failure.c.revision))
        }
        omitted: dict[str, dict[str, int]] = {}
        for row in conn.execute(sa.select(omission).order_by(omission.c.record)):
            omitted.setdefault(row.source, {})[row.record] = row._mapping[omission.c["count"]]
        columns = [passages.source.c[name] for name in ("id", "language", "kind_of_file")]
        told = {
            row.id: {"language": row.language, "kind_of_file": row.kind_of_file}
            for row in conn.execute(sa.select(*columns))
        }
        query = sa.select(sources.source).order_by(sources.source.c.scope, sources.source.c.uri)
        if scope is not None:
            query = query.where(sources.source.c.scope == scope)
        return [
            SourceEntry(
                id=row.id,
                uri=row.uri,
                files=tuple(files.get(row.id, ())),
                format=row.format,
                scope=row.scope,
                session=row.session,
                revision=row.revision,
                bytes=row.bytes,
                captured_at=row.captured_at,
                state=row.state,
                failure=failed.get(row.id) or row.rejection,
                omissions=omitted.get(row.id, {}),
                git=Git.of(row),
                **told.get(row.id, {}),
            )
            for row in conn.execute(query)
        ]


def list_topics(engine: sa.Engine) -> list[TopicCount]:
    """Return how many passages each topic of each scope holds now."""
    with _reading(engine) as conn:
        query = (
            sa.select(passages.scope.c.name, passage.c.topic, sa.func.count())
            .join(passage, passage.c.scope_no == passages.scope.c.no)
            .where(passage.c.recorded_to == FOREVER)
            .group_by(passages.scope.c.name, passage.c.topic)
            .order_by(passages.scope.c.name, passage.c.topic)
        )
        return [TopicCount(*row) for row in conn.execute(query)]


def source_ids(
    engine: sa.Engine, uris: Sequence[str], paths: Sequence[str], also: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the sources with one of the URIs, or read from one of the paths; sessions of one file count with it.

    `also` are sources that are known to be meant. Raises UnknownSource.
    """
    with _reading(engine) as conn:
        entries = sources.source
        named = [sa.or_(entries.c.uri == uri, _begins(entries.c.uri, f"{uri}#")) for uri in uris]
        read = sa.select(sources.file.c.source).where(sources.file.c.path.in_(paths))
        found = {*also, *conn.scalars(sa.select(entries.c.id).where(sa.or_(*named))), *conn.scalars(read)}
    if not found:
        raise UnknownSource(f"({uris[0]})")
    return tuple(sorted(found))


def scopes_for(engine: sa.Engine, directory: str) -> tuple[str, ...] | None:
    """Return the scopes that a question from a directory is about; None, every scope, outside of mapped ones."""
    with _reading(engine) as conn:
        mapped = {row.path: row.scope for row in conn.execute(sa.select(sources.directory))}
    found = scope_of(directory, mapped)
    return None if found is None else tuple(dict.fromkeys((found, GLOBAL)))


def projection_status(engine: sa.Engine, head: int) -> dict[str, ProjectionStatus]:
    """Return where each projection stands against the log's last position."""
    with _reading(engine) as conn:
        standing = control.read_active(conn)
        failures = int(conn.execute(sa.select(sa.func.count()).select_from(failure)).scalar_one())
    return {
        name: ProjectionStatus(
            position=found.position,
            lag=max(0, head - found.position),
            failures=failures if name == passages.NAME else 0,
            generation=found.id,
            error=found.error,
        )
        for name, found in standing.items()
    }


def serving(engine: sa.Engine) -> dict[str, Generation]:
    """Return the generation of each projection that serves."""
    with engine.connect() as conn:
        return control.read_active(conn)


def counts(engine: sa.Engine) -> Counts:
    """Count passages, vectors, sources and bytes as they are now."""
    with _reading(engine) as conn:
        standing = control.read_active(conn)
        tables = legs.vector_tables(standing)
        entries = sources.source
        by_scope = sa.select(entries.c.scope, sa.func.sum(entries.c.bytes)).where(
            entries.c.state == "captured"
        )
        return Counts(
            passages=_count(conn, passage.c.recorded_to == FOREVER, passage),
            vectors=0
            if tables is None
            else _count(conn, tables.vector.c.recorded_to == FOREVER, tables.vector),
            pending_vectors=_pending(conn, standing),
            sources=_count(conn, entries.c.state == "captured", entries),
            rejected=_count(conn, entries.c.rejection.is_not(None), entries),
            omissions=int(conn.scalar(sa.select(sa.func.sum(omission.c["count"]))) or 0),
            bytes={name: int(size) for name, size in conn.execute(by_scope.group_by(entries.c.scope))},
        )


def pending_vectors(engine: sa.Engine) -> int:
    """Count the passages to embed, former ones too; none where no generation of vectors serves."""
    with _reading(engine) as conn:
        standing = control.read_active(conn)
        return embedding.pending(conn, standing, former=True) if vectors.NAME in standing else 0


def vector_configuration(engine: sa.Engine) -> dict[str, Any]:
    """Return what the serving generation of vectors was built with; nothing where none serves."""
    found = serving(engine).get(vectors.NAME)
    return {} if found is None else dict(found.configuration)


@contextmanager
def _reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One reading of the serving generations: a transaction that sees one moment."""
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as conn, conn.begin():
        yield control.translated(conn, control.read_active(conn))


def _beside(
    conn: sa.Connection, source: str, seq: int, position: int, count: int, *, after: bool
) -> Sequence[int]:
    beyond = occurrence.c.seq > seq if after else occurrence.c.seq < seq
    order = occurrence.c.seq.asc() if after else occurrence.c.seq.desc()
    query = (
        sa.select(occurrence.c.passage_no)
        .where(occurrence.c.source == source, beyond, alive(occurrence, position))
        .order_by(order)
        .limit(count)
    )
    found = list(conn.scalars(query))
    return found if after else found[::-1]


def _last(conn: sa.Connection, identifier: str) -> sa.Row[Any]:
    last = sa.select(passage).where(passage.c.id == identifier).order_by(passage.c.no.desc()).limit(1)
    row = conn.execute(last).first()
    if row is None:
        raise UnknownPassage(f"({identifier})")
    return row


def _git(conn: sa.Connection, source: str) -> Git | None:
    row = conn.execute(sa.select(sources.source).where(sources.source.c.id == source)).first()
    return None if row is None else Git.of(row)


def _whole(conn: sa.Connection, source: str, position: int) -> str:
    """Return a file's text, or a session's turns with a blank line between two of them."""
    return PART_SEPARATOR.join(said.text for said in _turns(conn, source, position))


def _turns(conn: sa.Connection, source: str, position: int) -> list[Said]:
    spans = (occurrence.c.span_start, occurrence.c.span_end)
    query = (
        sa.select(
            passage.c.turn, passage.c.text, passage.c.role, passage.c.speaker, passage.c.event_time, *spans
        )
        .join(occurrence, occurrence.c.passage_no == passage.c.no)
        .where(occurrence.c.source == source, alive(occurrence, position))
        .order_by(occurrence.c.seq)
    )
    by_turn = [list(rows) for _, rows in groupby(conn.execute(query).all(), key=lambda row: row.turn)]
    return [Said(_joined(rows), rows[0].role, rows[0].speaker, rows[0].event_time) for rows in by_turn]


def _joined(rows: Iterable[Any]) -> str:
    """Return the text of a turn; a place of which there is no passage holds what Chronofile itself put there."""
    pieces: list[str] = []
    at = 0
    for row in rows:
        if row.span_start > at:
            pieces += [LEFT_OUT, "" if row.text[:1].isspace() else "\n"]
        pieces.append(row.text)
        at = row.span_end
    return "".join(pieces)


def _pending(conn: sa.Connection, standing: Mapping[str, Generation]) -> int:
    return embedding.pending(conn, standing) if vectors.NAME in standing else 0


def _count(conn: sa.Connection, condition: sa.ColumnElement[bool], table: sa.Table) -> int:
    return int(conn.execute(sa.select(sa.func.count()).select_from(table).where(condition)).scalar_one())


def _begins(column: sa.ColumnElement[Any], text: str) -> sa.ColumnElement[bool]:
    beginning = encoded(text)
    raw = sa.type_coerce(column, sa.LargeBinary)
    return sa.func.substr(raw, 1, len(beginning)) == sa.literal(beginning, type_=sa.LargeBinary)
