"""A made-up session of Copilot CLI: a prompt with context, thoughts, tools, a sub-agent, a rewind and an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "2a1b7c1e-51de-4c0e-8a33-0f6f4f1d2e90"


def event(kind: str, number: int, told: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an event; its number is its id and its second."""
    at = f"2026-04-05T10:00:{number:02d}.000Z"
    parent = f"e{number - 1}" if number > 1 else None
    return {"type": kind, "data": told, "id": f"e{number}", "timestamp": at, "parentId": parent} | fields


def records() -> list[dict[str, Any]]:
    """Return the events of the session in order."""
    begun = {"sessionId": SESSION, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.77"}
    asked = {"toolCallId": "c1", "name": "bash", "arguments": '{"command": "ls larder"}', "type": "function"}
    task = {"toolCallId": "c2", "name": "task", "arguments": {"prompt": "Count the jars."}}
    typed = "What is in the larder? 🫙"
    sent = f"<current_datetime>2026-04-05T10:00:02Z</current_datetime>\n\n{typed}\n\n<reminder>Be short.</reminder>"
    file = {"type": "file", "path": "/made-up/larder.txt", "displayName": "larder.txt"}
    return [
        event("session.start", 1, begun | {"context": {"cwd": "/made-up/kitchen"}}),
        event("user.message", 2, {"content": typed, "transformedContent": sent, "attachments": [file]}),
        event("assistant.turn_start", 3, {"turnId": "0"}),
        event("assistant.reasoning", 4, {"reasoningId": "r1", "content": "A listing will do."}),
        event(
            "assistant.message", 5,
            {"messageId": "m1", "content": "I list it.", "reasoningText": "A listing will do.", "toolRequests": [asked, task]},
        ),
        event("tool.execution_start", 6, {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "ls larder"}}),
        event("tool.execution_complete", 7, {"toolCallId": "c1", "success": True, "result": {"content": "plums\npears\n"}}),
        event("subagent.started", 8, {"toolCallId": "c2", "agentName": "counter", "agentDisplayName": "Counter"}),
        event("assistant.message", 9, {"messageId": "m2", "content": "There are seven jars.", "parentToolCallId": "c2"}),
        event("subagent.completed", 10, {"toolCallId": "c2", "agentName": "counter"}),
        event("tool.execution_complete", 11, {"toolCallId": "c2", "success": True, "result": {"content": "Seven jars, counted."}}),
        event("assistant.message", 12, {"messageId": "m3", "content": "Plums and pears, in seven jars.", "toolRequests": []}),
        event("user.message", 13, {"content": "Throw the pears away.", "transformedContent": "Throw the pears away."}),
        event("session.snapshot_rewind", 14, {"upToEventId": "e13", "eventsRemoved": 1}),
        event("session.error", 15, {"errorType": "query", "message": "The model did not answer."}),
        event("session.title_changed", 16, {"title": "The larder"}),
        event("session.shutdown", 17, {"shutdownType": "routine"}),
    ]  # fmt: skip


def lines() -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in records()]


def write(folder: Path) -> Path:
    """Write the session where Copilot CLI keeps it and return its path."""
    path = folder / SESSION / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
    return path
