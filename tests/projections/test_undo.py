"""Undo: what a batch captured is hidden from there on, what was there before shows again, and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import event

from chronofile.projections.projection import FOREVER
from tests.builders import (
    add,
    claude_line,
    registered,
    repository,
    restored,
    reverted,
    revised,
    started,
    write,
)
from tests.projections.taking_back import reverse
from tests.world import World


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


def texts(world: World, position: int | None = None) -> list[str]:
    """Return the texts that are there as of a position, now for None, by source and in reading order."""
    world.catch_up()
    at = world.store.position() if position is None else position
    rows = world.rows(
        "SELECT text FROM {passages}.passage p JOIN {passages}.occurrence o ON passage_no = no"
        " WHERE p.recorded_from <= %s AND p.recorded_to > %s AND o.recorded_from <= %s AND o.recorded_to > %s"
        " ORDER BY o.source, seq",
        *[at] * 4,
    )
    return [bytes(text).decode() for (text,) in rows]


def states(world: World) -> list[tuple[object, ...]]:
    world.catch_up()
    return world.rows("SELECT state, revision, bytes FROM {sources}.source ORDER BY uri")


def batch(world: World, *paths: Path) -> str:
    found = world.capture(*paths).batch
    assert found is not None
    return found


def test_a_file_that_was_only_in_an_undone_batch_is_gone_and_still_there_as_of_before(
    world: World, folder: Path
) -> None:
    write(folder / "a.md", "It stays.")
    world.capture(folder)
    path = write(folder / "b.md", "It goes.")
    undone = batch(world, folder)
    before = world.store.position()

    undo = reverse(world, undone)

    assert texts(world) == ["It stays.\n"]
    assert sorted(texts(world, before)) == ["It goes.\n", "It stays.\n"]
    assert states(world) == [("captured", 1, 10), ("reverted", 0, 0)]
    assert world.rows("SELECT reverted_by FROM {sources}.batch WHERE id = %s", undone) == [(undo,)]

    reverse(world, undo)

    assert sorted(texts(world)) == ["It goes.\n", "It stays.\n"]
    assert states(world) == [("captured", 1, 10), ("captured", 1, path.stat().st_size)]
    assert world.rows("SELECT reverted_by FROM {sources}.batch WHERE id = %s", undone) == [(None,)]


def test_an_undone_revision_lets_the_one_before_show_again_under_its_old_ids(
    world: World, folder: Path
) -> None:
    path = write(folder / "a.md", "# One", "", "The first part " * 9, "", "# Two", "", "The second part " * 9)
    world.capture(folder)
    first = texts(world)
    write(path, "# One", "", "Another first part " * 9, "", "# Two", "", "The second part " * 9)
    undone = batch(world, folder)
    assert texts(world) != first

    reverse(world, undone)

    assert texts(world) == first
    rows = world.rows("SELECT id, count(*), max(recorded_to) FROM {passages}.passage GROUP BY id")
    assert sorted((count, last == FOREVER) for _, count, last in rows) == [(1, False), (1, True), (2, True)]
    assert states(world)[0][:2] == ("captured", 1)


def test_the_removal_of_an_undone_batch_hides_nothing(world: World, folder: Path) -> None:
    path = write(folder / "a.md", "It is removed.")
    world.capture(folder)
    path.unlink()
    undone = batch(world, folder)
    assert texts(world) == []
    assert states(world)[0][0] == "removed"

    undo = reverse(world, undone)

    assert texts(world) == ["It is removed.\n"]
    assert states(world)[0][0] == "captured"
    reverse(world, undo)
    assert texts(world) == []
    assert states(world)[0][0] == "removed"


def test_a_range_that_continues_what_was_undone_is_hidden_with_it_and_shows_with_it(
    world: World, tmp_path: Path
) -> None:
    path = write(tmp_path / "s.jsonl", claude_line("one", uuid="u-1"))
    world.capture(path)
    add(path, claude_line("two", uuid="u-2"), '{"type": "unheard-of", "sessionId": "s"}')
    undone = batch(world, path)
    world.catch_up()
    assert world.rows("SELECT count FROM {passages}.omission") == [(1,)]

    undo = reverse(world, undone)
    add(path, claude_line("three", uuid="u-3"))
    world.capture(path)

    assert texts(world) == ["one"]
    assert world.rows("SELECT count FROM {passages}.omission") == []
    assert world.rows("SELECT hidden FROM {passages}.source") == [(True,)]
    assert states(world)[0][:2] == ("captured", 1)

    reverse(world, undo)
    add(path, claude_line("four", uuid="u-4"))
    world.capture(path)

    assert texts(world) == ["one", "two", "three", "four"]
    assert world.rows("SELECT count FROM {passages}.omission") == [(1,)]
    assert states(world)[0] == ("captured", 4, path.stat().st_size)


def test_a_whole_after_what_was_undone_shows_again(world: World, folder: Path) -> None:
    path = write(folder / "a.md", "The first.")
    reverse(world, batch(world, folder))
    write(path, "The second.")
    world.capture(folder)

    assert texts(world) == ["The second.\n"]
    assert states(world)[0][:2] == ("captured", 2)


def test_a_message_that_an_undone_range_extended_is_as_it_was_before(world: World, tmp_path: Path) -> None:
    path = write(
        tmp_path / "s.jsonl",
        claude_line("Which port?"),
        claude_line("I look.", role="assistant", uuid="u-2", message_id="m"),
    )
    world.capture(path)
    add(path, claude_line("It is 5432.", role="assistant", uuid="u-3", message_id="m"))
    undone = batch(world, path)
    assert texts(world) == ["Which port?", "I look.\n\nIt is 5432."]

    undo = reverse(world, undone)

    assert texts(world) == ["Which port?", "I look."]
    there = "SELECT native_ids FROM {passages}.turn WHERE recorded_to = %s ORDER BY ordinal"
    assert world.rows(there, FOREVER) == [(["u-1"],), (["u-2"],)]
    reverse(world, undo)
    assert texts(world) == ["Which port?", "I look.\n\nIt is 5432."]
    assert world.rows(there, FOREVER) == [(["u-1"],), (["u-2", "u-3"],)]


def test_what_is_appended_to_a_batch_after_it_was_undone_is_hidden_too(world: World) -> None:
    keys = [world.contents.text_key(text) for text in ("file:///a.md", "It.")]
    world.given("source-s", registered(keys[0]), texts=["file:///a.md"])
    world.given("batch-b", started(), reverted())
    world.given("source-s", revised(keys[1]), texts=["It."])

    assert texts(world) == []
    assert states(world) == [("reverted", 0, 0)]
    world.given("batch-b", restored())
    assert texts(world) == ["It."]
    assert states(world) == [("captured", 1, 100)]


def test_vectors_of_what_shows_again_come_from_the_cache(world: World, folder: Path) -> None:
    write(folder / "a.md", "The first.")
    world.capture(folder)
    world.catch_up(embed=True)
    write(folder / "a.md", "The second.")
    undone = batch(world, folder)
    world.catch_up(embed=True)

    reverse(world, undone)
    world.catch_up()

    assert world.rows("SELECT count(*) FROM {vectors}.pending") == [(0,)]


def test_a_batch_of_many_sources_is_undone_in_few_statements(world: World, folder: Path) -> None:
    for number in range(350):
        write(folder / f"{number}.md", f"It is number {number}.")
    world.capture(folder)
    for number in range(350):
        write(folder / f"{number}.md", f"It is another number, {number}.")
    undone = batch(world, folder)
    world.catch_up()
    sent: list[str] = []
    event.listen(world.engine, "before_cursor_execute", lambda *a: sent.append(a[2]))

    reverse(world, undone)

    assert sorted(texts(world)) == sorted(f"It is number {number}.\n" for number in range(350))
    assert len(sent) < 200
