"""Many rows at once: COPY in binary form, from tuples or from numpy columns, and changes by arrays of keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
import sqlalchemy as sa
from numpy.typing import NDArray
from pgvector.sqlalchemy import HALFVEC
from psycopg.sql import SQL, Composed, Identifier
from sqlalchemy.dialects.postgresql import ARRAY

from chronofile.domain.identity import encoded
from chronofile.projections.projection import Verbatim

_SIGNATURE = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER = b"\xff\xff"
_TYPES: Sequence[tuple[type[sa.types.TypeEngine[Any]], str]] = (
    (Verbatim, "bytea"),
    (HALFVEC, "bytea"),
    (sa.LargeBinary, "bytea"),
    (sa.SmallInteger, "int2"),
    (sa.BigInteger, "int8"),
    (sa.Integer, "int4"),
    (sa.Text, "text"),
    (sa.Boolean, "bool"),
    (sa.DateTime, "timestamptz"),
)


def copy_rows(conn: sa.Connection, table: sa.Table, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows whose values stand in the order of the table's columns; arrays may be packed already."""
    if not rows:
        return
    packed = [(i, pack) for i, column in enumerate(table.columns) if (pack := _packing(column.type))]
    with cursor_of(conn) as cursor, cursor.copy(_statement(conn, table, list(table.columns.keys()))) as copy:
        copy.set_types(
            [_sent_as(column.type, value) for column, value in zip(table.columns, rows[0], strict=True)]
        )
        for row in rows:
            values = list(row)
            for i, pack in packed:
                if values[i] is not None:
                    values[i] = pack(values[i])
            copy.write_row(values)


def copy_columns(conn: sa.Connection, table: sa.Table, columns: Mapping[str, NDArray[Any]]) -> None:
    """Insert rows given as integer columns of one length; their widths must be those of the table's columns."""
    count = len(next(iter(columns.values())))
    if not count:
        return
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for name, values in columns.items():
        layout += [(f"{name} size", ">i4"), (name, f">i{values.dtype.itemsize}")]
    packed = np.empty(count, dtype=np.dtype(layout))
    packed["fields"] = len(columns)
    for name, values in columns.items():
        packed[f"{name} size"] = values.dtype.itemsize
        packed[name] = values
    with cursor_of(conn) as cursor, cursor.copy(_statement(conn, table, list(columns))) as copy:
        copy.write(_SIGNATURE)
        copy.write(packed.tobytes())
        copy.write(_TRAILER)


def replace_rows(conn: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, in place of those with the same primary keys."""
    if not rows:
        return
    keys = list(table.primary_key)
    old = listed(keys, [[row[key.name] for key in keys] for row in rows])
    conn.execute(sa.delete(table).where(*(key == old.c[key.name] for key in keys)))
    names = table.columns.keys()
    copy_rows(conn, table, [[row[name] for name in names] for row in rows])


def end_rows(
    conn: sa.Connection, table: sa.Table, keys: Sequence[str], ended: Sequence[Sequence[Any]]
) -> None:
    """Note when rows are over; each of `ended` holds the row's keys and then the position."""
    if not ended:
        return
    columns = [*(table.c[key] for key in keys), table.c.recorded_to]
    over = listed(columns, ended)
    which = [table.c[key] == over.c[key] for key in keys]
    conn.execute(sa.update(table).where(*which).values(recorded_to=over.c.recorded_to))


def listed(columns: Sequence[sa.ColumnClause[Any]], rows: Sequence[Sequence[Any]]) -> sa.FromClause:
    """Return rows as a relation with columns of these names and types; they travel as one array for each."""
    arrays = [
        sa.bindparam(None, list(values), type_=ARRAY(column.type), unique=True)
        for column, values in zip(columns, zip(*rows, strict=True), strict=True)
    ]
    names = [sa.column(column.name, column.type) for column in columns]
    return sa.func.unnest(*arrays).table_valued(*names, name="listed").render_derived()


def among(column: sa.Column[Any], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    """The rows whose column is one of the values; they travel as one array, so that there may be any number."""
    return column == sa.any_(sa.bindparam(None, list(values), type_=ARRAY(column.type), unique=True))


def _packing(column_type: sa.types.TypeEngine[Any]) -> Callable[[Any], bytes] | None:
    """Return what turns a value into the bytes of the column's binary form, where psycopg does not do it."""
    if isinstance(column_type, Verbatim):
        return encoded
    return _half_vector if isinstance(column_type, HALFVEC) else None


def _half_vector(vector: NDArray[np.float16]) -> bytes:
    return len(vector).to_bytes(2, "big") + bytes(2) + vector.astype(">f2").tobytes()


def cursor_of(conn: sa.Connection) -> psycopg.Cursor[Any]:
    """Return a cursor of the driver's, in the connection's transaction."""
    raw = conn.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    return raw.cursor()


def _statement(conn: sa.Connection, table: sa.Table, columns: Sequence[str]) -> Composed:
    return SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        Identifier(schema_of(conn, table), table.name), SQL(", ").join(map(Identifier, columns))
    )


def schema_of(conn: sa.Connection, table: sa.Table) -> str:
    """Return the schema that a connection's translation gives a table."""
    assert table.schema is not None
    names: Mapping[str, str] = conn.get_execution_options().get("schema_translate_map", {})
    return names.get(table.schema, table.schema)


def _sent_as(column_type: sa.types.TypeEngine[Any], value: Any) -> str:
    return "bytea" if isinstance(value, bytes) else _type_name(column_type)


def _type_name(column_type: sa.types.TypeEngine[Any]) -> str:
    if isinstance(column_type, sa.ARRAY):
        return _type_name(column_type.item_type) + "[]"
    for known, name in _TYPES:
        if isinstance(column_type, known):
            return name
    raise AssertionError(f"no binary form for {column_type!r}")
