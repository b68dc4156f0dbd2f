"""The legs of a recall: what words and vectors find by themselves, and the exact scores that they give.

A leg finds its best passages under every filter, pushed down into the statement. The number that it looks
for is fixed, so that what is found does not depend on how many hits are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects.postgresql import ARRAY

from chronofile.projections import embedding, vectors
from chronofile.projections.control import Generation
from chronofile.projections.instant import instant
from chronofile.projections.lexical import FREQUENCY_TYPE, TERM_TYPE, document, posting, total
from chronofile.projections.passages import passage, scope
from chronofile.projections.vectors import Tables
from chronofile.query.question import Within, one_of
from chronofile.query.scores import BM25_B, BM25_K1, Floats, bm25, idf

DEPTH = 100
"""How many passages a leg brings."""
BACKGROUND = 512
EXACT_MAX = 20_000
"""Up to so many passages in scope vectors are compared one by one; beyond, the HNSW index is asked."""
HNSW_EF_SEARCH = 200
HNSW_TUPLES_MAX = 100_000
POSTINGS_MAX = 20_000
"""The rarest terms find candidates, until together they have so many postings; the others only score."""
POSTINGS_MIN = 1_000
"""So many at least: rare terms alone would find a handful where a common one has hundreds more."""
OVERFETCH = 3

Vector = NDArray[np.float32]

_SETTINGS: Mapping[str, str] = {
    # A plan that was made without the parameters takes every scope for an average one.
    "plan_cache_mode": "force_custom_plan",
    "hnsw.ef_search": str(HNSW_EF_SEARCH),
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": str(HNSW_TUPLES_MAX),
}


@dataclass(frozen=True, slots=True)
class Terms:
    """A question's distinct terms: their keys, in how many of the `n` passages each stands, and mean length."""

    keys: tuple[int, ...]
    df: tuple[int, ...]
    n: int
    average_length: float

    @property
    def idf(self) -> Floats:
        return idf(self.df, self.n)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the vectors say of some passages, in their order: cosines, NaN where there is no vector, and token ids."""

    dense: Floats
    instant: Floats
    tokens: Sequence[NDArray[np.uint16]]


def settle(conn: sa.Connection) -> None:
    """Have the statements of this transaction planned for their own parameters, and the vector index read well."""
    conn.execute(sa.select(*(sa.func.set_config(name, value, True) for name, value in _SETTINGS.items())))


def vector_tables(serving: Mapping[str, Generation]) -> Tables | None:
    """Return the tables of the serving generation of transformer vectors, None where none serves."""
    return embedding.tables(serving) if vectors.NAME in serving else None


def waiting(conn: sa.Connection, within: Within, tables: Tables, applied: int) -> int:
    """Count the passages in scope that have no transformer vector yet; `applied` is how far that projection is."""
    backlog = sa.select(sa.func.count()).where(within.holds(tables.pending)).scalar_subquery()
    unseen = sa.select(sa.func.count()).where(within.holds(passage), passage.c.recorded_from > applied)
    return int(conn.execute(sa.select(backlog + unseen.scalar_subquery())).scalar_one())


def weigh(conn: sa.Connection, within: Within, keys: Sequence[int]) -> Terms:
    """Count the terms among the passages that the question is about, and no others."""
    n, length = _totals(conn, within)
    asked = one_of(posting.c.term, keys)
    query = sa.select(posting.c.term, sa.func.count()).where(asked, within.holds(posting))
    if within.narrow:
        query = query.where(posting.c.passage_no.in_(within.numbers()))
    df = {row[0]: int(row[1]) for row in conn.execute(query.group_by(posting.c.term)).all()}
    return Terms(tuple(keys), tuple(df.get(key, 0) for key in keys), n, length / n if n else 0.0)


def by_words(conn: sa.Connection, within: Within, terms: Terms) -> list[int]:
    """Return the passages with the highest BM25 scores, best first.

    The rarest terms find them; with common ones left out, more are fetched, since those reorder them later.
    """
    chosen, partial = _rarest(terms)
    if not chosen:
        return []
    found = _numbers(conn, holding(within, terms, chosen, DEPTH * OVERFETCH if partial else DEPTH))
    if not partial or not found:
        return found
    exact = word_scores(conn, terms, found)
    return [found[i] for i in np.argsort(-exact, kind="stable")[:DEPTH]]


def holding(within: Within, terms: Terms, chosen: Sequence[int], depth: int) -> sa.Select[Any]:
    """Select the passages with the highest BM25 scores by some of the terms: `chosen` are their indexes."""
    keys, weights = [terms.keys[i] for i in chosen], [float(terms.idf[i]) for i in chosen]
    weight = sa.select(
        sa.func.unnest(sa.literal(keys, type_=ARRAY(sa.BigInteger))).label("term"),
        sa.func.unnest(sa.literal(weights, type_=ARRAY(sa.Float))).label("weight"),
    ).cte("weight")
    relative = sa.cast(posting.c.length, sa.Float) / sa.literal(terms.average_length or 1.0)
    often = sa.cast(posting.c.frequency, sa.Float)
    share = weight.c.weight * often / (often + BM25_K1 * (1 - BM25_B + BM25_B * relative))
    query = (
        sa.select(posting.c.passage_no)
        .join(weight, weight.c.term == posting.c.term)
        .where(within.holds(posting))
        .group_by(posting.c.passage_no)
        .order_by(sa.func.sum(share).desc(), posting.c.passage_no)
        .limit(depth)
    )
    if within.narrow:
        query = query.where(posting.c.passage_no.in_(within.numbers()))
    return query


def by_vectors(conn: sa.Connection, within: Within, tables: Tables, question: Vector, n: int) -> list[int]:
    """Return the passages whose transformer vectors are nearest to the question's, best first.

    `n` is how many passages the question is about. With many of them the HNSW index is asked; it gives up
    where few of those that it meets are in scope, and then the vectors are compared one by one.
    """
    if within.narrow or n <= EXACT_MAX:
        return _numbers(conn, nearest(within, tables, question))
    found = _numbers(conn, nearest_by_index(within, tables, question))
    return found if len(found) == DEPTH else _numbers(conn, nearest(within, tables, question))


def nearest(within: Within, tables: Tables, question: Vector) -> sa.Select[Any]:
    """Select the passages with the nearest vectors, compared one by one."""
    vector = tables.vector
    # The sum keeps the planner from the HNSW index, which finds too little under a selective filter.
    distance = vector.c.vector.max_inner_product(question) + 0.0
    query = sa.select(vector.c.passage_no).where(within.holds(vector))
    if within.narrow:
        query = query.where(vector.c.passage_no.in_(within.numbers()))
    return query.order_by(distance, vector.c.passage_no).limit(DEPTH)


def nearest_by_index(within: Within, tables: Tables, question: Vector) -> sa.Select[Any]:
    """Select the passages with the nearest vectors as the HNSW index meets them: about in order, most of them."""
    vector = tables.vector
    query = sa.select(vector.c.passage_no).where(within.holds(vector))
    return query.order_by(vector.c.vector.max_inner_product(question)).limit(DEPTH)


def by_instant_vectors(
    conn: sa.Connection, within: Within, tables: Tables | None, question: Vector
) -> list[int]:
    """Return the passages without a transformer vector whose static vectors are nearest, best first."""
    query = sa.select(instant.c.passage_no).where(within.holds(instant))
    if tables is not None:
        vector = tables.vector
        embedded = sa.select(vector.c.passage_no).where(vector.c.passage_no == instant.c.passage_no)
        query = query.where(~embedded.exists())
    if within.narrow:
        query = query.where(instant.c.passage_no.in_(within.numbers()))
    distance = instant.c.vector.max_inner_product(question)
    return _numbers(conn, query.order_by(distance, instant.c.passage_no).limit(DEPTH))


def background(conn: sa.Connection, within: Within) -> list[int]:
    """Return the passages that the question's scores are held against: those with the lowest ids, which are hashes."""
    return _numbers(conn, lowest(within))


def lowest(within: Within) -> sa.Select[Any]:
    """Select the passages with the lowest ids."""
    query = sa.select(passage.c.no, passage.c.id).where(within.passages())
    query = query.order_by(passage.c.id).limit(BACKGROUND)
    numbers = within.scope_numbers
    if numbers is None or len(numbers) < 2:
        return query.with_only_columns(passage.c.no)
    # Each scope's own lowest through its index, then the lowest of these.
    each = [query.where(passage.c.scope_no == number).subquery().select() for number in numbers]
    of_all = sa.union_all(*each).subquery()
    return sa.select(of_all.c.no).order_by(of_all.c.id).limit(BACKGROUND)


def word_scores(conn: sa.Connection, terms: Terms, numbers: Sequence[int]) -> Floats:
    """Return the exact BM25 score of each passage: shape (len(numbers),)."""
    scores = np.zeros(len(numbers))
    columns = document.c.passage_no, document.c.length, document.c.terms, document.c.frequencies
    rows = conn.execute(sa.select(*columns).where(one_of(document.c.passage_no, numbers))).all()
    if not rows or not terms.keys:
        return scores
    index = {number: i for i, number in enumerate(numbers)}
    held = np.frombuffer(b"".join(row.terms for row in rows), TERM_TYPE)
    frequencies = np.frombuffer(b"".join(row.frequencies for row in rows), FREQUENCY_TYPE)
    owners = np.repeat(np.arange(len(rows)), [len(row.terms) // TERM_TYPE.itemsize for row in rows])
    asked = np.argsort(terms.keys)
    keys = np.array(terms.keys)[asked]
    place = np.searchsorted(keys, held).clip(max=len(keys) - 1)
    hits = np.flatnonzero(keys[place] == held)
    lengths = np.array([row.length for row in rows])[owners[hits]]
    df = np.array(terms.df)[asked][place[hits]]
    shares = bm25(frequencies[hits], df, lengths, n=terms.n, average_length=terms.average_length)
    np.add.at(scores, np.array([index[row.passage_no] for row in rows])[owners[hits]], shares)
    return scores


def measure(
    conn: sa.Connection, tables: Tables | None, dense: Vector | None, static: Vector, numbers: Sequence[int]
) -> Measured:
    """Return the exact cosines of passages' vectors to the question's two, and the passages' static token ids."""
    index = {number: i for i, number in enumerate(numbers)}
    query: sa.Select[*tuple[Any, ...]] = sa.select(
        instant.c.passage_no, -instant.c.vector.max_inner_product(static), instant.c.tokens
    ).where(one_of(instant.c.passage_no, numbers))
    if tables is not None and dense is not None:
        vector = tables.vector
        joined = instant.outerjoin(vector, vector.c.passage_no == instant.c.passage_no)
        query = query.add_columns(-vector.c.vector.max_inner_product(dense)).select_from(joined)
    by_vector, by_instant = np.full((2, len(numbers)), np.nan)
    tokens = [np.zeros(0, dtype=np.uint16)] * len(numbers)
    for number, by_static, held, *by_dense in conn.execute(query).all():
        i = index[number]
        by_instant[i] = by_static
        tokens[i] = np.frombuffer(held, dtype="<u2")
        if by_dense and by_dense[0] is not None:
            by_vector[i] = by_dense[0]
    return Measured(by_vector, by_instant, tokens)


def _totals(conn: sa.Connection, within: Within) -> tuple[int, int]:
    """Return how many passages the question is about, and how many terms they have."""
    if within.narrow:
        joined = sa.join(passage, document, document.c.passage_no == passage.c.no)
        counted = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(document.c.length), 0))
        row = conn.execute(counted.select_from(joined).where(within.passages())).one()
        return int(row[0]), int(row[1])
    latest = (
        sa.select(total.c.passages, total.c.length)
        .where(total.c.scope_no == scope.c.no, total.c.position <= within.position)
        .order_by(total.c.position.desc())
        .limit(1)
        .lateral("latest")
    )
    query = sa.select(latest.c.passages, latest.c.length).select_from(scope.join(latest, sa.true()))
    if within.scope_numbers is not None:
        query = query.where(scope.c.no.in_(within.scope_numbers))
    rows = conn.execute(query).all()
    return sum(row.passages for row in rows), sum(row.length for row in rows)


def _rarest(terms: Terms) -> tuple[list[int], bool]:
    """Return the indexes of the terms that find candidates, and whether others were left out."""
    held = sorted((df, i) for i, df in enumerate(terms.df) if df)
    chosen: list[int] = []
    postings = 0
    for df, i in held:
        if postings >= POSTINGS_MIN and postings + df > POSTINGS_MAX:
            break
        chosen.append(i)
        postings += df
    return chosen, len(chosen) < len(held)


def _numbers(conn: sa.Connection, query: sa.Select[Any]) -> list[int]:
    return list(conn.scalars(query).all())
