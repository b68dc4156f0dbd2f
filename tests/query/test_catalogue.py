"""The catalogue: a passage with its surroundings, what sources, topics and scopes there are, and where all stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chronofile.domain.echoes import fence
from chronofile.domain.errors import UnknownPassage, UnknownSource
from chronofile.domain.scopes import GLOBAL
from chronofile.query import catalogue
from tests.builders import add, claude_line, repository, turn_line, write
from tests.query.asking import AT, ask
from tests.world import World


def numbered(count: int) -> list[str]:
    return [turn_line(f"Turn {number}.", turn=str(number)) for number in range(count)]


def test_a_passage_is_shown_with_those_around_it_in_reading_order(world: World, tmp_path: Path) -> None:
    world.capture(write(tmp_path / "a.turns.jsonl", *numbered(7)))
    world.catch_up()
    middle = next(hit for hit in ask(world, "turn").hits if hit.text == "Turn 3.")

    found = catalogue.get(world.engine, middle.id, at=AT, context=2)
    assert (found.hit.id, found.hit.text, found.whole) == (middle.id, "Turn 3.", None)
    assert [hit.text for hit in found.before] == ["Turn 1.", "Turn 2."]
    assert [hit.text for hit in found.after] == ["Turn 4.", "Turn 5."]
    alone = catalogue.get(world.engine, middle.id, at=AT, context=-1)
    assert (alone.before, alone.after) == ((), ())
    everything = catalogue.get(world.engine, middle.id, at=AT, context=10**9)
    assert len(everything.before) == len(everything.after) == 3


@pytest.mark.parametrize(
    "text",
    ["# A\r\n\r\nText.\r\n\r\n# B\r\n\r\nMore 🦊.", "x = 1\n\n\ndef f() -> int:\n    return 1\n", "one line"],
)
def test_the_whole_text_of_a_file_is_the_files_text(world: World, tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(text.encode())
    world.capture(path)
    world.catch_up()

    identifier = ask(world, "text").hits[0].id
    assert catalogue.get(world.engine, identifier, at=AT, whole=True).whole == text


def test_the_whole_text_of_a_session_is_its_turns_with_a_blank_line_between_two(
    world: World, tmp_path: Path
) -> None:
    said = ["First, in two paragraphs.\n\n" + "And more. " * 200, "A\0B \ud800", "Last 🦊"]
    lines = [
        json.dumps({"session": "s", "turn": str(number), "role": "user", "text": text})
        for number, text in enumerate(said)
    ]
    world.capture(write(tmp_path / "a.turns.jsonl", *lines))
    world.catch_up()

    identifier = ask(world, "last").hits[0].id
    assert catalogue.get(world.engine, identifier, at=AT, whole=True).whole == "\n\n".join(said)


def test_what_chronofile_put_into_a_turn_is_told_where_it_stood(world: World, tmp_path: Path) -> None:
    said = f"I looked.\n{fence('The port is 7433.')}\nSo the port is known.\n\n{fence('More.')}"
    world.capture(
        write(tmp_path / "a.turns.jsonl", turn_line(fence("Only this."), turn="0"), turn_line(said))
    )
    world.catch_up()

    identifier = ask(world, "known").hits[0].id
    whole = catalogue.get(world.engine, identifier, at=AT, whole=True).whole
    assert whole == "I looked.\n[quotation of Chronofile left out]\nSo the port is known.\n\n"
    assert [hit.text for hit in ask(world, "7433").hits if "7433" in hit.text] == []


def test_a_passage_that_is_over_is_shown_among_those_of_its_time(world: World, tmp_path: Path) -> None:
    def part(number: int, words: str) -> str:
        return f"# Part {number}\n\n{f'{words} {number}. ' * 60}\n"

    path = write(tmp_path / "notes.md", *[part(number, "Words") for number in range(3)])
    world.capture(path)
    world.catch_up()
    old = next(hit for hit in ask(world, "words 1").hits if "Words 1" in hit.text)
    write(path, part(0, "Words"), part(2, "Other"))
    world.capture(path)
    world.catch_up()

    assert old.id not in {hit.id for hit in ask(world, "words 1").hits}
    found = catalogue.get(world.engine, old.id, at=AT, context=5, whole=True)
    assert found.hit.text == old.text
    assert "Words 2" in "".join(hit.text for hit in found.after)
    assert found.whole is not None
    assert "Words 1" in found.whole
    assert "Other" not in found.whole


def test_an_id_that_no_passage_has_is_an_error(world: World) -> None:
    with pytest.raises(UnknownPassage, match="nothing"):
        catalogue.get(world.engine, "nothing", at=AT)


def test_sources_tell_their_files_scopes_and_revisions(world: World, tmp_path: Path) -> None:
    world.capture(write(tmp_path / "a.turns.jsonl", *numbered(2)), scope="talk")
    write(tmp_path / "copy" / "b.turns.jsonl", *numbered(3))
    world.capture(tmp_path / "copy", scope="talk")
    notes = write(tmp_path / "notes.md", "Words.")
    world.capture(notes)
    add(notes, "More.")
    world.capture(notes)
    world.catch_up()

    of_file, of_talk = catalogue.list_sources(world.engine)
    assert (of_file.uri, of_file.files, of_file.scope) == (f"file://{notes}", (str(notes),), GLOBAL)
    assert (of_file.revision, of_file.bytes, of_file.state) == (2, notes.stat().st_size, "captured")
    assert (of_talk.session, of_talk.scope, of_talk.format) == ("s", "talk", "turns")
    assert of_talk.files == (str(tmp_path / "a.turns.jsonl"), str(tmp_path / "copy" / "b.turns.jsonl"))
    assert (of_talk.failure, of_file.failure) == (None, None)
    assert [entry.scope for entry in catalogue.list_sources(world.engine, scope="talk")] == ["talk"]
    assert catalogue.list_sources(world.engine, scope="nobody's") == []


def test_what_could_not_be_captured_and_what_is_gone_are_listed_with_the_reason(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "picture.dat").write_bytes(bytes(range(256)) * 9)
    gone = write(tmp_path / "gone.md", "Words.")
    world.capture(tmp_path)
    gone.unlink()
    world.capture(tmp_path)
    world.catch_up()

    states = {
        Path(entry.uri).name: (entry.state, entry.failure) for entry in catalogue.list_sources(world.engine)
    }
    assert states == {"picture.dat": ("rejected", "binary"), "gone.md": ("removed", None)}
    counted = catalogue.counts(world.engine)
    assert (counted.sources, counted.rejected, counted.passages, counted.bytes) == (0, 1, 0, {})


def test_topics_count_the_passages_of_each_folder(world: World, tmp_path: Path) -> None:
    write(tmp_path / "music" / "a.md", "Words.")
    write(tmp_path / "music" / "b.md", "Words.")
    write(tmp_path / "talk" / "c.turns.jsonl", *numbered(3))
    world.capture(tmp_path / "music", scope="one")
    world.capture(tmp_path / "talk", scope="two")
    world.catch_up()

    assert catalogue.list_topics(world.engine) == [
        catalogue.TopicCount("one", "music", 2),
        catalogue.TopicCount("two", None, 3),
    ]


def test_counts_tell_passages_vectors_and_bytes_as_they_are_now(world: World, tmp_path: Path) -> None:
    path = write(tmp_path / "a.turns.jsonl", *numbered(3))
    world.capture(path, scope="one")
    world.catch_up()
    counted = catalogue.counts(world.engine)
    assert (counted.passages, counted.vectors, counted.pending_vectors) == (3, 0, 3)
    assert counted.bytes == {"one": path.stat().st_size}
    world.catch_up(embed=True)
    counted = catalogue.counts(world.engine)
    assert (counted.passages, counted.vectors, counted.pending_vectors) == (3, 3, 0)


def test_the_status_of_projections_tells_how_far_each_is_behind(world: World, tmp_path: Path) -> None:
    world.capture(write(tmp_path / "a.md", "Words."))
    head = world.store.position()
    before = catalogue.projection_status(world.engine, head)
    assert {name: (at.position, at.lag) for name, at in before.items()} == dict.fromkeys(before, (0, head))
    world.catch_up()
    after = catalogue.projection_status(world.engine, head)
    assert set(after) == {"sources", "passages", "lexical", "instant", "vectors"}
    assert {(at.position, at.lag, at.failures, at.error) for at in after.values()} == {(head, 0, 0, None)}
    assert len({at.generation for at in after.values()}) == 5


def test_a_file_with_many_sessions_names_them_all_and_each_has_its_own_uri(
    world: World, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "a.turns.jsonl", *[turn_line(f"In {s}.", session=s) for s in ("one", "two", "t#3 %")]
    )
    world.capture(path)
    write(tmp_path / "a.turns.jsonl.md", "Its name begins alike.")
    world.capture(tmp_path)
    world.catch_up()
    sessions = {entry.session: entry for entry in catalogue.list_sources(world.engine) if entry.session}

    ids = {entry.id for entry in sessions.values()}
    assert set(catalogue.source_ids(world.engine, [f"file://{path}"], [])) == ids
    assert set(catalogue.source_ids(world.engine, ["file:///x"], [str(path)])) == ids
    for entry in sessions.values():
        assert catalogue.source_ids(world.engine, [entry.uri], []) == (entry.id,)
    with pytest.raises(UnknownSource, match="nowhere"):
        catalogue.source_ids(world.engine, ["file:///nowhere"], ["/nowhere"])


def test_a_directory_below_a_repository_has_its_scope_and_the_global_one(
    world: World, tmp_path: Path
) -> None:
    root = repository(tmp_path / "api")
    write(root / "docs" / "a.md", "Words.")
    write(tmp_path / "s.jsonl", claude_line("Words.", cwd=str(root / "docs")))
    world.capture(tmp_path)
    world.catch_up()

    assert catalogue.scopes_for(world.engine, str(root / "docs" / "deep")) == ("project:api", GLOBAL)
    assert catalogue.scopes_for(world.engine, str(root)) == ("project:api", GLOBAL)
    assert catalogue.scopes_for(world.engine, str(tmp_path)) is None
    assert catalogue.scopes_for(world.engine, f"{root}-other") is None
