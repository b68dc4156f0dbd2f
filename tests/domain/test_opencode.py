"""OpenCode's sessions as turns: from small files, from rows, from exports, and whatever stands in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import opencode, recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded, Turn
from tests.domain.test_cursor import JSON
from tests.samples.opencode import MESSAGES, session

AT_MS = 1_780_000_000_000


def line(kind: str, identifier: str, value: object, **fields: Any) -> str:
    return json.dumps({"kind": kind, "id": identifier} | fields | {"value": value})


def message(identifier: str, *parts: dict[str, Any], role: str = "user", **fields: Any) -> list[str]:
    value = {"id": identifier, "role": role, "time": {"created": AT_MS}} | fields
    held = [
        line("part", f"{identifier}-{number}", part, message_id=identifier)
        for number, part in enumerate(parts, start=1)
    ]
    return [line("message", identifier, value, session_id="s"), *held]


def text(said: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": said} | fields


def fold(*lines: str, **about: Any) -> Folded:
    return opencode.fold(None, [line("session", "s", session("s", title="", **about)), *lines])


def parts(turn: Turn) -> list[tuple[str, str]]:
    return [(part.type, part.text) for part in turn.parts]


def kind(record: object, name: str = "x.json") -> str | None:
    return opencode.kind_of(Head.of(json.dumps(record), name))


def test_a_sessions_files_are_known_by_what_they_hold() -> None:
    assert kind(session()) == "session"
    assert kind({"id": "s", "time": {"created": AT_MS, "updated": AT_MS}}) == "session"
    assert kind({"id": "m", "sessionID": "s", "role": "user", "time": {"created": AT_MS}}) == "message"
    assert kind({"id": "prt_1", "messageID": "m", "type": "text", "text": "hi"}) == "part"
    assert kind({"info": session(), "messages": []}) == "export"
    found = recognise(Head.of(json.dumps(session()), "/x/session/p/s.json"))
    assert found is not None
    assert (found[0].name, found[1]) == ("opencode", "conversations")


@pytest.mark.parametrize(
    "record",
    [
        {"name": "package", "version": "1.0.0", "dependencies": {}},
        {"type": "FeatureCollection", "features": []},
        {"id": "1", "title": "A post", "time": "12:00"},
        {"id": 7, "user": "mel", "created_at": "2026-01-01"},
        {"id": "evt", "type": "text", "text": "hi"},
        {"id": "m", "role": "user", "content": "hi"},
        {"cells": [], "metadata": {}, "nbformat": 4},
        {"id": "a", "time": {"created": "yesterday", "updated": "today"}},
        [],
        7,
    ],
)
def test_other_json_is_not_taken_for_a_session(record: object) -> None:
    assert opencode.recognise(Head.of(json.dumps(record), "x.json")).confidence == 0.0


def test_messages_become_turns_with_typed_parts() -> None:
    tool = {
        "type": "tool", "tool": "bash", "callID": "c",
        "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.txt\n", "title": "ls"},
    }  # fmt: skip
    answer = message("m2", {"type": "step-start"}, {"type": "reasoning", "text": "Look."}, tool, text("One file."),
                     role="assistant")  # fmt: skip

    folded = fold(*message("m1", text("List the files.")), *answer)

    assert [turn.role for turn in folded.turns] == ["user", "assistant"]
    assert folded.turns[0].at == "2026-05-28T20:26:40+00:00"
    assert parts(folded.turns[1]) == [
        ("thinking", "Look."),
        ("tool_call", "bash\ncommand: ls"),
        ("tool_result", "a.txt\n"),
        ("text", "One file."),
    ]
    assert (folded.unknown, folded.unreadable) == ({}, 0)


def test_what_the_tool_put_in_is_a_notice() -> None:
    folded = fold(*message("m1", text("Read it."), text("Called the Read tool.", synthetic=True)),
                  *message("m2", text("Continue.", synthetic=True)))  # fmt: skip

    assert [kind for kind, _ in parts(folded.turns[0])] == ["text", "notice"]
    assert [turn.role for turn in folded.turns] == ["user", "system"]


def test_a_compaction_is_a_summary() -> None:
    folded = fold(*message("m1", {"type": "compaction", "auto": True}),
                  *message("m2", text("So far: oil."), role="assistant", summary=True))  # fmt: skip

    assert [(turn.role, parts(turn)) for turn in folded.turns] == [("system", [("summary", "So far: oil.")])]


def test_what_was_taken_back_is_superseded_from_the_message_on() -> None:
    lines = [*message("m1", text("One.")), *message("m2", text("Two.")), *message("m3", text("Three."))]

    folded = fold(*lines, revert={"messageID": "m2"})

    assert [turn.superseded for turn in folded.turns] == [False, True, True]


def test_what_was_taken_back_is_superseded_from_the_part_on() -> None:
    lines = [*message("m1", text("Kept."), text("Left."), role="assistant"), *message("m2", text("Later."))]

    folded = fold(*lines, revert=json.dumps({"messageID": "m1", "partID": "m1-2"}))

    assert [(turn.key, turn.text, turn.superseded) for turn in folded.turns] == [
        ("m1", "Kept.", False),
        ("m1#reverted", "Left.", True),
        ("m2", "Later.", True),
    ]


def test_files_patches_errors_and_subtasks_say_what_they_are() -> None:
    image = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,AAAA"}
    page = {"type": "file", "mime": "text/plain", "filename": "b.txt", "url": "file:///b.txt"}
    task = {"type": "subtask", "agent": "explore", "description": "Find oil", "prompt": "Find the oil."}
    patch = {"type": "patch", "hash": "f" * 40, "files": ["/b.txt"]}
    retry = {"type": "retry", "attempt": 1, "error": {"name": "APIError", "data": {"message": "Overloaded."}}}
    error = {"name": "MessageAbortedError", "data": {"message": "Aborted."}}

    (turn,) = fold(*message("m1", image, page, task, patch, retry, role="assistant", error=error)).turns

    assert parts(turn) == [
        ("text", "[file a.png, image/png, 3 bytes]"),
        ("text", "[file b.txt, text/plain, file:///b.txt]"),
        ("tool_call", "subtask\nagent: explore\ndescription: Find oil\nprompt: Find the oil."),
        ("notice", "[patch /b.txt]"),
        ("notice", "Overloaded."),
        ("notice", "Aborted."),
    ]


def test_a_sub_agents_session_names_who_speaks() -> None:
    lines = [*message("m1", text("Look.")), *message("m2", text("Found."), role="assistant", agent="explore")]

    folded = fold(*lines, parentID="ses_above")

    assert [turn.speaker for turn in folded.turns] == ["agent", "explore"]


def test_the_title_is_found_and_told() -> None:
    folded = opencode.fold(None, [line("session", "s", session("s")), *message("m1", text("Hi"))])

    assert folded.title == "Lamp oil"
    assert parts(folded.turns[0]) == [("notice", "Lamp oil")]


def test_an_export_and_the_rows_of_a_session_give_the_same_turns() -> None:
    held = [
        {"info": info, "parts": [part | {"id": f"p{number}"} for number, part in enumerate(content)]}
        for info, content in MESSAGES
    ]
    lines = [line("session", "s", session())]
    for info, content in MESSAGES:
        lines.append(line("message", info["id"], info))
        lines += [
            line("part", f"p{number}", part, message_id=info["id"]) for number, part in enumerate(content)
        ]

    exported = opencode.fold(None, [json.dumps({"info": session(), "messages": held})])

    assert exported.turns == opencode.fold(None, lines).turns
    assert len(exported.turns) == 4


def test_messages_of_the_later_table_hold_their_own_content() -> None:
    tool = {"type": "tool", "name": "bash", "state": {"status": "completed", "input": {"command": "ls"},
            "content": [{"type": "text", "text": "a.txt"}]}}  # fmt: skip
    rows = [
        ("user", {"text": "List."}),
        ("assistant", {"content": [{"type": "reasoning", "text": "Look."}, tool, text("One.")]}),
        ("shell", {"command": "pwd", "output": "/made-up"}),
        ("synthetic", {"text": "Injected."}),
        ("compaction", {"summary": "So far."}),
        ("model-switched", {"model": {}}),
        ("riddle", {"text": "?"}),
    ]
    lines = [
        json.dumps({"kind": "session_message", "id": f"m{n}", "type": kind, "value": value})
        for n, (kind, value) in enumerate(rows)
    ]

    folded = fold(*lines)

    assert [kind for turn in folded.turns for kind, _ in parts(turn)] == [
        "text", "thinking", "tool_call", "tool_result", "text", "tool_call", "tool_result", "notice", "summary",
    ]  # fmt: skip
    assert folded.unknown == {"message riddle": 1}


def test_what_is_not_known_is_counted_and_kept_going() -> None:
    lines = [
        *message("m1", {"type": "hologram"}, text("Words.")),
        line("part", "p", text("Orphan."), message_id="?"),
    ]

    folded = fold(
        *lines, line("riddle", "r", {}), "no JSON", json.dumps({"kind": "part", "raw": "x"}), version="9.1"
    )

    assert folded.unknown == {"version 9": 1, "part hologram": 1, "record riddle": 1, "message missing": 1}
    assert folded.unreadable == 2
    assert {turn.text for turn in folded.turns} == {"Words.", "Orphan."}


def test_a_session_is_who_it_says_and_is_as_old_as_it_says() -> None:
    found = opencode.identify([line("session", "file", session("s")), *message("m1", text("Hi"))], "x.json")

    assert found is not None
    assert (found.session, found.key, found.cwd) == ("s", "s", "/made-up/lighthouse")
    assert found.updated == "2026-05-28T20:27:40+00:00"


def test_a_session_without_an_id_is_known_by_how_it_begins() -> None:
    nameless = {"kind": "message", "value": {"role": "user", "time": {"created": AT_MS}}}
    lines = [
        json.dumps(nameless),
        json.dumps({"kind": "part", "message_id": "message-1", "value": text("Hi")}),
    ]

    first = opencode.identify(lines, "a.json")
    grown = opencode.identify([*lines, json.dumps(nameless)], "b.json")

    assert first is not None
    assert grown is not None
    assert first.key == grown.key
    assert opencode.identify([line("session", "s", session("s"))], "c.json") is None


FIELDS = ("id", "role", "type", "text", "time", "state", "parts", "error", "summary", "revert", "files", "content",
          "info", "messages", "sessionID", "metadata", "agent", "url", "input", "output", "version")  # fmt: skip


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["session", "message", "part", "session_message", "riddle"]),
            st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8) | JSON,
        ),
        max_size=8,
    )
)
def test_nothing_raises(records: list[tuple[str, Any]]) -> None:
    lines = [
        json.dumps({"kind": kind, "id": "m", "message_id": "m", "value": value}) for kind, value in records
    ]

    opencode.fold(None, lines)
    opencode.identify(lines, "x.json")


@settings(deadline=None)
@given(st.lists(st.lists(st.text(min_size=1, max_size=20), max_size=4), max_size=5))
def test_every_text_comes_out_as_it_was(texts: list[list[str]]) -> None:
    lines = [one for number, said in enumerate(texts) for one in message(f"m{number}", *map(text, said))]

    found = [part.text for turn in fold(*lines).turns for part in turn.parts]

    assert found == [one for said in texts for one in said]


def test_deep_nesting_lone_surrogates_and_long_texts_come_through() -> None:
    deep: dict[str, Any] = {"type": "tool", "tool": "x", "state": {"input": "[" * 50_000, "output": "\ud800"}}

    folded = fold(*message("m1", deep, text("x" * 5_000_000)), "[" * 100_000)

    assert len(folded.turns[0].text) > 5_000_000
    assert folded.unreadable == 1


def test_parts_that_are_nested_too_deeply_are_counted_and_the_rest_is_read() -> None:
    for levels in range(900, 1_010):
        deep = "[" * levels + "]" * levels
        part = f'{{"kind":"part","id":"p","message_id":"gone","value":{{"type":"tool","state":{{"input":{deep}}}}}}}'
        folded = opencode.fold(None, [part, *message("m1", text("The rest"))])
        opencode.identify([part], "x")

        assert "The rest" in [turn.text for turn in folded.turns]
