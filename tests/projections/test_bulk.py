"""Many rows at once: whatever values there are come back as they were sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects.postgresql import ARRAY

from chronofile.projections.bulk import (
    copy_columns,
    copy_rows,
    end_rows,
    listed,
    replace_rows,
    schema_of,
)
from chronofile.projections.projection import FOREVER, Verbatim

tables = sa.MetaData(schema="made_up")
values = sa.Table(
    "values",
    tables,
    sa.Column("key", Verbatim, primary_key=True),
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("small", sa.SmallInteger),
    sa.Column("big", sa.BigInteger),
    sa.Column("text", sa.Text),
    sa.Column("flag", sa.Boolean),
    sa.Column("moment", sa.DateTime(timezone=True)),
    sa.Column("raw", sa.LargeBinary),
    sa.Column("names", ARRAY(sa.Text)),
    sa.Column("vector", HALFVEC(3)),
)
spans = sa.Table(
    "spans",
    tables,
    sa.Column("no", sa.Integer, nullable=False),
    sa.Column("small", sa.SmallInteger, nullable=False),
    sa.Column("recorded_from", sa.BigInteger, nullable=False),
    sa.Column("recorded_to", sa.BigInteger, nullable=False),
)
lists = sa.Table(
    "lists", tables, sa.Column("big", ARRAY(sa.BigInteger)), sa.Column("small", ARRAY(sa.SmallInteger))
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
STORABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
BIG = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(
    st.tuples(
        ANY_TEXT,
        st.integers(-(2**31), 2**31 - 1),
        st.none() | st.integers(-(2**15), 2**15 - 1),
        st.none() | BIG,
        st.none() | STORABLE,
        st.none() | st.booleans(),
        st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
        st.none() | st.binary(max_size=20),
        st.none() | st.lists(STORABLE, max_size=3),
        st.none() | st.lists(st.floats(-60_000, 60_000, width=16), min_size=3, max_size=3),
    ),
    max_size=8,
    unique_by=lambda row: row[:2],
)


@pytest.fixture
def conn(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.connect() as plain:
        translated = plain.execution_options(schema_translate_map={"made_up": "elsewhere_1"})
        translated.execute(sa.schema.CreateSchema("elsewhere_1"))
        tables.create_all(translated)
        yield translated


def read(conn: sa.Connection) -> list[tuple[Any, ...]]:
    rows = conn.execute(sa.select(values).order_by(values.c.key, values.c.no))
    # A half vector comes as the shortest decimals that stand for its numbers.
    return [(*row[:-1], row.vector and [float(np.float16(number)) for number in row.vector]) for row in rows]


def as_sent(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(*row[:-1], None if row[-1] is None else np.array(row[-1], dtype=np.float16)) for row in rows]


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: (row[0].encode("utf-8", "surrogatepass"), row[1]))


@given(ROWS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_copied_rows_come_back_as_they_were(conn: sa.Connection, rows: list[tuple[Any, ...]]) -> None:
    conn.execute(sa.delete(values))

    copy_rows(conn, values, as_sent(rows))

    assert read(conn) == in_order(rows)


@given(ROWS, ROWS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replaced_rows_stand_in_place_of_those_with_the_same_key(
    conn: sa.Connection, first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]
) -> None:
    conn.execute(sa.delete(values))
    names = values.c.keys()
    copy_rows(conn, values, as_sent(first))

    again = [(*row[:2], *row[2:-1], None) for row in first[::2]]
    changed = {row[:2]: row for row in [*again, *second]}
    replace_rows(conn, values, [dict(zip(names, row, strict=True)) for row in as_sent([*changed.values()])])

    assert read(conn) == in_order([*({row[:2]: row for row in first} | changed).values()])


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**15), 2**15 - 1), BIG, BIG)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_copied_columns_come_back_as_they_were(conn: sa.Connection, rows: list[tuple[int, ...]]) -> None:
    conn.execute(sa.delete(spans))
    widths = (np.int32, np.int16, np.int64, np.int64)
    columns = {
        name: np.array([row[i] for row in rows], dtype=width)
        for i, (name, width) in enumerate(zip(spans.c.keys(), widths, strict=True))
    }

    copy_columns(conn, spans, columns)

    assert sorted(tuple(row) for row in conn.execute(sa.select(spans))) == sorted(rows)


def test_rows_are_ended_by_their_keys_and_no_others_are(conn: sa.Connection) -> None:
    rows = [(no, 1, start, FOREVER) for no in (1, 2) for start in (5, 7)]
    copy_rows(conn, spans, rows)

    end_rows(conn, spans, ["no", "recorded_from"], [(1, 5, 8), (2, 7, 9)])
    end_rows(conn, spans, ["no"], [])

    found = sorted(tuple(row) for row in conn.execute(sa.select(spans)))
    assert found == [(1, 1, 5, 8), (1, 1, 7, FOREVER), (2, 1, 5, FOREVER), (2, 1, 7, 9)]


def test_listed_rows_are_a_relation(conn: sa.Connection) -> None:
    relation = listed([values.c.no, values.c.key], [(1, "a\0"), (2, "\ud800")])

    assert [tuple(row) for row in conn.execute(sa.select(relation))] == [(1, "a\0"), (2, "\ud800")]


def test_nothing_is_nothing(conn: sa.Connection) -> None:
    copy_rows(conn, values, [])
    copy_columns(conn, spans, {"no": np.array([], dtype=np.int32)})
    replace_rows(conn, values, [])

    assert read(conn) == []
    assert schema_of(conn, values) == "elsewhere_1"


def test_many_rows_that_are_large_are_replaced(conn: sa.Connection) -> None:
    names = values.c.keys()
    rows = [
        dict.fromkeys(names) | {"key": f"{no}", "no": no, "text": "x" * 20_000, "raw": b"y" * 20_000}
        for no in range(300)
    ]

    for _ in range(2):
        replace_rows(conn, values, rows)

    assert conn.execute(sa.select(sa.func.count()).select_from(values)).scalar() == 300
