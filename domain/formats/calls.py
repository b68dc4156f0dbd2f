"""Calls: what an agent asked of a tool, as text in which every string stands as it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator

from chronofile.domain.formats.records import compact_json


def call_text(name: str | None, arguments: object) -> str:
    """Return a tool's name and its arguments, a line for each; these may be an object or JSON within a string.

    One whose name is not told is called `tool`; with an empty name there are the arguments alone.
    """
    given = _read(arguments) if isinstance(arguments, str) else arguments
    if isinstance(given, dict):
        lines = [line for field, value in given.items() for line in call_lines(str(field), value)]
    elif isinstance(given, str):
        lines = [given] if given else []
    else:
        lines = [] if given is None else [*call_lines("input", given)]
    return "\n".join(lines if name == "" else [name or "tool", *lines])


def call_lines(field: str, value: object) -> Iterator[str]:
    """Yield an argument of a call as lines: its name and its text, or what it is as JSON.

    Where JSON would write texts with escapes, each text within stands verbatim after its own path.
    """
    if isinstance(value, str):
        yield f"{field}: {value}"
        return
    written = compact_json(value)
    if "\\" not in written or not isinstance(value, dict | list):
        yield f"{field}: {written}"
        return
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from call_lines(f"{field}.{name}", inner)


def value_text(value: object) -> str:
    """Return a string as it is, nothing for nothing, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else compact_json(value)


def strings(value: object) -> Iterator[str]:
    """Yield the strings in a JSON value, in their order, however deep they are."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict | list):
            waiting += reversed([*found.values()] if isinstance(found, dict) else found)


def _read(written: str) -> object:
    """Return what a JSON object or list says, and any other text as it is."""
    if not written.lstrip().startswith(("{", "[")):
        return written
    try:
        return json.loads(written, strict=False)
    except (ValueError, RecursionError):
        return written
