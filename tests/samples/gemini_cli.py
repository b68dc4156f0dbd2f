"""A made-up session of Gemini CLI: lines with thoughts, a tool, a rewind, a title and odd characters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "0f7f3a52-3c1e-4f0a-9a6e-6d0f2a9b1c01"
BEGINNING = {
    "sessionId": SESSION,
    "projectHash": "5f" * 32,
    "startTime": "2026-03-04T09:00:00.000Z",
    "lastUpdated": "2026-03-04T09:00:00.000Z",
    "kind": "main",
}


def message(kind: str, number: int, content: object, **fields: Any) -> dict[str, Any]:
    """Return a message; its number is its id and its minute."""
    at = f"2026-03-04T09:{number:02d}:00.000Z"
    return {"id": f"m{number}", "timestamp": at, "type": kind, "content": content} | fields


def call(call_id: str, name: str, output: str | None, **arguments: Any) -> dict[str, Any]:
    """Return a tool's call, without a result where there is no output."""
    answer = {"functionResponse": {"id": call_id, "name": name, "response": {"output": output}}}
    made = {"id": call_id, "name": name, "args": arguments, "timestamp": "2026-03-04T09:02:30.000Z"}
    return made | ({"status": "executing"} if output is None else {"status": "success", "result": [answer]})


def records() -> list[dict[str, Any]]:
    """Return the records of the session in order."""
    thought = {
        "subject": "Looking",
        "description": "The tide table is a file.",
        "timestamp": "2026-03-04T09:02:00Z",
    }
    answer = message("gemini", 2, "I look it up.", thoughts=[thought], model="gemini-made-up")
    return [
        BEGINNING,
        message("user", 1, "When is high tide in Whitby? \u2028 Größe: 🌊"),
        answer,
        answer | {"toolCalls": [call("c1", "read_file", None, path="tides.txt")]},
        answer | {"toolCalls": [call("c1", "read_file", "Whitby 04:12 and 16:40", path="tides.txt")]},
        message("gemini", 3, [{"text": "High tide is at 16:40."}]),
        message("user", 4, "And in Scarborough?"),
        {"$rewindTo": "m4"},
        message("user", 5, "And in Filey?"),
        message("info", 6, "Request cancelled."),
        {"$set": {"summary": "Tides on the Yorkshire coast", "lastUpdated": "2026-03-04T09:07:00.000Z"}},
    ]


def lines() -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in records()]


def write(folder: Path) -> Path:
    """Write the session where Gemini CLI keeps it and return its path."""
    path = folder / "session-2026-03-04T09-00-0f7f3a52.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
    return path
