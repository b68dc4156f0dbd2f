"""A made-up session of OpenCode, as small files and as a database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

SESSION = "ses_lighthouse"
_BEGAN_MS = 1_780_000_000_000
SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL,
    title text NOT NULL, version text NOT NULL, revert text, time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer,
    data text NOT NULL);
"""

MESSAGES: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"id": "msg_1", "role": "user"}, [{"type": "text", "text": "Where is the lamp oil? 🪔 \u2028 ünïcode"}]),
    (
        {"id": "msg_2", "role": "assistant", "agent": "build"},
        [
            {"type": "step-start"},
            {"type": "reasoning", "text": "The cellar comes to mind first."},
            {
                "type": "tool",
                "tool": "read",
                "callID": "call_1",
                "state": {
                    "status": "completed",
                    "input": {"path": "cellar.md"},
                    "output": "Forty barrels\nof oil",
                },
            },
            {"type": "text", "text": "In the cellar, forty barrels of it."},
            {"type": "step-finish", "reason": "stop"},
        ],
    ),
    ({"id": "msg_3", "role": "user"}, [{"type": "text", "text": "Where is the foghorn?"}]),
]


def write(folder: Path) -> Path:
    """Write a storage with one session below a folder, whose last message was taken back; return the storage."""
    storage = folder / "storage"
    put(storage / "session" / "made-up" / f"{SESSION}.json", session(revert={"messageID": "msg_3"}))
    for message, parts in MESSAGES:
        put_message(storage, message, parts)
    return storage


def session(identifier: str = SESSION, **fields: Any) -> dict[str, Any]:
    """Return what a session says of itself."""
    times = {"created": _BEGAN_MS, "updated": _BEGAN_MS + 60_000}
    record = {
        "id": identifier,
        "version": "1.3.17",
        "projectID": "made-up",
        "directory": "/made-up/lighthouse",
    }
    return record | {"title": "Lamp oil", "time": times} | fields


def put_message(
    storage: Path, message: dict[str, Any], parts: list[dict[str, Any]], *, owner: str = SESSION
) -> None:
    """Write a message and its parts."""
    identifier = message["id"]
    record = {"sessionID": owner, "time": {"created": _BEGAN_MS + 1_000}} | message
    put(storage / "message" / owner / f"{identifier}.json", record)
    for number, part in enumerate(parts, start=1):
        named = {"id": f"prt_{identifier}_{number}", "sessionID": owner, "messageID": identifier}
        put(storage / "part" / identifier / f"{named['id']}.json", named | part)


def put(path: Path, record: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def database(path: Path, **fields: Any) -> Path:
    """Write the same session as a database."""
    path.parent.mkdir(parents=True, exist_ok=True)
    about = session(**fields)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
        connection.execute(
            "INSERT INTO session VALUES (?, ?, NULL, ?, ?, ?, NULL, ?, ?)",
            (
                *(about[key] for key in ("id", "projectID", "directory", "title", "version")),
                *about["time"].values(),
            ),
        )
        for message, parts in MESSAGES:
            held = {key: value for key, value in message.items() if key != "id"}
            connection.execute(
                "INSERT INTO message VALUES (?, ?, ?, ?)",
                (message["id"], about["id"], _BEGAN_MS, json.dumps(held)),
            )
            for number, part in enumerate(parts, start=1):
                row = (
                    f"prt_{message['id']}_{number}",
                    message["id"],
                    about["id"],
                    _BEGAN_MS,
                    json.dumps(part),
                )
                connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()
    return path
