"""Messages as the APIs of models have them, one a line: what many agents write, without a format of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from chronofile.domain.formats.blocks import assistant_parts, user_parts
from chronofile.domain.formats.calls import call_text, value_text
from chronofile.domain.formats.draft import Draft
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    confidence,
    epoch_time,
    read_line,
    read_records,
    text_field,
    time_field,
)
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, Role, State, Turn

name = "messages"
version = 1
is_json = True

IDENTITY_LINES_MAX = 50
CERTAIN = 0.6
"""Any format that knows the records for its own is surer than this."""

_ROLES: Mapping[object, Role] = {
    "user": "user", "human": "user", "assistant": "assistant", "model": "assistant", "ai": "assistant", "reasoning": "assistant",
    "system": "system", "developer": "system", "tool": "tool", "function": "tool", "tool_result": "tool",
}  # fmt: skip
_SESSION_FIELDS = ("sessionId", "session_id", "sessionID", "conversation_id", "thread_id")
_TEXT_FIELDS = ("content", "parts", "summary")
_CALL_FIELDS = ("tool_calls", "toolCalls")
_TIME_FIELDS = ("timestamp", "time", "created_at", "createdAt", "ts")
_SESSION_RECORDS = frozenset({"session", "session_start", "session_meta"})
_ANY_NAME = frozenset(
    {"messages", "chat_history", "history", "transcript", "conversation", "events", "chat", "log"}
)
"""Names of files that say nothing: the folder's says which conversation it is."""


def recognise(head: Head) -> Likeness:
    """Return how surely the first lines are messages, at most CERTAIN: somebody and an assistant must speak."""
    found = list(read_records(head.lines))
    records = [one for one in found if one is None or text_field(one, "type") not in _SESSION_RECORDS]
    roles = [None if record is None else _role(record) for record in records]
    if "assistant" not in roles or not {"user", "system"} & set(roles):
        return Likeness(0.0)
    spoken = sum(role is not None for role in roles)
    foreign = len(records) - spoken - records.count(None)
    return Likeness(confidence(spoken, foreign, records.count(None)) * CERTAIN)


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the conversation is: by an id in its records, else by its first message; None without a message.

    Without an id the session is called as the file is, or as its folder where the file's name says nothing.
    """
    records = [record for record in read_records(lines[:IDENTITY_LINES_MAX]) if record is not None]
    first = next((record for record in records if _role(record) is not None), None)
    if first is None:
        return None
    cwd = next((found for record in records if (found := text_field(record, "cwd"))), None)
    if (session := next((found for record in records if (found := _session(record))), None)) is not None:
        return Identity(session=session, key=session, cwd=cwd)
    path = PurePosixPath(path_name.replace("\\", "/"))
    called = path.parent.name if path.stem.lower() in _ANY_NAME and path.parent.name else path.stem
    mark = digest("message", *(value_text(first.get(field)) for field in sorted(first)), size=12)
    return Identity(session=called or mark, key=mark, cwd=cwd)


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns, one a message; of other records the types are counted."""
    draft = Draft.resume(state)
    unknown: Counter[str] = Counter()
    unreadable, title = 0, None
    for line in lines:
        draft.line += 1
        for number, record in enumerate(read_line(line), start=1):
            if record is None:
                unreadable += 1
                continue
            key = f"line-{draft.line}" if number == 1 else f"line-{draft.line}.{number}"
            if text_field(record, "type") in _SESSION_RECORDS:
                title = text_field(record, "title") or text_field(record, "name") or title
                continue
            try:
                turn = _turn(record, key, unknown)
            except RecursionError:
                unreadable += 1
                continue
            if turn is not None:
                draft.add(turn)
    return Folded(draft.changed(), draft.state(), (), dict(unknown), unreadable, title=title)


def _turn(record: Record, key: str, unknown: Counter[str]) -> Turn | None:
    role = _role(record)
    if role is None:
        unknown[value_text(record.get("type")) or "record"] += 1
        return None
    parts = tuple(_parts(record, role, unknown))
    kinds = {part.type for part in parts}
    if role == "user" and kinds and "text" not in kinds:
        role = "tool" if "tool_result" in kinds else "system"
    identifier = next((found for one in _levels(record) if (found := _id(one))), None)
    at = next((found for one in _levels(record) if (found := _time(one))), None)
    ids = (identifier,) if identifier else ()
    speaker = text_field(record, "name") if role in ("tool", "user") else None
    return Turn(identifier or key, ids, role, speaker, at, parts)


def _parts(record: Record, role: Role, unknown: Counter[str]) -> list[Part]:
    said = _said(record)
    content = next((said[field] for field in _TEXT_FIELDS if said.get(field) is not None), None)
    items = content if isinstance(content, list) else [content]
    blocks = [_block(item) for item in items]
    reasoning = text_field(said, "reasoning_content") or text_field(said, "reasoning")
    parts = [Part("thinking", reasoning)] if reasoning else []
    if role == "tool":
        texts = [_given(item, block) for item, block in zip(items, blocks, strict=True)]
        parts += [Part("tool_result", text) for text in texts if text]
    else:
        parts += (user_parts if role == "user" else assistant_parts)(blocks, unknown)
    for call in next((said[field] for field in _CALL_FIELDS if isinstance(said.get(field), list)), ()):
        if isinstance(call, dict):
            named = call["function"] if isinstance(call.get("function"), dict) else call
            given = named.get("arguments", named.get("args", named.get("input")))
            parts.append(Part("tool_call", call_text(text_field(named, "name"), given)))
    return parts


def _given(item: object, block: object) -> str:
    """Return what a tool gave back: text, what an image is, and any other value as JSON."""
    if isinstance(block, dict) and block.get("type") == "image":
        return "".join(part.text for part in assistant_parts([block], Counter()))
    return value_text(item.get("text", item) if isinstance(item, dict) else item)


def _block(item: object) -> object:
    """Return a block in the shape of Anthropic's API for one in OpenAI's or Google's."""
    if not isinstance(item, dict):
        return item
    kind = item.get("type")
    if kind in ("input_text", "output_text"):
        return {"type": "text", "text": item.get("text")}
    if kind in ("summary_text", "reasoning_text"):
        return {"type": "thinking", "thinking": item.get("text")}
    if kind is None and isinstance(item.get("text"), str):
        is_thought = item.get("thought") is True
        field = "thinking" if is_thought else "text"
        return {"type": field, field: item["text"]}
    if isinstance(call := item.get("functionCall"), dict):
        return {"type": "tool_use", "name": call.get("name"), "input": call.get("args")}
    if isinstance(answer := item.get("functionResponse"), dict):
        given = answer.get("response")
        output = given.get("output", given) if isinstance(given, dict) else given
        return {"type": "tool_result", "content": value_text(output)}
    return _image(item) if kind in ("image_url", "input_image") else item


def _image(item: Record) -> Record:
    """Return an image as OpenAI has it, a link that may hold the image itself, in the shape of Anthropic's API."""
    named = item.get("image_url")
    url = (text_field(named, "url") if isinstance(named, dict) else text_field(item, "image_url")) or ""
    told, mark, written = url.partition(";base64,")
    if not mark:
        return {"type": "image", "source": {"url": url or text_field(item, "file_id")}}
    return {"type": "image", "source": {"media_type": told.removeprefix("data:"), "data": written}}


def _role(record: Record) -> Role | None:
    """Return whose message a record is, None where it is none."""
    said = _said(record)
    is_said = any(isinstance(said.get(field), str | list) for field in _TEXT_FIELDS)
    if not is_said and not any(isinstance(said.get(field), list) for field in _CALL_FIELDS):
        return None
    found = said.get("role", record.get("role"))
    if found is None and said is record:
        found = record.get("type")
    return _ROLES.get(found) if isinstance(found, str) else None


def _said(record: Record) -> Record:
    message = record.get("message")
    return message if isinstance(message, dict) else record


def _levels(record: Record) -> tuple[Record, ...]:
    said = _said(record)
    return (record,) if said is record else (record, said)


def _id(record: Record) -> str | None:
    return text_field(record, "uuid") or text_field(record, "id")


def _session(record: Record) -> str | None:
    if text_field(record, "type") in _SESSION_RECORDS and (found := text_field(record, "id")):
        return found
    return next((found for field in _SESSION_FIELDS if (found := text_field(record, field))), None)


def _time(record: Record) -> str | None:
    for field in _TIME_FIELDS:
        if (found := time_field(record, field) or epoch_time(record.get(field))) is not None:
            return found
    return None
