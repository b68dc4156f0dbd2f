"""The events of Copilot CLI's sessions as turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chronofile.domain.formats.attachments import attached, base64_size
from chronofile.domain.formats.calls import call_text, value_text
from chronofile.domain.formats.records import Record, text_field, time_field
from chronofile.domain.identity import digest
from chronofile.domain.turns import Part, PartType, Role, Turn

KNOWN_MAX = 500
"""Calls, agents and thoughts that are remembered, each kind by itself; the oldest is forgotten first."""

_LEGACY_ROLES: Mapping[str, tuple[Role, PartType]] = {
    "user": ("user", "text"),
    "assistant": ("assistant", "text"),
    "tool": ("tool", "tool_result"),
}
_TELLING = ("content", "message", "reasoningText", "toolCallId", "messageId", "title")


@dataclass(slots=True)
class Known:
    """What has to be known of earlier events: the session, the tools and agents by their calls, what was said."""

    session: str | None = None
    tools: dict[str, str] = field(default_factory=dict)
    agents: dict[str, str] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)

    @classmethod
    def resume(cls, packed: Mapping[str, Any]) -> Known:
        marks = dict.fromkeys(packed["marks"], "")
        return cls(packed["session"], dict(packed["tools"]), dict(packed["agents"]), marks)

    def packed(self) -> dict[str, Any]:
        # Lists, since what is stored does not keep the order of a mapping, in which things are forgotten.
        return {
            "session": self.session,
            "tools": [list(entry) for entry in self.tools.items()],
            "agents": [list(entry) for entry in self.agents.items()],
            "marks": list(self.marks),
        }

    def is_said(self, text: str) -> bool:
        """Tell whether a thought or a summary was said already, and remember it."""
        mark = digest("said", text, size=6)
        was_said = mark in self.marks
        keep(self.marks, mark, "")
        return was_said


@dataclass(frozen=True, slots=True)
class Event:
    """One event: what it tells, and whose it is. `agent` is the call that a sub-agent works for."""

    key: str
    ids: tuple[str, ...]
    at: str | None
    told: Record
    agent: str | None
    session: str | None
    speaker: str | None

    @classmethod
    def of(cls, record: Record, told: Record, key: str, known: Known) -> Event:
        native = text_field(record, "id")
        agent = text_field(told, "parentToolCallId") or text_field(record, "agentId")
        session = None
        if agent:
            session = f"{known.session}/agent-{agent}" if known.session else f"agent-{agent}"
        return cls(
            key=native or key,
            ids=(native,) if native else (),
            at=time_field(record, "timestamp"),
            told=told,
            agent=agent,
            session=session,
            speaker=known.agents.get(agent, "agent") if agent else None,
        )

    def mark(self, kind: str) -> str:
        """Return what tells this event from another with the same id."""
        found = self.told.get("result")
        said = [text_field(self.told, name) for name in _TELLING]
        return digest(kind, *said, text_field(found, "content") if isinstance(found, dict) else None, size=6)

    def turns(self, role: Role, *parts: Part, speaker: str | None = None) -> list[Turn]:
        """Return a turn of these parts, none where nothing is said."""
        said = tuple(part for part in parts if part.text)
        if not said:
            return []
        return [Turn(self.key, self.ids, role, speaker or self.speaker, self.at, said, self.session)]


def keep(names: dict[str, str], name: str, value: str) -> None:
    """Remember something as the newest, and forget the oldest where there is too much."""
    names.pop(name, None)
    names[name] = value
    if len(names) > KNOWN_MAX:
        del names[next(iter(names))]


def renamed(turn: Turn, key: str, longer: str) -> Turn:
    return replace(turn, key=longer + turn.key.removeprefix(key))


def notice(*fields: str) -> Callable[[Event, Known], list[Turn]]:
    """Return the reader of events in whose fields stands what a tool put in."""
    return _reader("notice", "system", fields)


def summary(*fields: str) -> Callable[[Event, Known], list[Turn]]:
    """Return the reader of events in whose fields stands what a model summed up, unless it was said already."""

    def read(event: Event, known: Known) -> list[Turn]:
        texts = [text for name in fields if (text := text_field(event.told, name))]
        return event.turns("system", *(Part("summary", text) for text in texts if not known.is_said(text)))

    return read


def words(role: Role, *fields: str) -> Callable[[Event, Known], list[Turn]]:
    """Return the reader of events in whose fields stands what somebody said."""
    return _reader("text", role, fields)


def _reader(kind: PartType, role: Role, fields: tuple[str, ...]) -> Callable[[Event, Known], list[Turn]]:
    def read(event: Event, known: Known) -> list[Turn]:
        texts = (text_field(event.told, name) for name in fields)
        return event.turns(role, *(Part(kind, text) for text in texts if text))

    return read


def begin(event: Event, known: Known) -> list[Turn]:
    known.session = text_field(event.told, "sessionId") or known.session
    return []


def agent(event: Event, known: Known) -> list[Turn]:
    """Take in the name of a sub-agent, under the call it works for and under its own id."""
    name = text_field(event.told, "agentDisplayName") or text_field(event.told, "agentName") or "agent"
    for call_id in (text_field(event.told, "toolCallId"), event.agent):
        if call_id:
            keep(known.agents, call_id, name)
    return []


def user(event: Event, known: Known) -> list[Turn]:
    """Return what a person typed; what was put around it, and messages that nobody typed, are notices."""
    typed = text_field(event.told, "content") or ""
    sent = text_field(event.told, "transformedContent") or ""
    source = text_field(event.told, "source") or "user"
    before, found, after = sent.partition(typed) if typed else ("", "", sent)
    around = [sent] if sent and not found and typed else [before, after]
    notices = [Part("notice", piece) for piece in around if piece.strip()]
    beside = list(_attachments(event.told.get("attachments")))
    if source.startswith("agent-") or (event.agent and source == "user"):
        return event.turns("user", Part("text", typed), *beside, *notices, speaker="agent")
    if event.told.get("isAutopilotContinuation") is True or source != "user":
        return event.turns("system", Part("notice", typed), *beside, *notices)
    role: Role = "user" if typed or beside else "system"
    return event.turns(role, Part("text", typed), *beside, *notices)


def _attachments(listed: object) -> Iterator[Part]:
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict):
            continue
        names = ("path", "filePath", "displayName", "title", "mimeType", "url")
        facts = dict.fromkeys(fact for name in names if (fact := text_field(one, name)))
        kind = text_field(one, "type") or "attachment"
        yield Part("text", attached(kind, *facts, base64_size(one.get("data"))))
        if text := text_field(one, "text"):
            yield Part("text", text)


def assistant(event: Event, known: Known) -> list[Turn]:
    """Return a message of the assistant: its thoughts, its words, and the tools it asks for."""
    parts: list[Part] = []
    thought = text_field(event.told, "reasoningText")
    if thought and not known.is_said(thought):
        parts.append(Part("thinking", thought))
    parts.append(Part("text", text_field(event.told, "content") or ""))
    requests = event.told.get("toolRequests")
    for request in requests if isinstance(requests, list) else []:
        if isinstance(request, dict):
            parts += _asked(request, text_field(request, "name"), known)
    turns = event.turns("assistant", *parts)
    message = text_field(event.told, "messageId")
    return [replace(turn, native_ids=(*turn.native_ids, message)) if message else turn for turn in turns]


def _asked(request: Record, tool: str | None, known: Known) -> list[Part]:
    """Return the call of a tool, unless it was said already."""
    call_id, arguments = text_field(request, "toolCallId"), request.get("arguments")
    if call_id is not None:
        if call_id in known.tools:
            return []
        keep(known.tools, call_id, tool or "tool")
    if isinstance(arguments, dict) and (told := text_field(arguments, "summary")):
        known.is_said(told)
    return [Part("tool_call", call_text(tool, arguments))]


def reasoning(event: Event, known: Known) -> list[Turn]:
    thought = text_field(event.told, "content") or ""
    return [] if known.is_said(thought) else event.turns("assistant", Part("thinking", thought))


def call(event: Event, known: Known) -> list[Turn]:
    """Return a call that no message asked for: a command that a person ran, or one that comes before its message."""
    return event.turns("assistant", *_asked(event.told, text_field(event.told, "toolName"), known))


def result(event: Event, known: Known) -> list[Turn]:
    """Return what a tool gave back; what only its person was shown stands beside it where it is something else."""
    tool = known.tools.get(text_field(event.told, "toolCallId") or "")
    found = event.told.get("result")
    failure = event.told.get("error")
    texts: list[str] = []
    if isinstance(found, dict):
        content, detailed = text_field(found, "content") or "", text_field(found, "detailedContent") or ""
        texts = [detailed if content in detailed else content, "" if detailed in content else detailed]
        texts = texts[:1] if texts[0] == texts[1] else texts
        if not any(texts):
            texts = list(_blocks(found.get("contents")))
    elif isinstance(found, str):
        texts = [found]
    if isinstance(failure, dict):
        failure = text_field(failure, "message")
    if isinstance(failure, str) and failure not in texts:
        texts.append(failure)
    name = None if event.agent else tool
    return event.turns("tool", *(Part("tool_result", text) for text in texts), speaker=name)


def _blocks(blocks: object) -> Iterator[str]:
    for block in blocks if isinstance(blocks, list) else []:
        if not isinstance(block, dict):
            continue
        inner = block.get("resource")
        text = text_field(block, "text") or (text_field(inner, "text") if isinstance(inner, dict) else None)
        facts = (block.get("uri"), block.get("name"), block.get("mimeType"))
        kind = text_field(block, "type") or "block"
        yield text or attached(kind, *facts, base64_size(block.get("data")))


def imported(event: Event, known: Known) -> list[Turn]:
    """Return the messages of a session that an older version wrote and this one took over."""
    legacy = event.told.get("legacySession")
    messages = legacy.get("chatMessages") if isinstance(legacy, dict) else None
    turns: list[Turn] = []
    for number, message in enumerate(messages if isinstance(messages, list) else [], start=1):
        if isinstance(message, dict):
            own = replace(event, key=f"{event.key}/{number}")
            turns += _imported(own, message)
    return turns


def _imported(event: Event, message: Record) -> list[Turn]:
    role, kind = _LEGACY_ROLES.get(text_field(message, "role") or "", ("system", "notice"))
    parts = [Part(kind, value_text(message.get("content")))]
    calls = message.get("tool_calls")
    for one in calls if isinstance(calls, list) else []:
        function = one.get("function") if isinstance(one, dict) else None
        if isinstance(function, dict):
            parts.append(
                Part("tool_call", call_text(text_field(function, "name"), function.get("arguments")))
            )
    return event.turns(role, *parts)
