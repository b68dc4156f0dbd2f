"""Gemini CLI's sessions, captured: as lines that grow and as documents that are written anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.builders import add, write
from tests.ingest.saying import said, superseded, texts
from tests.samples import gemini_cli as sample
from tests.samples.gemini_cli import BEGINNING, SESSION, call, message
from tests.world import World


def document(path: Path, *messages: Any, updated: str = "2026-03-04T10:00:00.000Z") -> Path:
    written = BEGINNING | {"lastUpdated": updated, "messages": list(messages)}
    path.write_text(json.dumps(written, indent=2), encoding="utf-8")
    return path


def test_a_session_is_found_by_its_words_and_a_second_capture_changes_nothing(
    world: World, tmp_path: Path
) -> None:
    path = sample.write(tmp_path)
    first = world.capture(path)
    world.catch_up()
    before = world.dump()
    again = world.capture(path)
    world.catch_up()

    assert {one.session for one in said(world)} == {SESSION}
    assert {"Whitby 04:12 and 16:40", "High tide is at 16:40.", "And in Filey?"} <= set(texts(world))
    assert superseded(world) == {"And in Scarborough?"}
    assert (first.revisions, again.revisions, world.dump()) == (1, 0, before)


def test_a_session_that_is_captured_line_by_line_says_the_same(world: World, tmp_path: Path) -> None:
    lines = sample.lines()
    path = write(tmp_path / "grown.jsonl", lines[0])
    for line in lines[1:]:
        world.capture(path)
        world.catch_up()
        add(path, line)
    world.capture(path)
    world.catch_up()
    grown = sorted((one.text, one.role, one.superseded) for one in said(world))
    world.capture(sample.write(tmp_path), scope="whole")
    world.catch_up()

    assert sorted((o.text, o.role, o.superseded) for o in said(world) if o.scope == "whole") == grown


def test_a_renamed_session_adds_nothing(world: World, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    world.capture(path)
    moved = world.capture(path.rename(tmp_path / "renamed.jsonl"))

    assert moved.revisions == 0


def test_a_document_that_is_written_anew_adds_what_is_new(world: World, tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    asked = message("user", 1, "Where is the ladder?")
    world.capture(document(path, asked))
    answer = message("gemini", 2, "In the shed.", toolCalls=[call("c", "find", "shed/ladder")])
    again = world.capture(document(path, asked, answer, updated="2026-03-04T11:00:00.000Z"))
    older = world.capture(document(tmp_path / "older.json", asked, updated="2026-03-04T10:30:00.000Z"))
    world.catch_up()

    assert (again.revisions, older.revisions) == (1, 0)
    assert [one.text for one in said(world)] == [
        "Where is the ladder?",
        "In the shed.\n\nfind",
        "shed/ladder",
    ]


def test_a_document_that_went_on_as_lines_loses_nothing(world: World, tmp_path: Path) -> None:
    asked, answer = message("user", 1, "Where is the ladder?"), message("gemini", 2, "In the shed.")
    world.capture(document(tmp_path / "session.json", asked, answer))
    lines = [BEGINNING, asked, answer, message("user", 3, "And the saw?")]
    world.capture(write(tmp_path / "session.jsonl", *map(json.dumps, lines)))
    world.catch_up()

    assert {one.session for one in said(world)} == {SESSION}
    assert set(texts(world)) == {"And the saw?", "In the shed.", "Where is the ladder?"}


def test_a_session_with_damage_is_read_as_far_as_it_goes(world: World, tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    cut = json.dumps(message("user", 9, "Cut off"))[:-9]
    lines = [json.dumps(BEGINNING), "garbage", "", json.dumps(message("user", 1, "Grüezi")) + "\r", cut]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    captured = world.capture(path)
    world.catch_up()

    assert (texts(world), captured.rejected) == (["Grüezi"], [])


def test_what_lies_beside_the_sessions_is_no_session(world: World, tmp_path: Path) -> None:
    log = [
        {
            "sessionId": SESSION,
            "messageId": 0,
            "type": "user",
            "message": "a prompt",
            "timestamp": "2026-03-04T09:00:00Z",
        }
    ]
    path = tmp_path / "logs.json"
    path.write_text(json.dumps(log, indent=2), encoding="utf-8")
    world.capture(path)
    world.catch_up()

    assert said(world) == []


def test_a_secret_is_taken_out_of_a_session_and_the_rest_is_read(world: World, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    lines = [BEGINNING, message("user", 1, f"Use {secret} please."), message("gemini", 2, "I do.")]
    captured = world.capture(write(tmp_path / "s.jsonl", *map(json.dumps, lines)))
    world.catch_up()

    assert captured.redactions
    assert len(texts(world)) == 2
    assert not any(secret in text for text in texts(world))
