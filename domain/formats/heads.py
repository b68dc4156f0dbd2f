"""Heads: the beginning of a file, by which its format is recognised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chronofile.domain.formats.records import BYTE_ORDER_MARK, Record

_DECODER = json.JSONDecoder()
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|"|[^\s\[\]{}:,"]+', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_LISTS = ("conversations",)
"""Names under which an export may keep the list of its conversations."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of a file.

    `name` is its path, within an archive the entry's name. `lines` are its first complete lines, none unless
    it begins with `{`. `text` is its beginning as text, empty where it holds none. `opening` is the JSON
    value that the text begins with, as far as it goes: None where it is none.
    """

    name: str
    lines: tuple[str, ...] = ()
    text: str = ""
    opening: object = None

    @classmethod
    def of(cls, text: str, name: str, lines: tuple[str, ...] = ()) -> Head:
        return cls(name, lines, text, opening(text))

    @property
    def conversations(self) -> list[Record]:
        """The JSON objects that would each be a conversation if the file were an export."""
        return [element for element in _elements(self.opening) if isinstance(element, dict)]


def opening(text: str) -> object:
    """Return the JSON object or array that a text begins with, None where it begins with none.

    What is cut off is closed after the last value that is complete.
    """
    text = text.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text[:1] not in _CLOSING:
        return None
    try:
        value, _ = _DECODER.raw_decode(text)
    except ValueError:
        return _closed(text)
    except RecursionError:
        return None
    return value


def _closed(text: str) -> object:
    try:
        return json.loads(_until_last_value(text))
    except (ValueError, RecursionError):
        return None


def _until_last_value(text: str) -> str:
    """Return the text up to its last complete value, with the brackets that are open there closed."""
    stack: list[str] = []
    whole, closing, before, is_key = 0, "", "", False
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token == '"':
            break  # A string that is cut off.
        if before:  # A number or a word is complete when something follows it.
            whole, closing = found.start(), _ends(stack)
        before = ""
        if token in _CLOSING:
            stack.append(token)
        elif token in "]}":
            if not stack:
                break
            stack.pop()
        elif token == ",":
            is_key = stack[-1:] == ["{"]
            continue
        elif token == ":":
            continue
        elif not token.startswith('"'):
            before = token
            continue
        elif is_key:
            is_key = False
            continue
        is_key = token == "{"
        whole, closing = found.end(), _ends(stack)
    return text[:whole] + closing


def _ends(stack: list[str]) -> str:
    return "".join(_CLOSING[bracket] for bracket in reversed(stack))


def _elements(value: object) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        listed = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
        yield from [value] if listed is None else listed
