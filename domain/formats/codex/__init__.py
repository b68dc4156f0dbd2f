"""Codex's rollouts: one record a line, in a file for each session of the CLI, the desktop application and the IDEs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from chronofile.domain.formats.codex import events, items
from chronofile.domain.formats.codex.content import content_parts
from chronofile.domain.formats.codex.draft import Rollout
from chronofile.domain.formats.codex.said import Saying
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    compact_json,
    confidence,
    epoch_time,
    read_line,
    read_records,
    text_field,
    time_field,
)
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, State

name = "codex"
version = 1
is_json = True

IDENTITY_LINES_MAX = 200

_META = "session_meta"
# What a session runs under, which each turn writes again, and marks of the tool's own.
_SILENT = frozenset({"inter_agent_communication_metadata", "turn_context", "world_state"})
_ENVELOPES = frozenset(
    {*_SILENT, _META, "compacted", "event_msg", "inter_agent_communication", "response_item"}
)
_BARE_CONFIDENCE = 0.6
"""Of lines that have only a time, a role and a text: any other format that knows them is surer."""
_CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|Current working directory: ([^\n]+)")


def recognise(head: Head) -> Likeness:
    """Return how surely the first lines are Codex's; the name tells nothing more.

    The first versions wrote a session as one JSON document.
    """
    if isinstance(head.opening, dict) and _is_document(head.opening):
        return Likeness(1.0, "conversations")
    own = weak = foreign = unreadable = 0
    is_marked = False
    for record in read_records(head.lines):
        if record is None:
            unreadable += 1
        elif _is_own(record):
            own += 1
        elif _is_bare(record):
            weak += 1
            is_marked = is_marked or _is_marked(record)
        else:
            foreign += 1
    if own:
        return Likeness(confidence(own + weak, foreign, unreadable))
    return Likeness(_BARE_CONFIDENCE * confidence(weak, foreign, unreadable) if is_marked else 0.0)


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the rollout is from its first lines; None when none of them is one of Codex's.

    The first header names it: a fork's file and a sub-agent's have an id of their own, and the headers of what
    they came from follow later. A rollout without an id is named by its first record.
    """
    records = [record for record in read_records(lines[:IDENTITY_LINES_MAX]) if record is not None]
    parts = [one for record in records for one in (_document(record) if _is_document(record) else (record,))]
    known = [one for one in parts if isinstance(one, dict) and (_is_own(one) or _is_bare(one))]
    if not known:
        return None
    headers = (header for record in known if (header := _header(record)) is not None)
    session = next((text_field(header, "id") for header in headers), None)
    try:
        session = session or f"rollout-{digest(compact_json(known[0]), size=8)}"
    except RecursionError:
        return None
    return Identity(session=session, key=session, cwd=next(filter(None, map(_cwd, known)), None))


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns, one for each record that says what no other record has said.

    Nothing raises: lines that are no record are counted as unreadable, records of unknown types by type.
    """
    rollout = Rollout.resume(state)
    unknown: Counter[str] = Counter()
    unreadable = 0
    for line in lines:
        rollout.next_line()
        for record in read_line(line):
            for one in (record,) if record is None or not _is_document(record) else _document(record):
                unreadable += not _taken(rollout, one, unknown)
    return Folded(
        turns=tuple(rollout.turns.values()),
        state=rollout.state(),
        removed=tuple(rollout.removed),
        unknown=dict(unknown),
        unreadable=unreadable,
        superseded=tuple(rollout.superseded),
        title=rollout.title,
    )


def _taken(rollout: Rollout, record: object, unknown: Counter[str]) -> bool:
    """Take in a record; tell whether it is one."""
    if not isinstance(record, dict) or not _is_record(record):
        return False
    try:
        _take(rollout, record, unknown)
    except RecursionError:
        # Its JSON is nested too deeply to be written again.
        return False
    return True


def _take(rollout: Rollout, record: Record, unknown: Counter[str]) -> None:
    kind, payload = text_field(record, "type"), record.get("payload")
    is_timed = "timestamp" in record or "created_at" in record
    # The items of the first versions have no time; what is known is when their session began.
    rollout.at(_time(record) if is_timed else rollout.began)
    header = _header(record)
    if header is not None:
        _meet(rollout, header)
    elif kind in _SILENT or "record_type" in record:
        return
    elif kind in _ENVELOPES and not isinstance(payload, dict):
        unknown[f"{kind} without payload"] += 1
    elif kind == "event_msg":
        _event(rollout, payload or {}, unknown)
    else:
        for said in _sayings(record, unknown):
            rollout.say(said)


def _event(rollout: Rollout, event: Record, unknown: Counter[str]) -> None:
    kind = event.get("type")
    if kind == "thread_rolled_back":
        count = event.get("num_turns")
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            rollout.roll_back(count)
        else:
            unknown["event thread_rolled_back without num_turns"] += 1
    elif kind == "thread_name_updated":
        if title := text_field(event, "thread_name"):
            rollout.call(title)
    else:
        for said in events.sayings(event, unknown):
            rollout.say(said)


def _sayings(record: Record, unknown: Counter[str]) -> list[Saying]:
    kind, payload = record.get("type"), record.get("payload")
    if kind == "response_item" and isinstance(payload, dict):
        return items.sayings(payload, unknown)
    if kind == "compacted" and isinstance(payload, dict):
        # What it puts in the place of the conversation repeats what stands before it.
        text = text_field(payload, "message")
        return [Saying("c", "system", (Part("summary", text),), "assistant")] if text else []
    if kind == "inter_agent_communication" and isinstance(payload, dict):
        parts = content_parts(payload.get("content"), unknown)
        return (
            [Saying("c", "user", tuple(parts), "mail", speaker=text_field(payload, "author"))]
            if parts
            else []
        )
    if items.is_item(record):
        return items.sayings(record, unknown)
    unknown[str(kind)] += 1
    return []


def _meet(rollout: Rollout, header: Record) -> None:
    """Take in a header. The first is the rollout's own; later ones came along with what it was forked from."""
    if rollout.is_met:
        return
    rollout.is_met = True
    rollout.began = _time(header)
    rollout.agent = _agent(header)
    if text := text_field(header, "instructions"):
        rollout.say(Saying("c", "system", (Part("notice", text),), once=True))


def _agent(header: Record) -> str | None:
    """Return the name of the sub-agent whose rollout it is, None for a session of a person."""
    source = header.get("source")
    below = source.get("subagent") if isinstance(source, dict) else None
    nickname = text_field(header, "agent_nickname") or text_field(header, "agent_role")
    if isinstance(below, str):
        return nickname or below or "agent"
    if isinstance(below, dict):
        inner = next((value for value in below.values() if isinstance(value, dict)), {})
        named = next((value for value in below.values() if isinstance(value, str) and value), None)
        found = text_field(inner, "agent_nickname") or text_field(inner, "agent_role")
        return nickname or found or named or "agent"
    return nickname


def _header(record: Record) -> Record | None:
    payload = record.get("payload")
    if record.get("type") == _META:
        return payload if isinstance(payload, dict) else None
    is_bare = "type" not in record and "role" not in record and "record_type" not in record
    has_more = "instructions" in record or "git" in record or record.keys() <= {"id", "timestamp", "cwd"}
    return record if is_bare and has_more and text_field(record, "id") and "timestamp" in record else None


def _cwd(record: Record) -> str | None:
    payload = record.get("payload")
    fields: Record = payload if isinstance(payload, dict) else record
    if cwd := text_field(fields, "cwd"):
        return cwd
    for part in content_parts(fields.get("content"), Counter()) if fields.get("role") == "user" else ():
        if found := _CWD.search(part.text[:2_000]):
            return (found[1] or found[2]).strip()
    return None


def _time(record: Record) -> str | None:
    for field in ("timestamp", "created_at"):
        if found := time_field(record, field) or epoch_time(record.get(field)):
            return found
    return None


def _is_document(record: Record) -> bool:
    return isinstance(record.get("session"), dict) and isinstance(record.get("items"), list)


def _document(record: Record) -> list[Any]:
    """Return the header and the items of a session that is one JSON document."""
    return [{"type": _META, "payload": record["session"]}, *record["items"]]


def _is_record(record: Record) -> bool:
    return (
        isinstance(record.get("type"), str) or "record_type" in record or _is_own(record) or _is_bare(record)
    )


def _is_own(record: Record) -> bool:
    kind = record.get("type")
    if kind is not None and not isinstance(kind, str):
        return False
    if kind in _ENVELOPES:
        return isinstance(record.get("payload"), dict)
    if kind is None:
        return record.get("record_type") == "state" or _header(record) is not None
    if kind == "message":
        blocks = record.get("content")
        types = (
            [block.get("type") for block in blocks if isinstance(block, dict)]
            if isinstance(blocks, list)
            else []
        )
        return isinstance(record.get("role"), str) and any(
            one in ("input_text", "output_text") for one in types
        )
    if kind == "reasoning":
        return isinstance(record.get("summary"), list)
    return kind in ("function_call", "function_call_output") and isinstance(record.get("call_id"), str)


def _is_bare(record: Record) -> bool:
    """Tell whether a record has the shape of the oldest logs: a time, and a role with a text or a tool's name."""
    if "timestamp" not in record and "created_at" not in record:
        return False
    kind = record.get("type")
    if kind is None:
        is_spoken = record.get("role") in ("user", "assistant", "system", "tool")
        return is_spoken and any(isinstance(record.get(field), str) for field in ("content", "message"))
    if kind in ("tool_call", "function_call"):
        return isinstance(record.get("function"), dict)
    return kind in ("tool_result", "function_result", "error") and ("result" in record or "text" in record)


def _is_marked(record: Record) -> bool:
    return "created_at" in record or isinstance(record.get("function"), dict)
