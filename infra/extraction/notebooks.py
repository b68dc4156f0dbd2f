"""Notebooks: the cells of a Jupyter notebook in their order, code with what it printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from chronofile.infra.extraction.assembling import Assembled, Broken, heading
from chronofile.infra.extraction.pages import decoded, fenced

_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SHOWN = ("text/markdown", "text/plain", "text/latex", "application/json", "text/html")
"""How a result may be given; the first that is there is taken."""


def read(content: bytes) -> Assembled:
    """Return a notebook's text. Raises Broken and TooMuchText."""
    try:
        book = json.loads(decoded(content))
    except (ValueError, RecursionError) as failure:
        raise Broken(str(failure)) from failure
    found = Assembled()
    if not isinstance(book, dict):
        raise Broken("It is no notebook.")
    language = _language(book)
    sheets = [book, *_dicts(book.get("worksheets"))]
    for cell in (cell for sheet in sheets for cell in _dicts(sheet.get("cells"))):
        found.extend(_blocks(cell, language, found))
    return found


def _blocks(cell: dict[str, Any], language: str, found: Assembled) -> Iterator[str]:
    source = _text(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "code":
        yield fenced(source, language) if source.strip() else ""
        for output in _dicts(cell.get("outputs")):
            yield from _output(output, found)
    elif kind == "heading":
        level = cell.get("level")
        yield heading(level if isinstance(level, int) else 1, source)
    else:
        yield source


def _output(output: dict[str, Any], found: Assembled) -> Iterator[str]:
    shown = output.get("data") if isinstance(output.get("data"), dict) else output
    text = _text(output.get("text"))
    if not text and isinstance(shown, dict):
        text = next((said for name in _SHOWN if (said := _text(shown.get(name)))), "")
    if output.get("output_type") in ("error", "pyerr"):
        said, traced = _text(output.get("evalue")), _text(output.get("traceback"), "\n")
        named = f"{output.get('ename')}: {said}" if said not in traced or not traced else ""
        text = "\n".join(filter(None, (text, traced, named)))
    if isinstance(shown, dict):
        found.omitted["images"] += sum(
            str(name).startswith("image/") or name in ("png", "jpeg", "svg") for name in shown
        )
    text = _TERMINAL.sub("", text)
    yield fenced(text) if text.strip() else ""


def _language(book: dict[str, Any]) -> str:
    described = book.get("metadata")
    for name in ("kernelspec", "language_info"):
        found = described.get(name) if isinstance(described, dict) else None
        language = found.get("language", found.get("name")) if isinstance(found, dict) else None
        if isinstance(language, str) and re.fullmatch(r"[\w+#-]{1,20}", language):
            return language
    return ""


def _text(value: Any, joint: str = "") -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return joint.join(one for one in value if isinstance(one, str))
    return ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
