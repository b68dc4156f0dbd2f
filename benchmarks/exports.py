"""Capture of each format at size, made up from a seed: `python benchmarks/exports.py [--megabytes 50] [--only chatgpt]`.

For each format it writes a file of about so many megabytes, captures it through the command (`ingest --wait none`),
and captures it again. It prints seconds, MB/s of unpacked text and the process's peak of memory (that of PostgreSQL
not counted), and how fast the turns are read from what was captured, in this process. `--megabytes 500 --only
chatgpt-zip` is the bar of a large export: less than 300 MB of memory.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from transcripts import FREQUENCIES, LETTERS, SEED, captured, chronofile

from chronofile.domain.formats import FORMATS
from chronofile.ingest.looking import looks
from chronofile.ingest.scan import Found

WORDS = 5_000
TURNS = 40
"""Messages in a conversation of an export."""
AT = 1_778_241_600
CHANCE = random.Random(SEED)
VOCABULARY = ["".join(CHANCE.choices(LETTERS, FREQUENCIES, k=CHANCE.randint(2, 11))) for _ in range(WORDS)]

Write = Callable[[Path, int], Path]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--only", help="one of these: " + ", ".join(WRITERS))
    given = parser.parse_args()
    print("| format | MB | capture, s | MB/s | peak memory, MB | again, s | turns | reading turns, MB/s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, write in WRITERS.items():
        if given.only in {None, name}:
            with tempfile.TemporaryDirectory() as place:
                print(row(name, write, Path(place), given.megabytes), flush=True)


def row(name: str, write: Write, place: Path, megabytes: int) -> str:
    path = write(place, megabytes << 20)
    home = place / "home"
    chronofile(home, "status")
    seconds, _, peak = captured(home, path, "on")
    again, _, _ = captured(home, path, "on")
    size, turns, folding = folded(path)
    cells = (
        name, f"{size / 1e6:.0f}", f"{seconds:.1f}", f"{size / 1e6 / seconds:.1f}", f"{peak:.0f}", f"{again:.1f}",
        f"{turns:,}", f"{size / 1e6 / folding:.0f}",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def folded(path: Path) -> tuple[int, int, float]:
    """Return how many bytes are captured of a file, the turns in them, and the seconds that folding them takes."""
    size, turns, seconds = 0, 0, 0.0
    for looked in looks(Found(path, named=True, root=None)):
        for sighting in looked.sightings:
            state = None
            for start, end in sighting.content.ranges(0):
                content = sighting.content.range(start, end)
                started = time.perf_counter()
                lines = content.decode("utf-8", "replace").removesuffix("\n").split("\n")
                found = FORMATS[sighting.format].fold(state, lines)
                seconds += time.perf_counter() - started
                state, size, turns = found.state, size + len(content), turns + len(found.turns)
    return size, turns, max(seconds, 1e-9)


def said() -> str:
    return " ".join(CHANCE.choices(VOCABULARY, k=CHANCE.randint(20, 250)))


def lines(name: str, first: list[Any], record: Callable[[int], Any]) -> Write:
    """Write records, one a line."""

    def write(place: Path, size: int) -> Path:
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            written = sum(file.write(json.dumps(one) + "\n") for one in first)
            number = 0
            while written < size:
                written += file.write(json.dumps(record(number)) + "\n")
                number += 1
        return path

    return write


def listed(conversation: Callable[[int], Any], *, zipped: bool = False) -> Write:
    """Write an export that lists conversations, and pack it."""

    def write(place: Path, size: int) -> Path:
        path = place / "conversations.json"
        with path.open("w", encoding="utf-8") as file:
            written, number = file.write("["), 0
            while written < size:
                written += file.write(("," if number else "") + json.dumps(conversation(number)))
                number += 1
            file.write("]")
        if not zipped:
            return path
        with zipfile.ZipFile(place / "export.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(path, path.name)
        return place / "export.zip"

    return write


def claude(number: int) -> Any:
    role = "assistant" if number % 2 else "user"
    content = [{"type": "text", "text": said()}] if number % 2 else said()
    message = {"role": role, "content": content, "id": f"m{number}"}
    return {
        "type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s",
        "timestamp": "2026-05-08T12:00:00.000Z", "message": message,
    }  # fmt: skip


def codex(number: int) -> Any:
    payload: dict[str, Any]
    if number % 4 == 0:
        kind, payload = "event_msg", {"type": "user_message", "message": said()}
    elif number % 4 == 1:
        kind, payload = "event_msg", {"type": "agent_message", "message": said()}
    elif number % 4 == 2:
        arguments = json.dumps({"command": said()})
        kind = "response_item"
        payload = {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": f"c{number}"}
    else:
        kind = "response_item"
        payload = {"type": "function_call_output", "call_id": f"c{number - 1}", "output": said()}
    return {"timestamp": "2026-05-08T12:00:00.000Z", "type": kind, "payload": payload}


def gemini(number: int) -> Any:
    kind = "gemini" if number % 2 else "user"
    return {"id": f"m{number}", "timestamp": "2026-05-08T12:00:00.000Z", "type": kind, "content": said()}


def copilot(number: int) -> Any:
    kind = "assistant.message" if number % 2 else "user.message"
    return {
        "type": kind,
        "id": f"e{number}",
        "timestamp": "2026-05-08T12:00:00Z",
        "data": {"content": said()},
    }


def cursor(number: int) -> Any:
    role = "assistant" if number % 2 else "user"
    return {"role": role, "message": {"content": [{"type": "text", "text": said()}]}}


def neutral(number: int) -> Any:
    role = "assistant" if number % 2 else "user"
    return {"session": f"s{number // TURNS}", "turn": str(number), "role": role, "text": said()}


def chatgpt(number: int) -> Any:
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": ["0"]}}
    for turn in range(TURNS):
        message = {
            "id": f"{number}-{turn}", "author": {"role": "assistant" if turn % 2 else "user"}, "create_time": AT + turn,
            "content": {"content_type": "text", "parts": [said()]}, "recipient": "all", "weight": 1.0,
        }  # fmt: skip
        children = [str(turn + 1)] if turn + 1 < TURNS else []
        parent = str(turn - 1) if turn else "root"
        mapping[str(turn)] = {"id": str(turn), "message": message, "parent": parent, "children": children}
    return {
        "id": f"c{number}", "title": said()[:40], "create_time": AT, "update_time": AT + number,
        "mapping": mapping, "current_node": str(TURNS - 1),
    }  # fmt: skip


def claude_ai(number: int) -> Any:
    messages = [
        {
            "uuid": f"{number}-{turn}", "sender": "assistant" if turn % 2 else "human", "text": "",
            "content": [{"type": "text", "text": said()}], "created_at": "2026-05-08T12:00:00.000000Z",
            "attachments": [], "files": [],
        }
        for turn in range(TURNS)
    ]  # fmt: skip
    at = "2026-05-08T12:00:00.000000Z"
    return {
        "uuid": f"c{number}", "name": said()[:40], "created_at": at, "updated_at": at, "chat_messages": messages,
    }  # fmt: skip


def slack(place: Path, size: int) -> Path:
    path = place / "slack.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("channels.json", json.dumps([{"id": "C1", "name": "harbour", "members": ["U1"]}]))
        archive.writestr("users.json", json.dumps([{"id": "U1", "name": "ada", "real_name": "Ada"}]))
        written = day = 0
        while written < size:
            messages = [
                {"type": "message", "user": "U1", "text": said(), "ts": f"{AT + day * 86_400 + n}.000100"}
                for n in range(300)
            ]
            text = json.dumps(messages)
            archive.writestr(
                f"harbour/{1990 + day // 336}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}.json", text
            )
            written, day = written + len(text), day + 1
    return path


def editor(place: Path, size: int) -> Path:
    path = place / "state.vscdb"
    with sqlite3.connect(path) as conn:
        conn.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        conn.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        written = number = 0
        while written < size:
            bubbles = [
                {"bubbleId": f"b{number}-{n}", "type": 1 + n % 2, "text": said()} for n in range(TURNS)
            ]
            rows = [(f"bubbleId:c{number}:{one['bubbleId']}", json.dumps(one)) for one in bubbles]
            headers = [{"bubbleId": one["bubbleId"], "type": one["type"]} for one in bubbles]
            composer = {"composerId": f"c{number}", "name": "Harbour", "fullConversationHeadersOnly": headers}
            rows.append((f"composerData:c{number}", json.dumps(composer | {"createdAt": AT * 1_000})))
            conn.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", rows)
            written, number = written + sum(len(value) for _, value in rows), number + 1
    return path


def aider(place: Path, size: int) -> Path:
    path = place / ".aider.chat.history.md"
    with path.open("w", encoding="utf-8") as file:
        written = 0
        for text in _aiders():
            written += file.write(text)
            if written >= size:
                return path
    return path


def _aiders() -> Iterator[str]:
    number = 0
    while True:
        if number % TURNS == 0:
            day, hour = number // TURNS % 28 + 1, number // TURNS // 28 % 24
            yield f"\n# aider chat started at 2026-05-{day:02} {hour:02}:{number // TURNS // 672 % 60:02}:00\n\n> Aider v1  \n"
        yield f"\n#### {said()}  \n\n{said()}\n\n> Tokens: 1k sent  \n"
        number += 1


META = {
    "timestamp": "2026-05-08T12:00:00.000Z",
    "type": "session_meta",
    "payload": {"id": "x", "cwd": "/made-up"},
}
WRITERS: dict[str, Write] = {
    "claude-code": lines("s.jsonl", [], claude),
    "codex": lines("rollout-2026-05-08T12-00-00-x.jsonl", [META], codex),
    "chatgpt": listed(chatgpt),
    "chatgpt-zip": listed(chatgpt, zipped=True),
    "claude-ai": listed(claude_ai),
    "slack": slack,
    "gemini-cli": lines("session-x.jsonl", [{"sessionId": "x", "projectHash": "p", "startTime": "2026-05-08T12:00:00Z", "lastUpdated": "2026-05-08T12:00:00Z", "kind": "main"}], gemini),
    "cursor": lines("agent-transcripts/x/x.jsonl", [], cursor),
    "cursor-db": editor,
    "copilot-cli": lines("events.jsonl", [{"type": "session.start", "id": "e", "timestamp": "2026-05-08T12:00:00Z", "data": {"sessionId": "x"}}], copilot),
    "aider": aider,
    "turns": lines("x.turns.jsonl", [], neutral),
}  # fmt: skip

if __name__ == "__main__":
    main()
