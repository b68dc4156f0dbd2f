"""Many rows at once: COPY in binary form, from tuples or from numpy columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
import sqlalchemy as sa
from numpy.typing import NDArray
from pgvector.sqlalchemy import HALFVEC
from psycopg.sql import SQL, Composed, Identifier

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
    """Insert rows whose values stand in the order of the table's columns."""
    if not rows:
        return
    packed = [(i, pack) for i, column in enumerate(table.columns) if (pack := _packing(column.type))]
    with _cursor(conn) as cursor, cursor.copy(_statement(conn, table, list(table.columns.keys()))) as copy:
        copy.set_types([_type_name(column.type) for column in table.columns])
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
    with _cursor(conn) as cursor, cursor.copy(_statement(conn, table, list(columns))) as copy:
        copy.write(_SIGNATURE)
        copy.write(packed.tobytes())
        copy.write(_TRAILER)


def _packing(column_type: sa.types.TypeEngine[Any]) -> Callable[[Any], bytes] | None:
    """Return what turns a value into the bytes of the column's binary form, where psycopg does not do it."""
    if isinstance(column_type, Verbatim):
        return _encoded
    return _half_vector if isinstance(column_type, HALFVEC) else None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _half_vector(vector: NDArray[np.float16]) -> bytes:
    return len(vector).to_bytes(2, "big") + bytes(2) + vector.astype(">f2").tobytes()


def _cursor(conn: sa.Connection) -> psycopg.Cursor[Any]:
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


def _type_name(column_type: sa.types.TypeEngine[Any]) -> str:
    if isinstance(column_type, sa.ARRAY):
        return _type_name(column_type.item_type) + "[]"
    for known, name in _TYPES:
        if isinstance(column_type, known):
            return name
    raise AssertionError(f"no binary form for {column_type!r}")
