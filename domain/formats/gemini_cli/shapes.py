"""The shapes that Gemini's conversations have as documents, and the records of those that are lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from chronofile.domain.formats.gemini_cli.parts import ROLES
from chronofile.domain.formats.records import Record, text_field

SIGHTED_MAX = 50
"""Messages of a document that are looked at to recognise it."""
_HOLDERS = ("messages", "history")
_TYPES = ("user", "gemini", "info", "warning", "error")


def messages_of(record: Record) -> list[Any] | None:
    """Return the messages of a document, None where the record is none."""
    for holder in _HOLDERS:
        found = record.get(holder)
        if isinstance(found, list):
            return found
    prompt = record.get("chunkedPrompt")
    chunks = prompt.get("chunks") if isinstance(prompt, dict) else None
    return [_unchunked(chunk) for chunk in chunks] if isinstance(chunks, list) else None


def _unchunked(chunk: object) -> object:
    """Return a chunk of an AI Studio prompt in the shape of a message."""
    if not isinstance(chunk, dict):
        return chunk
    pieces = [
        {"text": chunk["text"], "thought": chunk.get("isThought")} if isinstance(chunk.get("text"), str) else None,
        *({field: value} for field, value in chunk.items() if field in ("executableCode", "codeExecutionResult")),
    ]  # fmt: skip
    for field_name, value in chunk.items():
        if isinstance(value, dict) and field_name.startswith(("drive", "inline", "youtube")):
            kind = field_name.removeprefix("drive").removeprefix("inline").lower()
            blob = {
                "mimeType": value.get("mimeType") or kind,
                "displayName": value.get("id"),
                "data": value.get("data"),
            }
            pieces.append({"inlineData": blob})
    return {
        "role": chunk.get("role"),
        "createTime": chunk.get("createTime"),
        "parts": [piece for piece in pieces if piece is not None],
    }


def first_messages(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        for message in messages_of(record) or ([record] if is_message(record) else []):
            if isinstance(message, dict):
                yield message


def started(record: Record) -> str | None:
    return text_field(record, "startTime") or text_field(record, "start_time")


def is_metadata(record: Record) -> bool:
    return text_field(record, "sessionId") is not None and text_field(record, "projectHash") is not None


def is_message(record: Record) -> bool:
    kind = record.get("type") or record.get("role")
    return (
        isinstance(kind, str)
        and kind in ROLES
        and ("content" in record or "parts" in record or "toolCalls" in record)
    )


def is_own(record: Record) -> bool:
    """Tell whether a line is one that Gemini CLI writes."""
    if isinstance(record.get("$set"), dict) or isinstance(record.get("$rewindTo"), str):
        return True
    if is_metadata(record):
        return "type" not in record
    kind = record.get("type")
    is_known = isinstance(kind, str) and kind in _TYPES
    return is_known and all(field in record for field in ("id", "timestamp", "content"))


def document_confidence(document: Record) -> float:
    prompt = document.get("chunkedPrompt")
    if isinstance(prompt, dict) and isinstance(prompt.get("chunks"), list):
        return 1.0
    messages = messages_of(document)
    if messages is None:
        return 0.0
    looked = [message for message in messages[:SIGHTED_MAX] if isinstance(message, dict)]
    if "history" in document and "messages" not in document:
        contents = sum(
            m.get("role") in ("user", "model", "gemini") and isinstance(m.get("parts"), list) for m in looked
        )
        return 0.9 * contents / max(1, len(messages[:SIGHTED_MAX]))
    if is_metadata(document):
        return 1.0
    own = sum(is_own(message) for message in looked)
    has_answer = any(message.get("type") == "gemini" for message in looked)
    sure = 0.9 if has_answer else 0.6 if "lastUpdated" in document or "startTime" in document else 0.3
    return sure * own / max(1, len(looked))
