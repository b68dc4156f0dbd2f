"""Bubbles: the messages of Cursor's composer and of its older chat, as turns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from chronofile.domain.formats.records import Record, compact_json, epoch_time, text_field, time_field
from chronofile.domain.turns import Part, Role, Turn

VERSION_MAX = 3
_ROLES: Mapping[object, Role] = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}
_TOOL = 15
"""The number under which a composer keeps what its tools did, apart from the bubbles, in older versions."""


def bubble_turn(bubble: Record, key: str, agent: str | None, unknown: Counter[str]) -> Turn:
    """Return what a bubble says; without parts where it says nothing. Kinds that are not known are counted."""
    kind = bubble.get("type")
    role = _ROLES.get(kind) if isinstance(kind, int | str) else None
    if role is None:
        unknown[f"bubble {kind}"] += 1
    if isinstance(bubble.get("_v"), int) and bubble["_v"] > VERSION_MAX:
        unknown[f"version {bubble['_v']}"] += 1
    parts = tuple(part for part in _parts(bubble) if part.text)
    if role is None:
        parts = tuple(Part("notice", part.text) if part.type == "text" else part for part in parts)
    elif role == "user" and parts and all(part.type == "notice" for part in parts):
        role = None
    native = text_field(bubble, "bubbleId") or text_field(bubble, "id") or key
    speaker = None if role is None else agent if role == "assistant" else agent and "agent"
    return Turn(key, (native,), role or "system", speaker, bubble_time(bubble), parts)


def bubble_time(bubble: Record) -> str | None:
    """Return when a bubble was made, as far as it or its timing tells."""
    timing = bubble.get("timingInfo")
    counted = [bubble.get("createdAt")]
    if isinstance(timing, dict):
        counted += [timing.get("clientStartTime"), timing.get("clientRpcSendTime")]
    found = time_field(bubble, "createdAt")
    return found or next((at for value in counted if (at := epoch_time(value))), None)


def tools_apart(composer: Record) -> dict[str, Record]:
    """Return what the tools of an older composer did, by the id of the bubble."""
    capabilities = composer.get("capabilities")
    found: dict[str, Record] = {}
    for one in capabilities if isinstance(capabilities, list) else ():
        kept = one.get("data") if isinstance(one, dict) and one.get("type") == _TOOL else None
        by_id = embedded(kept.get("bubbleDataMap")) if isinstance(kept, dict) else None
        if isinstance(by_id, dict):
            found |= {key: value for key, value in by_id.items() if isinstance(value, dict)}
    return found


def embedded(value: object) -> object:
    """Return what a string of JSON says, the string itself where it is none."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def readable(value: object) -> str:
    """Return what a tool was given or gave back: texts as they are, one field a line; other values as JSON."""
    value = embedded(value)
    if isinstance(value, dict):
        filled = {field: inner for field, inner in value.items() if inner not in (None, "")}
        if len(filled) == 1:
            return readable(next(iter(filled.values())))
        return "\n".join(f"{field}: {_text(inner)}" for field, inner in filled.items())
    return "" if value is None else _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else compact_json(value)


def _parts(bubble: Record) -> Iterator[Part]:
    yield from _thoughts(bubble)
    # Cursor prints a summary of what was said before into the bubble that it stands for.
    summary = bubble.get("conversationSummary")
    if isinstance(summary, dict):
        yield Part("summary", text_field(summary, "summary") or "")
    said = text_field(bubble, "text") or text_field(bubble, "rawText") or ""
    yield Part("text", said)
    yield from _code(bubble, said)
    yield from _tool(bubble.get("toolFormerData"))
    yield from _attached(bubble)
    failure = bubble.get("errorDetails")
    if isinstance(failure, dict):
        yield Part("notice", text_field(failure, "message") or readable(failure.get("error")))


def _thoughts(bubble: Record) -> Iterator[Part]:
    blocks = bubble.get("allThinkingBlocks")
    thoughts = [bubble.get("thinking"), *(blocks if isinstance(blocks, list) else ())]
    texts = [text_field(one, "text") if isinstance(one, dict) else one for one in thoughts]
    yield from (Part("thinking", text) for text in dict.fromkeys(t for t in texts if isinstance(t, str)))


def _code(bubble: Record, said: str) -> Iterator[Part]:
    """Yield the code that stands apart from the text; mostly it stands in the text too."""
    for block in _records(bubble.get("codeBlocks")):
        code = text_field(block, "content") or text_field(block, "code") or ""
        if code.strip() not in said:
            yield Part("text", code)


def _tool(tool: object) -> Iterator[Part]:
    if not isinstance(tool, dict):
        return
    given = tool.get("params") or tool.get("rawArgs")
    value = embedded(given)
    fields = value.items() if isinstance(value, dict) else [("input", value)] if value else []
    name = text_field(tool, "name")
    if name or fields:
        yield Part("tool_call", "\n".join([name or "tool", *(f"{key}: {_text(one)}" for key, one in fields)]))
    yield Part("tool_result", readable(tool.get("result")))
    yield Part("tool_result", readable(tool.get("error")))


def _attached(bubble: Record) -> Iterator[Part]:
    """Yield what a person put beside the text: pieces of code as texts of their own, of images what they are."""
    context = bubble.get("context")
    chosen = context.get("selections") if isinstance(context, dict) else None
    for one in [*_records(chosen), *_records(bubble.get("selections"))]:
        yield Part("notice", text_field(one, "text") or text_field(one, "rawText") or "")
    for one in _records(bubble.get("attachedCodeChunks")):
        lines = one.get("lines")
        texts = [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []
        yield Part("notice", "\n".join(texts))
    for one in _records(bubble.get("images")):
        named = next((text for name in ("path", "uuid") if (text := text_field(one, name))), None)
        yield Part("text", f"[image {named}]" if named else "[image]")


def _records(value: object) -> Iterable[Record]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
