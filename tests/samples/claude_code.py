"""A made-up session of Claude Code: pieces of messages, tools, a thought, titles, a sidechain and a prompt typed anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "5ca1ab1e-0000-4000-8000-00000000c0de"

TYPED = "Where does the bakery of Ñandú & Søn keep its recipes? 🥐"
ANSWERED = "In `recipes/`, one file each.\n\nThe oldest is \u201crye\u201d,\u2028from 1987."
FOUND = '1:rye = "1987"\n'
REWOUND = "Delete the oldest recipe."
QUEUED = "Keep the oldest one in any case."
TITLE = "Recipes of the bakery"


def write(folder: Path) -> Path:
    """Write the session where Claude Code would below its home, and return its path."""
    path = folder / "projects" / "-made-up-bakery" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8", newline="")
    return path


def lines() -> list[str]:
    return [
        _note("summary", summary="A bakery's recipes", leafUuid="0000"),
        _said("user", "u1", None, 0, TYPED),
        _said("assistant", "a1", "u1", 1, [{"type": "thinking", "thinking": "A folder, surely.", "signature": "x"}], "m1"),
        _said("assistant", "a2", "a1", 2, [{"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "rye"}}], "m1"),
        _said("user", "r1", "a2", 3, [{"type": "tool_result", "tool_use_id": "t1", "content": FOUND}]),
        _said("assistant", "a3", "r1", 4, [{"type": "text", "text": ANSWERED}], "m2"),
        _said("user", "s1", None, 5, "Count the recipes.", isSidechain=True),
        _said("assistant", "s2", "s1", 6, [{"type": "text", "text": "Forty-one."}], "m3", isSidechain=True),
        _note("ai-title", aiTitle="Bakery"),
        _note("custom-title", customTitle=TITLE),
        _said("user", "u2", "a3", 7, REWOUND),
        _said("assistant", "a4", "u2", 8, [{"type": "text", "text": "Deleted."}], "m4"),
        _said("user", "u3", "a3", 9, "Print the oldest recipe."),
        _note("queue-operation", operation="enqueue", content=QUEUED, timestamp=_at(10)),
        _said("assistant", "a5", "u3", 11, [{"type": "text", "text": "Printed."}], "m5"),
        _record("attachment", "q1", "a5", 12, attachment={"type": "queued_command", "prompt": QUEUED}),
        _record("system", "b1", None, 13, subtype="compact_boundary", content="Conversation compacted"),
        _said("user", "c1", "b1", 14, "So far: recipes were looked for.", isCompactSummary=True),
    ]  # fmt: skip


def _said(
    role: str,
    uuid: str,
    parent: str | None,
    second: int,
    content: str | list[dict[str, Any]],
    message_id: str | None = None,
    **fields: Any,
) -> str:
    message: dict[str, Any] = {"role": role, "content": content}
    if message_id is not None:
        message |= {"id": message_id, "model": "made-up", "type": "message"}
    return _record(role, uuid, parent, second, message=message, **fields)


def _record(kind: str, uuid: str, parent: str | None, second: int, **fields: Any) -> str:
    envelope = {
        "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/made-up/bakery",
        "sessionId": SESSION, "version": "2.1.44", "gitBranch": "main", "type": kind, "uuid": uuid,
        "timestamp": _at(second),
    }  # fmt: skip
    return json.dumps(envelope | fields, ensure_ascii=False)


def _note(kind: str, **fields: Any) -> str:
    named = {} if kind == "summary" else {"sessionId": SESSION}
    return json.dumps({"type": kind} | named | fields, ensure_ascii=False)


def _at(second: int) -> str:
    return f"2026-02-03T10:00:{second:02}.000Z"
