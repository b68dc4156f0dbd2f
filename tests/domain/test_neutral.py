"""The neutral format: one turn a line, one source for each scope and session."""

from __future__ import annotations

import json
from typing import Any

from chronofile.domain.formats import neutral
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Identity


def line(turn: str = "1", text: str = "Hello", /, **fields: Any) -> str:
    return json.dumps(
        {"session": "s", "turn": turn, "role": "user", "text": text} | fields, ensure_ascii=False
    )


def test_a_line_is_a_turn() -> None:
    folded = neutral.fold(
        None, [line("1", "Grüezi", speaker="Mel", at="2026-01-02T03:04:05+01:00"), line("2", role="tool")]
    )

    first, second = folded.turns
    assert (first.key, first.native_ids, first.role, first.speaker) == ("1", ("1",), "user", "Mel")
    assert (first.at, first.text, second.role, second.speaker) == (
        "2026-01-02T03:04:05+01:00",
        "Grüezi",
        "tool",
        None,
    )


def test_the_later_line_of_a_turn_wins() -> None:
    first = neutral.fold(None, [line("1", "One"), line("1", "Two"), line("2", "Three")])
    second = neutral.fold(first.state, [line("1", "Four")])

    assert [(one.key, one.text) for one in first.turns] == [("1", "Two"), ("2", "Three")]
    assert [(one.key, one.text) for one in second.turns] == [("1", "Four")]


def test_a_turn_without_text_is_no_turn() -> None:
    folded = neutral.fold(None, [line("1", "")])

    assert (folded.turns, folded.unreadable) == ((), 0)


def test_lines_that_are_no_turns_are_counted() -> None:
    bad = ["x", "[]", line(role="boss"), line(session=""), line(turn=7), line(text=None), "[" * 200_000]
    folded = neutral.fold(None, [*bad, "", "  \r", line() + "\r"])

    assert (len(folded.turns), folded.unreadable) == (1, len(bad))


def test_separators_of_unicode_are_text() -> None:
    assert neutral.fold(None, [line("1", "a\u2028b\u0085c")]).turns[0].text == "a\u2028b\u0085c"


def test_a_file_is_split_into_its_sources_line_by_line() -> None:
    lines = [
        "\ufeff" + line("1"),
        "",
        line("2", session="t"),
        "garbage",
        line("3", scope="person:mel"),
        line("4") + "\r",
    ]

    assert list(neutral.part(lines)) == [
        ((None, "s"), lines[0]),
        ((None, "t"), lines[2]),
        (None, "garbage"),
        (("person:mel", "s"), lines[4]),
        ((None, "s"), lines[5]),
    ]


def test_turns_that_share_a_line_are_turns_of_their_own_and_go_to_their_own_sources() -> None:
    shared = line("1", "One") + line("2", "Two", session="t") + '{"session": "s", "tu'

    parted = list(neutral.part([shared]))
    folded = neutral.fold(None, [line("1", "One") + line("2", "Two")])

    assert parted[:2] == [((None, "s"), line("1", "One")), ((None, "t"), line("2", "Two", session="t"))]
    assert [whose for whose, _ in parted[2:]] == [None]
    assert [one.text for one in folded.turns] == ["One", "Two"]
    assert neutral.recognise(Head("x", (shared,))).confidence > 0.8
    assert neutral.identify([shared], "x") == Identity("s", "s")


def test_the_first_turn_tells_session_and_scope() -> None:
    assert neutral.identify(["", "garbage", line(scope="project:api")], "x") == Identity(
        "s", "s", scope="project:api"
    )
    assert neutral.identify(["garbage"], "x.turns.jsonl") is None
