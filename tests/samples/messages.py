"""A made-up conversation as messages, one a line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.builders import write as write_lines


def write(folder: Path) -> Path:
    """Write a conversation with a thought, a call, a result and odd characters."""
    records = [
        {"type": "session", "id": "harbour-1", "title": "Which lock is open?", "cwd": "/made-up/harbour"},
        {"role": "system", "content": "You help at the harbour.", "timestamp": "2026-05-08T12:00:00+02:00"},
        {"role": "user", "content": "Which lock is open, Zoë?\u2028And which is shut?", "ts": 1778241600},
        {
            "role": "assistant",
            "content": "One moment.",
            "reasoning_content": "I should look at the locks.",
            "tool_calls": [{"id": "c1", "function": {"name": "locks", "arguments": '{"open": true}'}}],
        },
        {"role": "tool", "name": "locks", "content": "Lock 4\n\nLock 5"},
        {"role": "assistant", "content": "Locks 4 and 5 are open 🔓.", "id": "m-9"},
    ]
    return write_lines(folder / "harbour.jsonl", *(json.dumps(one, ensure_ascii=False) for one in records))
