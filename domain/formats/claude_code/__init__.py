"""Claude Code's transcripts: one JSON record a line, in a file for each session and each sub-agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from chronofile.domain.formats.claude_code.branches import Branches
from chronofile.domain.formats.claude_code.chains import Chains
from chronofile.domain.formats.claude_code.queue import Queue
from chronofile.domain.formats.claude_code.records import READERS, Place, message_id, title_of, turns_of
from chronofile.domain.formats.draft import Draft
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    compact_json,
    confidence,
    read_line,
    read_records,
    text_field,
    time_field,
)
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, State

name = "claude-code"
version = 1
is_json = True

IDENTITY_LINES_MAX = 200

# Records that are known to hold no words of a turn, or only words that another record holds too:
# progress repeats a sub-agent's own file and a tool's result.
_SILENT = frozenset(
    {
        "agent-name", "atis-latch", "bridge-session", "file-history-snapshot", "last-prompt", "mode",
        "permission-mode", "progress", "relocated", "started", "worktree-state",
    }
)  # fmt: skip
_TITLES = ("summary", "ai-title", "custom-title")
"""What says how a session is called; the later in this list is believed before the earlier."""


def recognise(head: Head) -> Likeness:
    """Return how surely the first lines are Claude Code's; the name tells nothing more.

    A session on the web is one JSON document with the same records.
    """
    document = head.opening if isinstance(head.opening, dict) else {}
    if (records := _of_document(document)) is not None:
        verdicts = [
            isinstance(record, dict) and (_is_own(record) or _is_spoken(record)) for record in records
        ]
        return Likeness(confidence(verdicts.count(True), verdicts.count(False), 0), "conversations")
    found = [None if record is None else _is_own(record) for record in read_records(head.lines)]
    return Likeness(confidence(found.count(True), found.count(False), found.count(None)))


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the transcript is from its first lines; None when no record names its session.

    A file that holds nothing but a sub-agent's records is a session of its own: `<session>/agent-<id>`.
    Of several session ids, as a resumed session may have, the one that the file is named by wins. A session on the
    web has the key `<session>/web`, so that the same session's file is another source.
    """
    records = [record for record in read_records(lines[:IDENTITY_LINES_MAX]) if record is not None]
    if records and (inner := _of_document(records[0])) is not None:
        return _identify_document([record for record in inner if isinstance(record, dict)])
    sessions = [session for record in records if (session := text_field(record, "sessionId"))]
    if not sessions:
        return None
    stem = PurePosixPath(path_name.replace("\\", "/")).stem
    session = stem if stem in sessions else sessions[0]
    agent = _agent_id(records, stem)
    if agent is not None and session != f"agent-{agent}":
        session = f"{session}/agent-{agent}"
    return Identity(session=session, key=session, cwd=_cwd(records))


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns.

    Records of one assistant message are one turn; its later records bring it again, whole. Sidechains
    inside a main session's file have a session of their own. Nothing raises: lines that are no JSON
    object are counted as unreadable, records and blocks of unknown types by type.
    """
    session = _Session.resume(state)
    for line in lines:
        session.draft.line += 1
        for number, record in enumerate(_records(line), start=1):
            if not isinstance(record, dict) or not isinstance(record.get("type"), str):
                session.unreadable += 1
            else:
                line_key = f"line-{session.draft.line}"
                session.take(record, line_key if number == 1 else f"{line_key}.{number}")
    return session.folded()


@dataclass(slots=True)
class _Session:
    """A session as far as it is folded."""

    draft: Draft
    chains: Chains
    queue: Queue
    branches: Branches
    rank: int = -1
    """Which of _TITLES the title is from."""
    title: str | None = None
    removed: list[str] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0

    @classmethod
    def resume(cls, state: State | None) -> _Session:
        rank = -1 if state is None else state.get("title_rank", -1)
        return cls(
            Draft.resume(state), Chains.resume(state), Queue.resume(state), Branches.resume(state), rank
        )

    def take(self, record: Record, key: str) -> None:
        kind = record["type"]
        place = Place(self.chains.session(record), _agent_name(record), key)
        if kind not in READERS:
            self.unknown.update([kind] if kind not in _SILENT else [])
            self.branches.pass_by(record)
            return
        turns = turns_of(record, place, self.unknown)
        if turns is None:
            self.unreadable += 1
            return
        self._name(record)
        if kind in ("user", "attachment"):
            self._take_back(self.queue.taken(turns))
        self._supersede(self.branches.take(record, turns))
        for turn in turns:
            if kind == "queue-operation":
                self.queue.add(turn)
            self.draft.add(turn, may_grow=turn.key == message_id(record))

    def folded(self) -> Folded:
        state = {
            **self.draft.state(),
            **self.chains.state(),
            **self.queue.state(),
            **self.branches.state(),
            "title_rank": self.rank,
        }
        return Folded(
            turns=self.draft.changed(),
            state=state,
            removed=tuple(self.removed),
            unknown=dict(self.unknown),
            unreadable=self.unreadable,
            superseded=tuple(self.superseded),
            title=self.title,
        )

    def _name(self, record: Record) -> None:
        title = title_of(record)
        if title is not None and (rank := _TITLES.index(record["type"])) >= self.rank:
            self.title, self.rank = title, rank

    def _take_back(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.branches.live.pop(key, None)
            if self.draft.turns.pop(key, None) is None:
                self.removed.append(key)

    def _supersede(self, keys: Sequence[str]) -> None:
        for key in keys:
            if key in self.draft.turns:
                self.draft.turns[key] = replace(self.draft.turns[key], superseded=True)
            self.superseded.append(key)


def _records(line: str) -> Iterator[object]:
    """Yield the records of a line; those within a session of the web one by one."""
    for record in read_line(line):
        inner = None if record is None else _of_document(record)
        if inner is None:
            yield record
        else:
            yield from inner


def _of_document(record: Record) -> list[object] | None:
    """Return the records of a session on the web, None where a record is none."""
    records = record.get("loglines")
    return records if isinstance(records, list) else None


def _identify_document(records: Sequence[Record]) -> Identity | None:
    spoken = [record for record in records if _is_spoken(record)]
    if not spoken:
        return None
    named = (text_field(record, "sessionId") or text_field(record, "session_id") for record in records)
    session = next(filter(None, named), None)
    if session is None:
        try:
            first = compact_json([spoken[0].get("timestamp"), spoken[0].get("message")])
        except RecursionError:
            return None
        session = f"web-{digest(first, size=8)}"
    times = [at for record in records if (at := time_field(record, "timestamp"))]
    return Identity(session, f"{session}/web", _cwd(records), updated=max(times, default=None))


def _cwd(records: Sequence[Record]) -> str | None:
    return next((cwd for record in records if (cwd := text_field(record, "cwd"))), None)


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


def _is_spoken(record: Record) -> bool:
    message = record.get("message")
    return record.get("type") in ("user", "assistant") and isinstance(message, dict) and "content" in message


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
    return isinstance(kind, str) and "sessionId" in record and "systemPayload" not in record
