"""Tables that hold what is derived from a source: how many rows, and whether a text is still in any of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import zstandard
from psycopg.sql import SQL, Identifier

from chronofile.domain import streams
from chronofile.domain.identity import encoded
from chronofile.infra.contents import ZSTD
from chronofile.ingest.cleaning import forms
from chronofile.projections import erasing

if TYPE_CHECKING:
    from chronofile.infra.erasing.wanted import Found
    from chronofile.infra.parts import Parts

CONTENT = "log.content"
FILES = "log.files"
CACHE = "control.embedding_cache"
PASSAGES = "passages.passage"
"""Every passage of now and before, as counts name its table."""
READ_ROWS, READ_CONTENTS = 500, 32
"""How many rows are read at a time; one content may be of megabytes."""
WRITTEN_LEVELS = 3
"""How often a text may be JSON within JSON: an answer in a result of a tool in a line of a transcript."""

_COLUMNS = """
    SELECT table_schema, table_name, column_name, udt_name
    FROM information_schema.columns
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_type = 'BASE TABLE' AND table_schema <> 'information_schema' AND table_schema NOT LIKE 'pg\\_%'
    ORDER BY table_schema, table_name, ordinal_position
"""
_TEXTUAL = frozenset({"text", "bytea", "jsonb", "json", "varchar", "_text"})


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the store, with its columns by name and their types."""

    schema: str
    name: str
    columns: Mapping[str, str]

    @property
    def identifier(self) -> Identifier:
        return Identifier(self.schema, self.name)


def tables(conn: psycopg.Connection[Any]) -> list[Table]:
    """Return every table of the database, whatever it is for."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for schema, table, column, kind in conn.execute(_COLUMNS):
        found.setdefault((schema, table), {})[column] = kind
    return [Table(schema, name, columns) for (schema, name), columns in found.items()]


def counts(parts: Parts, found: Found) -> dict[str, int]:
    """Return how many rows of each table are derived from what goes as a whole, and how many passages hold a text."""
    with parts.engine.connect() as conn:
        ids = [streams.id_of(stream) for stream in found.whole]
        rows = erasing.counts(conn, ids) if ids else {}
        holders = {streams.id_of(stream) for stream in found.holders}
        held = {
            holder.id
            for text in found.texts
            for holder in erasing.holders(conn, text)
            if holder.source in holders
        }
        if held:
            rows[PASSAGES] = rows.get(PASSAGES, 0) + len(held)
    return {name: count for name, count in rows.items() if count}


def holding(parts: Parts, texts: Collection[str]) -> dict[str, set[str]]:
    """Return the tables that hold one of the texts in any row, each with those that it holds.

    Texts are looked for as they are and as JSON within a string; contents are looked at uncompressed.
    """
    needles = {form: text for text in texts for form in written(text)}
    found: dict[str, set[str]] = {}
    if not needles:
        return found
    with psycopg.connect(parts.conninfo) as conn:
        for table in tables(conn):
            columns = [name for name, kind in table.columns.items() if kind in _TEXTUAL]
            for value in _values(conn, table, columns):
                for needle, text in needles.items():
                    if needle in value:
                        found.setdefault(f"{table.schema}.{table.name}", set()).add(text)
    return found


def written(text: str) -> set[bytes]:
    """Return a text as it may stand in a stored content: as it is, and as JSON, also within JSON."""
    return {encoded(form) for form in forms(text, WRITTEN_LEVELS)}


def contents(parts: Parts, keys: Collection[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield each stored content, or those of some keys, with its key: a few are in memory at a time."""
    statement = "SELECT key, codec, bytes FROM log.content"
    decompressor = zstandard.ZstdDecompressor()
    with psycopg.connect(parts.conninfo) as conn, conn.cursor("contents") as cursor:
        cursor.itersize = READ_CONTENTS
        if keys is None:
            cursor.execute(statement)
        else:
            cursor.execute(f"{statement} WHERE key = ANY(%s)", (list(keys),))
        for key, codec, stored in cursor:
            yield key, decompressor.decompress(stored) if codec == ZSTD else stored


def _values(conn: psycopg.Connection[Any], table: Table, columns: Sequence[str]) -> Iterator[bytes]:
    """Yield every value with words in it, as bytes."""
    if not columns:
        return
    is_content = f"{table.schema}.{table.name}" == CONTENT
    chosen = ["codec", *columns] if is_content else columns
    statement = SQL("SELECT {} FROM {}").format(SQL(", ").join(map(Identifier, chosen)), table.identifier)
    decompressor = zstandard.ZstdDecompressor()
    with conn.cursor("values") as cursor:
        cursor.itersize = READ_CONTENTS if is_content else READ_ROWS
        cursor.execute(statement)
        for row in cursor:
            for value in row:
                if isinstance(value, bytes):
                    packed = is_content and row[0] == ZSTD
                    yield decompressor.decompress(value) if packed else value
                elif value is not None and not isinstance(value, int):
                    yield encoded(str(value))
