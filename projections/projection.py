"""A projection is data: a name, a code version, its tables, and what a page of events does to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from chronofile.domain.envelope import Page
from chronofile.domain.identity import decoded, encoded

FOREVER = 2**63 - 1
"""`recorded_to` of what is not over."""
UNSAMPLED: dict[Any, Any] = {"unsampled": True}
"""`info` of a column that holds what people wrote, or what tells it: the planner keeps no samples of it."""


@dataclass(frozen=True, slots=True)
class Projection:
    """One read model.

    The schema of `tables` is the projection's own name; a runner and a query translate it to the schema of
    a generation. `apply` gets a connection in the page's transaction and writes rows; it must give the same
    rows for the same log, whatever the pages. `configuration` is what else the rows depend on.
    """

    name: str
    version: int
    tables: sa.MetaData
    apply: Callable[[sa.Connection, Page], None]
    upstream: tuple[str, ...] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict)


class Verbatim(sa.types.TypeDecorator[str]):
    """Text exactly as it was: kept as bytes, since Postgres text takes neither NUL nor lone surrogates."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> bytes | None:
        return None if value is None else encoded(value)

    def process_result_value(self, value: bytes | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else decoded(value)


def is_sampled(column: sa.Column[Any]) -> bool:
    """Tell whether the planner may keep samples of a column's values: they would outlive an erasure."""
    return not isinstance(column.type, Verbatim) and "unsampled" not in column.info


def fingerprint(text: str) -> bytes:
    """Return a text's SHA-256, which the database can compute too: the key of rows that a stranger's text names.

    An index takes entries of 2,704 bytes at most; a path, a turn's id or a scope may be longer.
    """
    return sha256(encoded(text)).digest()


def alive(table: sa.FromClause, position: int) -> sa.ColumnElement[bool]:
    """The rows that held as of a position."""
    return sa.and_(table.c.recorded_from <= position, table.c.recorded_to > position)
