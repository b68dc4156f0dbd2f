"""The transformer vectors: what is there, and the backlog of what is to be embedded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects.postgresql import insert

from chronofile.domain.envelope import Page
from chronofile.domain.identity import encoded
from chronofile.projections import passages
from chronofile.projections.bulk import among, copy_rows, end_rows
from chronofile.projections.changes import changes_of
from chronofile.projections.control import control
from chronofile.projections.instant import recipe_of
from chronofile.projections.projection import FOREVER, UNSAMPLED, Projection
from chronofile.projections.recipe import RECIPE

NAME, VERSION = "vectors", 1
HNSW_M, HNSW_EF_CONSTRUCTION = 16, 64

embedding_cache = sa.Table(
    "embedding_cache",
    control,
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("text_hash", sa.LargeBinary, primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)
"""Vectors by what was embedded, as little-endian float16: a rebuild embeds nothing twice."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one dimension."""

    metadata: sa.MetaData
    vector: sa.Table
    pending: sa.Table


@cache
def tables_of(dimension: int) -> Tables:
    """Return the tables for vectors of a dimension: the same ones each time, so that statements compile once."""
    metadata = sa.MetaData(schema=NAME)
    vector = sa.Table(
        "vector",
        metadata,
        sa.Column("passage_no", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("scope_no", sa.Integer, nullable=False),
        sa.Column("recorded_from", sa.BigInteger, nullable=False),
        sa.Column("recorded_to", sa.BigInteger, nullable=False),
        sa.Column("vector", HALFVEC(dimension), nullable=False, info=UNSAMPLED),
        sa.Index("vector_scope_idx", "scope_no"),
        sa.Index(
            "vector_hnsw_idx",
            "vector",
            postgresql_using="hnsw",
            postgresql_with={"m": HNSW_M, "ef_construction": HNSW_EF_CONSTRUCTION},
            postgresql_ops={"vector": "halfvec_ip_ops"},
        ),
    )
    pending = sa.Table(
        "pending",
        metadata,
        sa.Column("passage_no", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("scope_no", sa.Integer, nullable=False),
        sa.Column("recorded_from", sa.BigInteger, nullable=False),
        sa.Column("recorded_to", sa.BigInteger, nullable=False),
        sa.Column("chars", sa.Integer, nullable=False),
        sa.Index("pending_chars_idx", "chars", "passage_no"),
    )
    return Tables(metadata, vector, pending)


def vectors_projection(model: str, identity: str, dimension: int) -> Projection:
    """Return the projection of one embedder: `model` is how it is configured, `identity` what it is."""
    tables = tables_of(dimension)
    key = model_key(identity)
    return Projection(
        NAME,
        VERSION,
        tables.metadata,
        partial(_apply, tables, key),
        upstream=(passages.NAME,),
        configuration={
            "model": model,
            "embedder": identity,
            "recipe": RECIPE,
            "dimension": dimension,
        },
    )


def model_key(identity: str) -> str:
    """Return the cache's name for an embedder with today's recipe."""
    return f"{identity}/{RECIPE}"


def text_hash(text: str) -> bytes:
    return blake2b(encoded(text), digest_size=16).digest()


def cached(conn: sa.Connection, model: str, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float16]]:
    """Return the vectors that were computed before, by text hash."""
    query = sa.select(embedding_cache.c.text_hash, embedding_cache.c.vector).where(
        embedding_cache.c.model == model,
        embedding_cache.c.text_hash == sa.any_(sa.bindparam("hashes", type_=sa.ARRAY(sa.LargeBinary))),
    )
    rows = conn.execute(query, {"hashes": list(set(hashes))})
    return {bytes(row.text_hash): np.frombuffer(row.vector, dtype="<f2") for row in rows}


def remember(conn: sa.Connection, model: str, vectors: Mapping[bytes, NDArray[np.float16]]) -> None:
    """Put vectors into the cache."""
    rows = [
        {"model": model, "text_hash": h, "vector": v.astype("<f2").tobytes()}
        for h, v in sorted(vectors.items())
    ]
    if rows:
        conn.execute(insert(embedding_cache).on_conflict_do_nothing(), rows)


def _apply(tables: Tables, model: str, conn: sa.Connection, page: Page) -> None:
    changes = changes_of(conn, page)
    # The backlog first, here and below: whoever embeds one of these holds its row, and has written its vector
    # once we go on.
    for table in (tables.pending, tables.vector):
        if stale := changes.stale(conn, table.c.passage_no):
            conn.execute(sa.delete(table).where(among(table.c.passage_no, stale)))
    for began in changes.rows(conn):
        hashes = [text_hash(recipe_of(row)) for row in began]
        known = cached(conn, model, hashes)
        ready: list[tuple[Any, ...]] = []
        waiting: list[tuple[Any, ...]] = []
        for row, hashed in zip(began, hashes, strict=True):
            place = (row.no, row.scope_no, row.recorded_from, FOREVER)
            if (vector := known.get(hashed)) is not None:
                ready.append((*place, vector))
            else:
                waiting.append((*place, len(row.text)))
        copy_rows(conn, tables.vector, ready)
        copy_rows(conn, tables.pending, waiting)
    end_rows(conn, tables.pending, ["passage_no"], changes.ended)
    end_rows(conn, tables.vector, ["passage_no"], changes.ended)
