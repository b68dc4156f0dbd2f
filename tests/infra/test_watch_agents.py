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
from tests.infra.watched import Kept, until


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


def test_an_unknown_agent_is_wrong_usage_and_none_at_all_is_said(line: CommandLine) -> None:
    unknown = line.run("ingest", "--agents", "clyppy")
    assert unknown.status == 2
    assert "There is no agent 'clyppy'. Known are claude-code, codex" in unknown.err

    none = line.run("ingest", "--agents", "--json")
    assert (none.status, none.json["revisions"]) == (0, 0)
    assert "No known agent has kept anything here." in none.err


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
