"""The backlog of the transformer vectors: embed what is missing, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa
import structlog
from numpy.typing import NDArray

from chronofile.domain.ports import Embedder
from chronofile.projections import control, passages, vectors
from chronofile.projections.bulk import copy_rows
from chronofile.projections.control import Generation
from chronofile.projections.instant import recipe_of
from chronofile.projections.projection import FOREVER

BATCH_PASSAGES = 64
"""One transaction's worth, about a second: what a killed process loses, and what a page may wait for."""
UNIT_TOLERANCE = 0.02
"""How far from 1 a vector's norm may be."""

log = structlog.get_logger(__name__)


class WrongVectors(Exception):
    """The embedder returned vectors that are no unit vectors of its own dimension."""


def pending(conn: sa.Connection, serving: Mapping[str, Generation], *, former: bool = False) -> int:
    """Count the passages without a transformer vector: the backlog, and what the projection has not seen yet.

    Only those that are shown now; with `former` also those of before, which get a vector too, so that a search as of
    then has it. The connection is translated to the serving generations.
    """
    backlog, passage = tables(serving).pending, passages.passage
    waiting = sa.select(sa.func.count()).select_from(backlog)
    unseen = sa.select(sa.func.count()).where(passage.c.recorded_from > serving[vectors.NAME].position)
    if not former:
        waiting = waiting.where(backlog.c.recorded_to == FOREVER)
        unseen = unseen.where(passage.c.recorded_to == FOREVER)
    return int(conn.execute(waiting).scalar_one()) + int(conn.execute(unseen).scalar_one())


def tables(serving: Mapping[str, Generation]) -> vectors.Tables:
    """Return the tables of the serving generation of vectors."""
    return vectors.tables_of(int(serving[vectors.NAME].configuration["dimension"]))


def embed_pending(
    engine: sa.Engine,
    embedder: Embedder,
    *,
    stopping: Callable[[], bool] = lambda: False,
    tick: Callable[[int], None] = lambda count: None,
) -> int:
    """Embed the backlog until it is empty, shortest passages first, and return how many were embedded.

    Each batch is one transaction that holds its rows of the backlog, so that several workers share it, and
    one that is killed costs a batch's time. Does nothing when the serving generation is another embedder's.
    """
    total = 0
    while not stopping():
        done = _embed_batch(engine, embedder)
        if not done:
            break
        total += done
        tick(done)
    return total


def _embed_batch(engine: sa.Engine, embedder: Embedder) -> int:
    with engine.begin() as conn:
        serving = control.read_active(conn)
        mine = serving.get(vectors.NAME)
        if mine is None or mine.configuration["embedder"] != embedder.identity:
            return 0
        here = control.translated(conn, serving)
        waiting = here.execute(_next(tables(serving).pending)).all()
        if waiting:
            _write(here, tables(serving), embedder, waiting)
    return len(waiting)


def _next(backlog: sa.Table) -> sa.Select[Any]:
    passage = passages.passage
    columns = [c for c in passage.c if c.name not in ("recorded_from", "recorded_to", "scope_no")]
    return (
        sa.select(backlog, *columns)
        .join(passage, passage.c.no == backlog.c.passage_no)
        .order_by(backlog.c.chars, backlog.c.passage_no)
        .limit(BATCH_PASSAGES)
        .with_for_update(of=backlog, skip_locked=True)
    )


def _write(conn: sa.Connection, found: vectors.Tables, embedder: Embedder, waiting: Any) -> None:
    model = vectors.model_key(embedder.identity)
    texts = [recipe_of(row) for row in waiting]
    hashes = [vectors.text_hash(text) for text in texts]
    known = vectors.cached(conn, model, hashes)
    missing = {h: text for h, text in zip(hashes, texts, strict=True) if h not in known}
    if missing:
        fresh = dict(zip(missing, _embedded(embedder, list(missing.values())), strict=True))
        vectors.remember(conn, model, fresh)
        known = {**known, **fresh}
    rows = [
        (row.passage_no, row.scope_no, row.recorded_from, row.recorded_to, known[h])
        for row, h in zip(waiting, hashes, strict=True)
    ]
    copy_rows(conn, found.vector, rows)
    numbers = [row.passage_no for row in waiting]
    conn.execute(sa.delete(found.pending).where(found.pending.c.passage_no.in_(numbers)))


def _embedded(embedder: Embedder, texts: list[str]) -> NDArray[np.float16]:
    fresh = np.asarray(embedder.embed(texts))
    if fresh.shape != (len(texts), embedder.dimension):
        raise WrongVectors(f"{embedder.identity}: shape {fresh.shape} for {len(texts)} texts")
    norms = np.linalg.norm(fresh, axis=1)
    # What is not a number is not within the tolerance either.
    if not bool(np.all(np.abs(norms - 1) <= UNIT_TOLERANCE)):
        raise WrongVectors(f"{embedder.identity}: norms from {norms.min()} to {norms.max()}")
    return fresh.astype(np.float16)
