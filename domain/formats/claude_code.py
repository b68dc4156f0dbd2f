"""Claude Code's transcripts: one JSON record a line, in a file for each session and each sub-agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from chronofile.domain.formats.blocks import assistant_parts, user_parts
from chronofile.domain.formats.chains import Chains
from chronofile.domain.formats.draft import Draft
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    confidence,
    read_line,
    read_records,
    text_field,
    time_field,
)
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, PartType, Role, State, Turn

name = "claude-code"
version = 1
is_json = True

IDENTITY_LINES_MAX = 200

# Records that are known to hold no words of a turn, or only words that another record holds too:
# what is queued becomes a user's record or an attachment, progress repeats a sub-agent's own file.
_SILENT = frozenset(
    {
        "agent-name", "ai-title", "atis-latch", "bridge-session", "file-history-snapshot", "frame-link",
        "last-prompt", "mode", "permission-mode", "pr-link", "progress", "queue-operation", "relocated",
        "result", "started", "worktree-state",
    }
)  # fmt: skip


def recognise(head: Head) -> Likeness:
    """Return how surely the first lines are Claude Code's; the name tells nothing more."""
    verdicts = [None if record is None else _is_own(record) for record in read_records(head.lines)]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), verdicts.count(None)))


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the transcript is from its first lines; None when no record names its session.

    A file that holds nothing but a sub-agent's records is a session of its own: `<session>/agent-<id>`.
    Of several session ids, as a resumed session may have, the one that the file is named by wins.
    """
    records = [record for record in read_records(lines[:IDENTITY_LINES_MAX]) if record is not None]
    sessions = [session for record in records if (session := text_field(record, "sessionId"))]
    if not sessions:
        return None
    stem = PurePosixPath(path_name.replace("\\", "/")).stem
    session = stem if stem in sessions else sessions[0]
    agent = _agent_id(records, stem)
    if agent is not None and session != f"agent-{agent}":
        session = f"{session}/agent-{agent}"
    cwd = next((cwd for record in records if (cwd := text_field(record, "cwd"))), None)
    return Identity(session=session, key=session, cwd=cwd)


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns.

    Records of one assistant message are one turn; its later records bring it again, whole. Sidechains
    inside a main session's file have a session of their own. Nothing raises: lines that are no JSON
    object are counted as unreadable, records and blocks of unknown types by type.
    """
    draft, chains = Draft.resume(state), Chains.resume(state)
    unknown: Counter[str] = Counter()
    unreadable = 0
    for line in lines:
        draft.line += 1
        for number, record in enumerate(read_line(line), start=1):
            kind = record.get("type") if record is not None else None
            if record is None or not isinstance(kind, str):
                unreadable += 1
                continue
            key = f"line-{draft.line}" if number == 1 else f"line-{draft.line}.{number}"
            place = _Place(chains.session(record), _agent_name(record), key)
            read = _READERS.get(kind)
            if read is None:
                unknown.update([kind] if kind not in _SILENT else [])
                continue
            turns = _read_safely(read, record, place, unknown)
            unreadable += turns is None
            for turn in turns or ():
                draft.add(turn, may_grow=turn.key == _message_id(record))
    return Folded(draft.changed(), {**draft.state(), **chains.state()}, (), dict(unknown), unreadable)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a record stands: a sidechain's session, a sub-agent's name, a key for want of an id."""

    session: str | None
    agent: str | None
    key: str


_Reader = Callable[[Record, _Place, Counter[str]], Sequence[Turn]]


def _read_safely(
    read: _Reader, record: Record, place: _Place, unknown: Counter[str]
) -> Sequence[Turn] | None:
    """Return the record's turns, None where its JSON is nested too deeply to be written again."""
    try:
        return read(record, place, unknown)
    except RecursionError:
        return None


def _user(record: Record, place: _Place, unknown: Counter[str]) -> Sequence[Turn]:
    parts = user_parts(_content(record), unknown)
    if record.get("isCompactSummary") is True:
        return _turns(record, place, "system", _retyped(parts, "summary"))
    origin = record.get("origin")
    is_notified = isinstance(origin, dict) and origin.get("kind") == "task-notification"
    if record.get("isMeta") is True or is_notified:
        parts = _retyped(parts, "notice")
    return _user_turns(record, place, parts)


def _user_turns(record: Record, place: _Place, parts: tuple[Part, ...]) -> Sequence[Turn]:
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


def _assistant(record: Record, place: _Place, unknown: Counter[str]) -> Sequence[Turn]:
    message = record.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    parts = assistant_parts(_content(record), unknown)
    if model == "<synthetic>" or record.get("isApiErrorMessage") is True:
        return _turns(record, place, "system", _retyped(parts, "notice"))
    key = _message_id(record)
    # A record without text still names a record of its message.
    turns = _turns(record, place, "assistant", parts, even_empty=key is not None)
    return [replace(turn, key=key) for turn in turns] if key else turns


def _system(record: Record, place: _Place, unknown: Counter[str]) -> Sequence[Turn]:
    text = text_field(record, "content")
    return _turns(record, place, "system", (Part("notice", text),) if text else ())


def _attachment(record: Record, place: _Place, unknown: Counter[str]) -> Sequence[Turn]:
    """Return what a person typed while the agent was at work; other attachments are the tool's own."""
    attachment = record.get("attachment")
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return ()
    parts = user_parts(attachment.get("prompt"), unknown)
    is_typed = attachment.get("commandMode", "prompt") == "prompt"
    return _user_turns(record, place, parts if is_typed else _retyped(parts, "notice"))


def _summary(record: Record, place: _Place, unknown: Counter[str]) -> Sequence[Turn]:
    text, leaf = text_field(record, "summary"), text_field(record, "leafUuid")
    if text is None:
        return ()
    key = f"summary:{leaf or place.key}"
    return [Turn(key, (leaf,) if leaf else (), "system", None, None, (Part("summary", text),))]


def _title(record: Record, place: _Place, unknown: Counter[str]) -> Sequence[Turn]:
    """Return a session's title as a turn: the tool writes it again and again, so its text is its key."""
    title = text_field(record, "customTitle")
    if title is None:
        return ()
    key = f"custom-title:{digest(title, size=8)}"
    return [Turn(key, (key,), "system", None, None, (Part("notice", title),))]


_READERS: Mapping[str, _Reader] = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "attachment": _attachment,
    "summary": _summary,
    "custom-title": _title,
}


def _turns(
    record: Record, place: _Place, role: Role, parts: tuple[Part, ...], *, even_empty: bool = False
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


def _message_id(record: Record) -> str | None:
    message = record.get("message")
    return text_field(message, "id") if isinstance(message, dict) else None


def _agent_name(record: Record) -> str | None:
    if record.get("isSidechain") is not True:
        return None
    return text_field(record, "attributionAgent") or text_field(record, "agentId") or "agent"


def _agent_id(records: Sequence[Record], stem: str) -> str | None:
    spoken = [record for record in records if record.get("type") in ("user", "assistant")]
    if not spoken or any(record.get("isSidechain") is not True for record in spoken):
        return None
    named = next((agent for record in spoken if (agent := text_field(record, "agentId"))), None)
    return named or (stem.removeprefix("agent-") if stem.startswith("agent-") else None)


def _is_own(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        message = record.get("message")
        has_id = text_field(record, "sessionId") or text_field(record, "uuid")
        return bool(has_id) and isinstance(message, (dict, str)) and "parts" not in message
    if kind == "summary":
        return "summary" in record and "leafUuid" in record
    if kind == "file-history-snapshot":
        return "messageId" in record
    return "sessionId" in record and "systemPayload" not in record
