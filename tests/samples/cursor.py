"""A made-up conversation of Cursor's composer, in a database as Cursor keeps it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

COMPOSER = "6a1d1c8e-0000-4000-8000-00000000c0de"
SCHEMA = (
    "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
    "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)",
)


def write(folder: Path) -> Path:
    """Write a database with one conversation below a folder, and return its path."""
    bubbles = [
        bubble("b1", 1, "Where does the lighthouse keep its lamp oil? 🪔 \u2028 ünïcode"),
        bubble("b2", 2, "", thinking={"text": "The cellar comes to mind first.", "signature": "x"}),
        bubble(
            "b3",
            2,
            "",
            toolFormerData={
                "name": "read_file_v2",
                "params": json.dumps({"path": "/made-up/cellar.md"}),
                "result": json.dumps({"contents": "Forty barrels\nof whale oil"}),
                "status": "completed",
            },
        ),
        bubble("b4", 2, "In the cellar, forty barrels of it."),
    ]
    shown = [one["bubbleId"] for one in bubbles]
    left = bubble("b0", 1, "Where is the foghorn?")
    return database(folder / "state.vscdb", composer(*shown), {COMPOSER: [*bubbles, left]})


def composer(*shown: str, identifier: str = COMPOSER, **fields: Any) -> dict[str, Any]:
    """Return what a composer says of itself, which lists the bubbles that are shown."""
    listed = [{"bubbleId": one, "type": 1} for one in shown]
    record = {
        "_v": 16,
        "composerId": identifier,
        "name": "Lamp oil",
        "createdAt": 1_780_000_000_000,
        "lastUpdatedAt": 1_780_000_100_000,
        "fullConversationHeadersOnly": listed,
    }
    return record | fields


def bubble(identifier: str, kind: int, text: str, **fields: Any) -> dict[str, Any]:
    """Return a message: kind 1 is the person's, 2 the agent's."""
    at = f"2026-05-28T20:2{identifier[-1]}:00.000Z"
    return {"_v": 3, "bubbleId": identifier, "type": kind, "text": text, "createdAt": at} | fields


def database(path: Path, head: dict[str, Any], bubbles: Mapping[str, list[dict[str, Any]]]) -> Path:
    """Write a database with one composer, and the bubbles of the composers named."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        put(connection, f"composerData:{head['composerId']}", head)
        for owner, owned in bubbles.items():
            for one in owned:
                put(connection, f"bubbleId:{owner}:{one['bubbleId']}", one)
        connection.commit()
    return path


def put(connection: sqlite3.Connection, key: str, value: object, table: str = "cursorDiskKV") -> None:
    """Store a value as JSON; bytes, texts and None as they are."""
    stored = value if value is None or isinstance(value, bytes | str) else json.dumps(value)
    connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, stored))  # noqa: S608  # The tests' own tables.
