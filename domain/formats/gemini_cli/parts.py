"""The messages of Gemini's conversations as turns: contents, thoughts, calls of tools and their results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chronofile.domain.formats.attachments import attached, base64_size
from chronofile.domain.formats.calls import call_text, value_text
from chronofile.domain.formats.records import Record, epoch_time, text_field, time_field
from chronofile.domain.identity import digest
from chronofile.domain.turns import Part, Role, Turn

RESULTS_MAX = 500
"""Results of tools that are remembered, so that one that comes again in a history is not said twice."""

ROLES: Mapping[str, Role] = {
    "user": "user",
    "gemini": "assistant",
    "model": "assistant",
    "assistant": "assistant",
    "info": "system",
    "warning": "system",
    "error": "system",
    "system": "system",
}
_INJECTED = re.compile(
    r"\s*(?:<(session_context|hook_context)>|This is the Gemini CLI\. We are setting up the context for our chat)"
)
_REFERENCED = re.compile(r"\s*--- Content from referenced files ---")
# These say how a part is to be shown or continued and hold no words.
_SILENT = frozenset({"thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"})


@dataclass(slots=True)
class Reading:
    """What messages are read with: counts of what is not known, the results that were said, who speaks."""

    unknown: Counter[str] = field(default_factory=Counter)
    results: dict[str, None] = field(default_factory=dict)
    is_aside: bool = False
    """Whether the conversation is a sub-agent's, whose prompts an agent writes."""

    def is_said(self, call: str, text: str) -> bool:
        """Tell whether a result was said already, and remember it."""
        mark = digest("result", call, text, size=6)
        was_said = mark in self.results
        self.results[mark] = None
        if len(self.results) > RESULTS_MAX:
            del self.results[next(iter(self.results))]
        return was_said


def message_turns(message: Record, key: str, reading: Reading) -> list[Turn]:
    """Return a message's turns: what was said, and the results of tools each by itself.

    A message of a type that is not known is counted and has none.
    """
    kind = message.get("type") or message.get("role")
    role = ROLES.get(kind) if isinstance(kind, str) else None
    if role is None:
        reading.unknown[f"message {kind}"] += 1
        return []
    at = time_of(message)
    native = text_field(message, "id")
    ids = (native,) if native else ()
    content = message.get("content", message.get("parts"))
    parts = list(content_parts(content, reading.unknown))
    if role == "assistant":
        parts = [*_thoughts(message, parts), *parts, *_calls(message, parts, reading.unknown)]
    elif role == "system":
        parts = [replace(part, type="notice") for part in parts]
    else:
        parts = _user_parts(message, parts, reading.unknown)
    results = [
        part for part in parts if part.type == "tool_result" and not _is_repeated(part, content, reading)
    ]
    said = tuple(part for part in parts if part.type != "tool_result" and part.text)
    turns = []
    if said:
        shown: Role = "system" if all(part.type == "notice" for part in said) else role
        speaker = "agent" if reading.is_aside and shown == "user" else None
        turns.append(Turn(key, ids, shown, speaker, at, said))
    if results:
        turns.append(Turn(f"{key}/results", ids, "tool", None, at, tuple(results)))
    return [*turns, *_results(message, key, ids, at, reading)]


def content_parts(content: object, unknown: Counter[str]) -> Iterator[Part]:
    """Yield the parts of a content in the shape of Gemini's API: a string, a part, or a list of both."""
    for piece in content if isinstance(content, list) else [content]:
        if isinstance(piece, str):
            yield Part("text", piece)
        elif isinstance(piece, dict):
            yield from _part(piece, unknown)
        elif piece is not None:
            unknown["part"] += 1


def message_mark(message: Record) -> str:
    """Return what a message says as a short mark; how its thoughts and calls are written may change without a word."""
    return digest("".join(_words(message)), size=6)


def message_length(message: Record) -> int:
    """Return how many code points a message says, without its thoughts and calls."""
    return sum(map(len, _words(message)))


def _words(message: Record) -> Iterator[str]:
    for part in content_parts(message.get("content", message.get("parts")), Counter()):
        if part.type in ("text", "tool_result"):
            yield part.text
    for call in _tool_calls(message):
        yield from (part.text for part in content_parts(call.get("result"), Counter()))


def _part(piece: Record, unknown: Counter[str]) -> Iterator[Part]:
    text = piece.get("text")
    if isinstance(text, str):
        if text:
            is_thought = piece.get("thought") is True or piece.get("isThought") is True
            yield Part("thinking" if is_thought else "text", text)
        return
    for name, value in piece.items():
        read = _READERS.get(name)
        if read is not None and isinstance(value, dict):
            yield read(value)
            return
    if not piece.keys() <= _SILENT:
        unknown[f"part {next(name for name in piece if name not in _SILENT)}"] += 1


def _call(fields: Record) -> Part:
    return Part("tool_call", call_text(text_field(fields, "name"), fields.get("args")))


def _response(fields: Record) -> Part:
    """Return a tool's answer: its output alone where there is nothing else, else all that it holds."""
    response = fields.get("response")
    if isinstance(response, dict):
        said = {name: value for name, value in response.items() if value not in (None, "")}
        only = next(iter(said.values())) if len(said) == 1 else None
        text = only if isinstance(only, str) else value_text(response) if said else ""
    else:
        text = value_text(response)
    facts = [part.text for part in content_parts(fields.get("parts"), Counter())]
    return Part("tool_result", "\n".join(piece for piece in (text, *facts) if piece))


def _blob(fields: Record) -> Part:
    mime = fields.get("mimeType") or fields.get("mime_type")
    kind = mime.split("/")[0] if isinstance(mime, str) else "file"
    names = (fields.get("displayName"), mime if mime != kind else None, fields.get("fileUri"))
    return Part("text", attached(kind, *names, base64_size(fields.get("data"))))


def _code(fields: Record) -> Part:
    return Part("tool_call", value_text(fields.get("code")))


def _outcome(fields: Record) -> Part:
    return Part("tool_result", value_text(fields.get("output") or fields.get("outcome")))


_READERS = {
    "functionCall": _call,
    "functionResponse": _response,
    "inlineData": _blob,
    "inline_data": _blob,
    "fileData": _blob,
    "file_data": _blob,
    "executableCode": _code,
    "codeExecutionResult": _outcome,
}


def _user_parts(message: Record, parts: list[Part], unknown: Counter[str]) -> list[Part]:
    """Tell what a person typed from what was put in: files that were referred to, context, expansions."""
    display = message.get("displayContent")
    shown = list(content_parts(display, unknown)) if display not in (None, "", []) else []
    if not shown:
        return _without_context(parts)
    typed = {part.text for part in shown}
    rest = [part for part in parts if part.text not in typed]
    if rest and len(shown) == 1:
        rest[0] = replace(rest[0], text=rest[0].text.removeprefix(shown[0].text))
    return [*shown, *(replace(part, type="notice") if part.type == "text" else part for part in rest)]


def _without_context(parts: list[Part]) -> list[Part]:
    found: list[Part] = []
    is_referenced = False
    for part in parts:
        is_referenced = is_referenced or _REFERENCED.match(part.text) is not None
        is_put_in = part.type == "text" and (is_referenced or _INJECTED.match(part.text) is not None)
        found.append(replace(part, type="notice") if is_put_in else part)
    return found


def _thoughts(message: Record, parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the thoughts that stand beside the content and not in it."""
    known = "\n".join(part.text for part in parts if part.type == "thinking")
    thoughts = message.get("thoughts")
    for thought in thoughts if isinstance(thoughts, list) else []:
        said = [thought] if isinstance(thought, str) else []
        if isinstance(thought, dict):
            found = (text_field(thought, name) for name in ("subject", "description", "text"))
            said = [text for text in found if text]
        if not all(text.strip() in known for text in said):
            yield from (Part("thinking", text) for text in said)


def _tool_calls(message: Record) -> list[Record]:
    calls = message.get("toolCalls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _calls(message: Record, parts: Sequence[Part], unknown: Counter[str]) -> Iterator[Part]:
    """Yield the calls that stand beside the content and not in it."""
    known = Counter(part.text for part in parts if part.type == "tool_call")
    for call in _tool_calls(message):
        text = call_text(text_field(call, "name"), call.get("args"))
        if known[text] > 0:
            known[text] -= 1
        else:
            yield Part("tool_call", text)
    calls = message.get("toolCalls")
    if isinstance(calls, list):
        unknown.update("tool call" for call in calls if not isinstance(call, dict))


def _results(
    message: Record, key: str, ids: tuple[str, ...], at: str | None, reading: Reading
) -> Iterator[Turn]:
    """Yield what the tools that a message called gave back; what was shown of it only where there is nothing else."""
    taken: set[str] = set()
    for number, call in enumerate(_tool_calls(message), start=1):
        call_id, tool = text_field(call, "id"), text_field(call, "name")
        own = f"{key}/{call_id or number}"
        own = own if own not in taken else f"{key}/{number}"
        taken.add(own)
        parts = [_as_result(part) for part in content_parts(call.get("result"), reading.unknown)]
        parts = [part for part in parts if part.text] or _displayed(call)
        parts = [part for part in parts if part.text]
        for part in parts:
            reading.is_said(call_id or "", part.text)
        if parts:
            native = (call_id,) if call_id else ids
            yield Turn(own, native, "tool", tool, time_field(call, "timestamp") or at, tuple(parts))


def _as_result(part: Part) -> Part:
    return replace(part, type="tool_result")


def _displayed(call: Record) -> list[Part]:
    display = call.get("resultDisplay")
    if isinstance(display, dict):
        display = next(
            (display[name] for name in ("fileDiff", "summary", "result") if display.get(name)), None
        )
    return [Part("tool_result", display)] if isinstance(display, str) else []


def _is_repeated(part: Part, content: object, reading: Reading) -> bool:
    """Tell whether a result within a content was said already beside the call."""
    pieces: list[Any] = content if isinstance(content, list) else [content]
    for piece in pieces:
        answer = piece.get("functionResponse") if isinstance(piece, dict) else None
        if isinstance(answer, dict) and _response(answer).text == part.text:
            return reading.is_said(text_field(answer, "id") or "", part.text)
    return False


def time_of(message: Record) -> str | None:
    for name in ("timestamp", "createTime", "time"):
        if found := time_field(message, name) or epoch_time(message.get(name)):
            return found
    return epoch_time(message.get("ts")) or time_field(message, "ts")
