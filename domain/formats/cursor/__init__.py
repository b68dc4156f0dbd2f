"""Cursor's conversations: agents' transcripts as JSON Lines, and the rows of its databases, one a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from chronofile.domain.formats.cursor.messages import ROLES, message_turn
from chronofile.domain.formats.cursor.rows import Rows, begins_with_row
from chronofile.domain.formats.draft import Draft
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import Record, confidence, read_line, read_records, text_field
from chronofile.domain.turns import Folded, Identity, Likeness, State

name = "cursor"
version = 1
is_json = True

_FOLDER = "agent-transcripts"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def recognise(head: Head) -> Likeness:
    """Return how surely the first lines are an agent's transcript, which has no ids and no envelope."""
    is_there = f"/{_FOLDER}/" in head.name.replace("\\", "/")
    verdicts = [None if one is None else _is_own(one, is_there) for one in read_records(head.lines)]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), verdicts.count(None)))


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who a transcript is, by its file's name and folder, or a conversation, by its rows.

    A sub-agent's transcript is a session of its own, `<session>/agent-<id>`. Cursor keeps one conversation in
    several places, which say different things of it: these are sources of their own with one session.
    """
    if begins_with_row(lines):
        return Rows.of(lines).identity(path_name)
    path = PurePosixPath(path_name.replace("\\", "/"))
    above = path.parent.name
    if above == "subagents":
        session = f"{path.parent.parent.name}/agent-{path.stem}"
    elif _UUID.fullmatch(path.stem) or above in (path.stem, _FOLDER):
        session = path.stem
    else:
        session = f"{above}/{path.stem}" if above else path.stem
    return Identity(session=session, key=f"transcript:{session}")


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns: a transcript range by range, the rows of a conversation all at once."""
    if not state and begins_with_row(lines):
        return Rows.of(lines).folded()
    # What is left of rows is an empty state.
    draft = Draft.resume(state or None)
    unknown: Counter[str] = Counter()
    unreadable = 0
    for line in lines:
        draft.line += 1
        for number, record in enumerate(read_line(line), start=1):
            key = f"line-{draft.line}" if number == 1 else f"line-{draft.line}.{number}"
            turn = None if record is None else message_turn(record, key, unknown)
            unreadable += turn is None
            if turn is not None and turn.parts:
                draft.add(turn)
    return Folded(draft.changed(), draft.state(), (), dict(unknown), unreadable)


def _is_own(record: Record, is_there: bool) -> bool:
    """Tell whether a record has Cursor's form; a bare one, as many tools write it, only in Cursor's own folder.

    Rows come from databases alone: a file with such lines is somebody else's.
    """
    if record.get("type") == "turn_ended":
        return "status" in record
    if (
        text_field(record, "role") not in ROLES
        or {"type", "id", "uuid", "sessionId", "session", "parts"} & record.keys()
    ):
        return is_there and record.get("type") == "error"
    message = record.get("message")
    return "content" in message if isinstance(message, dict) else is_there and "content" in record
