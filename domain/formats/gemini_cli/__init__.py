"""Gemini CLI's sessions: one JSON document, or records one a line; and the older dumps and AI Studio's prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from chronofile.domain.formats.gemini_cli.parts import (
    Reading,
    content_parts,
    message_length,
    message_mark,
    message_turns,
    time_of,
)
from chronofile.domain.formats.gemini_cli.shapes import (
    SIGHTED_MAX,
    document_confidence,
    first_messages,
    is_message,
    is_metadata,
    is_own,
    messages_of,
    started,
)
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    confidence,
    read_line,
    read_records,
    text_field,
    time_field,
)
from chronofile.domain.formats.standing import Standing
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, State, Turn

name = "gemini-cli"
version = 1
is_json = True

KEY_MESSAGES_MIN = 4
KEY_CHARS_MIN = 120
"""Without an id and a time a conversation is named by so many of its first messages, or by more until they hold so
many code points: what Gemini CLI puts before a chat is the same in all, and many begin with the same words."""


def recognise(head: Head) -> Likeness:
    """Return how surely a file's beginning is a session of Gemini CLI; the name tells nothing more."""
    first = next((record for line in head.lines[:1] for record in read_line(line)), None)
    if first is None or messages_of(first) is not None:
        found = (document_confidence(document) for document in head.conversations[:SIGHTED_MAX])
        return Likeness(max(found, default=0.0), "conversations")
    records = read_records(head.lines)
    verdicts = [None if record is None else is_own(record) for record in records]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), verdicts.count(None)))


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the session is; None where nothing names it and nobody has said anything yet.

    A sub-agent's session has its parent's id and the moment of its own beginning. Without an id a
    conversation is known by its beginning and its first message; without a time by its first messages and by its
    file's name, since those who begin with the same words are many.
    """
    records = [record for record in read_records(lines) if record is not None]
    if not records:
        return None
    head = next((record for record in records if text_field(record, "sessionId")), records[0])
    session, begun = text_field(head, "sessionId"), started(head)
    updated = time_field(head, "lastUpdated") if messages_of(head) is not None else None
    if session is None:
        session = text_field(head, "id") or _named_by_words(records, begun, path_name)
        if session is None:
            return None
    if head.get("kind") != "subagent":
        return Identity(session=session, key=session, updated=updated)
    # Sub-agents' files lie in a folder that is named by the session that called them.
    above = PurePosixPath(path_name.replace("\\", "/")).parent.name
    parent = above if above not in ("", "chats") else session
    key = f"{session}/agent-{digest(begun, size=4)}"
    own = f"{parent}/agent-{session}" if parent != session else key
    return Identity(session=own, key=key, updated=updated)


def _named_by_words(records: Sequence[Record], begun: str | None, path_name: str) -> str | None:
    messages = first_messages(records)
    first = next(messages, None)
    if first is None:
        return None
    at = time_of(first)
    said = [begun, at, text_field(first, "id"), message_mark(first)]
    if begun is None and at is None:
        said.append(PurePosixPath(path_name.replace("\\", "/")).stem)
        # What is written line by line grows, and is named by what its first line said for ever.
        number, length = 1, message_length(first)
        for message in messages if messages_of(records[0]) is not None else ():
            if number >= KEY_MESSAGES_MIN and length >= KEY_CHARS_MIN:
                break
            said += [text_field(message, "id"), message_mark(message)]
            number, length = number + 1, length + message_length(message)
    return digest(*said, size=12)


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns.

    A message whose id comes again takes the former's place. What a rewind or a rewritten history leaves out is
    superseded. Nothing raises: what is no record is counted as unreadable, messages and parts of unknown type by type.
    """
    session = _Session.resume(state)
    for line in lines:
        session.line += 1
        for record in read_line(line):
            try:
                session.take(record)
            except RecursionError:
                session.unreadable += 1
    return session.folded()


@dataclass(slots=True)
class _Session:
    """What the records come to: the messages that hold, and what is told of the session as a whole."""

    reading: Reading = field(default_factory=Reading)
    standing: Standing = field(default_factory=Standing)
    line: int = 0
    unreadable: int = 0
    title: str | None = None
    titles: list[str] = field(default_factory=list)

    @classmethod
    def resume(cls, state: State | None) -> _Session:
        if state is None:
            return cls()
        reading = Reading(results=dict.fromkeys(state["results"]), is_aside=state["aside"])
        return cls(reading, Standing.resume(state["standing"]), state["line"], titles=list(state["titles"]))

    def folded(self) -> Folded:
        state = {
            "line": self.line,
            "standing": self.standing.packed(),
            "results": list(self.reading.results),
            "aside": self.reading.is_aside,
            "titles": self.titles,
        }
        return Folded(
            turns=tuple(self.standing.turns.values()),
            state=state,
            unknown=dict(self.reading.unknown),
            unreadable=self.unreadable,
            superseded=tuple(self.standing.taken_back),
            title=self.title,
        )

    def take(self, record: Record | None) -> None:
        if record is None:
            self.unreadable += 1
        elif isinstance(record.get("$rewindTo"), str):
            self.standing.rewind_to(record["$rewindTo"])
        elif isinstance(record.get("$set"), dict):
            self._set(record["$set"])
        elif messages_of(record) is not None or is_metadata(record):
            self._document(record)
        elif is_message(record):
            self._replace(record)
        elif not record.keys() & {"type", "role"}:
            self.reading.unknown[f"record {next(iter(record), '')}"] += 1
        else:
            self.reading.unknown[f"message {record.get('type') or record.get('role')}"] += 1

    def _document(self, record: Record) -> None:
        self._note(record)
        for message in messages_of(record) or ():
            if not isinstance(message, dict):
                self.unreadable += 1
            else:
                self._add(message)

    def _note(self, fields: Record) -> None:
        """Take in what is told of the session as a whole."""
        if fields.get("kind") == "subagent":
            self.reading.is_aside = True
        self._instruct(fields.get("systemInstruction"))
        for title in (text_field(fields, "summary"), text_field(fields, "title")):
            if title is None:
                continue
            self.title = title
            if (key := f"title:{digest(title, size=8)}") not in self.titles:
                self.titles.append(key)
                kind = "summary" if title == fields.get("summary") else "notice"
                part = Part("summary", title) if kind == "summary" else Part("notice", title)
                self.standing.turns[key] = Turn(key, (key,), "system", None, None, (part,))

    def _instruct(self, instruction: object) -> None:
        content = instruction.get("parts", instruction) if isinstance(instruction, dict) else instruction
        parts = tuple(content_parts(content, self.reading.unknown)) if content else ()
        if any(part.text for part in parts):
            self.standing.turns["system"] = Turn("system", (), "system", None, None, parts)

    def _replace(self, message: Record) -> None:
        """Let a message hold in the place of the one with its id."""
        native = text_field(message, "id")
        if native is None:
            self._add(message)
            return
        stood = self.standing.messages.get(native)
        key = stood.keys[0].partition("/")[0] if stood is not None and stood.keys else native
        turns = message_turns(message, key, self.reading)
        self.standing.put(native, turns, message_mark(message))

    def _add(self, message: Record) -> None:
        """Let a message hold beside all others; two with one id that say different things are two."""
        native = text_field(message, "id")
        if native is None:
            kind, at = (
                str(message.get("type") or message.get("role")),
                str(message.get("timestamp", message.get("ts"))),
            )
            native = digest(kind, at, message_mark(message), size=8)
        elif (stood := self.standing.messages.get(native)) and stood.mark == message_mark(message):
            return
        key = self.standing.free_name(native)
        turns = message_turns(message, key, self.reading)
        self.standing.put(key, turns, message_mark(message))

    def _set(self, fields: Record) -> None:
        self._note(fields)
        messages = fields.get("messages")
        if isinstance(messages, list):
            self._rewrite(messages)

    def _rewrite(self, messages: list[Any]) -> None:
        """Let these messages hold and no others.

        What is left out was compacted; a message that says something else than before was cut or masked: both
        are kept as they were said, and superseded.
        """
        records = [message for message in messages if isinstance(message, dict)]
        self.unreadable += len(messages) - len(records)
        names = [text_field(record, "id") for record in records]
        for gone in self.standing.messages.keys() - set(names):
            self.standing.take_back(gone)
        for record, native in zip(records, names, strict=True):
            stood = self.standing.messages.get(native) if native else None
            if native is None or stood is None:
                self._add(record)
                continue
            mark = message_mark(record)
            if mark != stood.mark:
                turns = message_turns(record, f"{native}#{mark}", self.reading)
                self.standing.put(native, turns, mark)
        self.standing.arrange(found for found in names if found)
