"""Builders of made-up inputs: lines of transcripts, files, and events."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from chronofile.domain.events import (
    BatchFinished,
    BatchRestored,
    BatchReverted,
    BatchStarted,
    ContentErased,
    Event,
    MemoryCorrected,
    MemoryForgotten,
    MemoryRemembered,
    RevisionCaptured,
    SourceRegistered,
)

OBSERVED_AT = "2026-05-08T12:00:00.000000+00:00"


def turn_line(text: str, /, *, turn: str = "1", session: str = "s", role: str = "user", **fields: Any) -> str:
    """Return a line of the neutral format; `fields` are `speaker`, `at` and `scope`."""
    record = {"session": session, "turn": turn, "role": role, "text": text}
    return json.dumps(record | fields, ensure_ascii=False)


def claude_line(
    content: str | list[dict[str, Any]],
    /,
    *,
    role: str = "user",
    uuid: str = "u-1",
    session: str = "s",
    cwd: str = "/made-up",
    at: str = "2026-05-08T12:00:00.000Z",
    message_id: str | None = None,
    **fields: Any,
) -> str:
    """Return a record of Claude Code's transcript: what the user said, or a part of what the assistant did.

    The content of an assistant is a list of blocks; a string becomes one text block. Records of one message
    share its `message_id`, which is the record's own uuid unless given.
    """
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message |= {"id": message_id or f"msg-{uuid}", "content": blocks, "model": "made-up"}
    record = {"type": role, "uuid": uuid, "sessionId": session, "timestamp": at, "cwd": cwd}
    return json.dumps(record | {"message": message} | fields, ensure_ascii=False)


def write(path: Path, *lines: str) -> Path:
    """Write a file of these lines, each ended, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
    return path


def add(path: Path, *lines: str) -> Path:
    """Append lines to a file, as an agent does to its transcript."""
    with path.open("ab") as file:
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
    return path


def repository(folder: Path) -> Path:
    """Make a folder a repository: a `.git` folder is what is looked for."""
    (folder / ".git").mkdir(parents=True)
    return folder


def commit(folder: Path, message: str = "A change") -> None:
    """Make the folder a real repository with everything in it committed."""
    identity = ["-c", "user.name=Made Up", "-c", "user.email=made-up@example.invalid"]
    for words in (["init", "--quiet"], ["add", "--all"], [*identity, "commit", "--quiet", "-m", message]):
        subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def started(tool: str = "ingest") -> BatchStarted:
    return BatchStarted(tool, OBSERVED_AT)


def finished(revisions: int = 1) -> BatchFinished:
    return BatchFinished(revisions, 0, OBSERVED_AT)


def registered(uri: str = "uri", **fields: Any) -> SourceRegistered:
    event = SourceRegistered(
        kind="file", scope="global", key=uri, uri=uri, ordinal=0, session=None, batch="b"
    )  # fmt: skip
    return replace(event, **fields)


def revised(content: str = "content", revision: int = 1, **fields: Any) -> RevisionCaptured:
    event = RevisionCaptured(
        revision=revision, content=content, start=0, end=100, format="text", encoding="utf-8", file="file",
        probe="probe", batch="b", observed_at=OBSERVED_AT, event_time=None,
    )  # fmt: skip
    return replace(event, **fields)


def reverted(by: str = "u") -> BatchReverted:
    return BatchReverted(by, OBSERVED_AT)


def restored(by: str = "v") -> BatchRestored:
    return BatchRestored(by, OBSERVED_AT)


def remembered(text: str, scope: str = "global", kind: str = "note") -> MemoryRemembered:
    """`text` is the key of a content."""
    return MemoryRemembered(scope, kind, text, "cli", OBSERVED_AT)


def corrected(text: str) -> MemoryCorrected:
    return MemoryCorrected(text, "cli", OBSERVED_AT)


def forgotten() -> MemoryForgotten:
    return MemoryForgotten(None, "cli", OBSERVED_AT)


def erased(*contents: str, streams: tuple[str, ...], closed: tuple[str, ...] = ()) -> ContentErased:
    return ContentErased(contents, (), streams, closed, (), "cli", None, "receipt", OBSERVED_AT)


def many(count: int) -> list[Event]:
    """Return small events, each telling its number."""
    return [finished(number) for number in range(count)]
