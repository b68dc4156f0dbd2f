"""Claude Code's sessions, captured: titles, prompts typed anew, queued prompts, and sessions on the web."""

from __future__ import annotations

import json
from pathlib import Path

from chronofile.projections.projection import FOREVER
from tests.builders import add, write
from tests.samples import claude_code as sample
from tests.world import World


def turns(world: World) -> set[tuple[str, str, str, bool]]:
    """Return what is said: scope, key of the turn, text, and whether something took its place."""
    query = (
        "SELECT s.scope, p.turn, p.text, t.superseded FROM {passages}.passage p"
        " JOIN {passages}.source s ON s.id = p.source"
        " JOIN {passages}.turn t ON t.source = p.source AND t.key = p.turn"
        " WHERE p.recorded_to = %s AND t.recorded_to = %s"
    )
    found = world.rows(query, FOREVER, FOREVER)
    return {(scope, bytes(key).decode(), bytes(text).decode(), gone) for scope, key, text, gone in found}


def title(world: World) -> str:
    ((found,),) = world.rows("SELECT DISTINCT title FROM {passages}.source")
    return bytes(found).decode()


def test_a_session_is_found_by_its_words_and_a_second_capture_changes_nothing(
    world: World, tmp_path: Path
) -> None:
    path = sample.write(tmp_path / ".claude")
    first = world.capture(path)
    world.catch_up()

    texts = {text for _, _, text, _ in turns(world)}
    assert {sample.TYPED, sample.ANSWERED, sample.FOUND, sample.QUEUED, sample.TITLE, "Forty-one."} <= texts
    assert {text for _, _, text, gone in turns(world) if gone} == {sample.REWOUND, "Deleted."}
    assert title(world) == sample.TITLE
    before = world.dump()

    again = world.capture(path)
    world.catch_up()

    assert (again.revisions, again.position) == (0, first.position)
    assert world.dump() == before


def test_a_session_that_is_captured_line_by_line_gives_the_same_turns(world: World, tmp_path: Path) -> None:
    world.capture(sample.write(tmp_path / "whole"), scope="whole")
    lines = sample.lines()
    path = write(tmp_path / "grown" / f"{sample.SESSION}.jsonl", *lines[:2])
    for line in lines[2:]:
        world.capture(path, scope="grown")
        world.catch_up()
        add(path, line)
    world.capture(path, scope="grown")
    world.catch_up()

    found = turns(world)
    assert {row[1:] for row in found if row[0] == "whole"} == {row[1:] for row in found if row[0] == "grown"}
    assert title(world) == sample.TITLE


def test_a_session_on_the_web_is_a_source_beside_the_file_of_the_same_session(
    world: World, tmp_path: Path
) -> None:
    sample.write(tmp_path / "here")
    records = [json.loads(line) for line in sample.lines()]
    path = tmp_path / "here" / "session.json"
    path.write_text(json.dumps({"loglines": records[:6]}, indent=1), encoding="utf-8")
    first = world.capture(tmp_path / "here")
    path.write_text(json.dumps({"loglines": records}, indent=1, ensure_ascii=False), encoding="utf-8")
    grown = world.capture(tmp_path / "here")
    path.rename(tmp_path / "here" / "renamed.json")
    renamed = world.capture(tmp_path / "here")
    world.catch_up()

    assert (first.revisions, grown.revisions, renamed.revisions) == (2, 1, 0)
    assert world.rows("SELECT DISTINCT session FROM {sources}.source") == [(sample.SESSION,)]
    found = turns(world)
    assert len([text for _, key, text, _ in found if text == sample.TYPED]) == 1
    assert (
        len(
            world.rows(
                "SELECT 1 FROM {passages}.passage WHERE text = %s AND recorded_to = %s",
                sample.TYPED.encode(),
                FOREVER,
            )
        )
        == 2
    )
