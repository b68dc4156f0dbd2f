"""The legs of a recall: what words and vectors find by themselves, and the exact scores that they give.

A leg finds its best passages under every filter, pushed down into the statement. The number that it looks
for is fixed, so that what is found does not depend on how many hits are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects.postgresql import ARRAY

from chronofile.projections.instant import instant
from chronofile.projections.lexical import document, posting, total
from chronofile.projections.passages import passage
from chronofile.projections.vectors import Tables
from chronofile.query.question import Within
from chronofile.query.scores import BM25_B, BM25_K1, Floats, bm25, idf

DEPTH = 100
"""How many passages a leg brings."""
BACKGROUND = 512
EXACT_MAX = 20_000
"""Up to so many passages in scope vectors are compared one by one; beyond, the HNSW index is asked."""
HNSW_EF_SEARCH = 200
POSTINGS_MAX = 20_000
"""The rarest terms find candidates, until together they have so many postings; the others only score."""
OVERFETCH = 3

Vector = NDArray[np.float32]


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


def weigh(conn: sa.Connection, within: Within, keys: Sequence[int]) -> Terms:
    """Count the terms among the passages that the question is about, and no others."""
    n, length = _totals(conn, within)
    query = sa.select(posting.c.term, sa.func.count()).where(posting.c.term.in_(keys), within.holds(posting))
    if within.narrow:
        query = query.where(posting.c.passage_no.in_(within.numbers()))
    df = {row[0]: int(row[1]) for row in conn.execute(query.group_by(posting.c.term))}
    return Terms(tuple(keys), tuple(df.get(key, 0) for key in keys), n, length / n if n else 0.0)


def by_words(conn: sa.Connection, within: Within, terms: Terms) -> list[int]:
    """Return the passages with the highest BM25 scores, best first.

    The rarest terms find them; with common ones left out, more are fetched, since those reorder them later.
    """
    chosen, partial = _rarest(terms)
    if not chosen:
        return []
    weight = sa.select(
        sa.func.unnest(sa.bindparam("keys", type_=ARRAY(sa.BigInteger))).label("term"),
        sa.func.unnest(sa.bindparam("weights", type_=ARRAY(sa.Float))).label("weight"),
    ).cte("weight")
    relative = sa.cast(posting.c.length, sa.Float) / sa.bindparam("average", type_=sa.Float)
    often = sa.cast(posting.c.frequency, sa.Float)
    share = weight.c.weight * often / (often + BM25_K1 * (1 - BM25_B + BM25_B * relative))
    score = sa.func.sum(share).label("score")
    query = (
        sa.select(posting.c.passage_no, score)
        .join(weight, weight.c.term == posting.c.term)
        .where(within.holds(posting))
        .group_by(posting.c.passage_no)
        .order_by(score.desc(), posting.c.passage_no)
        .limit(DEPTH * OVERFETCH if partial else DEPTH)
    )
    if within.narrow:
        query = query.where(posting.c.passage_no.in_(within.numbers()))
    values = {
        "keys": [terms.keys[i] for i in chosen],
        "weights": [float(terms.idf[i]) for i in chosen],
        "average": terms.average_length or 1.0,
    }
    found = [row.passage_no for row in conn.execute(query, values)]
    if not partial or not found:
        return found
    exact = word_scores(conn, terms, found)
    return [found[i] for i in np.argsort(-exact, kind="stable")[:DEPTH]]


def by_vectors(conn: sa.Connection, within: Within, tables: Tables, question: Vector) -> list[int]:
    """Return the passages whose transformer vectors are nearest to the question's, best first."""
    vector = tables.vector
    distance = vector.c.vector.max_inner_product(question)
    query = sa.select(vector.c.passage_no).where(within.holds(vector)).limit(DEPTH)
    if within.narrow:
        query = query.where(vector.c.passage_no.in_(within.numbers()))
    if within.narrow or _totals(conn, within)[0] <= EXACT_MAX:
        # The sum keeps the planner from the HNSW index, which finds too little under a selective filter.
        return [row.passage_no for row in conn.execute(query.order_by(distance + 0.0, vector.c.passage_no))]
    conn.execute(sa.text(f"SET LOCAL hnsw.ef_search = {HNSW_EF_SEARCH}"))
    conn.execute(sa.text("SET LOCAL hnsw.iterative_scan = relaxed_order"))
    return [row.passage_no for row in conn.execute(query.order_by(distance))]


def by_instant_vectors(conn: sa.Connection, within: Within, tables: Tables, question: Vector) -> list[int]:
    """Return the passages without a transformer vector whose static vectors are nearest, best first."""
    embedded = sa.select(tables.vector.c.passage_no).where(tables.vector.c.passage_no == instant.c.passage_no)
    query = (
        sa.select(instant.c.passage_no)
        .where(within.holds(instant), ~embedded.exists())
        .order_by(instant.c.vector.max_inner_product(question), instant.c.passage_no)
        .limit(DEPTH)
    )
    if within.narrow:
        query = query.where(instant.c.passage_no.in_(within.numbers()))
    return [row.passage_no for row in conn.execute(query)]


def background(conn: sa.Connection, within: Within) -> list[int]:
    """Return the passages that the question's scores are held against: those with the lowest ids, which are hashes."""
    query = sa.select(passage.c.no).where(within.passages()).order_by(passage.c.id).limit(BACKGROUND)
    numbers = within.scope_numbers
    if numbers is None or len(numbers) < 2:
        return [row.no for row in conn.execute(query)]
    # Each scope's own lowest through its index, then the lowest of these.
    lowest = sa.union_all(
        *(
            sa.select(passage.c.no, passage.c.id)
            .where(within.passages(), passage.c.scope_no == number)
            .order_by(passage.c.id)
            .limit(BACKGROUND)
            .subquery()
            .select()
            for number in numbers
        )
    ).subquery()
    return [row.no for row in conn.execute(sa.select(lowest.c.no).order_by(lowest.c.id).limit(BACKGROUND))]


def word_scores(conn: sa.Connection, terms: Terms, numbers: Sequence[int]) -> Floats:
    """Return the exact BM25 score of each passage: shape (len(numbers),)."""
    index = {number: i for i, number in enumerate(numbers)}
    place = {key: i for i, key in enumerate(terms.keys)}
    element = (
        sa.func.unnest(document.c.terms, document.c.frequencies)
        .table_valued(sa.column("term", sa.BigInteger), sa.column("frequency", sa.SmallInteger))
        .render_derived(name="element")
    )
    query = (
        sa.select(document.c.passage_no, document.c.length, element.c.term, element.c.frequency)
        .select_from(document.join(element, sa.true()))
        .where(_one_of(document.c.passage_no, numbers), _one_of(element.c.term, terms.keys, sa.BigInteger()))
    )
    rows = conn.execute(query).all()
    scores = np.zeros(len(numbers))
    if rows:
        held = np.array([(index[no], place[term], tf, length) for no, length, term, tf in rows])
        df = np.array(terms.df)[held[:, 1]]
        shares = bm25(held[:, 2], df, held[:, 3], n=terms.n, average_length=terms.average_length)
        np.add.at(scores, held[:, 0], shares)
    return scores


def vector_scores(conn: sa.Connection, table: sa.Table, question: Vector, numbers: Sequence[int]) -> Floats:
    """Return the exact cosine of each passage's vector in a table, NaN where it has none: shape (len(numbers),)."""
    index = {number: i for i, number in enumerate(numbers)}
    similarity = -table.c.vector.max_inner_product(question)
    query = sa.select(table.c.passage_no, similarity).where(_one_of(table.c.passage_no, numbers))
    scores = np.full(len(numbers), np.nan)
    for number, score in conn.execute(query):
        scores[index[number]] = score
    return scores


def tokens(conn: sa.Connection, numbers: Sequence[int]) -> list[NDArray[np.uint16]]:
    """Return each passage's static token ids."""
    query = sa.select(instant.c.passage_no, instant.c.tokens).where(_one_of(instant.c.passage_no, numbers))
    found = {row.passage_no: np.frombuffer(row.tokens, dtype="<u2") for row in conn.execute(query)}
    none = np.zeros(0, dtype=np.uint16)
    return [found.get(number, none) for number in numbers]


def _totals(conn: sa.Connection, within: Within) -> tuple[int, int]:
    """Return how many passages the question is about, and how many terms they have."""
    if within.narrow:
        joined = sa.join(passage, document, document.c.passage_no == passage.c.no)
        counted = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(document.c.length), 0))
        row = conn.execute(counted.select_from(joined).where(within.passages())).one()
        return int(row[0]), int(row[1])
    latest = sa.select(total.c.passages, total.c.length).where(total.c.position <= within.position)
    if within.scope_numbers is not None:
        latest = latest.where(total.c.scope_no.in_(within.scope_numbers))
    latest = latest.distinct(total.c.scope_no).order_by(total.c.scope_no, total.c.position.desc())
    rows = conn.execute(latest).all()
    return sum(row.passages for row in rows), sum(row.length for row in rows)


def _rarest(terms: Terms) -> tuple[list[int], bool]:
    """Return the indexes of the terms that find candidates, and whether others were left out."""
    held = sorted((df, i) for i, df in enumerate(terms.df) if df)
    chosen: list[int] = []
    postings = 0
    for df, i in held:
        if chosen and postings + df > POSTINGS_MAX:
            break
        chosen.append(i)
        postings += df
    return chosen, len(chosen) < len(held)


def _one_of(
    column: sa.ColumnElement[Any], values: Sequence[int], element: sa.types.TypeEngine[Any] | None = None
) -> sa.ColumnElement[bool]:
    """As one array parameter, so that the statement is the same however many there are."""
    array = sa.literal(list(values), type_=ARRAY(element or sa.Integer()))
    return column == sa.any_(array)
