"""Former lines: what a transcript said before its file was written anew is kept, and kept once."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronofile.ingest.former import record_of
from tests.builders import claude_line, turn_line
from tests.world import World


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def said(*words: str) -> str:
    return "".join(claude_line(f"We spoke of the {word}.", uuid=word) + "\n" for word in words)


def texts(world: World) -> list[str]:
    world.catch_up()
    rows = world.rows(
        "SELECT convert_from(text, 'UTF8') FROM {passages}.passage WHERE recorded_to = 9223372036854775807"
        " ORDER BY text"
    )
    return [text.removeprefix("We spoke of the ").removesuffix(".") for (text,) in rows]


def test_what_a_rewritten_transcript_dropped_is_still_found_beside_what_it_says_now(
    world: World, path: Path
) -> None:
    path.write_text(said("anchor", "beacon", "castle"))
    world.capture(path)
    path.write_text(said("castle", "dragon"))

    captured = world.capture(path)

    assert texts(world) == ["anchor", "beacon", "castle", "dragon"]
    assert len(captured.sources) == 2
    uris = world.rows("SELECT convert_from(uri, 'UTF8') FROM {sources}.source ORDER BY uri")
    assert [uri.rpartition("/")[2] for (uri,) in uris] == ["s.jsonl", "s.jsonl#former-1"]


def test_each_rewriting_keeps_what_it_dropped_once(world: World, path: Path) -> None:
    for words in (("anchor", "beacon"), ("beacon", "castle"), ("dragon",), ("dragon", "ember")):
        path.write_text(said(*words))
        world.capture(path)
        world.capture(path, again=True)

    assert texts(world) == ["anchor", "beacon", "castle", "dragon", "ember"]


def test_a_record_that_is_spelled_anew_is_the_same(world: World, path: Path) -> None:
    path.write_text(said("anchor", "beacon"))
    world.capture(path)
    path.write_text(said("anchor", "beacon").replace('", "', '","').replace('": ', '":'))

    world.capture(path)

    assert texts(world) == ["anchor", "beacon"]
    assert record_of(b'{"a": 1, "b": "\\u00e9"}') == record_of('{"b":"é","a":1}\r'.encode())
    assert record_of(b"no json") != record_of(b"other")


def test_a_record_without_its_secret_is_the_same(world: World, path: Path) -> None:
    secret = "ghp_" + "Zx7Kq2Lm9Rt4Vb8Nc3Wd" + "5Yf6Hg1Jp0Sa3Ue2"
    path.write_text(said("anchor", secret))
    world.capture(path)
    path.write_text(said(secret))

    world.capture(path)

    assert texts(world) == ["[redacted: github-token]", "anchor"]


def test_what_was_undone_and_what_grew_keeps_nothing_twice(world: World, path: Path) -> None:
    path.write_text(said("anchor"))
    world.capture(path)
    path.write_text(said("anchor", "beacon"))

    world.capture(path)

    assert texts(world) == ["anchor", "beacon"]


def test_neutral_turns_are_their_owners_who_may_change_them(world: World, tmp_path: Path) -> None:
    path = tmp_path / "s.turns.jsonl"
    path.write_text(turn_line("We spoke of the anchor.") + "\n")
    world.capture(path)
    path.write_text(turn_line("We spoke of the beacon.") + "\n")

    world.capture(path)

    assert texts(world) == ["beacon"]
