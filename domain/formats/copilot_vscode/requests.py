"""The requests of VS Code's chats as turns: what a person asked, and all that was answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from chronofile.domain.formats.attachments import attached
from chronofile.domain.formats.copilot_vscode.calls import Calls
from chronofile.domain.formats.copilot_vscode.parts import markdown, path_of, response_parts
from chronofile.domain.formats.records import Record, epoch_time, text_field
from chronofile.domain.turns import Part, Role, Turn

CANCELED = "[canceled]"
_STATE_CANCELED = 2


@dataclass(frozen=True, slots=True)
class Speakers:
    """The names of who asks and of who answers, as far as the chat tells them."""

    requester: str | None = None
    responder: str | None = None


def request_turns(request: Record, key: str, speakers: Speakers, unknown: Counter[str]) -> list[Turn]:
    """Return the turns of a request: the question, and its answer with the tools that were used for it.

    What an undo took back is superseded.
    """
    at = epoch_time(request.get("timestamp"))
    is_gone = bool(request.get("isHidden")) or bool(request.get("shouldBeRemovedOnSend"))
    turns = []
    asked = tuple(part for part in _asked(request) if part.text)
    native = text_field(request, "requestId")
    if asked:
        ids = (native,) if native else ()
        turns.append(Turn(key, ids, "user", speakers.requester, at, asked, superseded=is_gone))
    answered = tuple(part for part in _answered(request, unknown) if part.text)
    if answered:
        state = request.get("modelState")
        done = epoch_time(state.get("completedAt")) if isinstance(state, dict) else None
        role: Role = "system" if all(part.type == "notice" for part in answered) else "assistant"
        speaker = speakers.responder if role == "assistant" else None
        response = text_field(request, "responseId")
        ids = (response,) if response else ()
        turns.append(Turn(f"{key}/response", ids, role, speaker, done or at, answered, superseded=is_gone))
    return turns


def question(request: Record) -> str:
    """Return what a person typed."""
    message = request.get("message")
    if isinstance(message, str):
        return message
    if not isinstance(message, dict):
        return ""
    if isinstance(text := message.get("text"), str):
        return text
    return "".join(text_field(part, "text") or "" for part in _records(message.get("parts")))


def _asked(request: Record) -> Iterator[Part]:
    yield Part("text", question(request))
    variables = request.get("variableData")
    listed = variables.get("variables") if isinstance(variables, dict) else None
    for one in _records(listed):
        if one.get("automaticallyAdded") is True:
            continue
        kind = text_field(one, "kind") or "attachment"
        value = one.get("value")
        if kind == "image" or isinstance(value, bytes | list):
            yield Part("text", attached("image", text_field(one, "name"), text_field(one, "mimeType")))
            continue
        yield Part("text", attached(kind, path_of(value) or text_field(one, "name")))
        # What was pasted, or picked as a text, is a person's too.
        if text := text_field(one, "code") or (
            text_field(one, "value") if kind in ("string", "generic") else None
        ):
            yield Part("text", text)


def _answered(request: Record, unknown: Counter[str]) -> Iterator[Part]:
    result = _record(request.get("result"))
    metadata = _record(result.get("metadata"))
    rounds = _records(metadata.get("toolCallRounds"))
    response = request.get("response")
    calls = Calls.of(rounds, metadata.get("toolCallResults"), response)
    parts = list(response_parts(response, calls, unknown))
    kinds = {part.type for part in parts if part.text}
    for one in rounds:
        # The rounds hold the same words once more: they are said only where the answer itself holds none.
        if "thinking" not in kinds:
            yield from (Part("thinking", text) for text in _thoughts(one.get("thinking")))
        if "text" not in kinds:
            yield Part("text", text_field(one, "response") or "")
    yield from parts
    yield from calls.rest()
    error = _record(result.get("errorDetails"))
    yield Part("notice", markdown(error.get("message")))
    state = _record(request.get("modelState"))
    if request.get("isCanceled") is True or state.get("value") == _STATE_CANCELED:
        yield Part("notice", CANCELED)


def _thoughts(thinking: object) -> Iterator[str]:
    text = thinking.get("text") if isinstance(thinking, dict) else thinking
    said = text if isinstance(text, list) else [text]
    yield "".join(piece for piece in said if isinstance(piece, str))


def _record(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _records(values: object) -> list[Record]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
