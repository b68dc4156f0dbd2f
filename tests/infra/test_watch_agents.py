"""Back-fill: `ingest --agents` takes in what agents kept on this machine."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from chronofile.infra.agents import user_folder
from chronofile.infra.cli.progress import sizes
from chronofile.infra.contents import ContentStore
from chronofile.infra.event_store import EventStore
from tests.builders import claude_line, write
from tests.infra.command_line import CommandLine
from tests.infra.watched import Kept, until, watching


@pytest.fixture
def line(conninfo: str, home: Path, tmp_path: Path) -> CommandLine:
    """A command line on a database of its own, whose user has no folder but the test's."""
    user = Path(os.path.realpath(tmp_path)) / "user"
    user.mkdir()
    return CommandLine(home, user, {"CHRONOFILE_DATABASE_URL": conninfo})


def sessions(line: CommandLine, count: int = 1, below: str = ".claude/projects/p") -> Path:
    folder = line.directory / below
    for number in range(count):
        words = [
            claude_line(f"Words {number} {n}.", uuid=f"{number}-{n}", session=f"s-{number}") for n in range(5)
        ]
        write(folder / f"{number}.jsonl", *words)
    return folder


def test_alone_it_takes_in_every_known_agent_and_the_second_time_nothing(line: CommandLine) -> None:
    sessions(line)
    sessions(line, below="elsewhere/sessions")
    line.write("notes.md", "A note that nobody asked for.")

    first = line.run(
        "ingest", "--agents", "--wait", "none", "--json", CODEX_HOME=str(line.directory / "elsewhere")
    )
    again = line.run(
        "ingest", "--agents", "--wait", "none", "--json", CODEX_HOME=str(line.directory / "elsewhere")
    )

    assert (first.status, first.json["revisions"], first.json["rejected"]) == (0, 1, [])
    assert (again.status, again.json["revisions"], again.json["batch"]) == (0, 0, None)


def test_names_and_paths_say_what_is_taken_in(line: CommandLine) -> None:
    sessions(line, 2)
    line.write("notes/a.md", "A note.")

    assert line.run("ingest", "--agents", "codex", "--dry-run", "--json").status == 1
    both = line.run("ingest", "--agents", "claude-code,aider", "notes", "--dry-run", "--json")
    assert both.json["revisions"] == 3
    assert line.run("ingest", "--agents", "notes", "--dry-run", "--json").json["revisions"] == 3


EVERY_AGENTS = {
    "claude-code": (".claude/projects/p/s-1.jsonl", claude_line("Claude said words.", session="s-1")),
    "codex": (".codex/sessions/2026/05/08/rollout-1.jsonl", '{"type": "unknown-to-all", "n": 1}'),
    "gemini-cli": (".gemini/tmp/4f1c/chats/session-1.json", '{"of": "gemini"}'),
    "cursor": (".cursor/projects/p/agent-transcripts/1/1.jsonl", '{"of": "cursor"}'),
    "copilot-vscode": (".config/Code/User/workspaceStorage/9/chatSessions/1.json", '{"of": "code"}'),
}


def test_of_every_agent_conversations_alone_are_captured_once(line: CommandLine) -> None:
    for path, text in EVERY_AGENTS.values():
        line.write(path, f"{text}\n")
    for path in (".claude/.credentials.json", ".claude/projects/p/memory/MEMORY.md", ".codex/auth.json"):
        line.write(path, "A decoy.\n")
    for path in (".gemini/tmp/4f1c/logs.json", ".config/Code/User/settings.json", ".cursor/mcp.json"):
        line.write(path, "A decoy.\n")

    planned = line.run("ingest", "--agents", "--dry-run", "--json").json
    assert {name: found["files"] for name, found in planned["agents"].items()} == dict.fromkeys(
        EVERY_AGENTS, 1
    )
    first = line.run("ingest", "--agents", "--wait", "none", "--json").json
    again = line.run("ingest", "--agents", "--wait", "none", "--json").json
    listed = line.run("sources", "--json").json

    assert (planned["revisions"], first["revisions"], first["omitted"]) == (5, 5, {"beside-conversations": 3})
    assert (again["revisions"], again["unchanged"], again["batch"]) == (0, 5, None)
    assert {name for entry in listed for name in entry["files"]} == {
        str(line.directory / path) for path, _ in EVERY_AGENTS.values()
    }


def test_a_dry_run_says_what_there_is_of_each_agent(line: CommandLine) -> None:
    sessions(line, 2)

    shown = line.run("ingest", "--agents", "--dry-run").out.splitlines()
    assert shown[0].startswith("claude-code: 2 files with conversations, ")
    assert shown[1] == f"  {line.directory / '.claude/projects'}"


def test_an_agents_folder_that_is_given_by_its_path_is_taken_whole(line: CommandLine) -> None:
    sessions(line)
    line.write(".claude/projects/p/memory/MEMORY.md", "What it keeps in mind.\n")

    assert line.run("ingest", "--agents", "--dry-run", "--json").json["revisions"] == 1
    both = line.run("ingest", "--agents", "all", ".claude/projects", "--dry-run", "--json")
    assert both.json["revisions"] == 2


def test_a_watch_comes_to_sparse_folders_within_seconds_and_to_no_decoy(
    line: CommandLine, tmp_path: Path, conninfo: str
) -> None:
    user = line.home.parent
    chats = user / ".config/Code/User/workspaceStorage/9/chatSessions"
    write(chats / "1.json", '{"of": "code"}')
    write(user / ".claude/projects/p/s-1.jsonl", claude_line("Words.", session="s-1"))
    with watching(home=line.home, conninfo=conninfo, agents=None) as watch:
        watch.begun()
        until(lambda: watch.count("revisions") == 2)
        write(chats / "settings.txt", "A decoy.")
        write(user / ".claude/projects/p/notes.md", "A decoy.")
        write(chats.parent.parent / "8/chatSessions/2.json", '{"of": "code too"}')
        took_s = until(lambda: watch.count("revisions") == 3, 15)

    assert took_s < 10
    assert {flush["reason"] for flush in watch.flushes} == {"start", "clock"}


def test_an_unknown_agent_is_wrong_usage_and_none_at_all_is_said(line: CommandLine) -> None:
    unknown = line.run("ingest", "--agents", "clyppy")
    assert unknown.status == 2
    assert "There is no agent 'clyppy'. Known are claude-code, codex" in unknown.err

    none = line.run("ingest", "--agents", "--json")
    assert (none.status, none.json["revisions"]) == (0, 0)
    assert "No known agent has kept anything here." in none.err
    aider = line.run("ingest", "--agents", "aider")
    assert (aider.status, "Aider writes into each project: ingest or watch" in aider.err) == (0, True)


def test_it_goes_on_after_a_kill_and_captures_nothing_twice(
    line: CommandLine, store: EventStore, contents: ContentStore
) -> None:
    folder = sessions(line, 800)
    with line.started("ingest", "--agents", "--wait", "none") as process:
        until(lambda: store.position() > 300)
        process.kill()
    kept = Kept.of(store, contents)
    assert 0 < len(kept.sources) < 800

    until(lambda: line.run("ingest", "--agents", "--wait", "none").status == 0)

    kept = Kept.of(store, contents)
    assert (kept.missing(folder), kept.doubled, len(kept.sources)) == ([], 0, 800)


def test_progress_is_measured_in_the_bytes_up_to_each_file(line: CommandLine, tmp_path: Path) -> None:
    write(line.directory / "b.md", "1234")
    write(line.directory / "a.md", "12")

    assert sizes([line.directory], tmp_path / "home") == {
        line.directory / "a.md": 3,
        line.directory / "b.md": 8,
    }


def test_without_a_home_in_the_environment_the_systems_list_of_users_says_where_agents_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert user_folder() == Path("/home/ann")
    for value in (None, ""):
        monkeypatch.delenv("HOME") if value is None else monkeypatch.setenv("HOME", value)
        assert user_folder() == Path(pwd.getpwuid(os.getuid()).pw_dir)
