"""GitHub Copilot CLI's sessions: one event a line, in `events.jsonl` or in a file named by the session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from chronofile.domain.formats.copilot_cli import events
from chronofile.domain.formats.copilot_cli.events import Event, Known
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    confidence,
    read_line,
    read_records,
    text_field,
)
from chronofile.domain.formats.standing import Standing
from chronofile.domain.turns import Folded, Identity, Likeness, State, Turn

name = "copilot-cli"
version = 1
is_json = True

VERSIONS = (1,)
IDENTITY_LINES_MAX = 200
_FILE_NAME = "events.jsonl"
_FAMILIES = (
    "assistant", "hook", "permission", "session", "skill", "subagent", "system", "tool", "user", "user_input",
)  # fmt: skip

# Events that are known to hold no words, or only words that another event holds too: a hook's input is what a
# tool was asked and said, an intent is a call of a tool, what streams comes again as a whole.
_SILENT = frozenset(
    {
        "assistant.idle", "assistant.intent", "assistant.message_delta", "assistant.message_start",
        "assistant.reasoning_delta", "assistant.server_tool_progress", "assistant.streaming_delta",
        "assistant.tool_call_delta", "assistant.turn_end", "assistant.turn_start", "assistant.usage",
        "capabilities.changed", "command.completed", "command.execute", "command.queued", "commands.changed",
        "elicitation.completed", "elicitation.requested", "exit_plan_mode.completed", "external_tool.completed",
        "hook.end", "hook.progress", "hook.start", "pending_messages.modified", "permission.completed",
        "permission.requested", "sampling.completed", "sampling.requested", "session.auto_mode_resolved",
        "session.autopilot_objective_changed", "session.background_tasks_changed", "session.binary_asset",
        "session.compaction_start", "session.context_changed", "session.context_cleared",
        "session.custom_agents_updated", "session.extensions_loaded", "session.idle",
        "session.mcp_server_status_changed", "session.mcp_servers_loaded", "session.mode_changed",
        "session.model_change", "session.permissions_changed", "session.plan_changed",
        "session.remote_steerable_changed", "session.schedule_cancelled", "session.schedule_created",
        "session.schedule_rearmed", "session.session_limits_changed", "session.shutdown", "session.skills_loaded",
        "session.todos_changed", "session.tools_updated", "session.truncation", "session.usage_checkpoint",
        "session.usage_info", "session.workspace_file_changed", "subagent.completed", "subagent.deselected",
        "subagent.selected", "tool.execution_partial_result", "tool.execution_progress", "tool_search.activated",
        "user_input.requested",
    }
)  # fmt: skip


def recognise(head: Head) -> Likeness:
    """Return how surely the first lines are Copilot CLI's events; the name tells nothing more."""
    verdicts = [None if record is None else _is_own(record) for record in read_records(head.lines)]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), verdicts.count(None)))


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the session is: its beginning names it, or else its file or its folder, which bear its id."""
    session: str | None = None
    cwd: str | None = None
    is_any = False
    for record in read_records(lines[:IDENTITY_LINES_MAX]):
        told = record.get("data") if record is not None else None
        if record is None or not isinstance(told, dict):
            continue
        is_any = is_any or _is_own(record)
        if record.get("type") == "session.start":
            session = session or text_field(told, "sessionId")
        context = told.get("context")
        for place in (context, told):
            cwd = cwd or (text_field(place, "cwd") if isinstance(place, dict) else None)
    if session is None and is_any:
        path = PurePosixPath(path_name.replace("\\", "/"))
        session = (path.parent.name if path.name == _FILE_NAME else path.stem) or None
    return None if session is None else Identity(session=session, key=session, cwd=cwd)


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold complete lines into turns, one an event that says something.

    A call that the assistant's message names is not said again where it begins. What a rewind took back is
    superseded. Nothing raises: what is no event is counted as unreadable, events of unknown types by type.
    """
    session = _Session.resume(state)
    for line in lines:
        session.line += 1
        for number, record in enumerate(read_line(line), start=1):
            try:
                session.take(
                    record, f"line-{session.line}" if number == 1 else f"line-{session.line}.{number}"
                )
            except RecursionError:
                session.unreadable += 1
    return session.folded()


@dataclass(slots=True)
class _Session:
    """What the events come to, and what has to be known of those before."""

    known: Known = field(default_factory=Known)
    standing: Standing = field(default_factory=Standing)
    line: int = 0
    unreadable: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    title: str | None = None

    @classmethod
    def resume(cls, state: State | None) -> _Session:
        if state is None:
            return cls()
        return cls(Known.resume(state["known"]), Standing.resume(state["standing"]), state["line"])

    def folded(self) -> Folded:
        state: dict[str, Any] = {
            "line": self.line,
            "known": self.known.packed(),
            "standing": self.standing.packed(),
        }
        turns, taken_back = tuple(self.standing.turns.values()), tuple(self.standing.taken_back)
        return Folded(turns, state, (), dict(self.unknown), self.unreadable, taken_back, self.title)

    def take(self, record: Record | None, key: str) -> None:
        kind = record.get("type") if record is not None else None
        told = record.get("data") if record is not None else None
        if record is None or not isinstance(kind, str) or not isinstance(told, dict):
            self.unreadable += 1
            return
        if kind in _SILENT:
            return
        if kind == "session.snapshot_rewind":
            self._rewind(str(told.get("upToEventId")))
            return
        read = _READERS.get(kind)
        if read is None:
            self.unknown[kind] += 1
            return
        event = Event.of(record, told, key, self.known)
        if kind == "session.start" and (number := told.get("version", 1)) not in VERSIONS:
            self.unknown[f"version {number}"] += 1
        mark = event.mark(kind)
        stood = self.standing.messages.get(event.key)
        if stood is not None and stood.mark == mark:
            return  # It is there already.
        turns = read(event, self.known)
        if kind == "session.title_changed":
            self.title = text_field(told, "title") or self.title
        if turns:
            longer = event.key if stood is None else f"{event.key}#{mark}"
            self.standing.put(longer, [events.renamed(turn, event.key, longer) for turn in turns], mark)

    def _rewind(self, to: str) -> None:
        if to in self.standing.messages:
            self.standing.rewind_to(to)
        else:
            self.unknown["rewind to an unknown event"] += 1


_READERS: Mapping[str, Callable[[Event, Known], list[Turn]]] = {
    "abort": events.notice("reason"),
    "assistant.message": events.assistant,
    "assistant.reasoning": events.reasoning,
    "exit_plan_mode.requested": events.words("assistant", "planContent"),
    "external_tool.requested": events.call,
    "model.call_failure": events.notice("errorMessage"),
    "session.compaction_complete": events.summary("summaryContent"),
    "session.error": events.notice("message"),
    "session.handoff": events.summary("context", "summary"),
    "session.import_legacy": events.imported,
    "session.info": events.notice("message"),
    "session.resume": events.begin,
    "session.start": events.begin,
    "session.task_complete": events.summary("summary"),
    "session.title_changed": events.notice("title"),
    "session.warning": events.notice("message"),
    "skill.invoked": events.notice("content"),
    "subagent.failed": events.notice("error"),
    "subagent.started": events.agent,
    "system.message": events.notice("content"),
    "system.notification": events.notice("content"),
    "tool.execution_complete": events.result,
    "tool.execution_start": events.call,
    "tool.user_requested": events.call,
    "user.message": events.user,
    "user_input.completed": events.words("user", "answer"),
}


def _is_own(record: Record) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str) or not isinstance(record.get("data"), dict):
        return False
    if kind in _READERS or kind in _SILENT:
        return "timestamp" in record or "id" in record
    is_linked = "parentId" in record and "timestamp" in record and "id" in record
    return is_linked and kind.partition(".")[0] in _FAMILIES
