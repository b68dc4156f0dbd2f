"""VS Code's chats: whole and as a log, sentences with references in them, tools, and what was undone."""

from __future__ import annotations

import copy
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import copilot_vscode, recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded, Likeness, Turn
from tests.domain.ranges import in_ranges, typed
from tests.samples import copilot_vscode as sample
from tests.samples.copilot_vscode import AT_MS, SESSION, invoked, markdown, reference, request, rounds


def lines_of(*records: Any) -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in records]


def fold(*records: Any) -> Folded:
    return copilot_vscode.fold(None, lines_of(*records))


def chat(*requests: Any, **fields: Any) -> dict[str, Any]:
    return {
        "responderUsername": "GitHub Copilot",
        "initialLocation": "panel",
        "requests": list(requests),
    } | fields


def answer(*response: Any, **fields: Any) -> list[tuple[str, str]]:
    """Return the parts of the answer to one request."""
    turns = {turn.key: turn for turn in fold(chat(request(1, "Hm?", *response, **fields))).turns}
    return typed(turns["request_1/response"]) if "request_1/response" in turns else []


def log(*requests: Any, **fields: Any) -> dict[str, Any]:
    return {
        "kind": 0,
        "v": {"version": 3, "sessionId": SESSION, "creationDate": AT_MS} | chat(*requests, **fields),
    }


def replayed(*records: Any, ends: tuple[int, ...] = ()) -> dict[str, Turn]:
    return in_ranges(copilot_vscode, lines_of(*records), ends).turns


def test_a_chat_tells_who_said_what() -> None:
    folded = fold(sample.chat())
    said = {turn.key: turn for turn in folded.turns}

    assert (said["request_1"].speaker, said["request_1"].text) == ("juno", "How hot does the kiln get? 🔥")
    assert said["request_1"].at == "2026-03-31T23:34:20+00:00"
    assert said["request_1/response"].speaker == "GitHub Copilot"
    assert typed(said["request_1/response"]) == [
        ("thinking", "There should be a note."),
        ("tool_call", "read_file\nfilePath: /made-up/kiln.md"),
        ("tool_result", "Cone 6: 1,240 °C"),
        ("text", "The kiln is described in kiln.md, at 1,240 °C."),
    ]
    assert [key for key, turn in said.items() if turn.superseded] == ["request_2", "request_2/response"]
    assert (said["request_3/response"].role, typed(said["request_3/response"])) == (
        "system",
        [("notice", "The model did not answer."), ("notice", "[canceled]")],
    )
    assert (folded.title, folded.unknown, folded.unreadable) == ("The kiln", {}, 0)


def test_sentences_stay_whole_around_references_and_symbols() -> None:
    symbol = {
        "kind": "inlineReference",
        "inlineReference": {"name": "fire()", "location": {"uri": {"path": "/a.py"}}},
    }
    place = {"kind": "inlineReference", "inlineReference": {"uri": {"path": "/b/c.py"}, "range": {}}}
    named = reference("/d.py") | {"name": "the d file"}
    pieces = [
        markdown("See "),
        symbol,
        markdown(" in "),
        place,
        {"kind": "markdownVuln", "content": markdown(" or ")},
        named,
    ]

    assert answer(*pieces) == [("text", "See fire() in c.py or the d file")]


def test_edits_are_said_once() -> None:
    uri = {"path": "/made-up/a.py", "scheme": "file"}
    edit = {
        "kind": "textEditGroup",
        "uri": uri,
        "edits": [[{"text": "x = 1"}], [{"text": "y = 2"}]],
        "done": True,
    }
    around = [
        markdown("Look:"),
        markdown("\n```\n"),
        {"kind": "undoStop"},
        {"kind": "codeblockUri"},
        edit,
        markdown("\n```\n"),
    ]
    called = {"id": "c", "name": "create_file", "arguments": json.dumps({"content": "x = 1\ny = 2\n"})}
    made = rounds({"response": "Look:", "toolCalls": [called]})

    assert answer(*around) == [("text", "Look:"), ("tool_call", "/made-up/a.py\nx = 1\ny = 2")]
    assert answer(*around, result=made) == [
        ("text", "Look:"),
        ("tool_call", "create_file\ncontent: x = 1\ny = 2\n"),
    ]


def test_calls_are_matched_by_id_and_else_by_number_and_none_is_lost() -> None:
    calls = [{"id": f"c{n}", "name": f"tool{n}", "arguments": "{}"} for n in (1, 2)]
    tree = {
        "node": {
            "children": [{"text": "leaf 1"}, {"children": [{"text": "leaf 2", "lineBreakBefore": True}]}]
        }
    }
    results = {"c2": {"content": [{"value": "two"}]}, "c1": {"content": [{"value": tree}]}}
    made = {"metadata": {"toolCallRounds": [{"toolCalls": calls}], "toolCallResults": results}}
    both = [
        ("tool_call", "tool1"),
        ("tool_result", "leaf 1\nleaf 2"),
        ("tool_call", "tool2"),
        ("tool_result", "two"),
    ]

    assert answer(invoked("x", "a", "A"), invoked("y", "b", "B"), result=made) == both
    assert answer(invoked("c2__vscode-1", "b", "B"), result=made) == [*both[2:], *both[:2]]
    assert answer(invoked("x", "a", "Ran A"), result=made) == [("tool_call", "a\nRan A"), *both]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"toolSpecificData": {"kind": "terminal", "commandLine": {"original": "ls"}, "terminalCommandOutput": {"text": "a"}}},
            ["tool\nls", "a"],
        ),
        ({"toolSpecificData": {"kind": "input", "rawInput": {"q": "kiln"}}, "resultDetails": {"output": "hot"}}, ["tool\nq: kiln", "hot"]),
        ({"toolSpecificData": {"kind": "subagent", "prompt": "Count.", "result": "Seven."}}, ["tool\nCount.", "Seven."]),
        ({"resultDetails": {"output": {"mimeType": "image/png", "base64Data": "AAAA"}}}, ["tool\nDone", "[output image/png, 3 bytes]"]),
        ({"resultDetails": [{"path": "/a.py"}]}, ["tool\nDone"]),
    ],
)  # fmt: skip
def test_a_call_without_a_round_is_what_the_editor_kept(fields: dict[str, Any], expected: list[str]) -> None:
    assert [text for _, text in answer(invoked("x", "tool", "Done") | fields)] == expected


def test_what_the_editor_says_by_itself_is_a_notice() -> None:
    pieces = [
        {"kind": "progressTaskSerialized", "content": markdown("Choosing tools")},
        {"kind": "warning", "content": markdown("Careful.")},
        {"kind": "elicitationSerialized", "title": "Input", "message": markdown("Which one?")},
        {
            "kind": "questionCarousel",
            "questions": [{"title": "Glaze?"}],
            "data": {"q": {"selectedValue": "Celadon"}},
        },
        {"kind": "undoStop", "id": "x"},
        {"kind": "oracle"},
    ]
    folded = fold(chat(request(1, "Hm?", *pieces)))

    assert typed(folded.turns[1]) == [
        ("notice", "Choosing tools"), ("notice", "Careful."), ("notice", "Input"), ("notice", "Which one?"),
        ("notice", "Glaze?"), ("tool_result", "Celadon"),
    ]  # fmt: skip
    assert folded.unknown == {"part oracle": 1}


def test_rounds_speak_where_the_answer_itself_does_not() -> None:
    made = rounds({"response": "From the round.", "thinking": {"text": ["Hm", "."]}, "toolCalls": []})

    assert answer(result=made) == [("thinking", "Hm."), ("text", "From the round.")]


def test_what_a_person_attached_is_a_fact_and_its_text_a_part() -> None:
    variables = [
        {"kind": "file", "name": "a.py", "value": {"path": "/made-up/a.py", "scheme": "file"}},
        {"kind": "paste", "name": "Pasted", "code": "x = 1"},
        {"kind": "image", "name": "kiln.png", "mimeType": "image/png", "value": {"0": 137}},
        {"kind": "promptFile", "name": "instructions", "automaticallyAdded": True},
    ]
    (turn,) = fold(chat(request(1, "Why?", variableData={"variables": variables}))).turns

    assert [text for _, text in typed(turn)] == [
        "Why?", "[file /made-up/a.py]", "[paste Pasted]", "x = 1", "[image kiln.png, image/png]",
    ]  # fmt: skip


def test_older_shapes_of_messages_and_answers_are_read() -> None:
    old = {"message": "Hello", "response": ["Hi ", {"value": "you"}], "isHidden": True}
    parts = {"message": {"parts": [{"text": "@agent"}, {"text": " go"}]}, "response": None}
    turns = fold(chat(old, parts, version=1)).turns

    assert [(turn.key, turn.text, turn.superseded) for turn in turns] == [
        ("request-1", "Hello", True),
        ("request-1/response", "Hi you", True),
        ("request-2", "@agent go", False),
    ]


def test_a_log_comes_to_the_same_turns_as_the_whole() -> None:
    whole = sample.chat()
    first, undone, third = whole["requests"]
    begun = copy.deepcopy(first) | {"response": [], "result": None}
    records = [
        {
            "kind": 0,
            "v": {key: value for key, value in whole.items() if key != "customTitle"} | {"requests": []},
        },
        {"kind": 2, "k": ["requests"], "v": [begun]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": first["response"][:2]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": first["response"][1:], "i": 1},
        {"kind": 1, "k": ["requests", 0, "result"], "v": first["result"]},
        {"kind": 1, "k": ["customTitle"], "v": "The kiln"},
        {"kind": 2, "k": ["requests"], "v": [undone, third | {"isCanceled": False}]},
        {"kind": 1, "k": ["requests", 2, "isCanceled"], "v": True},
        {"kind": 1, "k": ["inputState", "inputText"], "v": "not sent"},
    ]
    expected = {turn.key: turn for turn in fold(whole).turns}

    assert replayed(*records) == replayed(*records, ends=(2, 3, 5, 7)) == expected


def test_requests_that_a_log_cuts_off_are_superseded() -> None:
    asked = [request(number, f"Number {number}") for number in range(1, 6)]
    records = [log(*asked), {"kind": 2, "k": ["requests"], "v": [request(9, "Anew")], "i": 1}]

    for ends in ((), (1,)):
        turns = replayed(*records, ends=ends)
        assert [turn.text for turn in turns.values() if turn.superseded] == [
            f"Number {n}" for n in range(2, 6)
        ]
        assert [turn.text for turn in turns.values() if not turn.superseded] == ["Number 1", "Anew"]


def test_an_undo_and_its_redo_mark_and_unmark() -> None:
    undo = {"kind": 1, "k": ["requests", 0, "shouldBeRemovedOnSend"], "v": {"requestId": "request_1"}}
    redo = {"kind": 3, "k": ["requests", 0, "shouldBeRemovedOnSend"]}

    assert replayed(log(request(1, "Hm?")), undo, ends=(1,))["request_1"].superseded
    assert not replayed(log(request(1, "Hm?")), undo, redo, ends=(1, 2))["request_1"].superseded


def test_changes_that_have_no_place_are_counted() -> None:
    found = in_ranges(
        copilot_vscode,
        lines_of(
            {"kind": 1, "k": ["customTitle"], "v": "Too early"},
            log(*(request(number, "?") for number in range(9)), version=9),
            {"kind": 1, "k": ["requests", 0, "message", "text"], "v": "A closed one"},
            {"kind": 1, "k": ["requests", 0, "vote"], "v": 1},
            {"kind": 7, "k": ["requests"]},
            {"kind": 2, "k": ["requests"], "v": [3]},
            {"other": 1},
            4,
        ),
    )

    assert found.unknown == {
        "change without a place": 2,
        "version 9": 1,
        "change 7": 1,
        "request": 1,
        "record other": 1,
    }
    assert found.unreadable == 1


def test_a_chat_is_known_by_its_session_and_an_export_by_its_first_request() -> None:
    whole = copilot_vscode.identify(lines_of(sample.chat()), "a.json")
    export = copilot_vscode.identify(lines_of(chat(request(1, "One"))), "b.json")
    longer = copilot_vscode.identify(lines_of(chat(request(1, "One"), request(2, "Two"))), "c.json")
    logged = copilot_vscode.identify(lines_of(log()), "d.jsonl")

    assert whole is not None
    assert (whole.key, whole.updated) == (SESSION, "2026-03-31T23:36:20+00:00")
    assert [one.key if one else None for one in (export, longer, logged)] == [
        "request_1",
        "request_1",
        SESSION,
    ]
    assert [one.updated if one else None for one in (export, longer, logged)] == [
        "2026-03-31T23:34:20+00:00", "2026-03-31T23:35:20+00:00", None,
    ]  # fmt: skip
    assert copilot_vscode.identify(lines_of(chat()), "e.json") is None


def test_the_workspace_is_the_folder_that_links_are_meant_from() -> None:
    based = markdown("Yes.") | {"baseUri": {"$mid": 1, "path": "/made-up/pottery/", "scheme": "file"}}
    found = copilot_vscode.identify(lines_of(chat(request(1, "Hm?", based))), "a.json")

    assert found is not None
    assert found.cwd == "/made-up/pottery"


def test_a_chat_is_recognised_by_its_content() -> None:
    export = json.dumps(chat(request(1, "Hm?", markdown("x" * 200_000))), indent=2)
    found = recognise(Head.of(export[: 64 << 10], "x"))

    assert found is not None
    assert (found[0].name, found[1]) == ("copilot-vscode", "conversations")
    lines = tuple(lines_of(log(), {"kind": 2, "k": ["requests"], "v": []}))
    assert copilot_vscode.recognise(Head.of("", "x", lines)) == Likeness(1.0, "lines")


@pytest.mark.parametrize(
    "value",
    [
        {"requests": [{"url": "https://example.invalid", "method": "GET"}]},
        {"requests": [], "name": "a collection"},
        {"kind": 0, "v": {"a": 1}},
        {"kind": "List", "items": []},
        {"name": "a-package", "version": "1.0.0"},
        {"requests": 3, "responderUsername": "x"},
    ],
)
def test_other_json_is_no_chat(value: Any) -> None:
    written = json.dumps(value)

    assert copilot_vscode.recognise(Head.of(written, "x", (written,))).confidence < 0.5


_TEXTS = st.sampled_from(["", "One.", "Two.", "\n```\n", "\ud800"])
_PIECES = st.one_of(
    st.builds(markdown, _TEXTS),
    st.builds(lambda text: {"kind": "thinking", "value": text}, _TEXTS),
    st.builds(lambda call: invoked(call, "tool", "Did."), st.sampled_from(["c1", "c2"])),
    st.sampled_from(
        [None, 3, {"kind": "undoStop"}, {"kind": "odd"}, {"kind": "codeblockUri"}, reference("/a.py")]
    ),
)
_RESULTS = st.sampled_from(
    [{}, None, rounds({"response": "R", "toolCalls": [{"id": "c1", "name": "n"}]}, c1="ok")]
)
_REQUESTS = st.builds(
    lambda number, text, pieces, result: request(number, text, *pieces, result=result),
    st.integers(1, 5), _TEXTS, st.lists(_PIECES, max_size=3), _RESULTS,
)  # fmt: skip
_NUMBERS = st.integers(0, 6)
_CHANGES = st.one_of(
    st.builds(lambda made, start: {"kind": 2, "k": ["requests"], "v": made} | start,
              st.lists(_REQUESTS, max_size=2), st.one_of(st.just({}), st.builds(lambda n: {"i": n}, _NUMBERS))),
    st.builds(lambda n, made, start: {"kind": 2, "k": ["requests", n, "response"], "v": made} | start,
              _NUMBERS, st.lists(_PIECES, max_size=2), st.one_of(st.just({}), st.builds(lambda n: {"i": n}, _NUMBERS))),
    st.builds(lambda n, value: {"kind": 1, "k": ["requests", n, "shouldBeRemovedOnSend"], "v": value}, _NUMBERS, st.booleans()),
    st.builds(lambda n, value: {"kind": 1, "k": ["requests", n, "message", "text"], "v": value}, _NUMBERS, _TEXTS),
    st.builds(lambda n, made: {"kind": 1, "k": ["requests", n], "v": made}, _NUMBERS, _REQUESTS),
    st.builds(lambda title: {"kind": 1, "k": ["customTitle"], "v": title}, _TEXTS),
    st.builds(lambda made: log(*made), st.lists(_REQUESTS, max_size=2)),
    st.sampled_from([{"kind": 3, "k": ["requests", 0, "result"]}, {"kind": 3, "k": ["requests"]}, {"kind": 1, "k": []}, {}]),
)  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(st.lists(_CHANGES, max_size=25), st.lists(st.integers(0, 25), max_size=5))
def test_any_cut_into_ranges_gives_the_same_turns(records: list[Any], ends: list[int]) -> None:
    lines = [json.dumps(record) for record in [log(request(1, "First")), *records]]
    whole, cut = in_ranges(copilot_vscode, lines), in_ranges(copilot_vscode, lines, ends)

    assert cut.turns == whole.turns
    assert (cut.unknown, cut.unreadable, cut.title) == (whole.unknown, whole.unreadable, whole.title)


_NAMES = st.sampled_from(
    ["requests", "message", "text", "parts", "response", "kind", "value", "content", "v", "k", "i", "result", "metadata",
     "toolCallRounds", "toolCalls", "arguments", "toolCallResults", "variableData", "variables", "edits", "uri", "data"]
)  # fmt: skip
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-1, 4), st.text(max_size=3), _NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES, inner, max_size=5)),
    max_leaves=25,
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(_JSON, st.builds(chat, _JSON)), max_size=4), _JSON)
def test_nothing_raises_whatever_stands_there(values: list[Any], inner: Any) -> None:
    kinds = [
        "toolInvocationSerialized",
        "thinking",
        "textEditGroup",
        "questionCarousel",
        "inlineReference",
        "warning",
    ]
    pieces = [
        {"kind": kind, "value": inner, "edits": inner, "data": inner, "inlineReference": inner}
        for kind in kinds
    ]
    records = [*values, chat(request(1, "Hm?", *pieces, result=inner)), {"kind": 1, "k": inner, "v": inner}]
    lines = [json.dumps(record) for record in records]
    in_ranges(copilot_vscode, lines, [1])
    copilot_vscode.identify(lines, "x")
    for line in lines:
        copilot_vscode.recognise(Head.of(line, "x", (line,)))


def test_every_text_comes_out() -> None:
    chance = random.Random(6)
    said = [f"word-{chance.getrandbits(64):x}" for _ in range(100)]
    made = [request(n, said[2 * n], markdown(said[2 * n + 1])) for n in range(50)]
    records = [log(), *({"kind": 2, "k": ["requests"], "v": [one]} for one in made)]

    assert in_ranges(copilot_vscode, lines_of(*records), [3, 30]).said == sorted(said)


def test_deep_nesting_is_counted_and_the_rest_is_read() -> None:
    line = json.dumps(log(request(1, "Hm?", {"kind": "odd", "deep": "@"})))
    deep = [line.replace('"@"', "[" * depth + "]" * depth) for depth in (900, 950, 100_000)]
    more = lines_of({"kind": 2, "k": ["requests"], "v": [request(2, "Still here.")]})
    turns = in_ranges(copilot_vscode, [*deep, *more], range(4)).turns

    assert "Still here." in {turn.text for turn in turns.values()}


def test_the_order_of_arguments_and_answers_does_not_depend_on_the_ranges() -> None:
    given = {"kind": "input", "rawInput": {"zeta": "one", "alpha": "two"}}
    tool = {
        "kind": "toolInvocationSerialized",
        "toolCallId": "c1",
        "toolId": "lift",
        "toolSpecificData": given,
    }
    asked = {
        "kind": "questionCarousel",
        "questions": [{"title": "Which?"}],
        "data": {"zz": "first", "aa": "second"},
    }
    records = [
        log(request(1, "Hm?", tool, asked)),
        {"kind": 2, "k": ["requests", 0, "response"], "v": [markdown("Done.")]},
    ]

    assert replayed(*records) == replayed(*records, ends=(1,))


def test_an_answer_of_many_pieces_is_made_once() -> None:
    pushes = [
        {"kind": 2, "k": ["requests", 0, "response"], "v": [markdown(f"word {n} ")]} for n in range(3_000)
    ]
    began = time.perf_counter()

    turns = replayed(log(request(1, "Hm?")), *pushes)

    assert turns["request_1/response"].text == "".join(f"word {n} " for n in range(3_000))
    assert time.perf_counter() - began < 2


def test_what_a_change_takes_away_was_said_before() -> None:
    records = [
        log(),
        {"kind": 2, "k": ["requests"], "v": [request(1, "First")]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [markdown("Half.")]},
        {"kind": 1, "k": ["requests", 0, "response"], "v": []},
        {"kind": 2, "k": ["requests"], "v": [request(2, "Second")], "i": 0},
    ]

    whole, cut = replayed(*records), replayed(*records, ends=(1, 2, 3, 4))
    assert whole == cut
    assert [turn.text for turn in whole.values() if turn.superseded] == ["First", "Half."]


def test_a_part_whose_kind_is_no_word_is_counted() -> None:
    folded = fold(chat(request(1, "Hm?", {"kind": ["thinking"], "value": "x"}, {"kind": {}})))

    assert sum((folded.unknown or {}).values()) == 2
