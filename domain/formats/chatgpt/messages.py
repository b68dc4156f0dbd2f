"""One message of ChatGPT as a turn: who said it, to whom, and whether a person ever saw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from chronofile.domain.formats.attachments import attached, size
from chronofile.domain.formats.calls import call_text
from chronofile.domain.formats.chatgpt.contents import content_parts, pointers
from chronofile.domain.formats.moments import moment
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import Part, PartType, Role, Turn

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}
_WORDS: Mapping[Role, PartType] = {
    "user": "text",
    "assistant": "text",
    "tool": "tool_result",
    "system": "notice",
}
_NO_TOOL = frozenset({"all", "assistant", "user", ""})
"""Whom a message is for where it is no call of a tool."""


def turn_of(message: Record, key: str, unknown: Counter[str]) -> Turn:
    """Return a message as a turn, perhaps without parts; `key` names it where it has no id of its own."""
    role = _role(message, unknown)
    parts = [*_instructions(message), *_content(message, role, unknown), *_beside(message, unknown)]
    if _is_hidden(message):
        parts = [replace(part, type="notice") if part.type == "text" else part for part in parts]
    author = message.get("author")
    identifier = text_field(message, "id")
    return Turn(
        key=identifier or key,
        native_ids=(identifier,) if identifier else (),
        role="system" if parts and all(part.type == "notice" for part in parts) else role,
        speaker=text_field(author, "name") if isinstance(author, dict) else None,
        at=moment(message.get("create_time")),
        parts=tuple(parts),
    )


def _role(message: Record, unknown: Counter[str]) -> Role:
    author = message.get("author")
    named = author.get("role") if isinstance(author, dict) else author
    named = named if named is not None else message.get("role")
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        unknown[f"role {named}" if isinstance(named, str) else "role"] += 1
    return role or "system"


def _content(message: Record, role: Role, unknown: Counter[str]) -> Iterator[Part]:
    recipient = text_field(message, "recipient") or ""
    content = message.get("content")
    if role != "assistant" or recipient in _NO_TOOL:
        yield from content_parts(content, _WORDS[role], unknown)
        return
    tool = recipient
    for part in content_parts(content, "tool_call", unknown):
        if part.type == "tool_call":
            yield replace(part, text=call_text(tool, part.text))
            tool = ""
        else:
            yield part


def _instructions(message: Record) -> Iterator[Part]:
    """Yield what a person told the model about themselves: older exports have it beside the content."""
    context = _metadata(message).get("user_context_message_data")
    if isinstance(context, dict):
        said = message.get("content")
        in_content = said.values() if isinstance(said, dict) else [said]
        for name in ("about_user_message", "about_model_message"):
            text = text_field(context, name)
            if text and not any(isinstance(words, str) and text in words for words in in_content):
                yield Part("notice", text)


def _beside(message: Record, unknown: Counter[str]) -> Iterator[Part]:
    """Yield what came with a message: files, but for those that its content shows, and documents of a canvas."""
    shown = pointers(message.get("content"))
    for file in _records(_metadata(message).get("attachments")):
        if text_field(file, "id") not in shown:
            kind = text_field(file, "mime_type") or text_field(file, "mimeType")
            yield Part("text", attached("file", text_field(file, "name"), kind, size(file.get("size"))))
    canvas = _metadata(message).get("canvas")
    if isinstance(canvas, dict):
        for document in _records(canvas.get("user_created_textdocs")):
            yield from content_parts([document.get("title"), document.get("content")], "text", unknown)


def _is_hidden(message: Record) -> bool:
    weight = message.get("weight")
    is_weightless = isinstance(weight, int | float) and weight == 0
    return is_weightless or _metadata(message).get("is_visually_hidden_from_conversation") is True


def _metadata(message: Record) -> Record:
    found = message.get("metadata")
    return found if isinstance(found, dict) else {}


def _records(value: object) -> Sequence[Record]:
    return [found for found in value if isinstance(found, dict)] if isinstance(value, list) else []
