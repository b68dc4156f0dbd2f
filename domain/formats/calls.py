"""Calls: what an agent asked of a tool, and things that are attached, as short texts."""

from __future__ import annotations

import json

from chronofile.domain.formats.records import compact_json


def call_text(name: str | None, arguments: object) -> str:
    """Return a tool's name and, a line each, its arguments; these may be an object or JSON within a string."""
    given = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError):
            given = arguments
    if isinstance(given, dict):
        lines = [f"{field}: {value_text(value)}" for field, value in given.items()]
    else:
        lines = [value_text(given)] if given else []
    return "\n".join([name or "tool", *lines])


def value_text(value: object) -> str:
    """Return a string as it is, nothing for nothing, and any other value as JSON."""
    return value if isinstance(value, str) else "" if value is None else compact_json(value)


def attachment_fact(kind: str, *facts: object, base64: object = None) -> str:
    """Return what is attached in a few words: its facts that are there, and the size of bytes written as base64."""
    said = [fact for fact in facts if isinstance(fact, str) and fact]
    if isinstance(base64, str):
        # Base64 writes three bytes as four characters, the last ones filled up with "=".
        said.append(f"{len(base64) * 3 // 4 - base64[-2:].count('=')} bytes")
    return f"[{kind} {', '.join(said)}]" if said else f"[{kind}]"
