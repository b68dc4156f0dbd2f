"""The words: postings and statistics for BM25."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from chronofile.domain.envelope import Page
from chronofile.domain.times import own_clock
from chronofile.projections import passages
from chronofile.projections.bulk import among, copy_columns, copy_rows, end_rows, listed
from chronofile.projections.changes import Changes, changes_of
from chronofile.projections.projection import FOREVER, UNSAMPLED, Projection
from chronofile.projections.words import passage_terms, term_hash

NAME, VERSION = "lexical", 1
FREQUENCY_MAX = 2**15 - 1
TERM_TYPE, FREQUENCY_TYPE = np.dtype("<i8"), np.dtype("<i2")
TERMS_CACHED_MAX = 200_000
ENDED_MAX = 1_000

tables = sa.MetaData(schema=NAME)

posting = sa.Table(
    "posting",
    tables,
    sa.Column("term", sa.BigInteger, nullable=False),
    sa.Column("scope_no", sa.Integer, nullable=False),
    sa.Column("passage_no", sa.BigInteger, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("frequency", sa.SmallInteger, nullable=False),
    sa.Column("recorded_from", sa.BigInteger, nullable=False),
    sa.Column("recorded_to", sa.BigInteger, nullable=False),
    sa.Index(
        "posting_term_idx",
        "term",
        "scope_no",
        "passage_no",
        postgresql_include=["frequency", "length", "recorded_from", "recorded_to"],
    ),
)
"""`term` is the hash of an analysed word; `length` the passage's number of terms."""

document = sa.Table(
    "document",
    tables,
    sa.Column("passage_no", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("scope_no", sa.Integer, nullable=False),
    sa.Column("length", sa.Integer, nullable=False),
    sa.Column("terms", sa.LargeBinary, nullable=False, info=UNSAMPLED),
    sa.Column("frequencies", sa.LargeBinary, nullable=False),
)
"""The same by passage: its distinct terms (TERM_TYPE) and how often each occurs (FREQUENCY_TYPE).

A search scores a thousand passages exactly. As bytes that numpy reads they come ten times faster than as
arrays that the database takes apart.
"""

total = sa.Table(
    "total",
    tables,
    sa.Column("scope_no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("passages", sa.BigInteger, nullable=False),
    sa.Column("length", sa.BigInteger, nullable=False),
)
"""How many passages a scope held after each position that changed it, and how many terms in all."""


_hash = lru_cache(maxsize=TERMS_CACHED_MAX)(term_hash)


def lexical_projection(language: str) -> Projection:
    """Return the projection for texts of a language: a Snowball language's name, or `simple`."""
    return Projection(
        NAME,
        VERSION,
        tables,
        partial(_apply, language),
        upstream=(passages.NAME,),
        configuration={"language": language},
    )


def _apply(language: str, conn: sa.Connection, page: Page) -> None:
    changes = changes_of(conn, page)
    again = _forget(conn, changes)
    for began in changes.rows(conn):
        _add(conn, began, [_counted(row, language) for row in began])
    _end(conn, changes.ended)
    if again:
        conn.execute(sa.delete(total).where(among(total.c.scope_no, sorted(again))))
        _count(conn, Page(0, page.position, []), among(passages.passage.c.scope_no, sorted(again)))
        _count(conn, page, ~among(passages.passage.c.scope_no, sorted(again)))
    else:
        _count(conn, page, sa.true())


def _counted(row: Any, language: str) -> Counter[str]:
    """Return how often each term occurs in a passage."""
    day = own_clock(row.event_time) if row.turn is not None else None
    return Counter(passage_terms(row.text, speaker=row.speaker, at=day, title=row.title, language=language))


def _add(conn: sa.Connection, began: Sequence[Any], counted: Sequence[Counter[str]]) -> None:
    lengths = [found.total() for found in counted]
    sizes = np.array([len(found) for found in counted], dtype=np.int64)
    terms = np.fromiter((_hash(term) for found in counted for term in found), np.int64, sizes.sum())
    counts = np.fromiter(chain.from_iterable(found.values() for found in counted), np.int64, sizes.sum())
    frequencies = np.minimum(counts, FREQUENCY_MAX).astype(np.int16)

    def spread(values: Sequence[int], width: type[np.signedinteger[Any]]) -> Any:
        return np.repeat(np.array(values, dtype=width), sizes)

    columns = {
        "term": terms,
        "scope_no": spread([row.scope_no for row in began], np.int32),
        "passage_no": spread([row.no for row in began], np.int64),
        "length": spread(lengths, np.int32),
        "frequency": frequencies,
        "recorded_from": spread([row.recorded_from for row in began], np.int64),
        "recorded_to": np.full(len(terms), FOREVER),
    }
    # In the order of the index, into which they go several times faster like that.
    in_order = np.argsort(terms, kind="stable")
    copy_columns(conn, posting, {name: values[in_order] for name, values in columns.items()})
    ends = np.cumsum(sizes).tolist()
    rows = [
        (
            row.no,
            row.scope_no,
            length,
            _packed(terms[a:b], TERM_TYPE),
            _packed(frequencies[a:b], FREQUENCY_TYPE),
        )
        for row, length, a, b in zip(began, lengths, [0, *ends], ends, strict=False)
    ]
    copy_rows(conn, document, rows)


def _forget(conn: sa.Connection, changes: Changes) -> set[int]:
    """Delete what is derived anew; return the scopes whose totals have to be counted again."""
    stale = changes.stale(conn, document.c.passage_no)
    scopes = set[int]()
    if changes.sources:
        query = sa.select(passages.passage.c.scope_no).distinct()
        scopes = set(conn.scalars(query.where(among(passages.passage.c.source, changes.sources))))
    for start in range(0, len(stale), ENDED_MAX):
        numbers = among(document.c.passage_no, stale[start : start + ENDED_MAX])
        rows = conn.execute(sa.delete(document).where(numbers).returning(*document.c)).all()
        scopes |= {row.scope_no for row in rows if changes.sources}
        held = [
            (term, row.scope_no, row.passage_no)
            for row in rows
            for term in np.frombuffer(row.terms, TERM_TYPE).tolist()
        ]
        if held:
            keys = [posting.c.term, posting.c.scope_no, posting.c.passage_no]
            gone = listed(keys, held)
            conn.execute(sa.delete(posting).where(*(key == gone.c[key.name] for key in keys)))
    return scopes


def _packed(values: NDArray[Any], kind: np.dtype[Any]) -> bytes:
    return values.astype(kind).tobytes()


def _end(conn: sa.Connection, ended: Sequence[tuple[int, int]]) -> None:
    """Note that passages are over in the postings of each, through its own terms: those are indexed by term."""
    for start in range(0, len(ended), ENDED_MAX):
        over = dict(ended[start : start + ENDED_MAX])
        found = sa.select(document.c.passage_no, document.c.scope_no, document.c.terms)
        rows = conn.execute(found.where(document.c.passage_no.in_(over))).all()
        gone = [
            (term, row.scope_no, row.passage_no, over[row.passage_no])
            for row in rows
            for term in np.frombuffer(row.terms, TERM_TYPE).tolist()
        ]
        end_rows(conn, posting, ["term", "scope_no", "passage_no"], gone)


def _count(conn: sa.Connection, page: Page, which: sa.ColumnElement[bool]) -> None:
    """Write the totals after each position of the page that changed a scope, for those of `which`."""
    p, d = passages.passage, document
    joined = p.join(d, d.c.passage_no == p.c.no)
    began = sa.select(p.c.scope_no, p.c.recorded_from.label("at"), sa.literal(1).label("sign"), d.c.length)
    over = sa.select(p.c.scope_no, p.c.recorded_to.label("at"), sa.literal(-1).label("sign"), d.c.length)
    changes = sa.union_all(
        began.select_from(joined).where(passages.began_in(page.after, page.position), which),
        over.select_from(joined).where(passages.over_in(page.after, page.position), which),
    ).subquery()
    summed = (
        sa.select(
            changes.c.scope_no,
            changes.c.at,
            sa.func.sum(changes.c.sign).label("passages"),
            sa.func.sum(changes.c.sign * changes.c.length).label("length"),
        )
        .group_by(changes.c.scope_no, changes.c.at)
        .order_by(changes.c.scope_no, changes.c.at)
    )
    changed = conn.execute(summed).all()
    standing = _standing(conn, {row.scope_no for row in changed})
    rows = []
    for scope_no, at, count, length in changed:
        before = standing.get(scope_no, (0, 0))
        standing[scope_no] = (before[0] + int(count), before[1] + int(length))
        rows.append((scope_no, at, *standing[scope_no]))
    copy_rows(conn, total, rows)


def _standing(conn: sa.Connection, scopes: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return each scope's last totals: passages and their length."""
    if not scopes:
        return {}
    wanted = listed([total.c.scope_no], [[no] for no in scopes])
    last = (
        sa.select(total.c.passages, total.c.length)
        .where(total.c.scope_no == wanted.c.scope_no)
        .order_by(total.c.position.desc())
        .limit(1)
        .lateral()
    )
    rows = conn.execute(sa.select(wanted.c.scope_no, last).join(last, sa.true()))
    return {row.scope_no: (row.passages, row.length) for row in rows}
