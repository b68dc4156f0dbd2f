"""Cursor's messages: what the records of its agents' transcripts and of its command line's chats say, as turns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from chronofile.domain.formats.blocks import assistant_parts
from chronofile.domain.formats.cursor.bubbles import embedded, readable
from chronofile.domain.formats.records import Record, text_field, time_field
from chronofile.domain.turns import Part, Role, Turn

ROLES: Mapping[object, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_SILENT = frozenset({"turn_ended", "redacted-reasoning"})
_QUERY, _QUERY_END = "<user_query>", "</user_query>"
_TAGS = (
    "additional_data", "agent_skills", "agent_transcripts", "always_applied_workspace_rules", "attached_files",
    "available_skills", "conversation_summary", "current_file", "cursor_commands", "custom_instructions",
    "external_links", "git_status", "image_files", "linter_errors", "manually_attached_skills", "mcp_instructions",
    "open_and_recently_viewed_files", "project_layout", "recently_viewed_files", "rules", "system_notification",
    "system_reminder", "terminal_files_information", "timestamp", "user_info", "user_rules",
)  # fmt: skip
_OPENING = re.compile(rf"\s*<({'|'.join(_TAGS)})\b[^>\n]*>")


def message_turn(record: Record, key: str, unknown: Counter[str]) -> Turn | None:
    """Return what a record says, without parts where it says nothing.

    None where it is no record, or its JSON is nested too deeply to be written again.
    """
    try:
        return _message(record, key, unknown)
    except RecursionError:
        return None


def _message(record: Record, key: str, unknown: Counter[str]) -> Turn | None:
    role = ROLES.get(text_field(record, "role"))
    if role is None:
        return _other(record, key, unknown)
    message = record.get("message", record)
    content = message.get("content") if isinstance(message, dict) else message
    at = time_field(record, "timestamp") or time_field(record, "createdAt")
    parts = tuple(part for block in _blocks(content) for part in _block_parts(block, unknown))
    if role == "user":
        parts = tuple(piece for part in parts for piece in _split(part))
        role = "system" if parts and all(part.type == "notice" for part in parts) else role
    elif role == "system":
        parts = tuple(replace(part, type="notice") if part.type == "text" else part for part in parts)
    return Turn(key, (), role, None, at, tuple(part for part in parts if part.text))


def _other(record: Record, key: str, unknown: Counter[str]) -> Turn | None:
    """Return what the tool notes of itself: that a turn has ended, and what went wrong."""
    kind = text_field(record, "type")
    if kind is None:
        return None
    failure = record.get("error") or (record.get("message") if kind == "error" else None)
    if kind not in _SILENT and kind != "error":
        unknown[kind] += 1
        return Turn(key, (), "system", None, None, ())
    at = time_field(record, "timestamp")
    return Turn(key, (), "system", None, at, (Part("notice", readable(failure)),) if failure else ())


def _blocks(content: object) -> list[Any]:
    return content if isinstance(content, list) else [] if content is None else [content]


def _block_parts(block: object, unknown: Counter[str]) -> tuple[Part, ...]:
    """Return a block's parts: of Anthropic's shapes, or of those of the AI SDK, which the databases have."""
    if not isinstance(block, dict):
        return assistant_parts(block, unknown)
    match block.get("type"):
        case "reasoning":
            return (Part("thinking", text_field(block, "text") or ""),)
        case "tool-call":
            given = embedded(block.get("args", block.get("input")))
            call = {"type": "tool_use", "name": block.get("toolName"), "input": given}
            return assistant_parts([call], unknown)
        case "tool-result":
            return (Part("tool_result", readable(block.get("result", block.get("output")))),)
        case "file":
            named = text_field(block, "filename") or text_field(block, "mediaType") or ""
            return (Part("text", f"[file {named}]" if named else "[file]"),)
        case "image" if "source" not in block:
            return (Part("text", f"[image {text_field(block, 'mediaType') or ''}".rstrip() + "]"),)
        case str() as kind if kind in _SILENT:
            return ()
        case _:
            return assistant_parts([block], unknown)


def _split(part: Part) -> Iterator[Part]:
    """Yield what the person typed as text, and what Cursor wrote around it as notices."""
    if part.type != "text":
        yield part
        return
    text, at = part.text, 0
    while (begin := text.find(_QUERY, at)) >= 0 and (end := text.find(_QUERY_END, begin)) >= 0:
        yield Part("notice", text[at:begin].strip())
        yield Part("text", text[begin + len(_QUERY) : end].removeprefix("\n").removesuffix("\n"))
        at = end + len(_QUERY_END)
    rest = text[at:].strip() if at else text
    yield Part("notice" if at or _is_injected(rest) else "text", rest)


def _is_injected(text: str) -> bool:
    """Tell whether Cursor wrote the whole text: elements with its tags, one after the other."""
    at = 0
    while opening := _OPENING.match(text, at):
        end_tag = f"</{opening[1]}>"
        end = text.find(end_tag, opening.end())
        if end < 0:
            return False
        at = end + len(end_tag)
    return at > 0 and not text[at:].strip()
