"""The first run: an empty machine, three commands, and nothing left running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.builders import claude_line, write
from tests.infra.command_line import CommandLine, command_line
from tests.infra.embedded_home import command, is_gone


@pytest.fixture
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """A command line on a home that nobody has used, without a server of its own."""
    with command_line(tmp_path_factory.mktemp("first"), server=False) as found:
        yield found


def test_the_first_capture_makes_everything_and_leaves_no_process(line: CommandLine) -> None:
    line.write("notes/deploy.md", "# Deploy\n\nThe staging server listens on port 5433.\n")
    transcript = line.directory / ".claude/projects/-made-up/s.jsonl"
    write(transcript, claude_line("We moved the database to Lisbon.", cwd=str(line.directory)))

    captured = line.run("ingest", ".", ".claude/projects", "--json")
    postmaster = line.home / "postgres" / "postmaster.pid"

    assert captured.status == 0, captured.err
    assert captured.err == ""
    assert (captured.json["sources"], captured.json["pending_vectors"]) == (2, 0)
    assert not postmaster.exists()

    found = line.run("search", "where is the database now?", "--json")
    assert "Lisbon" in found.json["hits"][0]["text"]
    assert found.err == ""
    assert line.run("ingest", ".", ".claude/projects", "--json").json["revisions"] == 0


def test_a_worker_that_is_killed_leaves_a_server_that_the_next_command_ends(line: CommandLine) -> None:
    with line.started("worker", "-v") as process:
        assert process.stderr is not None
        while b"working" not in process.stderr.readline():
            continue
        pid = int((line.home / "postgres" / "postmaster.pid").read_text().split("\n", 1)[0])
        process.kill()
        process.communicate()
    assert command(pid)

    assert line.run("status").status == 0
    assert is_gone(pid)
