"""Tool calls of chats: what a model asked of a tool, as text in which every string stands as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator

from chronofile.domain.formats.records import compact_json


def asked(name: str | None, arguments: object) -> str:
    """Return a call as text: the tool's name, then a line for each argument.

    Arguments that are a text stand as they were written, unless they are JSON with escapes in it: those are read,
    since nobody remembers a sentence as it is written there. Strings within lists and objects have their place
    before them: `updates.0.pattern`.
    """
    if isinstance(arguments, str):
        arguments = _read(arguments)
    if isinstance(arguments, str):
        lines = [arguments] if arguments else []
    else:
        lines = [f"{place}: {said}" for place, said in _leaves(arguments)]
    return "\n".join([name, *lines] if name else lines)


def strings(value: object) -> Iterator[str]:
    """Yield the strings in a JSON value, in their order, however deep they are."""
    return (said for _, said, is_text in _walk(value) if is_text)


def _read(written: str) -> object:
    """Return what a JSON object or list with escapes in it says, and any other text as it is."""
    if "\\" not in written or not written.lstrip().startswith(("{", "[")):
        return written
    try:
        return json.loads(written, strict=False)
    except (ValueError, RecursionError):
        return written


def _leaves(value: object) -> Iterator[tuple[str, str]]:
    for place, said, _ in _walk(value):
        yield place or "input", said


def _walk(value: object) -> Iterator[tuple[str, str, bool]]:
    """Yield what is neither a list nor an object: its place, what it says, and whether it is a string."""
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        place, found = waiting.pop()
        if isinstance(found, dict):
            waiting += reversed([(_within(place, key), inner) for key, inner in found.items()])
        elif isinstance(found, list):
            waiting += reversed([(_within(place, str(n)), inner) for n, inner in enumerate(found)])
        elif isinstance(found, str):
            yield place, found, True
        elif found is not None:
            yield place, compact_json(found), False


def _within(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
