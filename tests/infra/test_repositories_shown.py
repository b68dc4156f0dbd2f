"""Git facts on the command line: `sources --json` and `get` say where a file's repository stood."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.builders import commit
from tests.infra.command_line import CommandLine

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def line(conninfo: str, home: Path, tmp_path: Path) -> CommandLine:
    work = Path(os.path.realpath(tmp_path)) / "work"
    work.mkdir()
    return CommandLine(home, work, {"CHRONOFILE_DATABASE_URL": conninfo})


def git(line: CommandLine, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(line.directory), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_sources_and_get_say_where_the_repository_stood(line: CommandLine) -> None:
    line.write("plan.md", "The harbour closes at noon.\n")
    commit(line.directory)
    git(line, "checkout", "--quiet", "-b", "topic/harbour")
    at = git(line, "rev-parse", "HEAD")
    line.write("loose.md", "The lighthouse has no keeper.\n")
    line.run("ingest", "--wait", "words")

    listed = {Path(entry["files"][0]).name: entry["git"] for entry in line.run("sources", "--json").json}
    assert listed == {
        "plan.md": {"commit": at, "branch": "topic/harbour", "dirty": False},
        "loose.md": {"commit": at, "branch": "topic/harbour", "dirty": True},
    }

    hits = line.run("search", "When does the harbour close?", "--json").json["hits"]
    (hit,) = [hit for hit in hits if "harbour" in hit["text"]]
    assert line.run("get", hit["id"], "--json").json["git"] == listed["plan.md"]
    for flags in ((), ("--source",)):
        first = line.run("get", hit["id"], *flags).out.splitlines()[0]
        assert first == f"plan.md:1-1, at commit {at[:12]}, on branch topic/harbour, as committed"

    line.write("plan.md", "The harbour is gone.\n")
    line.run("ingest", "--wait", "words")
    assert line.run("get", hit["id"], "--json").json["git"] is None


def test_an_erased_source_takes_the_name_of_its_branch_along(line: CommandLine) -> None:
    line.write("plan.md", "The harbour closes at noon.\n")
    commit(line.directory)
    git(line, "checkout", "--quiet", "-b", "secret-harbour")
    line.run("ingest", "--wait", "words")
    assert line.run("erase", "--source", "plan.md", "--yes").status == 0

    shown = line.run("sources", "--json")
    assert shown.status == 0, shown.err
    (entry,) = shown.json
    assert entry["git"]["branch"] is None
    assert "secret-harbour" not in line.run("sources", "--json").out
    assert line.run("verify", "--json").status == 0


def test_outside_of_a_repository_there_is_nothing_to_say(line: CommandLine) -> None:
    line.write("plan.md", "The harbour closes at noon.\n")
    line.run("ingest", "--wait", "words")

    (entry,) = line.run("sources", "--json").json
    assert entry["git"] is None
