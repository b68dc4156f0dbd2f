"""Candidates: the passages that legs found with those around them, and what ranking has to know of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chronofile.domain.scopes import GLOBAL
from chronofile.query.candidates import Pool, pool
from tests.builders import add, claude_line, turn_line, write
from tests.query.asking import opened, reading
from tests.servers import Server
from tests.world import World

TALK = ["One.", "Two?", "Three.", "Four? \n", "Five.", "Six."]


@dataclass(frozen=True, slots=True)
class Gathered:
    """A pool, told by the passages' texts."""

    pool: Pool
    texts: Sequence[str]

    def previous(self, text: str) -> str | None:
        return self._at(self.pool.previous[self.texts.index(text)])

    def following(self, text: str) -> str | None:
        return self._at(self.pool.following[self.texts.index(text)])

    def where(self, flags: Any) -> list[str]:
        return [text for text, flag in zip(self.texts, flags, strict=True) if flag]

    def _at(self, index: int) -> str | None:
        return None if index < 0 else self.texts[index]


def gather(world: World, found: Sequence[str], question: str = "who?", **filters: Any) -> Gathered:
    rows = world.rows("SELECT no, convert_from(text, 'UTF8') FROM {passages}.passage ORDER BY no")
    numbers = {text: no for no, text in reversed(rows)}
    with reading(world, **filters) as (conn, within, _):
        gathered = pool(conn, within, question, [numbers[text] for text in found])
    return Gathered(gathered, [dict(rows)[no] for no in gathered.numbers])


@pytest.fixture(scope="module")
def talk(embedded_postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("talk")
    speakers = ["Ann Lee", "Bob Roy"] * 3
    lines = [
        turn_line(text, turn=str(turn), speaker=who, role="user" if who == "Ann Lee" else "assistant")
        for turn, (text, who) in enumerate(zip(TALK, speakers, strict=True))
    ]
    with opened(embedded_postgres, folder / "home") as world:
        path = write(folder / "a.turns.jsonl", *lines[:5])
        write(folder / "b.turns.jsonl", turn_line("Apart.", session="other"))
        world.capture(folder)
        add(path, lines[5])
        world.capture(folder)
        world.catch_up()
        yield world


def test_a_passage_brings_two_before_it_and_two_after_it(talk: World) -> None:
    gathered = gather(talk, ["Three."])
    assert gathered.texts[0] == "Three."
    assert sorted(gathered.texts) == sorted(TALK[:5])
    assert [gathered.previous(text) for text in TALK[:5]] == [None, *TALK[:4]]
    assert [gathered.following(text) for text in TALK[:5]] == [*TALK[1:5], None]


def test_at_the_ends_of_a_source_there_is_nothing_more(talk: World) -> None:
    gathered = gather(talk, ["One.", "Apart."])
    assert sorted(gathered.texts) == sorted(["One.", "Two?", "Three.", "Apart."])
    assert (gathered.previous("One."), gathered.previous("Apart.")) == (None, None)
    assert gathered.following("Apart.") is None
    assert len(set(gathered.pool.group)) == 2


def test_what_was_found_comes_first_and_in_the_order_in_which_it_was_found(talk: World) -> None:
    assert gather(talk, ["Five.", "Apart.", "One."]).texts[:3] == ["Five.", "Apart.", "One."]


def test_as_of_before_a_passage_came_it_is_nobodys_neighbour(talk: World) -> None:
    (came,) = talk.rows("SELECT recorded_from FROM {passages}.passage WHERE text = 'Six.'")
    assert gather(talk, ["Five."], as_of=came[0]).following("Five.") == "Six."
    assert gather(talk, ["Five."], as_of=came[0] - 1).following("Five.") is None


def test_neighbours_that_a_filter_refuses_are_not_eligible(talk: World) -> None:
    gathered = gather(talk, ["Three."], speaker="ann lee", scopes=(GLOBAL,))
    assert gathered.where(gathered.pool.eligible) == ["Three.", "One.", "Five."]


def test_texts_that_end_with_a_question_mark_ask(talk: World) -> None:
    gathered = gather(talk, TALK)
    assert gathered.where(gathered.pool.asks) == ["Two?", "Four? \n"]


@pytest.mark.parametrize(
    ("question", "named", "self_said"),
    [
        ("What did Bob say?", ["Two?", "Four? \n", "Six."], []),
        ("What did I say?", [], ["One.", "Three.", "Five."]),
        ("What did Ann and Bob say?", [], []),
        ("What was said?", [], []),
    ],
)
def test_the_question_tells_whose_passages_count_more(
    talk: World, question: str, named: list[str], self_said: list[str]
) -> None:
    gathered = gather(talk, TALK, question)
    assert gathered.where(gathered.pool.named) == named
    assert gathered.where(gathered.pool.self_said) == self_said


def test_what_is_over_is_nobodys_neighbour(world: World, tmp_path: Path) -> None:
    sections = [f"# Part {number}\n\n{f'Words of {number}. ' * 60}\n" for number in range(3)]
    path = write(tmp_path / "notes.md", *sections)
    world.capture(path)
    write(path, sections[0], sections[2])
    world.capture(path)
    world.catch_up()

    rows = world.rows("SELECT convert_from(text, 'UTF8') FROM {passages}.passage ORDER BY no")
    first, middle, last = (text for (text,) in rows)
    assert middle.startswith("# Part 1")
    assert gather(world, [first]).following(first) == last
    assert gather(world, [last]).previous(last) == first
    before = world.store.position() - 3
    assert gather(world, [last], as_of=before).previous(last) == middle


def test_the_same_turn_in_another_session_is_the_same_span(world: World, tmp_path: Path) -> None:
    for session, own in (("a", "u-2"), ("b", "u-3")):
        again = claude_line("Again and again.", session=session)
        write(tmp_path / f"{session}.jsonl", again, claude_line("Mine.", uuid=own, session=session))
    world.capture(tmp_path)
    world.catch_up()
    rows = world.rows("SELECT no, convert_from(text, 'UTF8') FROM {passages}.passage ORDER BY no")
    with reading(world) as (conn, within, _):
        gathered = pool(conn, within, "who?", [no for no, _ in rows])

    assert len(set(gathered.group)) == 2
    spans = dict(zip(gathered.numbers, gathered.spans, strict=True))
    told = [(text, spans[no]) for no, text in rows]
    assert len({span for text, span in told if text == "Again and again."}) == 1
    assert len({span for text, span in told if text == "Mine."}) == 2
