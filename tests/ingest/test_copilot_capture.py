"""Copilot's sessions, captured: the command line's events, VS Code's exports and its logs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.builders import add, repository, write
from tests.ingest.saying import said, superseded, texts
from tests.samples import copilot_cli, copilot_vscode
from tests.samples.copilot_vscode import markdown, request
from tests.world import World


def test_events_are_found_by_their_words_and_a_second_capture_changes_nothing(
    world: World, tmp_path: Path
) -> None:
    path = copilot_cli.write(tmp_path)
    world.capture(path)
    world.catch_up()
    before = world.dump()
    again = world.capture(path)
    moved = world.capture(path.rename(tmp_path / f"{copilot_cli.SESSION}.jsonl"))
    world.catch_up()

    assert {"Plums and pears, in seven jars.", "plums\npears\n"} <= set(texts(world))
    assert {one.session for one in said(world)} == {copilot_cli.SESSION, f"{copilot_cli.SESSION}/agent-c2"}
    assert superseded(world) == {"Throw the pears away."}
    assert (again.revisions, moved.revisions) == (0, 0)
    assert world.dump()["passages.turn"] == before["passages.turn"]


def test_events_that_are_captured_line_by_line_say_the_same(world: World, tmp_path: Path) -> None:
    lines = copilot_cli.lines()
    path = write(tmp_path / "grown" / "events.jsonl", lines[0])
    for line in lines[1:]:
        world.capture(path)
        world.catch_up()
        add(path, line)
    world.capture(path)
    world.catch_up()
    grown = sorted((one.text, one.role, one.superseded) for one in said(world))
    world.capture(copilot_cli.write(tmp_path), scope="whole")
    world.catch_up()

    assert sorted((o.text, o.role, o.superseded) for o in said(world) if o.scope == "whole") == grown


def test_a_session_is_in_the_scope_of_its_own_folder(world: World, tmp_path: Path) -> None:
    folder = repository(tmp_path / "kitchen")
    lines = [line.replace("/made-up/kitchen", str(folder)) for line in copilot_cli.lines()]
    world.capture(write(tmp_path / "events.jsonl", *lines))
    world.catch_up()

    assert {one.scope for one in said(world)} == {"project:kitchen"}


def test_an_export_is_found_by_its_sentences_and_a_longer_one_adds_what_is_new(
    world: World, tmp_path: Path
) -> None:
    path = copilot_vscode.write(tmp_path)
    world.capture(path)
    world.catch_up()
    whole = copilot_vscode.chat()
    whole["requests"].append(request(4, "And the shelves?", markdown("They cool with it.")))
    longer = tmp_path / "again.json"
    longer.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    added = world.capture(longer)
    same = world.capture(longer, path)
    world.catch_up()

    assert (added.revisions, same.revisions) == (1, 0)
    assert superseded(world) == {"Fire it now.", "It is lit."}
    assert any("The kiln is described in kiln.md, at 1,240 °C." in text for text in texts(world))
    assert texts(world)[-2:] == ["And the shelves?", "They cool with it."]


def test_a_log_that_grows_says_what_it_comes_to(world: World, tmp_path: Path) -> None:
    whole = copilot_vscode.chat()
    begun = {"kind": 0, "v": whole | {"requests": whole["requests"][:1]}}
    path = write(tmp_path / "log.jsonl", json.dumps(begun))
    changes = [
        {"kind": 2, "k": ["requests"], "v": [request(7, "How big is it?")]},
        {"kind": 2, "k": ["requests", 1, "response"], "v": [markdown("Quite ")]},
        {"kind": 2, "k": ["requests", 1, "response"], "v": [markdown("Quite big.")], "i": 0},
        {"kind": 2, "k": ["requests"], "v": [request(8, "Never mind.")], "i": 1},
    ]
    shown: list[list[str]] = []
    for change in changes:
        world.capture(path)
        add(path, json.dumps(change))
        world.capture(path)
        world.catch_up()
        shown.append([text for text in texts(world) if "kiln" not in text])

    assert shown == [
        ["How big is it?"],
        ["How big is it?", "Quite "],
        ["How big is it?", "Quite big."],
        ["How big is it?", "Quite big.", "Never mind."],
    ]
    assert superseded(world) == {"How big is it?", "Quite big."}
