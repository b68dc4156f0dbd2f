"""Answers: the shape in which others read them."""

from __future__ import annotations

import json
from pathlib import Path

from chronofile.query.answer import as_json
from tests.builders import turn_line, write
from tests.query.asking import ask
from tests.world import World

ANSWER = {"query", "scopes", "mode", "position", "as_of", "matched", "degraded", "took_ms", "facts", "hits"}
HIT = {
    "id", "text", "score", "scope", "topic", "kind", "source", "session", "turns", "role", "speaker", "span",
    "lines", "event_time", "recorded_at", "position", "trust", "novelty", "superseded", "age_s",
}  # fmt: skip


def test_an_answer_as_json_has_the_fields_that_others_read(world: World, tmp_path: Path) -> None:
    world.capture(
        write(tmp_path / "a.turns.jsonl", turn_line("The port is 5433.", at="2026-05-08T10:00:00Z"))
    )
    world.capture(write(tmp_path / "a.md", "The port is 5433."))
    world.catch_up(embed=True)

    told = json.loads(json.dumps(as_json(ask(world, "port"))))
    assert set(told) == ANSWER
    assert (told["as_of"], told["degraded"], told["facts"], told["matched"]) == (None, [], [], True)
    of_file, of_turn = sorted(told["hits"], key=lambda hit: hit["lines"] is None)
    assert set(of_turn) == HIT | {"part", "title"}
    assert set(of_turn["source"]) == {"id", "uri", "format", "revision"}
    assert (of_turn["span"], of_turn["lines"], of_turn["turns"]) == ([0, 17], None, ["1"])
    assert (of_file["span"], of_file["lines"], of_file["turns"]) == ([0, 18], [1, 1], [])
    assert of_file["recorded_at"].endswith("+00:00")


def test_the_stages_come_when_they_are_asked_for(world: World, tmp_path: Path) -> None:
    world.capture(write(tmp_path / "a.md", "The port is 5433."))
    world.catch_up(embed=True)

    (hit,) = as_json(ask(world, "port", explain=True))["hits"]
    assert set(hit) == HIT | {"part", "title", "stages"}
    assert {"dense", "lexical", "instant", "fused"} <= set(hit["stages"])
    assert set(hit["stages"]["dense"]) == {"rank", "score", "model"}
    assert hit["stages"]["final"]["rank"] == 1
