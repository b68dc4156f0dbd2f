"""Remains: what of an erasure is still found in the tables after it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from chronofile.infra.erasing.plan import references
from chronofile.infra.erasing.seeking import repeating
from chronofile.infra.erasing.surveys import Survey, are_there
from chronofile.infra.erasing.tables import CONTENT, PASSAGES, contents, holding, written
from chronofile.infra.erasing.wanted import holders_of, reading

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


def remains(
    parts: Parts, found: Survey, gone: Collection[str], since: int, asked: Collection[str]
) -> tuple[str, ...]:
    """Return the tables in which something of what was erased still is, but for what other sources hold too.

    A passage was to go from all that held it: only what came to the log since may say it again, and whoever `asked`.
    """
    left = {CONTENT} if are_there(parts, gone) else set[str]()
    long_ones = set(found.found.long_texts)
    # A short text stands in many places that are none of it; where it was quoted it is known by names.
    short_ones = set(found.found.texts) - long_ones
    held = holding(parts, {*long_ones, *found.told.lines} - short_ones)
    others = {text for table, texts in held.items() if _is_of_passages(table) for text in texts}
    still = long_ones.intersection(text for texts in held.values() for text in texts)
    others = (others - long_ones) | (_said_since(parts, still, since, asked) if still else set())
    others |= _of_others(parts, held.get(CONTENT, set()) - others - long_ones)
    left |= {table for table, texts in held.items() if texts - others}
    with reading(parts.engine) as conn:
        if not set(found.found.holders).isdisjoint(holders_of(conn, short_ones)):
            left.add(PASSAGES)
    return tuple(sorted(left))


def _of_others(parts: Parts, lines: Collection[str]) -> set[str]:
    """Return the lines, or none of them, where whatever holds one is what another source says in its own words."""
    return set(lines) if lines and all(repeating(parts, lines).values()) else set()


def _said_since(parts: Parts, texts: Collection[str], since: int, asked: Collection[str]) -> set[str]:
    """Return the texts, or none of them, where all that holds one is a question, or a stream that began since."""
    needles = {form for text in texts for form in written(text)}
    keys = [key for key, content in contents(parts) if any(needle in content for needle in needles)]
    with parts.store.cursor() as cursor:
        named = references(cursor, keys, ())
        began = "SELECT 1 AS found FROM log.events WHERE originator_id = ANY(%s) AND notification_id <= %s LIMIT 1"
        cursor.execute(began, ([stream for found in named.values() for stream in found], since))
        is_since = cursor.fetchone() is None and set(asked) >= set(keys) - named.keys()
    return set(texts) if is_since else set()


def _is_of_passages(table: str) -> bool:
    schema, _, name = table.partition(".")
    return f"{schema.rpartition('_')[0]}.{name}" == PASSAGES
