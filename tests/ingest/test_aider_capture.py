"""Aider's histories, captured: found in a project though hidden and ignored, parted into sessions, grown."""

from __future__ import annotations

from pathlib import Path

from tests.builders import repository
from tests.ingest.saying import said, texts
from tests.samples import aider as sample
from tests.world import World

MORE = "\n# aider chat started at 2026-05-07 09:00:00\n\n#### Good morning  \n\nHello.\n\n"


def test_a_history_is_found_in_its_project_though_it_is_hidden_and_ignored(
    world: World, tmp_path: Path
) -> None:
    project = repository(tmp_path / "bakery")
    sample.write(project)
    (project / ".gitignore").write_text(".aider*\n")
    (project / ".aider.input.history").write_text("\n# 2026-05-06 07:08:09\n+/add oven.py\n")
    (project / "oven.py").write_text('print("beep")\n')
    captured = world.capture(project)
    world.catch_up()

    assert len(captured.sources) == 3
    assert {(one.scope, one.session) for one in said(world)} == {
        ("project:bakery", "2026-05-06T07:08:09"),
        ("project:bakery", "2026-05-06T08:00:00"),
    }
    assert "Why does the oven beep?\n\n# It began yesterday 🍞" in texts(world)


def test_our_own_rules_leave_a_history_out(world: World, tmp_path: Path) -> None:
    project = repository(tmp_path / "bakery")
    sample.write(project)
    (project / ".chronofileignore").write_text(".aider*\n")
    world.capture(project)
    world.catch_up()

    assert said(world) == []


def test_a_history_that_grows_adds_what_is_new_and_a_second_capture_changes_nothing(
    world: World, tmp_path: Path
) -> None:
    path = sample.write(tmp_path)
    world.capture(path)
    world.catch_up()
    before = texts(world)
    again = world.capture(path)
    with path.open("a") as file:
        file.write("#### Bye  \n" + MORE)
    world.capture(path)
    last = world.capture(path)
    world.catch_up()

    assert (again.revisions, last.revisions) == (0, 0)
    assert sorted(texts(world)) == sorted([*before, "Bye", "Good morning", "Hello."])


def test_a_history_that_is_captured_line_by_line_says_the_same(world: World, tmp_path: Path) -> None:
    lines = sample.HISTORY.splitlines(keepends=True)
    path = tmp_path / ".aider.chat.history.md"
    for number in range(1, len(lines) + 1, 3):
        path.write_text("".join(lines[:number]))
        world.capture(path)
    path.write_text(sample.HISTORY)
    world.capture(path)
    world.catch_up()
    grown = sorted((one.text, one.role) for one in said(world))
    (tmp_path / "whole").mkdir()
    world.capture(sample.write(tmp_path / "whole"), scope="whole")
    world.catch_up()

    assert sorted((one.text, one.role) for one in said(world) if one.scope == "whole") == grown


def test_two_histories_with_sessions_of_the_same_second_are_both_kept(world: World, tmp_path: Path) -> None:
    start = "# aider chat started at 2026-05-06 07:08:09"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".aider.chat.history.md").write_text(
            f"\n{start}\n\n#### In {name}  \n\nYes, {name}.\n\n"
        )
    world.capture(tmp_path)
    world.catch_up()

    assert sorted(texts(world)) == ["In one", "In two", "Yes, one.", "Yes, two."]


def test_a_history_that_moved_adds_nothing(world: World, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    world.capture(path)
    moved = world.capture(path.rename(tmp_path / "history.md"))

    assert moved.revisions == 0


def test_lines_before_the_first_session_are_told(world: World, tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(f"cut off here\n{sample.HISTORY}")
    captured = world.capture(path)
    world.catch_up()

    assert [one.reason for one in captured.rejected] == ["not-turns"]
    assert "Thanks!" in texts(world)
