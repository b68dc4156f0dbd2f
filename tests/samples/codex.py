"""A made-up rollout of Codex: both forms of every message, tools, a thought, a title and a turn that was rolled back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "019c0000-0000-7000-8000-00000000c0de"

TYPED = "Which port does the ledger of Ørsted & Söhne use? 🌱"
ANSWERED = "It listens on 5433.\n\nLook at `ledger.toml`\u2028below."
ROLLED_BACK = "Rename every ledger to journal, please."
COMMAND = 'grep -n "port" ledger.toml'
FOUND = '3:port = 5433  # "moved"\n'
THOUGHT = "**Looking for the port**"
TITLE = "The ledger's port"
INSTRUCTIONS = "Write in whole sentences."


def write(folder: Path) -> Path:
    """Write the rollout where Codex would below its home, and return its path."""
    path = folder / "sessions" / "2026" / "02" / "03" / f"rollout-2026-02-03T09-00-00-{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8", newline="")
    return path


def lines() -> list[str]:
    return [
        _line("session_meta", {"id": SESSION, "timestamp": _at(0), "cwd": "/made-up/ledger", "originator": "codex_cli_rs",
                               "cli_version": "0.104.0", "source": "cli", "git": {"branch": "main"}}, 0),
        _said("user", f"# AGENTS.md instructions for /made-up/ledger\n\n<INSTRUCTIONS>\n{INSTRUCTIONS}\n</INSTRUCTIONS>", 1),
        _said("user", TYPED, 2),
        _event({"type": "user_message", "message": TYPED, "images": []}, 2),
        _line("turn_context", {"cwd": "/made-up/ledger", "model": "made-up"}, 2),
        _event({"type": "agent_reasoning", "text": THOUGHT}, 3),
        _item({"type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}], "encrypted_content": "gAAA"}, 3),
        _item({"type": "function_call", "name": "shell_command", "arguments": json.dumps({"command": COMMAND}), "call_id": "call_1"}, 4),
        _event({"type": "exec_command_end", "call_id": "call_1", "command": ["grep"], "aggregated_output": FOUND}, 5),
        _item({"type": "function_call_output", "call_id": "call_1", "output": FOUND}, 5),
        _event({"type": "token_count", "info": None}, 5),
        _event({"type": "agent_message", "message": ANSWERED}, 6),
        _said("assistant", ANSWERED, 6),
        _event({"type": "task_complete", "turn_id": "t1", "last_agent_message": ANSWERED}, 6),
        _event({"type": "thread_name_updated", "thread_id": SESSION, "thread_name": TITLE}, 7),
        _said("user", ROLLED_BACK, 8),
        _event({"type": "user_message", "message": ROLLED_BACK, "images": []}, 8),
        _event({"type": "agent_message", "message": "Renamed."}, 9),
        _event({"type": "thread_rolled_back", "num_turns": 1}, 10),
        _event({"type": "user_message", "message": "Leave it as it is.", "images": []}, 11),
        _line("compacted", {"message": "The ledger's port was asked for.", "replacement_history": None}, 12),
    ]  # fmt: skip


def _said(role: str, text: str, second: int) -> str:
    kind = "output_text" if role == "assistant" else "input_text"
    return _item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, second)


def _item(payload: dict[str, Any], second: int) -> str:
    return _line("response_item", payload, second)


def _event(payload: dict[str, Any], second: int) -> str:
    return _line("event_msg", payload, second)


def _line(kind: str, payload: dict[str, Any], second: int) -> str:
    return json.dumps({"timestamp": _at(second), "type": kind, "payload": payload}, ensure_ascii=False)


def _at(second: int) -> str:
    return f"2026-02-03T09:00:{second:02}.000Z"
