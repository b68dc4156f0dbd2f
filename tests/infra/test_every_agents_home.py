"""Back-fill of a made-up home in which every agent whose format is known has kept something."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.infra.command_line import CommandLine
from tests.samples import (
    aider,
    claude_code,
    codex,
    copilot_cli,
    copilot_vscode,
    cursor,
    gemini_cli,
    opencode,
)

CODE = ".config/Code/User"
KEEPERS: Mapping[str, tuple[str, Callable[[Path], Path]]] = {
    "claude-code": (".claude", claude_code.write),
    "codex": (".codex", codex.write),
    "gemini-cli": (".gemini/tmp/4f1c/chats", gemini_cli.write),
    "cursor": (".config/Cursor/User/globalStorage", cursor.write),
    "opencode": (".local/share/opencode", opencode.write),
    "copilot-cli": (".copilot/session-state", copilot_cli.write),
    "copilot-vscode": (f"{CODE}/workspaceStorage/99ff/chatSessions", copilot_vscode.write),
}
DECOYS = (
    ".claude/.credentials.json", ".claude/history.jsonl", ".codex/auth.json", ".codex/history.jsonl",
    ".gemini/oauth_creds.json", ".gemini/tmp/4f1c/logs.json", ".cursor/mcp.json", f"{CODE}/settings.json",
    ".config/Cursor/User/globalStorage/storage.json", ".local/share/opencode/auth.json",
    ".copilot/config.json", f"{CODE}/workspaceStorage/99ff/workspace.json",
)  # fmt: skip


@pytest.fixture
def line(conninfo: str, home: Path, tmp_path: Path) -> CommandLine:
    """A command line of a user whom every agent has kept something of, and who has a project with Aider."""
    user = Path(os.path.realpath(tmp_path)) / "user"
    found = CommandLine(home, user, {"CHRONOFILE_DATABASE_URL": conninfo})
    for folder, write in KEEPERS.values():
        (user / folder).mkdir(parents=True, exist_ok=True)
        write(user / folder)
    for decoy in DECOYS:
        found.write(decoy, '{"decoy": "a secret of somebody"}\n')
    (user / "project/.git").mkdir(parents=True)
    aider.write(user / "project")
    return found


def formats(line: CommandLine) -> list[str]:
    return sorted({entry["format"] for entry in line.run("sources", "--json").json})


def test_everything_that_agents_kept_is_captured_once_in_its_format(line: CommandLine) -> None:
    planned = line.run("ingest", "--agents", "all", "project", "--dry-run", "--json").json
    first = line.run("ingest", "--agents", "all", "project", "--wait", "words", "--json")
    again = line.run("ingest", "--agents", "all", "project", "--wait", "words", "--json").json

    assert {name: found["files"] for name, found in planned["agents"].items()} == dict.fromkeys(KEEPERS, 1)
    assert first.status == 0, first.err
    assert formats(line) == sorted([*KEEPERS, "aider"])
    assert (first.json["rejected"], first.json["revisions"]) == ([], planned["revisions"])
    assert (again["revisions"], again["moved"], again["removed"], again["batch"]) == (0, 0, 0, None)
    assert "decoy" not in line.run("search", "a secret of somebody", "--scope", "all", "--all").out


def test_what_an_agent_says_later_is_all_that_the_next_run_captures(line: CommandLine) -> None:
    line.run("ingest", "--agents", "--wait", "none")
    gemini_cli.write(line.directory / ".gemini/tmp/4f1c/chats").rename(
        line.directory / ".gemini/tmp/4f1c/chats/session-2026-03-04T09-00-renamed.jsonl"
    )

    after = line.run("ingest", "--agents", "--wait", "none", "--json").json
    assert (after["revisions"], after["moved"]) == (0, 1)


def test_status_counts_what_is_captured_of_each_agent(line: CommandLine) -> None:
    def waiting() -> dict[str, tuple[int, int]]:
        found = line.run("status", "--json").json["transcripts"]
        return {name: (one["found"], one["uncaptured"]) for name, one in found.items()}

    for path in line.directory.rglob("*"):
        if path.is_file():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    assert waiting() == dict.fromkeys(KEEPERS, (1, 1))

    line.run("ingest", "--agents", "--wait", "none")
    assert waiting() == dict.fromkeys(KEEPERS, (1, 0))
