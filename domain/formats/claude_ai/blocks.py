"""The blocks of Claude.ai's messages as typed parts, and what is attached to a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from chronofile.domain.formats.attachments import attached, base64_size, size, without_base64
from chronofile.domain.formats.calls import call_text, strings
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import Part, PartType

# These hold no words: a thought that is encrypted, a budget, a mark of the site.
_SILENT = frozenset({"redacted_thinking", "token_budget", "flag"})
_WORDS = ("title", "url", "text", "thinking", "content", "message", "summary")
"""Fields in which a block of an unknown type may have words, in reading order."""


def block_parts(content: object, unknown: Counter[str], kind: PartType = "text") -> list[Part]:
    """Return the parts of a message's content, a text or a list of blocks; `kind` is what its texts are.

    Types that are not known are counted in `unknown`, and their words come out nevertheless.
    """
    try:
        found = list(_parts(content, kind, unknown))
    except RecursionError:
        unknown["block that is nested too deeply"] += 1
        found = [Part(kind, said) for said in strings(content)]
    return [part for part in found if part.text]


def attached_parts(message: Record) -> Iterator[Part]:
    """Yield what came with a message: of each file what it is, and the text that was read from it as a part of its own."""
    for attachment in records(message.get("attachments")):
        named = _first(attachment, "file_name", "name", "path")
        kind = _first(attachment, "file_type", "type")
        yield Part("text", attached("attachment", named, kind, size(attachment.get("file_size"))))
        text = _first(attachment, "extracted_content", "content")
        if text:
            # What the site adds by itself, as a skill that it read, nobody attached.
            yield Part("notice" if attachment.get("hidden") is True else "text", without_base64(text))
    seen: set[object] = set()
    for file in [*records(message.get("files")), *records(message.get("files_v2"))]:
        same = _first(file, "file_uuid", "uuid", "file_name")
        if same is None or same not in seen:
            seen.add(same)
            named = _first(file, "file_name", "name", "path")
            facts = (named, text_field(file, "file_kind"), size(file.get("size_bytes")))
            yield Part("text", attached("file", *facts))
    for source in records(message.get("sync_sources")):
        yield Part("text", attached("source", text_field(source, "type"), _first(source, "name", "title")))


def records(value: object) -> Sequence[Record]:
    """Return the objects of a list, none where it is no list."""
    return [found for found in value if isinstance(found, dict)] if isinstance(value, list) else []


def _first(record: Record, *names: str) -> str | None:
    return next((value for name in names if (value := text_field(record, name))), None)


def _parts(content: object, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    if isinstance(content, str):
        yield Part(kind, without_base64(content))
    elif isinstance(content, list):
        for inner in content:
            yield from _parts(inner, kind, unknown)
    elif isinstance(content, dict):
        named = content.get("type")
        read = _READERS.get(named) if isinstance(named, str) else None
        if read is not None:
            yield from read(content, kind, unknown)
        elif not isinstance(named, str) or named not in _SILENT:
            unknown[f"block {named}" if isinstance(named, str) else "block"] += 1
            yield from _any(content, kind, unknown)
    elif content is not None:
        unknown["block"] += 1


def _any(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    ignored: Counter[str] = Counter()  # What is within a block of an unknown type was counted with it.
    if "input" in block:
        yield from _use(block, kind, ignored)
    for name in _WORDS:
        yield from _parts(block.get(name), "thinking" if name == "thinking" else kind, ignored)


def _text(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    yield from _parts(block.get("text"), kind, unknown)


def _voice(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    for name in ("title", "text"):
        yield from _parts(block.get(name), kind, unknown)


def _thinking(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    yield from _parts(block.get("thinking") or block.get("text"), "thinking", unknown)
    for found in records(block.get("summaries")):
        yield from _parts(found.get("summary"), "summary", unknown)


def _use(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    yield Part("tool_call", call_text(text_field(block, "name"), block.get("input")))


def _result(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    found = list(_parts(block.get("content"), "tool_result", unknown))
    # What is displayed repeats the content, where there is one.
    yield from found or _displayed(block.get("display_content"), unknown)


def _displayed(content: object, unknown: Counter[str]) -> Iterator[Part]:
    if isinstance(content, dict):
        shown = [content.get(name) for name in ("text", "code", "json_block", "table", "content", "link")]
        yield from (Part("tool_result", said) for said in strings(shown))
    else:
        yield from _parts(content, "tool_result", unknown)


def _knowledge(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    for name in ("title", "url", "text"):
        yield from _parts(block.get(name), kind, unknown)


def _resource(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    named = _first(block, "file_path", "name", "uri")
    yield Part(kind, attached("file", named, text_field(block, "mime_type")))
    yield from _parts(block.get("text"), kind, unknown)


def _attached(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    source = block.get("source")
    fields: Record = source if isinstance(source, dict) else {}
    written = text_field(fields, "data")
    if fields.get("type") == "text" and written:
        yield Part(kind, written)
        return
    facts = (_first(block, "title", "file_name"), text_field(fields, "media_type"), text_field(fields, "url"))
    yield Part(kind, attached(str(block.get("type")), *facts, base64_size(written) if written else None))


def _call(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    """Yield a call as a design chat has it, with what the tool answered."""
    call = block.get("toolCall")
    if not isinstance(call, dict):
        unknown["block tool_call"] += 1
        return
    yield Part("tool_call", call_text(text_field(call, "name"), call.get("input")))
    yield from _parts(call.get("output"), "tool_result", unknown)


def _interjection(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    message = block.get("message")
    if isinstance(message, dict):
        yield from _parts(message.get("content"), kind, unknown)
        yield from attached_parts(message)
    else:
        yield from _parts(message, kind, unknown)


def _error(block: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    for name in ("message", "text"):
        yield from _parts(block.get(name), "notice", unknown)


_Reader = Callable[[Record, PartType, Counter[str]], Iterator[Part]]

_READERS: Mapping[str, _Reader] = {
    "text": _text,
    "voice_note": _voice,
    "thinking": _thinking,
    "tool_use": _use,
    "server_tool_use": _use,
    "mcp_tool_use": _use,
    "tool_result": _result,
    "mcp_tool_result": _result,
    "server_tool_result": _result,
    "knowledge": _knowledge,
    "local_resource": _resource,
    "image": _attached,
    "document": _attached,
    "tool_call": _call,
    "user_interjection": _interjection,
    "error": _error,
}
