"""Where what is captured belongs: directories, working directories, lines and the scope that was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronofile.domain.events import DirectoryMapped, ScopeCreated, SourceRegistered
from chronofile.ingest.scan import repository_root
from tests.builders import add, claude_line, repository, turn_line, write
from tests.world import World

TEXT = "A sentence that is long enough for a file of it to be told from another one."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


def scopes(world: World) -> list[str]:
    return [event.scope for event in world.events() if isinstance(event, SourceRegistered)]


def mapped(world: World) -> dict[str, str]:
    rows = world.rows("SELECT directory, scope FROM log.directories")
    return {bytes(directory).decode(): scope for directory, scope in rows}


def test_the_first_capture_of_a_repository_maps_its_root(world: World, folder: Path) -> None:
    path = write(folder / "src" / "a.md", TEXT)

    world.capture(path)

    assert scopes(world) == ["project:api"]
    assert mapped(world) == {str(folder): "project:api"}
    assert [type(event) for event in world.events()][:2] == [ScopeCreated, DirectoryMapped]
    assert world.store.after(0)[1].stream == "scope-project:api"


def test_a_second_repository_of_the_same_name_gets_a_number(
    world: World, folder: Path, tmp_path: Path
) -> None:
    other = repository(tmp_path / "other" / "api")
    write(folder / "a.md", TEXT)
    write(other / "b.md", TEXT)

    world.capture(folder)
    world.capture(other)
    write(other / "c.md", TEXT)
    world.capture(other)

    assert scopes(world) == ["project:api", "project:api-2", "project:api-2"]


def test_outside_of_every_repository_it_is_global_and_nothing_is_created(
    world: World, tmp_path: Path
) -> None:
    write(tmp_path / "a.md", TEXT)
    write(tmp_path / "s.jsonl", claude_line("one", cwd=str(tmp_path)))
    write(tmp_path / "t.turns.jsonl", turn_line("one"))

    world.capture(tmp_path)

    assert scopes(world) == ["global"] * 3
    assert not [event for event in world.events() if isinstance(event, ScopeCreated | DirectoryMapped)]


def test_a_repository_within_a_mapped_one_belongs_to_that(world: World, folder: Path) -> None:
    write(folder / "a.md", TEXT)
    world.capture(folder)
    write(repository(folder / "vendored") / "b.md", TEXT)

    world.capture(folder)

    assert scopes(world) == ["project:api"] * 2


def test_the_sessions_working_directory_places_a_transcript(
    world: World, folder: Path, tmp_path: Path
) -> None:
    (folder / "src").mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    other = repository(tmp_path / "web")
    write(other / "a.jsonl", claude_line("one", session="a", cwd=str(folder / "src")))
    write(other / "b.jsonl", claude_line("two", session="b", cwd=f"{link}/src/"))
    write(other / "c.jsonl", claude_line("two", session="c", cwd=str(folder / "no longer there")))

    world.capture(other)

    assert scopes(world) == ["project:api"] * 3
    assert mapped(world) == {str(folder): "project:api"}


@pytest.mark.parametrize(
    "cwd", ["src", ".", "", "/nowhere/at/all", "C:\\work", "/x\0", "/x\ud800", "/" + "x" * 9_000]
)
def test_a_working_directory_that_is_none_here_is_global(
    world: World, folder: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "src").mkdir()
    monkeypatch.chdir(folder)
    path = write(folder / "a.jsonl", claude_line("one", cwd=cwd).replace("\ud800", "\\ud800"))

    world.capture(path)

    assert scopes(world) == ["global"]


def test_the_scope_that_was_asked_for_wins_over_all_but_a_lines_own(world: World, folder: Path) -> None:
    write(folder / "a.md", TEXT)
    write(folder / "b.jsonl", claude_line("one", cwd=str(folder)))
    write(
        folder / "c.turns.jsonl",
        turn_line("one", session="t"),
        turn_line("two", session="u", scope="person:ann"),
    )

    world.capture(folder, scope="mine")

    assert scopes(world) == ["mine", "mine", "mine", "person:ann"]
    created = [r.stream for r in world.store.after(0) if isinstance(r.event, ScopeCreated)]
    assert sorted(created) == ["scope-mine", "scope-person:ann"]


def test_what_was_captured_stays_where_it_was_placed(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "api"
    path = write(folder / "a.md", TEXT)
    asked = write(folder / "b.md", TEXT, "Asked for.")
    world.capture(path)
    world.capture(asked, scope="mine")
    repository(folder)
    for file in (path, asked):
        add(file, "More.")
    write(folder / "c.md", TEXT)

    world.capture(folder)

    assert scopes(world) == ["global", "mine", "project:api"]


def test_lines_with_a_scope_do_not_place_those_without_when_the_file_grows(
    world: World, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "t.turns.jsonl", turn_line("one", session="a", scope="x"), turn_line("two", session="b")
    )
    world.capture(path)
    add(path, turn_line("three", session="b", turn="2"), turn_line("four", session="c"))

    world.capture(path)

    assert scopes(world) == ["x", "global", "global"]


def test_a_file_of_lines_with_scopes_that_gets_one_without_is_global_there(
    world: World, tmp_path: Path
) -> None:
    path = write(tmp_path / "t.turns.jsonl", turn_line("one", session="a", scope="x"))
    world.capture(path)
    add(path, turn_line("two", session="b"))

    world.capture(path)

    assert scopes(world) == ["x", "global"]


def test_a_file_that_is_captured_into_a_second_scope_is_removed_from_both(
    world: World, tmp_path: Path
) -> None:
    path = write(tmp_path / "in" / "a.md", TEXT)
    world.capture(path)
    world.capture(path, scope="mine")
    assert scopes(world) == ["global", "mine"]
    path.unlink()

    assert world.capture(path.parent).removed == 2


def test_a_dry_run_maps_nothing(world: World, folder: Path) -> None:
    write(folder / "a.md", TEXT)

    world.capture(folder, dry_run=True)

    assert (world.store.position(), mapped(world)) == (0, {})


def test_the_repository_is_the_nearest_one_above(tmp_path: Path) -> None:
    inner = repository(repository(tmp_path / "outer") / "a" / "inner")
    (tmp_path / "outer" / "file").mkdir()
    (tmp_path / "outer" / "file" / ".git").write_text("gitdir: elsewhere")

    assert repository_root(inner / "deep") == inner
    assert repository_root(tmp_path / "outer" / "a") == tmp_path / "outer"
    assert repository_root(tmp_path / "outer" / "file" / "x") == tmp_path / "outer" / "file"
    assert repository_root(tmp_path) is None
