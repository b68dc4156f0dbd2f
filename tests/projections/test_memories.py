"""Memories: sources that nobody wrote into a file, with one text at a time."""

from __future__ import annotations

from typing import Any

from chronofile.projections.projection import FOREVER
from tests.builders import corrected, forgotten, remembered
from tests.query.asking import ask
from tests.world import World

CELLAR = "The cellar of the lighthouse is locked at night."


def given(world: World, *events: Any, texts: tuple[str, ...] = ()) -> int:
    return world.given("memory-m", *events, texts=texts)[-1]


def source(world: World) -> list[tuple[Any, ...]]:
    world.catch_up()
    return world.rows(
        "SELECT kind, scope, convert_from(uri, 'UTF8'), session, format, revision, bytes, state, batch"
        " FROM {sources}.source"
    )


def there(world: World) -> list[tuple[Any, ...]]:
    world.catch_up()
    rows = (
        "SELECT convert_from(text, 'UTF8'), kind, part, role FROM {passages}.passage WHERE recorded_to = %s"
    )
    return world.rows(rows, FOREVER)


def test_a_memory_is_a_source_with_its_text_as_passages(world: World) -> None:
    given(world, remembered(world.contents.text_key(CELLAR), "person:ann", "fact"), texts=(CELLAR,))

    assert source(world) == [
        ("memory", "person:ann", "memory:m", None, "memory", 1, len(CELLAR), "captured", None)
    ]
    assert there(world) == [(CELLAR, "fact", "memory", None)]
    assert world.rows("SELECT name FROM {sources}.scope") == [("person:ann",)]


def test_a_memory_is_found_with_its_kind_and_by_it(world: World) -> None:
    given(world, remembered(world.contents.text_key(CELLAR), kind="fact"), texts=(CELLAR,))
    world.catch_up(embed=True)

    (hit,) = ask(world, "Is the cellar locked?").hits
    assert (hit.text, hit.kind, hit.topic, hit.source.uri, hit.source.format) == (
        CELLAR, "fact", None, "memory:m", "memory",
    )  # fmt: skip
    assert (hit.part, hit.lines, hit.turns, hit.session) == ("memory", None, (), None)
    assert [h.text for h in ask(world, "Is the cellar locked?", kind="fact").hits] == [CELLAR]
    assert ask(world, "Is the cellar locked?", kind="decision").hits == ()


def test_a_correction_is_a_revision_and_the_former_text_is_there_only_as_of_before(world: World) -> None:
    first = given(world, remembered(world.contents.text_key(CELLAR)), texts=(CELLAR,))
    given(world, corrected(world.contents.text_key("It is open.")), texts=("It is open.",))

    assert there(world) == [("It is open.", "note", "memory", None)]
    assert source(world)[0][5:8] == (2, 11, "captured")
    (hit,) = ask(world, "Is the cellar locked?", as_of=first).hits
    assert hit.text == CELLAR


def test_what_is_forgotten_is_gone_until_it_is_remembered_again(world: World) -> None:
    key = world.contents.text_key(CELLAR)
    given(world, remembered(key), texts=(CELLAR,))
    given(world, forgotten())
    assert there(world) == []
    assert source(world)[0][7] == "forgotten"

    given(world, remembered(key, kind="decision"))

    assert there(world) == [(CELLAR, "decision", "memory", None)]
    assert source(world)[0][5:8] == (2, len(CELLAR), "captured")
