"""The neutral format: one turn a line, one source for each scope and session."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.formats import neutral
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Identity, Part, PartType, Role, Turn


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


def test_a_line_may_say_of_which_parts_its_text_is() -> None:
    parts = [["thinking", 3], ["text", 0], ["tool_call", 5]]

    (turn,) = neutral.fold(None, [line("1", "Hm.\n\n\n\nls -l", parts=parts)]).turns

    assert turn.parts == (Part("thinking", "Hm."), Part("text", ""), Part("tool_call", "ls -l"))
    assert turn.text == "Hm.\n\n\n\nls -l"


def test_lengths_count_code_points() -> None:
    (turn,) = neutral.fold(None, [line("1", "🚢🚢\n\n\u2028é", parts=[["text", 2], ["notice", 2]])]).turns

    assert [part.text for part in turn.parts] == ["🚢🚢", "\u2028é"]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("Hm, hm.\n\nls\n\nDone.", ["Hm, hm.", "ls", "Done."]),
        ("Hm.\n\n[redacted: token]\n\nDone.", ["Hm.", "[redacted: token]", "Done."]),
        ("Hm.\n\nls\n\nDone\n\nand done.", ["Hm.", "ls", "Done\n\nand done."]),
        ("Hm.\n\n\n\nDone.", ["Hm.", "", "Done."]),
        ("Hm.\n\nls\n\n", ["Hm.", "ls", ""]),
    ],
)
def test_one_part_may_be_longer_or_shorter_than_it_was(text: str, texts: list[str]) -> None:
    folded = neutral.fold(None, [line("1", text, parts=[["thinking", 3], ["tool_call", 2], ["text", 5]])])

    assert [part.text for part in folded.turns[0].parts] == texts
    assert [part.type for part in folded.turns[0].parts] == ["thinking", "tool_call", "text"]
    assert not folded.unknown


@pytest.mark.parametrize(
    "parts",
    [
        "text", 7, {}, [], [[]], [["text"]], [["words", 5]], [[None, 5]], [[["text"], 5]], [["text", -1], ["text", 4]], [["text", "5"]],
        [["text", True]], [["text", 5.0]], [["text", 5, 6]], [["text", 1], ["text", 1]], [["text", 10**30], ["text", 10**30]],
    ],
)  # fmt: skip
def test_parts_that_say_nothing_of_the_text_are_counted_and_the_text_is_one(parts: Any) -> None:
    folded = neutral.fold(None, [line("1", "Hello", parts=parts)])

    assert folded.turns[0].parts == (Part("text", "Hello"),)
    assert folded.unknown == {"parts": 1}


def test_a_line_may_name_the_ids_that_its_turn_had() -> None:
    lines = [line("1", ids=["a", "b"]), line("2", ids=[]), line("3", ids="a"), line("4", ids=["a", 1])]

    folded = neutral.fold(None, lines)

    assert [turn.native_ids for turn in folded.turns] == [("a", "b"), (), ("3",), ("4",)]
    assert folded.unknown == {"ids": 2}


def test_only_true_marks_a_turn_as_superseded() -> None:
    lines = [line("1", superseded=True), line("2", superseded=False), line("3", superseded="true")]

    assert [turn.superseded for turn in neutral.fold(None, lines).turns] == [True, False, False]


def test_the_last_title_is_the_conversations_and_a_range_without_one_leaves_it() -> None:
    assert neutral.fold(None, [line(title="One"), line("2", title="Two"), line("3", title=7)]).title == "Two"
    assert neutral.fold({}, [line()]).title is None


def test_where_lines_came_from_is_remembered_from_range_to_range() -> None:
    first = neutral.fold(None, [line(format="slack")])
    second = neutral.fold(first.state, [line("2")])

    assert neutral.origin_of(second.state) == "slack"
    assert neutral.origin_of({}) is None
    assert neutral.origin_of({"format": 7}) is None
    assert neutral.fold(None, [line()]).state == {}


def test_fields_of_somebodys_own_are_nothing() -> None:
    folded = neutral.fold(None, [line(own={"a": [1]}, kind="x")])

    assert (len(folded.turns), folded.unknown, folded.unreadable) == (1, {}, 0)


def test_a_plain_turn_is_written_with_no_more_than_it_says() -> None:
    (turn,) = neutral.fold(None, [line("1", "Grüezi")]).turns

    written = neutral.ended(neutral.begun(turn, session="s", scope="global", key="1"))

    assert written.decode() == '{"session":"s","turn":"1","role":"user","text":"Grüezi","scope":"global"}\n'


texts = st.text() | st.sampled_from(["\n\n", "\n", "\u2028", "\r\n", "\x00", "a\n\nb", "\ud83d", "\udc80"])
parts_of_turns = st.lists(st.builds(Part, st.sampled_from(get_args(PartType)), texts), min_size=1, max_size=5)
ids = st.text(st.characters(), min_size=1)


@given(
    turn=st.builds(
        Turn,
        key=ids,
        native_ids=st.lists(st.text()).map(tuple),
        role=st.sampled_from(get_args(Role)),
        speaker=st.none() | ids,
        at=st.none() | st.datetimes().map(str),
        parts=parts_of_turns.map(tuple),
        superseded=st.booleans(),
    ),
    session=ids,
    title=st.none() | ids,
)
def test_what_is_written_is_read_again(turn: Turn, session: str, title: str | None) -> None:
    beginning = neutral.begun(turn, session=session, scope="global", key=turn.key)
    written = neutral.ended(beginning, superseded=turn.superseded, title=title, origin="made-up")

    assert written.count(b"\n") == 1
    folded = neutral.fold(None, [written.decode().removesuffix("\n")])

    assert list(folded.turns) == ([turn] if turn.text else [])
    assert (folded.title, folded.unknown, folded.unreadable) == (title, {}, 0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda some: st.lists(some, max_size=3)
    )
)
def test_nothing_in_a_line_raises_and_its_text_is_there(value: Any) -> None:
    fields = dict.fromkeys(("parts", "ids", "superseded", "title", "format", "speaker", "at"), value)

    assert [turn.text for turn in neutral.fold(None, [line("1", "Hello", **fields)]).turns] == ["Hello"]
    assert neutral.fold(None, [json.dumps(value), json.dumps({"session": value, "turn": value})]).turns == ()


@given(
    st.lists(
        st.sampled_from([line(str(n % 4), f"Text {n}", title=f"T{n}" if n % 3 else None) for n in range(9)])
    ),
    st.data(),
)
def test_any_cut_into_ranges_gives_the_same_turns(lines: list[str], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=3)))
    whole = neutral.fold(None, lines)
    state, title = None, None
    turns: dict[str, Turn] = {}
    for start, end in pairwise([0, *cuts, len(lines)]):
        folded = neutral.fold(state, lines[start:end])
        state, title = folded.state, folded.title or title
        turns |= {turn.key: turn for turn in folded.turns}

    assert turns == {turn.key: turn for turn in whole.turns}
    assert (list(turns), title) == ([turn.key for turn in whole.turns], whole.title)
