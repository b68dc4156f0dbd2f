"""Overdue transcripts: those that are not captured as they are, whoever should have captured them."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chronofile.infra.agents.overdue import FILES_MAX, Transcripts, overdue, transcripts
from chronofile.ingest import known
from chronofile.ingest.agents import Kept
from chronofile.ingest.selections import Selection
from tests.builders import add, claude_line, write
from tests.world import World

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".claude" / "projects"


def session(folder: Path, name: str, age: timedelta) -> Path:
    """Write a transcript that was changed so long ago."""
    return aged(write(folder / "p" / f"{name}.jsonl", claude_line("Words.", session=name)), age)


def aged(path: Path, age: timedelta) -> Path:
    changed_s = (NOW - age).timestamp()
    os.utime(path, (changed_s, changed_s))
    return path


def looked(world: World, **folders: list[Path]) -> dict[str, Transcripts]:
    def known_of(paths: list[Path]) -> dict[Path, known.KnownFile]:
        with world.store.cursor() as cursor:
            return known.files(cursor, paths)

    taken = Selection(("**/*.jsonl",))
    named = {name.replace("_", "-"): [Kept(path, taken) for path in paths] for name, paths in folders.items()}
    return transcripts(named, known_of, home=world.home, now=NOW)  # type: ignore[arg-type]


def test_transcripts_that_are_captured_as_they_are_are_not_overdue(world: World, folder: Path) -> None:
    session(folder, "one", 3 * DAY)
    session(folder, "two", HOUR)
    world.capture(folder)

    found = looked(world, claude_code=[folder])

    assert found == {"claude-code": Transcripts(2)}
    assert list(overdue(found, NOW)) == []


def test_a_transcript_that_was_never_captured_is_overdue_after_a_quarter_of_an_hour(
    world: World, folder: Path
) -> None:
    """Though another one of the agent was captured later, and it is less than a day old."""
    session(folder, "captured", timedelta())
    world.capture(folder)
    session(folder, "an-hour", HOUR)
    session(folder, "a-day", DAY - HOUR)
    session(folder, "just-now", timedelta(minutes=14))

    found = looked(world, claude_code=[folder])

    assert found == {"claude-code": Transcripts(4, 2, NOW - DAY + HOUR)}
    (sentence,) = overdue(found, NOW)
    assert sentence.startswith(
        "claude-code: 2 of 4 transcripts are not captured as of now; the first was changed 23 hours ago."
    )
    assert "chronofile ingest --agents" in sentence


def test_a_transcript_that_grew_after_its_capture_is_overdue(world: World, folder: Path) -> None:
    grown = session(folder, "one", 2 * DAY)
    world.capture(folder)
    aged(add(grown, claude_line("More.", uuid="u-2", session="one")), HOUR)

    assert looked(world, claude_code=[folder])["claude-code"] == Transcripts(1, 1, NOW - HOUR)
    world.capture(folder)
    assert looked(world, claude_code=[folder])["claude-code"] == Transcripts(1)


def test_an_agent_that_was_never_captured_is_overdue_as_well(world: World, folder: Path) -> None:
    session(folder, "one", HOUR)

    (sentence,) = overdue(looked(world, claude_code=[folder]), NOW)

    assert sentence.startswith("claude-code: 1 of 1 transcript is not captured")


def test_an_agent_without_a_transcript_is_not_asked_after(world: World, tmp_path: Path, folder: Path) -> None:
    aged(write(folder / "p" / "sessions-index.json", "{}"), DAY)
    aged(write(tmp_path / "gemini" / "logs.txt", "Words."), DAY)

    assert looked(world, claude_code=[folder, tmp_path / "none"], gemini_cli=[tmp_path / "gemini"]) == {}


def test_what_a_rule_leaves_out_is_not_asked_after(world: World, folder: Path) -> None:
    session(folder, "private", DAY)
    write(folder / ".chronofileignore", "private.jsonl")

    assert looked(world, claude_code=[folder]) == {}


def test_a_folder_behind_a_link_is_known_by_where_it_is(world: World, folder: Path, tmp_path: Path) -> None:
    session(folder, "one", DAY)
    world.capture(folder)
    (tmp_path / "link").symlink_to(folder)

    assert looked(world, claude_code=[tmp_path / "link"]) == {"claude-code": Transcripts(1)}


def test_a_look_has_a_limit(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronofile.infra.agents.overdue.FILES_MAX", 3)
    for number in range(5):
        session(tmp_path, str(number), DAY)

    assert FILES_MAX >= 10_000
    assert looked(world, codex=[tmp_path])["codex"].found == 3
