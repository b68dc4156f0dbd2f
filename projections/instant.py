"""The instant vectors: each passage as the mean of its tokens' static vectors, computed in the catch-up."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import sqlalchemy as sa
from pgvector.sqlalchemy import HALFVEC

from chronofile.domain.envelope import Page
from chronofile.domain.ports import StaticVectors
from chronofile.domain.times import own_clock
from chronofile.projections import passages
from chronofile.projections.bulk import among, copy_rows, end_rows
from chronofile.projections.changes import changes_of
from chronofile.projections.projection import FOREVER, UNSAMPLED, Projection
from chronofile.projections.recipe import RECIPE, embedding_text

NAME, VERSION = "instant", 1
DIMENSION = 256

tables = sa.MetaData(schema=NAME)

instant = sa.Table(
    "instant",
    tables,
    sa.Column("passage_no", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("scope_no", sa.Integer, nullable=False),
    sa.Column("recorded_from", sa.BigInteger, nullable=False),
    sa.Column("recorded_to", sa.BigInteger, nullable=False),
    sa.Column("vector", HALFVEC(DIMENSION), nullable=False, info=UNSAMPLED),
    sa.Column("tokens", sa.LargeBinary, nullable=False, info=UNSAMPLED),
    sa.Index("instant_scope_idx", "scope_no"),
)
"""`tokens` are the token ids of the embedded text as little-endian uint16, for the late interaction."""


def instant_projection(static: StaticVectors) -> Projection:
    return Projection(
        NAME,
        VERSION,
        tables,
        partial(_apply, static),
        upstream=(passages.NAME,),
        configuration={"vectors": static.identity, "recipe": RECIPE},
    )


def _apply(static: StaticVectors, conn: sa.Connection, page: Page) -> None:
    changes = changes_of(conn, page)
    if stale := changes.stale(conn, instant.c.passage_no):
        conn.execute(sa.delete(instant).where(among(instant.c.passage_no, stale)))
    for began in changes.rows(conn):
        tokens = static.tokens([recipe_of(row) for row in began])
        vectors = static.pool(tokens).astype(np.float16)
        rows = [
            (row.no, row.scope_no, row.recorded_from, FOREVER, vector, np.array(ids, dtype="<u2").tobytes())
            for row, vector, ids in zip(began, vectors, tokens, strict=True)
        ]
        copy_rows(conn, instant, rows)
    end_rows(conn, instant, ["passage_no"], changes.ended)


def recipe_of(row: Any) -> str:
    """Return what is embedded of a passage's row."""
    day = own_clock(row.event_time) if row.turn is not None else None
    return embedding_text(row.text, speaker=row.speaker, at=day, title=row.title_embedded)
