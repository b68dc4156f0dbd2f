"""The catalogue: where each source is, how far it was captured, and what went wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chronofile.domain.events import BatchStarted, SourceRescoped
from tests.builders import OBSERVED_AT, add, claude_line, repository, turn_line, write
from tests.world import World

LONG = "A sentence that is long enough for a file of it to be told from another one."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


def source(world: World) -> list[tuple[object, ...]]:
    world.catch_up()
    return world.rows(
        "SELECT kind, scope, convert_from(uri, 'UTF8'), session, format, revision, bytes, state, rejection"
        " FROM {sources}.source ORDER BY uri"
    )


def files(world: World) -> set[str]:
    return {os.fsdecode(bytes(path)) for (path,) in world.rows("SELECT path FROM {sources}.file")}


def test_a_source_is_listed_with_its_place_and_its_last_revision(world: World, folder: Path) -> None:
    path, session = write(folder / "a b.md", LONG), write(folder / "s.jsonl", claude_line("one"))
    world.capture(folder)
    add(path, "More.")
    captured = world.capture(folder)

    assert source(world) == [
        ("file", "project:api", f"file://{folder}/a%20b.md", None, "text", 2, path.stat().st_size, "captured", None),
        ("transcript", "global", f"file://{session}", "s", "claude-code", 1, session.stat().st_size, "captured", None),
    ]  # fmt: skip
    assert files(world) == {str(path), str(session)}
    batches = world.rows("SELECT batch, captured_at IS NOT NULL FROM {sources}.source ORDER BY uri")
    assert batches[0] == (captured.batch, True)
    assert batches[1][0] != captured.batch


def test_a_moved_source_has_its_new_uri_and_both_files(world: World, folder: Path) -> None:
    path = write(folder / "a.md", LONG)
    world.capture(folder)
    path.rename(folder / "b.md")
    world.capture(folder)

    assert [row[2] for row in source(world)] == [f"file://{folder}/b.md"]
    assert files(world) == {str(folder / "a.md"), str(folder / "b.md")}


def test_a_removed_source_is_listed_as_removed_until_it_comes_back(world: World, folder: Path) -> None:
    path = write(folder / "a.md", LONG)
    world.capture(folder)
    path.unlink()
    world.capture(folder)
    assert [row[5:] for row in source(world)] == [(1, 77, "removed", None)]

    write(path, LONG)
    world.capture(folder)

    assert [row[5:] for row in source(world)] == [(2, 77, "captured", None)]


def test_what_was_rejected_is_listed_with_its_reason(world: World, folder: Path) -> None:
    path = write(folder / "a.md", LONG)
    (folder / "b.bin").write_bytes(b"\x00\x01\x02" * 50)
    world.capture(folder)
    path.write_bytes(b"\x00\x01\x02" * 60)
    world.capture(folder)
    assert [row[5:] for row in source(world)] == [(1, 77, "captured", "binary"), (0, 0, "rejected", "binary")]

    write(path, LONG, "Text again.")
    world.capture(folder)

    assert source(world)[0][5:] == (2, 89, "captured", None)


def test_scopes_and_directories_are_listed(world: World, folder: Path) -> None:
    write(folder / "a.md", LONG)
    write(folder / "t.turns.jsonl", turn_line("one", scope="person:ann"))
    world.capture(folder)
    world.catch_up()
    ((identifier,),) = world.rows("SELECT id FROM {sources}.source WHERE kind = 'transcript'")
    world.given(f"source-{identifier}", SourceRescoped("person:ben"))

    assert [row[1] for row in source(world)] == ["project:api", "person:ben"]
    directories = dict(world.rows("SELECT convert_from(path, 'UTF8'), scope FROM {sources}.directory"))
    assert directories == {str(folder): "project:api"}
    scopes = {name for (name,) in world.rows("SELECT name FROM {sources}.scope")}
    assert scopes == {"project:api", "person:ann", "person:ben"}


def test_a_batch_is_open_until_it_ends(world: World, folder: Path) -> None:
    write(folder / "a.md", LONG)
    captured = world.capture(folder, tool="watch")
    world.given("batch-cut-off", BatchStarted("ingest", OBSERVED_AT))
    world.catch_up()

    rows = world.rows("SELECT id, tool, finished_at IS NULL FROM {sources}.batch ORDER BY tool")
    assert rows == [("cut-off", "ingest", True), (captured.batch, "watch", False)]
