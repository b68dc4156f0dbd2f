"""Blocks: the content of a message in the shape of Anthropic's API, as typed parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from chronofile.domain.formats.attachments import attached, base64_size
from chronofile.domain.formats.calls import call_text
from chronofile.domain.formats.injected import split_injected
from chronofile.domain.formats.records import Record, compact_json, text_field
from chronofile.domain.turns import Part

RESULT_SEPARATOR = "\n"
"""Between the texts of one tool result that is a list of blocks."""

# These carry no text that anybody could read: an encrypted thought, a change of model.
_SILENT = frozenset({"redacted_thinking", "fallback"})


def user_parts(content: object, unknown: Counter[str]) -> tuple[Part, ...]:
    """Return the parts of a user's message: a string or a list of blocks.

    Text that a tool put in becomes a `notice`. Types of blocks that are not known are counted in `unknown`.
    """
    parts: list[Part] = []
    for part in _parts(content, unknown):
        parts.extend(split_injected(part.text) if part.type == "text" else [part])
    return tuple(parts)


def assistant_parts(content: object, unknown: Counter[str]) -> tuple[Part, ...]:
    """Return the parts of an assistant's message: a string or a list of blocks."""
    return tuple(_parts(content, unknown))


def _parts(content: object, unknown: Counter[str]) -> Iterator[Part]:
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            part: Part | None = Part("text", block)
        elif isinstance(block, dict):
            part = _part(block, unknown)
        else:
            part = None
            if block is not None:
                unknown["block"] += 1
        if part is not None and part.text:
            yield part


def _part(block: Record, unknown: Counter[str]) -> Part | None:
    kind = str(block.get("type"))
    if kind.endswith("tool_result"):
        return Part("tool_result", _result_text(block.get("content"), unknown))
    read = _READERS.get(kind)
    if read is not None:
        return read(block)
    if kind not in _SILENT:
        unknown[f"block {kind}"] += 1
    return None


def _text(block: Record) -> Part:
    return Part("text", text_field(block, "text") or "")


def _thinking(block: Record) -> Part:
    return Part("thinking", text_field(block, "thinking") or "")


def _call(block: Record) -> Part:
    return Part("tool_call", call_text(text_field(block, "name"), block.get("input")))


def _attached(block: Record) -> Part:
    """Return a text document's text; of an image or another document only what it is."""
    source = block.get("source")
    fields: dict[str, Any] = source if isinstance(source, dict) else {}
    content = fields.get("data")
    if fields.get("type") == "text" and isinstance(content, str):
        return Part("text", content)
    facts = [text_field(block, "title"), text_field(fields, "media_type"), text_field(fields, "url")]
    size = base64_size(content) if isinstance(content, str) else None
    return Part("text", attached(str(block.get("type")), *facts, size))


_READERS: dict[str, Callable[[Record], Part]] = {
    "text": _text,
    "thinking": _thinking,
    "tool_use": _call,
    "server_tool_use": _call,
    "mcp_tool_use": _call,
    "image": _attached,
    "document": _attached,
}


def _result_text(content: object, unknown: Counter[str]) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return RESULT_SEPARATOR.join(text for text in (_item_text(item, unknown) for item in content) if text)
    return "" if content is None else compact_json(content)


def _item_text(item: object, unknown: Counter[str]) -> str:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        return compact_json(item)
    read = _READERS.get(str(item.get("type")))
    if read is not None:
        return read(item).text
    if isinstance(item.get("tool_name"), str):
        return f"[{item.get('type')} {item['tool_name']}]"
    if isinstance(item.get("url"), str):
        return attached(str(item.get("type")), item["url"], text_field(item, "title"))
    unknown[f"block {item.get('type')}"] += 1
    return ""
