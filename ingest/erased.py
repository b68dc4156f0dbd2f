"""What was undone or erased, as the write side remembers it: so that it is not captured again unasked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from chronofile.domain.erasure import Span

Cursor = psycopg.Cursor[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Erased:
    """What of some sources and contents was erased: whole sources, contents, and passages by source."""

    sources: frozenset[str] = frozenset()
    contents: frozenset[str] = frozenset()
    spans: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)


def reverted(cursor: Cursor, batches: Collection[str]) -> frozenset[str]:
    """Return those of the batches that were undone."""
    cursor.execute("SELECT batch FROM log.reverted WHERE batch = ANY(%s)", (list(batches),))
    return frozenset(row["batch"] for row in cursor)


def of_sources(cursor: Cursor, sources: Collection[str]) -> Erased:
    """Return which of the sources were erased, and the passages that were erased of them."""
    cursor.execute("SELECT source FROM log.erased_source WHERE source = ANY(%s)", (list(sources),))
    closed = frozenset(row["source"] for row in cursor)
    cursor.execute(
        "SELECT source, span FROM log.erased_span WHERE source = ANY(%s) ORDER BY source, span",
        (list(sources),),
    )
    spans: dict[str, tuple[Span, ...]] = {}
    for row in cursor:
        spans[row["source"]] = (*spans.get(row["source"], ()), Span.parsed(row["span"]))
    return Erased(closed, frozenset(), spans)


def contents(cursor: Cursor, keys: Collection[str]) -> frozenset[str]:
    """Return those of the keys whose contents were erased."""
    cursor.execute("SELECT key FROM log.erased_content WHERE key = ANY(%s)", (list(keys),))
    return frozenset(row["key"] for row in cursor)


def take_back(cursor: Cursor, identifiers: Collection[str]) -> None:
    """Forget that sources, and contents by their keys, were erased: somebody asked for them by name."""
    cursor.execute("DELETE FROM log.erased_source WHERE source = ANY(%s)", (list(identifiers),))
    cursor.execute("DELETE FROM log.erased_span WHERE source = ANY(%s)", (list(identifiers),))
    cursor.execute("DELETE FROM log.erased_content WHERE key = ANY(%s)", (list(identifiers),))
