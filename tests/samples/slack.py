"""A made-up export of Slack: a channel, a conversation of two, a thread, an edit, a bot and a deleted message."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

Files = dict[str, Any]
"""What stands in the files of an export, by their names."""

ADA, BOB, BOT = "U0000ADA1", "U0000BOB1", "U0000BOT1"
OPS, PAIR = "C0000OPS1", "D0000PAIR"
STAMP = "1767348000.000100"
"""2026-01-02 10:00 UTC."""


def message(text: str, /, ts: str = STAMP, user: str | None = ADA, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, "team": "T00000001"} | fields


def person(identifier: str, real_name: str, display_name: str, **profile: Any) -> dict[str, Any]:
    names = {"real_name": real_name, "display_name": display_name}
    return {
        "id": identifier,
        "team_id": "T00000001",
        "name": display_name.lower() or "x",
        "real_name": real_name,
        "profile": names | profile,
    }


def channel(identifier: str = OPS, called: str = "ops", **fields: Any) -> dict[str, Any]:
    return {
        "id": identifier,
        "name": called,
        "created": 1767225600,
        "creator": ADA,
        "is_archived": False,
        "members": [ADA, BOB],
        "topic": {"value": f"Ask <@{BOB}> &amp; wait", "creator": ADA, "last_set": 1767225600},
        "purpose": {"value": "Keeping things up", "creator": ADA, "last_set": 1767225600},
    } | fields


def files() -> Files:
    """Return a small but whole export."""
    reply = {"thread_ts": STAMP, "parent_user_id": ADA}
    return {
        "channels.json": [channel()],
        "groups.json": [],
        "mpims.json": [],
        "dms.json": [{"id": PAIR, "created": 1767225600, "members": [ADA, BOB]}],
        "users.json": [
            person(ADA, "Ada Made-Up", "ada"),
            person(BOB, "Bob Invented", ""),
            person(BOT, "Deploy bot", "", bot_id="B00000001"),
            person("U0000XYZ1", "Nobody Here", "nobody"),
        ],
        "integration_logs.json": [],
        "ops/2026-01-02.json": [
            message(f"<@{BOB}> has joined the channel", "1767347900.000100", BOB, subtype="channel_join"),
            message(
                f"<@{BOB}>: is <#{OPS}|ops> down? a &lt; b &amp;&amp; Zürich \U0001f335",
                reply_count=2,
                replies=[{"user": BOB, "ts": "1767348060.000100"}],
                reactions=[{"name": "eyes", "users": [BOB], "count": 1}],
            ),
            message("Unrelated: lunch at noon", "1767348030.000100", BOB),
            message("Yes, since nine", "1767348060.000100", BOB, **reply),
            message(
                "See <https://example.invalid/a?b=1&amp;c=2|the runbook> and <https://example.invalid>",
                "1767348090.000100",
                **reply,
                edited={"user": ADA, "ts": "1767348095.000000"},
                attachments=[{"from_url": "https://example.invalid", "title": "Runbooks", "text": "How to restart"}],
            ),
            {
                "type": "message",
                "subtype": "bot_message",
                "bot_id": "B00000001",
                "text": "",
                "ts": "1767348100.000100",
                "attachments": [{"fallback": "ignored", "pretext": "Deployed", "text": "*api* is at 7", "color": "good"}],
            },
            message("This message was deleted.", "1767348200.000100", "USLACKBOT", subtype="tombstone", hidden=True),
        ],
        "ops/2026-01-03.json": [
            message(
                "",
                "1767434400.000100",
                BOB,
                files=[{"id": "F1", "name": "plan.txt", "mimetype": "text/plain", "size": 12, "preview": "step one"}],
            )
        ],
        f"{PAIR}/2026-01-02.json": [message("Only for you, Bob", "1767348300.000100")],
    }  # fmt: skip


def write_files(folder: Path, made: Files) -> Path:
    """Write an export as a folder and return it."""
    for name, value in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, ensure_ascii=False, indent=4), encoding="utf-8")
    return folder


def write_zip(path: Path, made: Files) -> Path:
    """Write an export as a zip archive and return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in made.items():
            archive.writestr(name, json.dumps(value, ensure_ascii=False, indent=4))
    return path


def write(folder: Path) -> Path:
    """Write the export as a zip archive into a folder and return its path."""
    return write_zip(folder / "Made-up Slack export Jan 1 2026 - Jan 3 2026.zip", files())
