"""Copilot's chats in VS Code: what "Export Chat" writes, and the editor's own session files, whole or as a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.formats.copilot_vscode.log import Log, is_appending, is_operation
from chronofile.domain.formats.copilot_vscode.parts import path_of
from chronofile.domain.formats.copilot_vscode.requests import Speakers, question, request_turns
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    compact_json,
    confidence,
    epoch_time,
    read_line,
    read_records,
    text_field,
)
from chronofile.domain.formats.standing import Standing
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, State, Turn

name = "copilot-vscode"
version = 1
is_json = True

VERSIONS = (1, 2, 3)
SIGHTED_MAX = 50
"""Requests of a chat that are looked at to recognise it."""
_NESTED_MAX = 100


def recognise(head: Head) -> Likeness:
    """Return how surely a file's beginning is a chat of VS Code; the name tells nothing more."""
    first = next((record for line in head.lines[:1] for record in read_line(line)), None)
    if first is None or not is_operation(first):
        found = (_confidence(chat) for chat in head.conversations[:SIGHTED_MAX])
        return Likeness(max(found, default=0.0), "conversations")
    begun = first.get("v")
    if not isinstance(begun, dict) or _confidence(begun) == 0.0:
        return Likeness(0.0)
    verdicts = [None if record is None else is_operation(record) for record in read_records(head.lines)]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), verdicts.count(None)))


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the chat is: its session, or, in an export, which names none, its first request."""
    for record in read_records(lines):
        if record is None:
            continue
        chat = record.get("v") if is_operation(record) else record
        if not isinstance(chat, dict):
            return None
        requests = _requests(chat)
        first = requests[0] if requests else {}
        session = text_field(chat, "sessionId") or text_field(first, "requestId")
        if session is None and first:
            session = digest(question(first), epoch_time(first.get("timestamp")), size=12)
        if session is None:
            return None
        times = [chat.get("lastMessageDate"), *(request.get("timestamp") for request in requests)]
        told = [at for value in times if (at := epoch_time(value))]
        updated = max(told, default=None) if chat is record else None
        return Identity(session=session, key=session, cwd=_folder(requests), updated=updated)
    return None


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns: a whole chat a line, or a log of changes to one.

    Of a log only the last requests can still change; they are made anew with each change. Requests that were cut
    off are superseded. Nothing raises: what is no record is counted as unreadable, parts of unknown kind by kind.
    """
    chat = _Chat.resume(state)
    for line in lines:
        for record in read_line(line):
            try:
                chat.take(record)
            except RecursionError:
                chat.unreadable += 1
    chat.show()
    return chat.folded()


@dataclass(slots=True)
class _Chat:
    log: Log = field(default_factory=Log)
    standing: Standing = field(default_factory=Standing)
    counted: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    title: str | None = None
    titles: list[str] = field(default_factory=list)
    is_whole: bool = False
    """Whether the chat came as a whole, so that nothing is added to it."""

    @classmethod
    def resume(cls, state: State | None) -> _Chat:
        if not state:
            return cls()
        standing = Standing.resume(state["standing"])
        return cls(
            Log.resume(state["log"]), standing, Counter(state["counted"]), titles=list(state["titles"])
        )

    def folded(self) -> Folded:
        state: dict[str, Any] = {}
        if not self.is_whole:
            if not _is_storable(self.log.open):
                self.unreadable, self.log.open = self.unreadable + 1, {}
            state = {
                "log": self.log.packed(),
                "standing": self.standing.packed(),
                "counted": dict(self.counted),
                "titles": self.titles,
            }
        turns, gone = tuple(self.standing.turns.values()), tuple(self.standing.taken_back)
        return Folded(turns, state, (), dict(self.unknown), self.unreadable, gone, self.title)

    def take(self, record: Record | None) -> None:
        if record is None:
            self.unreadable += 1
            return
        if not is_appending(record):
            # What a change takes away was said before it; what grows is shown once, when it has grown.
            self.show()
        if is_operation(record):
            missed = self.log.take(record)
        elif isinstance(record.get("requests"), list):
            missed = self.log.take({"kind": 0, "v": record})
            self.is_whole = True
        else:
            self.unknown[f"record {text_field(record, 'kind') or next(iter(record), '')}"] += 1
            return
        self.unknown.update(missed)

    def show(self) -> None:
        """Bring the turns to what the log says now."""
        for gone in self.log.taken_out():
            if gone in self.standing.messages:
                self.standing.take_back(gone)
        self._note(self.log.fields)
        speakers = Speakers(
            text_field(self.log.fields, "requesterUsername"), text_field(self.log.fields, "responderUsername")
        )
        for key, request in self.log.changed():
            found = Counter[str]()
            try:
                turns = request_turns(request, key, speakers, found)
            except RecursionError:
                self.unreadable += 1
                continue
            self.standing.put(key, turns)
            self._count(key, found)

    def _count(self, key: str, found: Counter[str]) -> None:
        """Count what is not known once, though a request is read again with each change."""
        for kind, number in found.items():
            mark = f"{digest(key, size=4)} {kind}"
            if number > self.counted[mark]:
                self.unknown[kind] += number - self.counted[mark]
                self.counted[mark] = number

    def _note(self, fields: Record) -> None:
        number = fields.get("version", VERSIONS[-1])
        if number not in VERSIONS and not self.counted["version"]:
            self.counted["version"] = 1
            self.unknown[f"version {number}"] += 1
        title = text_field(fields, "customTitle")
        if title is None:
            return
        self.title = title
        if (key := f"title:{digest(title, size=8)}") not in self.titles:
            self.titles.append(key)
            self.standing.turns[key] = Turn(key, (key,), "system", None, None, (Part("notice", title),))


def _is_storable(value: object) -> bool:
    """Tell whether a value is nested so little that it can be written again, also within something else."""
    for _ in range(_NESTED_MAX):
        value = [value]
    try:
        compact_json(value)
    except (RecursionError, ValueError):
        return False
    return True


def _requests(chat: Record) -> list[Record]:
    requests = chat.get("requests")
    return (
        [request for request in requests if isinstance(request, dict)] if isinstance(requests, list) else []
    )


def _folder(requests: Sequence[Record]) -> str | None:
    """Return the folder that relative links in the answers are meant from, which is the workspace's."""
    for request in requests:
        for piece in _pieces(request.get("response")):
            base = piece.get("baseUri")
            if isinstance(base, dict) and base.get("scheme") == "file":
                return path_of(base).rstrip("/") or None
    return None


def _pieces(response: object) -> Iterator[Record]:
    for piece in response if isinstance(response, list) else []:
        if isinstance(piece, dict):
            yield piece


def _confidence(chat: Record) -> float:
    if not isinstance(chat.get("requests"), list):
        return 0.0
    has_frame = "responderUsername" in chat or ("sessionId" in chat and "creationDate" in chat)
    looked = _requests(chat)[:SIGHTED_MAX]
    if not looked:
        return 0.9 if has_frame and ("initialLocation" in chat or "version" in chat) else 0.0
    own = sum(
        "message" in request and ("response" in request or "requestId" in request) for request in looked
    )
    return (1.0 if has_frame else 0.8) * own / len(looked)
