"""Cursor's transcripts and rows as turns: whatever stands in them, and whatever the ranges."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import cursor, recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded, Turn
from tests.samples.cursor import COMPOSER, bubble, composer

_SAMPLES = Path(__file__).parents[2].parent / "shared" / "data" / "transcripts" / "cursor"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("role", "message", "content", "type", "text", "error", "status", "thinking", "name", "input")


def said(text: str, role: str = "user", **fields: Any) -> str:
    return json.dumps({"role": role, "message": {"content": [{"type": "text", "text": text}]}} | fields)


def row(key: str, value: object, table: str = "cursorDiskKV", **fields: Any) -> str:
    return json.dumps({table: key} | fields | {"value": value})


def rows(head: dict[str, Any], *bubbles: dict[str, Any]) -> list[str]:
    named = [row(f"bubbleId:{COMPOSER}:{one['bubbleId']}", one) for one in bubbles]
    return [row(f"composerData:{COMPOSER}", head), *named]


def parts(turn: Turn) -> list[tuple[str, str]]:
    return [(part.type, part.text) for part in turn.parts]


def only(folded: Folded, key: str) -> Turn:
    (turn,) = [turn for turn in folded.turns if turn.key == key]
    return turn


def test_a_transcript_is_known_by_its_first_lines() -> None:
    lines = (said("hello"), '{"type":"turn_ended","status":"success"}')

    assert cursor.recognise(Head("x.jsonl", lines)).confidence == 1.0
    found = recognise(Head("x.jsonl", lines))
    assert found is not None
    assert (found[0].name, found[1]) == ("cursor", "lines")


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "content": "hi"},
        {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "1", "sessionId": "2"},
        {"type": "message", "message": {"role": "user", "content": "hi"}},
        {"session": "s", "turn": "1", "role": "user", "text": "hi"},
        {"id": "m", "role": "assistant", "message": {"content": "hi"}},
        {"level": "info", "message": "started"},
        {"name": "package", "version": "1.0.0"},
    ],
)
def test_records_of_others_are_not_taken_for_cursors(record: dict[str, Any]) -> None:
    assert cursor.recognise(Head("x.jsonl", (json.dumps(record),))).confidence == 0.0


@pytest.mark.parametrize(
    ("path", "session"),
    [
        ("/p/agent-transcripts/a-b/a-b.jsonl", "a-b"),
        ("/p/agent-transcripts/a-b.jsonl", "a-b"),
        ("C:\\p\\agent-transcripts\\a-b\\a-b.jsonl", "a-b"),
        ("/p/agent-transcripts/a-b/subagents/c-d.jsonl", "a-b/agent-c-d"),
        (f"/anywhere/{COMPOSER}.jsonl", COMPOSER),
        ("/copies/notes.jsonl", "copies/notes"),
    ],
)
def test_a_transcript_is_who_its_file_and_folder_say(path: str, session: str) -> None:
    found = cursor.identify([said("hi")], path)

    assert found is not None
    assert (found.session, found.key) == (session, f"transcript:{session}")


def test_what_a_person_typed_is_told_from_what_cursor_wrote_around_it() -> None:
    text = "<user_info>\nOS: made up\n</user_info>\n\n<user_query>\nWhere is it?\n  Indented.\n</user_query>"

    (turn,) = cursor.fold(None, [said(text)]).turns

    assert turn.role == "user"
    assert parts(turn) == [
        ("notice", "<user_info>\nOS: made up\n</user_info>"),
        ("text", "Where is it?\n  Indented."),
    ]


def test_what_only_cursor_wrote_is_the_systems() -> None:
    (turn,) = cursor.fold(None, [said("<user_info>\nOS: made up\n</user_info>")]).turns

    assert (turn.role, parts(turn)[0][0]) == ("system", "notice")


def test_tags_that_a_person_typed_stay_theirs() -> None:
    (turn,) = cursor.fold(None, [said("<div>\n<b>bold</b>\n</div>")]).turns

    assert (turn.role, parts(turn)) == ("user", [("text", "<div>\n<b>bold</b>\n</div>")])


def test_blocks_become_parts_and_unknown_ones_are_counted() -> None:
    content = [
        {"type": "thinking", "thinking": "Let me see."},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "name": "Grep", "input": {"pattern": "TODO"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "hologram", "text": "?"},
    ]
    lines = [
        json.dumps({"role": "assistant", "message": {"content": content}}),
        '{"type":"novel"}',
        "no JSON",
    ]

    folded = cursor.fold(None, lines)

    assert parts(folded.turns[0]) == [
        ("thinking", "Let me see."),
        ("text", "I look."),
        ("tool_call", "Grep\npattern: TODO"),
        ("text", "[image image/png, 3 bytes]"),
    ]
    assert folded.unknown == {"block hologram": 1, "novel": 1}
    assert folded.unreadable == 1


def test_the_end_of_a_turn_is_silent_and_an_error_is_told() -> None:
    lines = ['{"type":"turn_ended","status":"success"}', '{"type":"error","message":"It broke."}']

    folded = cursor.fold(None, lines)

    assert [parts(turn) for turn in folded.turns] == [[("notice", "It broke.")]]
    assert (folded.unknown, folded.unreadable) == ({}, 0)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=12), st.data())
def test_any_cut_into_ranges_gives_the_same_turns(texts: list[str], data: st.DataObject) -> None:
    lines = [said(text, role="user" if number % 2 else "assistant") for number, text in enumerate(texts)]
    whole = cursor.fold(None, lines).turns

    cuts = sorted(data.draw(st.sets(st.integers(0, len(lines)), max_size=4)))
    state, turns = None, dict[str, Turn]()
    for start, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        folded = cursor.fold(state, lines[start:end])
        state, turns = json.loads(json.dumps(folded.state)), turns | {turn.key: turn for turn in folded.turns}

    assert tuple(turns.values()) == whole


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=5), max_size=6))
def test_nothing_in_a_transcript_raises(records: list[dict[str, Any]]) -> None:
    cursor.fold(None, [json.dumps(record) for record in records])


FIELDS = ("type", "text", "createdAt", "toolFormerData", "thinking", "codeBlocks", "context", "_v", "name", "params",
          "result", "conversation", "fullConversationHeadersOnly", "bubbleId", "capabilities", "images")  # fmt: skip


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6),
    st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8), max_size=5),
)
def test_nothing_in_a_row_raises_and_every_text_comes_out(
    head: dict[str, Any], bubbles: list[dict[str, Any]]
) -> None:
    texts = [f"words of {number}" for number in range(len(bubbles))]
    given_rows = [one | {"text": text} for one, text in zip(bubbles, texts, strict=True)]
    lines = [row("composerData:c", head), *(row(f"bubbleId:c:{n}", one) for n, one in enumerate(given_rows))]

    folded = cursor.fold(None, lines)
    cursor.identify(lines, "state.vscdb")

    found = {part.text for turn in folded.turns for part in turn.parts}
    assert set(texts) <= found


def test_bubbles_become_turns_with_times_tools_and_thoughts() -> None:
    tool = {"name": "read_file", "params": '{"path": "a.md"}', "result": '{"contents": "one\\ntwo"}'}
    lines = rows(
        composer("b1", "b2", "b3"),
        bubble("b1", 1, "Read it."),
        bubble("b2", 2, "", thinking={"text": "Reading."}, toolFormerData=tool),
        bubble("b3", 2, "Done.", createdAt=1_780_000_000_000),
    )

    folded = cursor.fold(None, lines)

    assert [turn.role for turn in folded.turns] == ["system", "user", "assistant", "assistant"]
    assert parts(only(folded, "b2")) == [
        ("thinking", "Reading."),
        ("tool_call", "read_file\npath: a.md"),
        ("tool_result", "one\ntwo"),
    ]
    assert only(folded, "b1").at == "2026-05-28T20:21:00.000Z"
    assert only(folded, "b3").at == "2026-05-28T20:26:40+00:00"
    assert folded.title == "Lamp oil"


def test_bubbles_that_are_not_shown_are_superseded_and_missing_ones_counted() -> None:
    lines = rows(composer("b1", "gone"), bubble("b1", 1, "Shown."), bubble("b9", 1, "Taken back."))

    folded = cursor.fold(None, lines)

    assert (only(folded, "b1").superseded, only(folded, "b9").superseded) == (False, True)
    assert folded.unknown == {"bubble missing": 1}


def test_empty_bubbles_are_silent() -> None:
    folded = cursor.fold(None, rows(composer("b1", name=None), bubble("b1", 2, "")))

    assert (folded.turns, folded.unknown, folded.unreadable) == ((), {}, 0)


def test_bubbles_without_ids_go_by_their_keys() -> None:
    lines = [
        row("composerData:c", composer("k1", identifier="c", name=None)),
        row("bubbleId:c:k1", {"type": 1, "text": "No id.", "bubbleId": ""}),
    ]

    (turn,) = cursor.fold(None, lines).turns

    assert (turn.key, turn.native_ids, turn.superseded) == ("k1", ("k1",), False)


def test_an_older_composer_holds_its_bubbles_and_its_tools_itself() -> None:
    tools = {"bubbleDataMap": json.dumps({"b2": {"name": "edit", "params": "{}", "result": "ok"}})}
    head = composer(conversation=[bubble("b1", 1, "Old."), bubble("b2", 2, "Edited.")])
    head |= {"capabilities": [{"type": 15, "data": tools}], "fullConversationHeadersOnly": []}

    folded = cursor.fold(None, rows(head))

    assert parts(only(folded, "b1")) == [("text", "Old.")]
    assert ("tool_result", "ok") in parts(only(folded, "b2"))


def test_code_stands_apart_only_where_the_text_has_it_not() -> None:
    blocks = [{"content": "print(1)"}, {"content": "print(2)"}]
    lines = rows(composer("b1", name=None), bubble("b1", 2, "See:\n```\nprint(1)\n```", codeBlocks=blocks))

    (turn,) = cursor.fold(None, lines).turns

    assert parts(turn) == [("text", "See:\n```\nprint(1)\n```"), ("text", "print(2)")]


def test_later_versions_and_kinds_are_read_and_counted() -> None:
    lines = rows(composer("b1", _v=99, name=None), bubble("b1", 7, "Still words.", _v=9))

    folded = cursor.fold(None, lines)

    assert folded.unknown == {"version 99": 1, "version 9": 1, "bubble 7": 1}
    assert [parts(turn) for turn in folded.turns] == [[("notice", "Still words.")]]


def test_a_sub_agents_conversation_names_the_agent() -> None:
    head = composer(
        "b1", "b2", subagentInfo={"parentComposerId": "p", "subagentTypeName": "explore"}, name=None
    )

    folded = cursor.fold(None, rows(head, bubble("b1", 1, "Look."), bubble("b2", 2, "Found.")))

    assert [turn.speaker for turn in folded.turns] == ["agent", "explore"]


def test_a_conversation_is_who_its_rows_say() -> None:
    workspace = {"uri": {"fsPath": "/made-up/lighthouse"}}
    found = cursor.identify(rows(composer("b1", workspaceIdentifier=workspace), bubble("b1", 1, "Hi")), "x")

    assert found is not None
    assert (found.session, found.key, found.cwd) == (COMPOSER, COMPOSER, "/made-up/lighthouse")
    assert found.updated == "2026-05-28T20:28:20+00:00"
    assert cursor.identify([row("composerData:c", {"name": "empty"})], "x") is None


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ("file:///made-up/light%20house", "/made-up/light house"),
        ("file:///c%3A/made-up", "c:/made-up"),
        ("vscode-remote://ssh/made-up", None),
        ("file://[", None),
    ],
)
def test_the_workspace_of_a_database_is_where_its_conversations_were(folder: str, path: str | None) -> None:
    found = cursor.identify([row("bubbleId:c:b", bubble("b", 1, "Hi"), folder=folder)], "x")

    assert found is not None
    assert found.cwd == path


def test_rows_that_are_no_json_are_counted() -> None:
    lines = [
        row("composerData:c", {"name": "A"}),
        json.dumps({"cursorDiskKV": "bubbleId:c:b", "raw": "no"}),
        "{",
    ]

    assert cursor.fold(None, lines).unreadable == 2


def test_deep_nesting_lone_surrogates_and_long_texts_come_through() -> None:
    deep = "[" * 100_000
    lines = [*rows(composer("b1", "b2", name=None), bubble("b1", 1, "\ud800" + "x" * 5_000_000)), deep]
    lines.append(
        row(f"bubbleId:{COMPOSER}:b2", {"type": 2, "text": "ok", "toolFormerData": {"result": deep}})
    )

    folded = cursor.fold(None, lines)

    assert folded.unreadable == 1
    assert len(only(folded, "b1").text) == 5_000_001
    assert ("text", "ok") in parts(only(folded, "b2"))


def test_ten_thousand_bubbles_of_another_branch_are_kept() -> None:
    branch = [bubble(f"x{number}", 1, f"branch {number}", createdAt=None) for number in range(10_000)]

    folded = cursor.fold(None, rows(composer("b1", name=None), bubble("b1", 1, "shown"), *branch))

    assert sum(turn.superseded for turn in folded.turns) == 10_000


@pytest.mark.skipif(not _SAMPLES.is_dir(), reason="the shared samples are not there")
def test_every_sample_is_read_without_a_remainder() -> None:
    for path in sorted(_SAMPLES.glob("*.jsonl")):
        folded = cursor.fold(None, path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))

        assert folded.turns, path
        assert (folded.unknown, folded.unreadable) == ({}, 0), path


def test_lines_that_look_like_rows_are_not_cursors_in_a_file() -> None:
    stored = json.dumps({"blobs": "k1", "value": {"role": "user", "content": "A red kite"}})

    assert cursor.recognise(Head("store.jsonl", (stored, stored))).confidence == 0.0
    assert recognise(Head("store.jsonl", (stored, stored))) is None


def test_rows_that_come_after_rows_are_folded_as_well() -> None:
    first, second = (
        row(key, {"role": "user", "content": said}, "blobs") for key, said in [("k1", "A"), ("k2", "B")]
    )
    state = cursor.fold(None, [first]).state

    assert [turn.text for turn in cursor.fold(state, [second]).turns] == ["B"]
    assert [turn.text for turn in cursor.fold({}, [said("C")]).turns] == ["C"]


@pytest.mark.parametrize(
    "text",
    ["<user_query>" * 100_000, "<rules>" * 100_000, "<rules></rules>" * 20_000 + "x", "<rules " * 100_000],
)
def test_tags_without_an_end_are_read_once_and_stay_a_persons(text: str) -> None:
    began = time.perf_counter()

    (turn,) = cursor.fold(None, [said(text)]).turns

    assert (turn.role, turn.text) == ("user", text)
    assert time.perf_counter() - began < 5


def test_each_query_is_a_persons_and_what_stands_between_is_cursors() -> None:
    (turn,) = cursor.fold(
        None, [said("<user_query>\nOne\n</user_query> so <user_query>Two</user_query> end <user_query>")]
    ).turns

    assert parts(turn) == [("text", "One"), ("notice", "so"), ("text", "Two"), ("notice", "end <user_query>")]
