"""Where what is captured belongs: directories, working directories, lines and the scope that was asked for."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chronofile.domain.events import DirectoryMapped, ScopeCreated, SourceRegistered
from chronofile.ingest.scan import repository_root
from tests.builders import add, claude_line, repository, turn_line, write
from tests.samples.opencode import SCHEMA
from tests.world import World

BEGAN_MS = 1_780_000_000_000
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


def add_session(path: Path, name: str, directory: Path, *texts: str) -> None:
    """Add a session to a database, or to what it says."""
    with closing(sqlite3.connect(path)) as connection:
        at = connection.execute("SELECT count(*) FROM message").fetchone()[0]
        row = (name, "p", str(directory), name, "1.0", BEGAN_MS, BEGAN_MS)
        connection.execute(
            "INSERT INTO session VALUES (?, ?, NULL, ?, ?, ?, NULL, ?, ?) ON CONFLICT DO NOTHING", row
        )
        connection.execute(
            "UPDATE session SET directory = ?, time_updated = ? WHERE id = ?",
            (str(directory), BEGAN_MS + at, name),
        )
        for number, text in enumerate(texts, start=at):
            held = json.dumps({"role": "user", "time": {"created": BEGAN_MS + number}})
            connection.execute(
                "INSERT INTO message VALUES (?, ?, ?, ?)", (f"msg_{number}", name, BEGAN_MS, held)
            )
            part = json.dumps({"type": "text", "text": text})
            values = (f"prt_{number}", f"msg_{number}", name, BEGAN_MS, part)
            connection.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", values)
        connection.commit()


def standing(world: World) -> dict[str, list[tuple[str, int]]]:
    """Return, by session, the scope and the revision of each source that it has."""
    world.catch_up()
    found: dict[str, list[tuple[str, int]]] = {}
    query = "SELECT session, scope, revision FROM {sources}.source ORDER BY session, scope"
    for session, scope, revision in world.rows(query):
        found.setdefault(session, []).append((scope, revision))
    return found


class TestConversationsOfOneFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "opencode.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(SCHEMA)
        add_session(path, "a", repository(tmp_path / "alpha"), "alpha one")
        add_session(path, "b", repository(tmp_path / "beta"), "beta one")
        add_session(path, "c", Path("/made-up/nowhere"), "nowhere one")
        return path

    def test_each_stays_in_the_scope_of_its_own_directory_when_the_file_grew(
        self, world: World, path: Path, tmp_path: Path
    ) -> None:
        first = world.capture(path)
        for name, directory in (
            ("a", tmp_path / "alpha"),
            ("b", tmp_path / "beta"),
            ("c", Path("/made-up/nowhere")),
        ):
            add_session(path, name, directory, f"{name} two")
        add_session(path, "d", tmp_path / "beta", "beta as well")
        grown, again = world.capture(path), world.capture(path, again=True)

        assert (first.revisions, grown.revisions, again.revisions) == (3, 4, 0)
        assert standing(world) == {
            "a": [("project:alpha", 2)],
            "b": [("project:beta", 2)],
            "c": [("global", 2)],
            "d": [("project:beta", 1)],
        }

    def test_one_that_comes_first_and_alone_keeps_its_scope_to_itself(
        self, world: World, tmp_path: Path
    ) -> None:
        path = tmp_path / "opencode.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(SCHEMA)
        add_session(path, "a", repository(tmp_path / "alpha"), "alpha one")
        world.capture(path)
        add_session(path, "b", repository(tmp_path / "beta"), "beta one")
        world.capture(path)

        assert standing(world) == {"a": [("project:alpha", 1)], "b": [("project:beta", 1)]}

    def test_one_whose_directory_is_another_now_stays_where_it_is(
        self, world: World, path: Path, tmp_path: Path
    ) -> None:
        world.capture(path)
        add_session(path, "a", tmp_path / "beta", "alpha two")
        add_session(path, "c", repository(tmp_path / "new"), "nowhere two")
        world.capture(path)

        found = standing(world)
        assert (found["a"], found["c"]) == ([("project:alpha", 2)], [("global", 2)])
        assert "project:new" not in mapped(world).values()

    def test_a_scope_that_was_asked_for_once_holds_for_what_comes_later(
        self, world: World, path: Path, tmp_path: Path
    ) -> None:
        world.capture(path, scope="person:mel")
        unchanged = world.capture(path, scope="person:mel")
        add_session(path, "a", tmp_path / "alpha", "alpha two")
        add_session(path, "d", tmp_path / "beta", "beta as well")
        world.capture(path)
        world.capture(path, again=True)

        assert unchanged.revisions == 0
        assert {name: found[0][0] for name, found in standing(world).items()} == dict.fromkeys(
            "abcd", "person:mel"
        )
        assert [len(found) for found in standing(world).values()] == [1] * 4

    def test_a_file_that_could_not_be_read_gives_its_folders_scope_to_none_of_them(
        self, world: World, path: Path, tmp_path: Path
    ) -> None:
        there = path.rename(tmp_path / "alpha" / "opencode.db")
        whole = there.read_bytes()
        there.write_bytes(whole[:5_000])
        rejected = world.capture(there)
        there.write_bytes(whole)
        world.capture(there)

        assert len(rejected.rejected) == 1
        assert {name: [scope for scope, _ in found] for name, found in standing(world).items() if name} == {
            "a": ["project:alpha"], "b": ["project:beta"], "c": ["global"],
        }  # fmt: skip
