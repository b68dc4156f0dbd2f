"""Codex's rollouts, captured: found by their words, grown, renamed, damaged, and once captured as plain text."""

from __future__ import annotations

import json
from pathlib import Path

from chronofile.projections.projection import FOREVER
from tests.builders import add, write
from tests.samples import codex as sample
from tests.world import World


def said(world: World) -> list[tuple[str | None, str | None, str]]:
    """Return the passages that are there: role, session, text."""
    query = "SELECT role, session, text FROM {passages}.passage WHERE recorded_to = %s ORDER BY no"
    return [(role, session, bytes(text).decode()) for role, session, text in world.rows(query, FOREVER)]


def texts(world: World) -> list[str]:
    return [text for _, _, text in said(world)]


def turns(world: World) -> set[tuple[str, str, str, str, bool]]:
    """Return what is said in each scope: scope, key of the turn, role, text, and whether something took its place."""
    query = (
        "SELECT s.scope, p.turn, p.role, p.text, t.superseded FROM {passages}.passage p"
        " JOIN {passages}.source s ON s.id = p.source"
        " JOIN {passages}.turn t ON t.source = p.source AND t.key = p.turn"
        " WHERE p.recorded_to = %s AND t.recorded_to = %s"
    )
    found = world.rows(query, FOREVER, FOREVER)
    return {
        (scope, bytes(key).decode(), role, bytes(text).decode(), gone)
        for scope, key, role, text, gone in found
    }


def superseded(world: World) -> set[str]:
    return {text for _, _, _, text, gone in turns(world) if gone}


def test_a_rollout_is_found_by_its_words_and_a_second_capture_changes_nothing(
    world: World, tmp_path: Path
) -> None:
    path = sample.write(tmp_path / ".codex")
    first = world.capture(path)
    world.catch_up()

    assert {session for _, session, _ in said(world)} == {sample.SESSION}
    assert [(role, text) for role, _, text in said(world) if role in ("user", "tool")] == [
        ("user", sample.TYPED),
        ("tool", sample.FOUND),
        ("user", sample.ROLLED_BACK),
        ("user", "Leave it as it is."),
    ]
    assert {sample.ANSWERED, sample.THOUGHT, sample.TITLE, "Renamed."} <= set(texts(world))
    assert superseded(world) == {sample.ROLLED_BACK, "Renamed."}
    ((title,),) = world.rows("SELECT title FROM {passages}.source")
    assert bytes(title).decode() == sample.TITLE
    before = world.dump()

    again = world.capture(path)
    world.catch_up()

    assert (first.revisions, again.revisions, again.position) == (1, 0, first.position)
    assert world.dump() == before


def test_a_rollout_that_is_captured_line_by_line_gives_the_same_turns(world: World, tmp_path: Path) -> None:
    whole = world.capture(sample.write(tmp_path / "whole"), scope="whole")
    lines = sample.lines()
    path = write(tmp_path / "grown" / "rollout.jsonl", lines[0])
    for line in lines:
        world.capture(path, scope="grown")
        world.catch_up()
        if line is not lines[0]:
            add(path, line)
    world.capture(path, scope="grown")
    world.catch_up()

    found = turns(world)
    assert whole.revisions == 1
    assert {row[1:] for row in found if row[0] == "whole"} == {row[1:] for row in found if row[0] == "grown"}
    assert superseded(world) == {sample.ROLLED_BACK, "Renamed."}


def test_a_renamed_rollout_is_the_same_source(world: World, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    first = world.capture(path)
    moved = tmp_path / "archived_sessions" / path.name
    moved.parent.mkdir()
    path.rename(moved)

    again = world.capture(moved)

    world.catch_up()

    assert again.revisions == 0
    assert world.rows("SELECT count(*) FROM {sources}.source") == [(1,)]
    assert first.position <= again.position
    assert texts(world).count(sample.TYPED) == 1


def test_a_file_that_was_captured_as_text_becomes_a_rollout_when_it_is_known(
    world: World, tmp_path: Path
) -> None:
    path = sample.write(tmp_path)
    world.capture(path, format_name="text")
    world.catch_up()
    assert {role for role, _, _ in said(world)} == {None}

    world.capture(path, again=True)
    world.catch_up()

    assert None not in {role for role, _, _ in said(world)}
    assert sample.ANSWERED in texts(world)
    states = world.rows("SELECT format, state FROM {sources}.source ORDER BY format")
    assert [(form, state != "removed") for form, state in states] == [("codex", True), ("text", False)]


def test_damage_is_counted_and_the_rest_is_found(world: World, tmp_path: Path) -> None:
    lines = sample.lines()
    path = write(tmp_path / "rollout.jsonl", *lines[:3], "", "\x00" * 50, "no json", *lines[3:])
    with path.open("ab") as file:
        file.write(b'{"timestamp":"2026-02-03T09:00:59.000Z","type":"event_msg","payl')
    captured = world.capture(path)
    world.catch_up()

    assert captured.rejected == []
    assert sample.TYPED in texts(world)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    world.capture(path)
    world.catch_up()
    assert texts(world).count(sample.TYPED) == 1


def test_a_session_that_is_one_document_is_captured_as_a_whole_again(world: World, tmp_path: Path) -> None:
    items = [{"role": "user", "type": "message", "content": [{"type": "input_text", "text": "Which port?"}]}]
    document = {
        "session": {"id": "old", "timestamp": "2025-04-20T10:00:00.000Z", "instructions": ""},
        "items": items,
    }
    path = tmp_path / "rollout-2025-04-20-old.json"
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    world.capture(path)
    items.append(
        {"role": "assistant", "type": "message", "content": [{"type": "output_text", "text": "5432."}]}
    )
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
    grown = world.capture(path)
    world.catch_up()

    assert grown.revisions == 1
    assert said(world) == [("user", "old", "Which port?"), ("assistant", "old", "5432.")]
