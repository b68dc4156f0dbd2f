"""Erasure: what named an erased content has lost it in every table, and all is as a rebuild would have it."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from chronofile.domain.events import DirectoryMapped, ScopeCreated
from chronofile.projections import control, erasing, runner
from chronofile.projections.erasing import Holder
from chronofile.projections.runner import Limits
from tests.builders import OBSERVED_AT, add, claude_line, registered, repository, revised, write
from tests.projections.replays import live_through
from tests.projections.taking_back import (
    capture_again,
    contents,
    erase,
    erase_some,
    keys_of,
    live,
    remember,
    reverse,
    streams_by_name,
    take_back,
)
from tests.query.asking import ask
from tests.world import Dump, World

SECRET = "The password of the lighthouse is marmalade."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


def texts(world: World) -> list[str]:
    world.catch_up()
    rows = world.rows("SELECT convert_from(text, 'UTF8') FROM {passages}.passage ORDER BY no")
    return [text for (text,) in rows]


def differing(first: Dump, second: Dump) -> dict[str, object]:
    """Return the tables that are not the same in both."""
    return {name: (rows, second[name]) for name, rows in first.items() if rows != second[name]}


def tables_that_hold(world: World, text: str) -> list[str]:
    """Return the tables of the projections in which a text stands."""
    return [
        name
        for name, rows in world.dump().items()
        if any(text in str(value) or text in _decoded(value) for row in rows for value in row)
    ]


def _decoded(value: object) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else ""


def test_an_erased_file_is_in_no_table_and_every_other_passage_keeps_its_number(
    world: World, folder: Path
) -> None:
    write(folder / "marmalade" / "secret.md", SECRET)
    write(folder / "other.md", "Another file.")
    world.capture(folder)
    world.catch_up(embed=True)
    before = world.rows("SELECT no, id FROM {passages}.passage WHERE convert_from(text, 'UTF8') LIKE 'Ano%%'")
    assert tables_that_hold(world, "marmalade")

    erase(world, streams_by_name(world)["secret.md"])
    world.catch_up()

    assert tables_that_hold(world, "marmalade") == []
    assert world.rows("SELECT no, id FROM {passages}.passage") == before
    rows = world.rows(
        "SELECT convert_from(uri, 'UTF8'), state, bytes, revision FROM {sources}.source ORDER BY uri"
    )
    assert rows[0] == ("", "erased", 0, 1)
    assert world.rows("SELECT count(*) FROM {sources}.file") == [(1,)]
    assert [hit.text for hit in ask(world, "What is the password?").hits] == ["Another file.\n"]
    assert differing(world.dump(), world.rebuilt()) == {}


@pytest.mark.parametrize("page_events", [1, 1_000])
@pytest.mark.parametrize("lagging", ["lexical", "instant", "vectors"])
def test_dependents_that_lag_behind_an_erasure_end_up_as_a_rebuild(
    world: World, tmp_path: Path, lagging: str, page_events: int
) -> None:
    folder = tmp_path / "api"
    ahead = [p for p in world.projections if p.name != lagging]

    def catch_up_the_others() -> None:
        assert runner.catch_up(world.engine, world.store, ahead, limits=Limits(events=page_events))

    live_through(world, folder)
    world.catch_up(page_events, embed=True)
    take_back(world, folder, after_each=catch_up_the_others)
    erase_some(world, after_each=catch_up_the_others)
    world.catch_up(page_events)

    assert differing(world.dump(), world.rebuilt()) == {}


def test_a_search_while_the_words_lag_behind_an_erasure_finds_the_others(world: World, folder: Path) -> None:
    write(folder / "secret.md", SECRET)
    write(folder / "other.md", "The lighthouse is open.")
    world.capture(folder)
    world.catch_up(embed=True)
    erase(world, streams_by_name(world)["secret.md"])

    runner.catch_up(world.engine, world.store, world.projections[:2])

    assert [hit.text for hit in ask(world, "lighthouse password").hits] == ["The lighthouse is open.\n"]


def test_erased_ranges_of_a_transcript_leave_the_others(world: World, tmp_path: Path) -> None:
    path = write(tmp_path / "s.jsonl", claude_line("one", uuid="u-1"))
    world.capture(path)
    for number, text in enumerate(["two", SECRET, "four"], start=2):
        add(path, claude_line(text, uuid=f"u-{number}"))
        world.capture(path)
    world.catch_up()
    stream = streams_by_name(world)["s.jsonl"]
    third = world.store.read(stream)[3].event

    erase(world, stream, only=[third.content])  # type: ignore[union-attr]

    assert texts(world) == ["one", "two", "four"]
    assert tables_that_hold(world, "marmalade") == []
    assert world.rows("SELECT state FROM {sources}.source") == [("captured",)]
    assert differing(world.dump(), world.rebuilt(1)) == {}


def test_what_was_erased_stays_erased_as_of_before_when_the_same_bytes_come_again(
    world: World, folder: Path
) -> None:
    write(folder / "secret.md", SECRET)
    world.capture(folder)
    world.catch_up()
    stream = streams_by_name(world)["secret.md"]
    kept = contents(world, [key for recorded in world.store.read(stream) for key in keys_of(recorded)])
    erase(world, stream)
    position = world.store.position()

    capture_again(world, stream, kept)

    assert texts(world) == [f"{SECRET}\n"]
    assert world.rows("SELECT recorded_from > %s FROM {passages}.passage", position) == [(True,)]
    rows = world.rows("SELECT state, convert_from(uri, 'UTF8') FROM {sources}.source")
    assert rows == [("captured", f"file://{folder}/secret.md")]
    assert differing(world.dump(), world.rebuilt()) == {}
    assert differing(world.dump(), world.rebuilt(1)) == {}


def test_undo_after_an_erasure_shows_what_is_left(world: World, folder: Path) -> None:
    path = write(folder / "a.md", "What was first.")
    first = world.capture(folder).batch
    write(path, SECRET)
    second = world.capture(folder).batch
    world.catch_up()
    stream = streams_by_name(world)["a.md"]
    erase(world, stream, only=[world.store.read(stream)[2].event.content])  # type: ignore[union-attr]
    assert first is not None
    assert second is not None

    undo = reverse(world, second)
    assert texts(world)[-1] == "What was first.\n"
    assert world.rows("SELECT state FROM {sources}.source") == [("captured",)]
    reverse(world, undo)
    world.catch_up()

    assert world.rows("SELECT state FROM {sources}.source") == [("erased",)]
    assert differing(world.dump(), world.rebuilt()) == {}
    assert differing(world.dump(), world.rebuilt(1)) == {}


def test_an_erased_directory_takes_its_name_from_all_that_is_below_it(world: World) -> None:
    names = ["/marmalade", "file:///marmalade/sub/a.md", "It."]
    keys = {name: world.contents.text_key(name) for name in names}
    mapped = DirectoryMapped(keys["/marmalade"], OBSERVED_AT)
    world.given("scope-s", ScopeCreated(OBSERVED_AT), mapped, texts=names)
    world.given("source-1", registered(keys[names[1]], scope="s"), revised(keys["It."]))
    world.catch_up()
    assert world.rows("SELECT topic FROM {passages}.passage") == [("sub",)]

    erase(world, "scope-s", "source-1", only=[keys["/marmalade"], keys[names[1]]])
    world.catch_up()

    assert tables_that_hold(world, "marmalade") == []
    assert world.rows("SELECT count(*) FROM {sources}.directory") == [(0,)]
    assert differing(world.dump(), world.rebuilt()) == {}


def test_an_erased_memory_is_listed_as_erased(world: World) -> None:
    remember(world, 1, SECRET)
    remember(world, 2, "Another one.")
    world.catch_up(embed=True)

    erase(world, "memory-1")
    world.catch_up()

    assert tables_that_hold(world, "marmalade") == []
    assert world.rows("SELECT id, state, bytes FROM {sources}.source ORDER BY id") == [
        ("1", "erased", 0), ("2", "captured", 12)
    ]  # fmt: skip


class TestBeforeAndAfter:
    """What whoever erases asks the read side."""

    @pytest.fixture
    def ids(self, world: World, folder: Path) -> dict[str, str]:
        write(folder / "secret.md", SECRET)
        write(folder / "copy.md", SECRET)
        write(folder / "other.md", f"Another file. {SECRET[:-1]}, they say.")
        world.capture(folder)
        remember(world, 1, SECRET)
        world.catch_up(embed=True)
        return {name: stream.removeprefix("source-") for name, stream in streams_by_name(world).items()}

    def test_rows_are_counted_for_each_table(self, world: World, ids: dict[str, str]) -> None:
        with world.engine.connect() as conn:
            found = erasing.counts(conn, [ids["secret.md"], "1"])
            nothing = erasing.counts(conn, ["unknown"])

        assert found["passages.passage"] == found["lexical.document"] == found["vectors.vector"] == 2
        assert (found["sources.source"], found["sources.file"], found["passages.turn"]) == (2, 1, 0)
        assert found["lexical.posting"] > 6
        assert set(nothing.values()) == {0}

    def test_texts_are_those_of_the_passages(self, world: World, ids: dict[str, str]) -> None:
        with world.engine.connect() as conn:
            assert sorted(erasing.texts(conn, [ids["secret.md"], "1"])) == [SECRET, f"{SECRET}\n"]

    def test_a_text_is_found_wherever_it_stands(self, world: World, ids: dict[str, str]) -> None:
        with world.engine.connect() as conn:
            found = erasing.holders(conn, SECRET[:-1])
            whole = erasing.holders(conn, SECRET)

        assert {holder.source for holder in found} == {*ids.values(), "1"}
        assert [holder for holder in whole if holder.is_whole] == [Holder(whole[-1].id, "1", True, True)]
        assert {holder.source for holder in whole} == {ids["secret.md"], ids["copy.md"], "1"}

    def test_cached_vectors_go_with_the_last_passage_of_their_text(
        self, world: World, ids: dict[str, str]
    ) -> None:
        assert world.rows("SELECT count(*) FROM control.embedding_cache") == [(4,)]
        erase(world, f"source-{ids['secret.md']}", "memory-1")
        world.catch_up()

        with world.engine.begin() as conn:
            assert erasing.forget_vectors(conn) == 2
            assert erasing.forget_vectors(conn) == 0

        assert world.rows("SELECT count(*) FROM control.embedding_cache") == [(2,)]
        assert differing(world.dump(), world.rebuilt()) == {}

    def test_generations_that_do_not_serve_are_dropped(self, world: World, ids: dict[str, str]) -> None:
        with world.engine.begin() as conn:
            idle = control.create(conn, world.projections[0], {})
        before = world.dump()

        with world.engine.begin() as conn:
            assert erasing.drop_idle(conn) == [idle.schema]
            assert erasing.drop_idle(conn) == []

        assert world.rows("SELECT count(*) FROM pg_namespace WHERE nspname = %s", idle.schema) == [(0,)]
        assert world.dump() == before


def test_the_planner_keeps_no_samples_of_what_people_wrote(world: World, tmp_path: Path) -> None:
    live(world, tmp_path / "api", after_each=world.catch_up)
    world.catch_up(embed=True)
    with world.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(sa.text("ANALYZE"))

    schemas = list(world.schemas().values())
    sampled = set(
        world.rows(
            "SELECT tablename::text, attname::text FROM pg_stats WHERE schemaname = ANY(%s)",
            schemas,
        )
    )
    assert {("passage", "scope_no"), ("posting", "term"), ("source", "state")} <= sampled
    assert not sampled & {
        ("passage", "text"), ("passage", "title"), ("passage", "speaker"), ("source", "uri"), ("source", "name"),
        ("file", "path"), ("turn", "key"), ("document", "terms"), ("instant", "tokens"), ("vector", "vector"),
    }  # fmt: skip
