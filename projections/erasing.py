"""Erasing: what the read side holds of sources or of a text, and what of it has to be let go of by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from psycopg.sql import SQL, Identifier

from chronofile.domain.identity import encoded
from chronofile.projections import control, embedding, passages, sources, vectors
from chronofile.projections.bulk import among, cursor_of
from chronofile.projections.control import Generation
from chronofile.projections.instant import instant, recipe_of
from chronofile.projections.lexical import TERM_TYPE, document
from chronofile.projections.passages import passage
from chronofile.projections.projection import FOREVER

READ_PASSAGES_MAX = 5_000


@dataclass(frozen=True, slots=True)
class Holder:
    """A passage that holds a text; `is_whole` when it is nothing else, `is_live` when it is there now."""

    id: str
    source: str
    is_whole: bool
    is_live: bool


def counts(conn: sa.Connection, concerned: Sequence[str]) -> dict[str, int]:
    """Count the rows that the serving generations hold of sources and memories, by ids: `{"passages.passage": 12, ...}`."""
    here, serving = _serving(conn)
    numbers = sa.select(passage.c.no).where(among(passage.c.source, concerned))
    terms = sa.func.sum(sa.func.octet_length(document.c.terms)) / TERM_TYPE.itemsize
    queries: dict[str, sa.Select[Any]] = {}
    for table in (passages.passage, passages.occurrence, passages.turn, passages.failure, passages.omission):
        queries[f"passages.{table.name}"] = _counted(table, among(table.c.source, concerned))
    queries["passages.source"] = _counted(passages.source, among(passages.source.c.id, concerned))
    queries["sources.source"] = _counted(sources.source, among(sources.source.c.id, concerned))
    queries["sources.file"] = _counted(sources.file, among(sources.file.c.source, concerned))
    queries["lexical.document"] = _counted(document, document.c.passage_no.in_(numbers))
    queries["lexical.posting"] = sa.select(terms).where(document.c.passage_no.in_(numbers))
    queries["instant.instant"] = _counted(instant, instant.c.passage_no.in_(numbers))
    if vectors.NAME in serving:
        found = embedding.tables(serving)
        queries["vectors.vector"] = _counted(found.vector, found.vector.c.passage_no.in_(numbers))
        queries["vectors.pending"] = _counted(found.pending, found.pending.c.passage_no.in_(numbers))
    return {name: int(here.scalar(query) or 0) for name, query in queries.items()}


def texts(conn: sa.Connection, concerned: Sequence[str]) -> Iterator[str]:
    """Yield the text of every passage that sources and memories have or ever had, each once, some at a time."""
    here, _ = _serving(conn)
    query = sa.select(passage.c.text).distinct().where(among(passage.c.source, concerned))
    for row in here.execute(query.execution_options(yield_per=READ_PASSAGES_MAX)):
        yield row.text


def holders(conn: sa.Connection, text: str) -> list[Holder]:
    """Return the passages that hold a text, also those that are over; every passage is looked through."""
    here, _ = _serving(conn)
    held = sa.type_coerce(passage.c.text, sa.LargeBinary)
    wanted = sa.literal(encoded(text), sa.LargeBinary)
    query = (
        sa.select(
            passage.c.id,
            passage.c.source,
            (held == wanted).label("is_whole"),
            (passage.c.recorded_to == FOREVER).label("is_live"),
        )
        .where(sa.func.pg_catalog.position(held, wanted) > 0)
        .order_by(passage.c.no)
    )
    return [Holder(row.id, row.source, row.is_whole, row.is_live) for row in here.execute(query)]


def forget_vectors(conn: sa.Connection) -> int:
    """Remove the cached vectors of texts that no passage has any more, of every model; return how many.

    The projections have to be past the erasure. All passages are read: it may be done again at any time.
    """
    here, _ = _serving(conn)
    cursor = cursor_of(conn)
    cursor.execute("CREATE TEMPORARY TABLE kept (text_hash bytea) ON COMMIT DROP")
    last = 0
    while rows := here.execute(
        sa.select(passage).where(passage.c.no > last).order_by(passage.c.no).limit(READ_PASSAGES_MAX)
    ).all():
        last = rows[-1].no
        with cursor.copy("COPY kept FROM STDIN") as copy:
            for hashed in {vectors.text_hash(recipe_of(row)) for row in rows}:
                copy.write_row((hashed,))
    cursor.execute(
        "DELETE FROM control.embedding_cache AS cache"
        " WHERE NOT EXISTS (SELECT FROM kept WHERE kept.text_hash = cache.text_hash)"
    )
    gone = cursor.rowcount
    cursor.execute("DROP TABLE kept")
    return gone


def drop_idle(conn: sa.Connection) -> list[str]:
    """Drop the generations that do not serve, which nothing brings past an erasure; return their schemas."""
    serving = {found.id for found in control.read_active(conn).values()}
    idle = [found for found in control.read_all(conn) if found.id not in serving]
    for found in idle:
        cursor_of(conn).execute(SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(Identifier(found.schema)))
        conn.execute(sa.delete(control.generation).where(control.generation.c.id == found.id))
    return [found.schema for found in idle]


def _serving(conn: sa.Connection) -> tuple[sa.Connection, dict[str, Generation]]:
    serving = control.read_active(conn)
    return control.translated(conn, serving), serving


def _counted(table: sa.Table, which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(table).where(which)
