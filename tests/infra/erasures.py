"""What tests of erasure share: a memory on a database, and a look into every table and every file for a text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import zstandard
from psycopg.sql import SQL, Identifier

from chronofile.infra.config import load
from chronofile.infra.memory import Memory
from chronofile.infra.models import LoadedModels
from chronofile.infra.wiring import memory_of
from chronofile.projections import control
from tests.world import WordHashes, static_vectors

_COLUMNS = """
    SELECT table_schema, table_name, column_name FROM information_schema.columns
    JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('information_schema')
"""


@contextmanager
def opened(conninfo: str | None, home: Path, **environment: str) -> Iterator[Memory]:
    """Yield a memory with small models, on a database or on the home's own."""
    variables = {f"CHRONOFILE_{name.upper()}": value for name, value in environment.items()}
    flags = {"home": str(home), "database_url": conninfo}
    models = LoadedModels(lambda name: WordHashes(), static_vectors)
    with memory_of(load(flags, variables), caller="python", models=models) as memory:
        yield memory


def tables_with(conninfo: str, *texts: str) -> set[str]:
    """Return the tables, the system's own too, that hold one of the texts, as it is or within JSON."""
    needles = {form.encode() for text in texts for form in (text, json.dumps(text)[1:-1])}
    found = set()
    unpacked = zstandard.ZstdDecompressor()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for schema, table, column in conn.execute(_COLUMNS).fetchall():
            chosen = [column, "codec"] if (schema, table) == ("log", "content") else [column]
            statement = SQL("SELECT {} FROM {}").format(
                SQL(", ").join(map(Identifier, chosen)), Identifier(schema, table)
            )
            try:
                rows = conn.execute(statement).fetchall()
            except psycopg.errors.InsufficientPrivilege:
                continue  # The superuser's own.
            for value, *codec in rows:
                stored = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
                if codec == [1] and column == "bytes":
                    stored = unpacked.decompress(stored)
                if any(needle in stored for needle in needles):
                    found.add(f"{schema}.{table}")
    return found


def files_with(folder: Path, *texts: str) -> set[Path]:
    """Return the files below a folder that hold one of the texts."""
    needles = [text.encode() for text in texts]
    found = set()
    for path in folder.rglob("*"):
        if path.is_file() and any(needle in path.read_bytes() for needle in needles):
            found.add(path)
    return found


def dumped(memory: Memory) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every table of the projections that serve, in order."""
    parts = memory._parts
    with parts.engine.connect() as conn:
        serving = control.read_active(conn)
    found: dict[str, list[tuple[Any, ...]]] = {}
    with psycopg.connect(parts.conninfo, autocommit=True) as plain:
        for name, generation in serving.items():
            query = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY 1"
            for (table,) in plain.execute(query, (generation.schema,)).fetchall():
                statement = SQL("SELECT * FROM {} AS t ORDER BY t::text").format(
                    Identifier(generation.schema, table)
                )
                found[f"{name}.{table}"] = plain.execute(statement).fetchall()
    return found


def rebuilt(memory: Memory) -> dict[str, list[tuple[Any, ...]]]:
    """Return the same as `dumped` from projections that were built anew from the log, which then serve."""
    parts = memory._parts
    projections = parts.all_projections
    with parts.engine.begin() as conn:
        conn.exec_driver_sql("DELETE FROM control.active")
    control.ensure(parts.engine, projections)
    memory.catch_up()
    memory.embed()
    return dumped(memory)
