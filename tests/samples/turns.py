"""A sample of neutral turns: two sessions in two scopes, with all that a line can say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOTE = "[image image/png, 123 bytes]"


def write(folder: Path) -> Path:
    """Write the sample and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "sample.turns.jsonl"
    path.write_bytes("".join(f"{line}\n" for line in _lines()).encode())
    return path


def _lines() -> list[str]:
    said = [
        "I look it up.",
        "grep\npattern: port",
        "It is 7433\u2028, said the file \u201cports\u201d.\x00 \U0001f6a2",
    ]
    kinds = ["thinking", "tool_call", "text"]
    return [
        _line(
            "1",
            "user",
            "Which port does the harbour office use?",
            speaker="Ida",
            at="2026-03-29T02:30:00+01:00",
        ),
        _line(
            "2",
            "assistant",
            "\n\n".join(said),
            parts=[[kind, len(text)] for kind, text in zip(kinds, said, strict=True)],
            ids=["m-1", "m-2"],
            at="2026-03-29T02:30:05",
            title="The harbour's ports",
        ),
        _line(
            "3",
            "tool",
            "7433\n\n\n\n7434",
            parts=[["tool_result", 4], ["tool_result", 0], ["tool_result", 4]],
        ),
        _line("4", "assistant", "It is 7434.", superseded=True, format="made-up"),
        _line("5", "user", NOTE, ids=[]),
        _line(
            "5",
            "user",
            f"{NOTE}\n\nWhat is this?",
            parts=[["text", len(NOTE)], ["text", 13]],
            extra={"own": 1},
        ),
        _line(
            "1",
            "system",
            "Somebody \ud83d joined.",
            session="caf\u00e9 / 2",
            scope="person:ida",
            parts=[["notice", 18]],
        ),
    ]


def _line(turn: str, role: str, text: str, **fields: Any) -> str:
    record = {"session": "harbour", "turn": turn, "role": role, "text": text} | fields
    # A lone surrogate has no place in UTF-8 and is written as an escape.
    return json.dumps(record, ensure_ascii="\ud83d" in text)
