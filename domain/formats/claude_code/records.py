"""Records of Claude Code as turns: what each type of record says, and who says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from chronofile.domain.formats.blocks import assistant_parts, user_parts
from chronofile.domain.formats.claude_code.attachments import attachment_texts, result_twin
from chronofile.domain.formats.records import Record, compact_json, text_field, time_field
from chronofile.domain.identity import digest
from chronofile.domain.turns import Part, PartType, Role, Turn


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: a sidechain's session, a sub-agent's name, a key for want of an id."""

    session: str | None
    agent: str | None
    key: str


Reader = Callable[[Record, Place, Counter[str]], Sequence[Turn]]


def turns_of(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn] | None:
    """Return a record's turns; None where its type has no reader, or its JSON cannot be written again.

    Types of blocks and of attachments that are not known are counted in `unknown`.
    """
    try:
        return READERS[record["type"]](record, place, unknown)
    except RecursionError:
        return None


def message_id(record: Record) -> str | None:
    """Return the id of the message that an assistant's record is a piece of."""
    message = record.get("message")
    return text_field(message, "id") if isinstance(message, dict) else None


def _user(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    parts = user_parts(_content(record), unknown)
    if not parts and (twin := result_twin(record)):
        parts = (Part("tool_result", twin),)
    if record.get("isCompactSummary") is True:
        return _turns(record, place, "system", _retyped(parts, "summary"))
    origin = record.get("origin")
    is_notified = isinstance(origin, dict) and origin.get("kind") == "task-notification"
    if record.get("isMeta") is True or is_notified:
        parts = _retyped(parts, "notice")
    return _user_turns(record, place, parts)


def _user_turns(record: Record, place: Place, parts: tuple[Part, ...]) -> Sequence[Turn]:
    """Return a person's words, a tool's results or both, as turns of their own.

    Notices go with whatever else the record holds; alone they are the system's.
    """
    kinds = {part.type for part in parts}
    if "tool_result" not in kinds:
        return _turns(record, place, "user" if "text" in kinds else "system", parts)
    if "text" not in kinds:
        return _turns(record, place, "tool", parts)
    results = tuple(part for part in parts if part.type == "tool_result")
    words = tuple(part for part in parts if part.type != "tool_result")
    turns = [*_turns(record, place, "tool", results), *_turns(record, place, "user", words)]
    if parts[0].type != "tool_result":
        turns.reverse()
    return [turns[0], replace(turns[1], key=f"{turns[1].key}#2")]


def _assistant(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    message = record.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    parts = assistant_parts(_content(record), unknown)
    if model == "<synthetic>" or record.get("isApiErrorMessage") is True:
        return _turns(record, place, "system", _retyped(parts, "notice"))
    key = message_id(record)
    # A record without text still names a record of its message.
    turns = _turns(record, place, "assistant", parts, even_empty=key is not None)
    return [replace(turn, key=key) for turn in turns] if key else turns


def _system(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    error, failures = record.get("error"), record.get("hookErrors")
    found = [text_field(record, "content"), text_field(record, "apiRefusalExplanation")]
    if isinstance(error, dict):
        found.append(text_field(error, "formatted") or text_field(error, "message"))
    found += (
        [failure for failure in failures if isinstance(failure, str)] if isinstance(failures, list) else []
    )
    return _turns(record, place, "system", tuple(Part("notice", text) for text in found if text))


def _attachment(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    """Return what a person typed while the agent was at work; what else is attached was put in by the tool."""
    attachment = record.get("attachment")
    if not isinstance(attachment, dict):
        return ()
    if attachment.get("type") != "queued_command":
        texts = attachment_texts(attachment, unknown)
        return _turns(record, place, "system", tuple(Part("notice", text) for text in texts))
    parts = user_parts(attachment.get("prompt"), unknown)
    is_typed = attachment.get("commandMode", "prompt") == "prompt"
    return _user_turns(record, place, parts if is_typed else _retyped(parts, "notice"))


def _queued(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    """Return a prompt that waits; the record of a turn takes its place when it comes."""
    parts = user_parts(record.get("content"), unknown)
    at = time_field(record, "timestamp")
    key = f"queued:{digest(at, *(part.text for part in parts), size=8)}"
    return [replace(turn, key=key, native_ids=(key,)) for turn in _user_turns(record, place, parts)]


def _use(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    return _turns(record, place, "assistant", assistant_parts([record], unknown))


def _result(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    given = next((found for name in ("content", "output", "result") if (found := record.get(name))), None)
    block = {
        "type": "tool_result",
        "content": given if isinstance(given, str | list) or not given else [given],
    }
    return _turns(record, place, "tool", assistant_parts([block], unknown))


def _outcome(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    """Return what a sub-agent of a workflow came to."""
    outcome, agent = record.get("result"), text_field(record, "agentId")
    text = outcome if isinstance(outcome, str) else compact_json(outcome) if outcome else ""
    turns = _turns(record, place, "tool", (Part("tool_result", text),) if text else ())
    return [replace(turn, speaker=agent) for turn in turns]


def _summary(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    text, leaf = text_field(record, "summary"), text_field(record, "leafUuid")
    if text is None:
        return ()
    key = f"summary:{leaf or place.key}"
    return [Turn(key, (leaf,) if leaf else (), "system", None, None, (Part("summary", text),))]


def title_of(record: Record) -> str | None:
    """Return what a record says that the session is called, None where it says nothing of that."""
    fields = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
    return text_field(record, fields.get(str(record.get("type")), ""))


def _title(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    """Return a session's title as a turn: the tool writes it again and again, so its text is its key."""
    title = title_of(record)
    if title is None:
        return ()
    return _note("title", record, title)


def _link(record: Record, place: Place, unknown: Counter[str]) -> Sequence[Turn]:
    """Return what the session was linked with: a pull request, a page that was shown."""
    found = (text_field(record, field) for field in ("title", "prUrl", "frameUrl"))
    return _note("link", record, *filter(None, found))


def _note(kind: str, record: Record, *texts: str) -> Sequence[Turn]:
    key = f"{kind}:{digest(*texts, size=8)}"
    parts = tuple(Part("notice", text) for text in texts)
    return [Turn(key, (key,), "system", None, time_field(record, "timestamp"), parts)] if parts else ()


def _turns(
    record: Record, place: Place, role: Role, parts: tuple[Part, ...], *, even_empty: bool = False
) -> list[Turn]:
    if not parts and not even_empty:
        return []
    uuid = text_field(record, "uuid")
    # Nobody but an agent writes the prompts of a sub-agent.
    speaker = "agent" if place.agent and role == "user" else place.agent
    ids = (uuid,) if uuid else ()
    return [
        Turn(uuid or place.key, ids, role, speaker, time_field(record, "timestamp"), parts, place.session)
    ]


def _retyped(parts: tuple[Part, ...], kind: PartType) -> tuple[Part, ...]:
    return tuple(part if part.type == "tool_result" else replace(part, type=kind) for part in parts)


def _content(record: Record) -> object:
    message = record.get("message")
    return message.get("content") if isinstance(message, dict) else message


READERS: Mapping[str, Reader] = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "attachment": _attachment,
    "queue-operation": _queued,
    "tool_use": _use,
    "tool_result": _result,
    "result": _outcome,
    "summary": _summary,
    "custom-title": _title,
    "ai-title": _title,
    "pr-link": _link,
    "frame-link": _link,
}
