"""OpenCode's sessions: the session, its messages and their parts, one a line, from small files or from a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chronofile.domain.formats.cursor.bubbles import embedded
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.opencode.parts import LATER, TYPES, failure, records, split_parts
from chronofile.domain.formats.records import Record, epoch_time, read_line, text_field, time_field
from chronofile.domain.formats.whole import Conversation
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, Role, State, Turn

name = "opencode"
version = 1
is_json = True

_MAJOR_MAX = 1
_ROLES: Mapping[object, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
_SESSION_FIELDS = frozenset(
    {
        "agent", "cost", "directory", "id", "metadata", "model", "parentID", "path", "permission", "projectID",
        "revert", "share", "slug", "summary", "time", "title", "tokens", "version", "workspaceID",
    }
)  # fmt: skip
_OWN_FIELDS = frozenset({"directory", "parentID", "projectID", "slug"})
_SILENT_MESSAGES = frozenset({"agent-switched", "model-switched"})


def recognise(head: Head) -> Likeness:
    """Return how surely a file is a session, one of its messages or parts, or an export of a session."""
    opening = head.opening
    found = opening if isinstance(opening, dict) else {}
    kind, folder = _kind(found), head.name.replace("\\", "/").split("/")[-3:-2]
    is_there = any(kind and name.endswith(kind) for name in folder)
    if kind is None:
        return Likeness(0.0)
    sure = kind == "export" or bool(_OWN_FIELDS & found.keys()) or "sessionID" in found
    return Likeness(
        0.95 if sure and is_there else 0.9 if sure else 0.7 if is_there else 0.55, "conversations"
    )


def kind_of(head: Head) -> str | None:
    """Tell what a file is: `session`, `message`, `part`, `export`, or None where it is nothing of OpenCode's."""
    return _kind(head.opening) if isinstance(head.opening, dict) else None


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who a session is, by its own id; None where it has no messages."""
    held = _Session.of(lines)
    if not held.messages and not held.parts:
        return None
    session = held.id
    if session is None:
        first = held.messages[0].key if held.messages else repr(next(iter(held.parts.values())))
        session = digest("opencode", first, repr(_times(held.value).get("created")), size=16)
    times = _times(held.value)
    stamps = (times.get("updated"), held.value.get("time_updated"), times.get("created"))
    updated = next((at for value in stamps if (at := epoch_time(value))), None)
    seen = [at for message in held.messages if (at := _at(message))]
    cwd = text_field(held.value, "directory")
    return Identity(session, session, cwd=cwd, updated=updated or max(seen, default=None))


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold a whole session into turns, one for each message. Nothing raises."""
    held = _Session.of(lines)
    conversation = Conversation(unreadable=held.unreadable, unknown=held.unknown)
    number = (text_field(held.value, "version") or "0").split(".")[0]
    if number.isdigit() and int(number) > _MAJOR_MAX:
        conversation.unknown[f"version {number}"] += 1
    title = text_field(held.value, "title")
    if title:
        conversation.title = title
        key = f"title:{digest(title, size=8)}"
        conversation.add(Turn(key, (), "system", None, None, (Part("notice", title),)))
    for turn in held.turns(conversation):
        conversation.add(turn)
    return conversation.folded()


@dataclass(slots=True)
class _Message:
    """A message or, of the later tables, anything that stands in their order: its id, its value, and when it was stored."""

    key: str
    value: Record
    kind: str = "message"
    stored: object = None


@dataclass(slots=True)
class _Session:
    """The records of one session by what they are; parts by their message's id, in order, with their own ids."""

    id: str | None = None
    value: Record = field(default_factory=dict)
    messages: list[_Message] = field(default_factory=list)
    parts: dict[str, list[tuple[str, Record]]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Session:
        held = cls()
        for line in lines:
            for record in read_line(line):
                if record is None:
                    held.unreadable += 1
                elif isinstance(record.get("messages"), list):
                    held._add_export(record)
                else:
                    held._add(record)
        return held

    def _add(self, record: Record) -> None:
        kind, value = record.get("kind"), embedded(record.get("value"))
        if not isinstance(value, dict):
            self.unreadable += 1
            return
        own = text_field(value, "id") or text_field(record, "id")
        if kind == "session":
            self.id, self.value = own or self.id, value
        elif kind in ("message", "session_message"):
            number = len(self.messages) + 1
            message = _Message(own or f"message-{number}", value, stored=record.get("time_created"))
            if kind == "session_message":
                message.kind = text_field(record, "type") or text_field(value, "type") or ""
            self.id = self.id or text_field(value, "sessionID") or text_field(record, "session_id")
            self.messages.append(message)
            # The oldest versions keep the parts within the message.
            for part in records(value.get("parts")):
                self._add_part(message.key, text_field(part, "id") or "", part)
        elif kind == "part":
            of = text_field(record, "message_id") or text_field(value, "messageID") or ""
            self._add_part(of, own or "", value)
        else:
            self.unknown[f"record {kind}"] += 1

    def _add_part(self, message: str, own: str, part: Record) -> None:
        self.parts.setdefault(message, []).append((own, part))

    def _add_export(self, record: Record) -> None:
        """Take in what `opencode export` writes: a session with its messages and their parts."""
        about = record.get("info")
        if isinstance(about, dict):
            self.value, self.id = about, text_field(about, "id")
        for one in records(record.get("messages")):
            inner = one.get("info", one)
            if not isinstance(inner, dict):
                self.unreadable += 1
                continue
            key = text_field(inner, "id") or f"message-{len(self.messages) + 1}"
            self.messages.append(_Message(key, inner))
            for part in records(one.get("parts")):
                self._add_part(key, text_field(part, "id") or "", part)

    def turns(self, conversation: Conversation) -> Iterator[Turn]:
        revert = embedded(self.value.get("revert"))
        mark: Record = revert if isinstance(revert, dict) else {}
        is_child = bool(text_field(self.value, "parentID") or text_field(self.value, "parent_id"))
        is_left = False
        for message in self.messages:
            begins = message.key == text_field(mark, "messageID")
            from_part = text_field(mark, "partID") if begins else None
            is_left = is_left or (begins and from_part is None)
            try:
                turn, rest = self._turn(message, from_part, is_child, conversation.unknown)
            except RecursionError:
                conversation.unreadable += 1
                continue
            yield replace(turn, superseded=is_left)
            if from_part is not None:
                is_left = True
                yield replace(turn, key=f"{turn.key}#reverted", parts=rest, superseded=True)
        known = {message.key for message in self.messages}
        for key in [key for key in self.parts if key not in known]:
            conversation.unknown["message missing"] += 1
            try:
                parts, _ = split_parts(self.parts[key], None, conversation.unknown)
            except RecursionError:
                conversation.unreadable += 1
                continue
            yield Turn(key, (key,) if key else (), "system", None, None, parts)

    def _turn(
        self, message: _Message, from_part: str | None, is_child: bool, unknown: Counter[str]
    ) -> tuple[Turn, tuple[Part, ...]]:
        """Return a message's turn, and the parts of it that were taken back."""
        value = message.value
        later = LATER.get(message.kind)
        if message.kind != "message" and later is None:
            unknown.update([] if message.kind in _SILENT_MESSAGES else [f"message {message.kind}"])
        role = _ROLES.get(text_field(value, "role") or message.kind)
        parts, rest = split_parts(self.parts.get(message.key, ()), from_part, unknown)
        if later is not None:
            parts = (*(part for part in later(value, unknown) if part.text), *parts)
        elif role is None and message.kind == "message":
            unknown["role"] += 1
        parts = (*parts, *failure(value.get("error")))
        if value.get("summary") is True:
            role = "system"
            parts = tuple(replace(part, type="summary") if part.type == "text" else part for part in parts)
        if role is None or (role == "user" and parts and all(part.type == "notice" for part in parts)):
            role = "system"
        agent = text_field(value, "agent") or text_field(value, "mode") or "agent"
        speaker = {"user": "agent", "assistant": agent}.get(role) if is_child else None
        return Turn(message.key, (message.key,), role, speaker, _at(message), parts), rest


def _at(message: _Message) -> str | None:
    value = message.value
    metadata = value.get("metadata")
    older = _times(metadata) if isinstance(metadata, dict) else {}
    stamps = (_times(value).get("created"), older.get("created"), message.stored)
    return next((at for one in stamps if (at := epoch_time(one))), None) or time_field(value, "createdAt")


def _times(record: Record) -> Record:
    times = embedded(record.get("time"))
    return times if isinstance(times, dict) else {}


def _kind(found: Record) -> str | None:
    """Tell by its fields what a file holds."""
    if isinstance(found.get("info"), dict) and isinstance(found.get("messages"), list):
        return "export" if _kind(found["info"]) == "session" else None
    if not text_field(found, "id") and text_field(found, "type") not in TYPES:
        return None
    if text_field(found, "role") in ("user", "assistant"):
        is_message = "created" in _times(found) or isinstance(found.get("metadata"), dict)
        return "message" if is_message and ("sessionID" in found or "parts" in found) else None
    if text_field(found, "type") in TYPES:
        is_part = "messageID" in found or "sessionID" in found
        return "part" if is_part or (text_field(found, "id") or "").startswith(("p_", "prt")) else None
    times = _times(found)
    counted = [times.get(one) for one in ("created", "updated")]
    is_counted = all(isinstance(one, int | float) and not isinstance(one, bool) for one in counted)
    is_session = bool(_OWN_FIELDS & found.keys()) or found.keys() <= _SESSION_FIELDS
    return "session" if is_counted and is_session else None
