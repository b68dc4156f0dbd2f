"""Copilot CLI: events as turns, nothing twice, whose words they are, and what is taken back."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import copilot_cli, recognise
from chronofile.domain.formats.copilot_cli.events import KNOWN_MAX
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded, Turn
from tests.domain.ranges import in_ranges, typed
from tests.samples import copilot_cli as sample
from tests.samples.copilot_cli import SESSION, event

BEGINNING = event("session.start", 1, {"sessionId": SESSION, "version": 1})


def lines_of(*records: Any) -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in records]


def fold(*records: Any) -> Folded:
    return copilot_cli.fold(None, lines_of(*records))


def turns(*records: Any) -> dict[str, Turn]:
    return {turn.key: turn for turn in fold(*records).turns}


def asked(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"toolCallId": call_id, "name": name, "arguments": arguments, "type": "function"}


def test_a_session_tells_who_said_what_and_nothing_twice() -> None:
    folded = copilot_cli.fold(None, sample.lines())
    said = {turn.key: turn for turn in folded.turns}

    assert typed(said["e2"]) == [
        ("text", "What is in the larder? 🫙"),
        ("text", "[file /made-up/larder.txt, larder.txt]"),
        ("notice", "<current_datetime>2026-04-05T10:00:02Z</current_datetime>\n\n"),
        ("notice", "\n\n<reminder>Be short.</reminder>"),
    ]
    assert typed(said["e4"]) == [("thinking", "A listing will do.")]
    assert typed(said["e5"]) == [
        ("text", "I list it."),
        ("tool_call", "bash\ncommand: ls larder"),
        ("tool_call", "task\nprompt: Count the jars."),
    ]
    assert said["e5"].native_ids == ("e5", "m1")
    assert (said["e7"].role, said["e7"].speaker, said["e7"].text) == ("tool", "bash", "plums\npears\n")
    assert (said["e9"].speaker, said["e9"].session) == ("Counter", f"{SESSION}/agent-c2")
    assert [key for key, turn in said.items() if turn.superseded] == ["e13"]
    assert (said["e15"].role, typed(said["e15"])) == ("system", [("notice", "The model did not answer.")])
    assert (folded.title, folded.unknown, folded.unreadable) == ("The larder", {}, 0)
    assert "e6" not in said


def test_a_call_that_begins_before_its_message_is_said_once() -> None:
    started = {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "echo hi"}}
    said = turns(
        BEGINNING,
        event("tool.user_requested", 2, started),
        event("tool.execution_start", 3, started),
        event("assistant.message", 4, {"content": "", "toolRequests": [asked("c1", command="echo hi")]}),
    )

    assert {key: typed(turn) for key, turn in said.items()} == {
        "e2": [("tool_call", "bash\ncommand: echo hi")]
    }


def test_a_thought_is_said_once_whichever_event_comes_first() -> None:
    said = turns(
        BEGINNING,
        event("assistant.message", 2, {"content": "Yes.", "reasoningText": "Hm."}),
        event("assistant.reasoning", 3, {"content": "Hm."}),
        event("assistant.reasoning", 4, {"content": "Well."}),
        event("assistant.message", 5, {"content": "No.", "reasoningText": "Well."}),
    )

    assert [typed(turn) for turn in said.values()] == [
        [("thinking", "Hm."), ("text", "Yes.")],
        [("thinking", "Well.")],
        [("text", "No.")],
    ]


def test_a_result_keeps_what_only_its_person_was_shown_and_its_error() -> None:
    results = [
        {"content": "Edited.", "detailedContent": "-old\n+new"},
        {"content": "+new", "detailedContent": "-old\n+new"},
        {"content": "same", "detailedContent": "same"},
        {
            "contents": [
                {"type": "text", "text": "A block."},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            ]
        },
    ]
    events = [
        event("tool.execution_complete", n, {"toolCallId": "c", "result": r})
        for n, r in enumerate(results, 2)
    ]
    failed = event(
        "tool.execution_complete",
        9,
        {"toolCallId": "c", "success": False, "error": {"message": "No such file."}},
    )
    said = [[text for _, text in typed(turn)] for turn in turns(BEGINNING, *events, failed).values()]

    assert said == [
        ["Edited.", "-old\n+new"],
        ["-old\n+new"],
        ["same"],
        ["A block.", "[image image/png, 3 bytes]"],
        ["No such file."],
    ]


def test_messages_that_nobody_typed_are_told_apart() -> None:
    said = turns(
        BEGINNING,
        event("user.message", 2, {"content": "A skill's words.", "source": "skill-pdf"}),
        event("user.message", 3, {"content": "Go on.", "isAutopilotContinuation": True}),
        event("user.message", 4, {"content": "Count.", "source": "agent-7"}),
        event("user.message", 5, {"content": "[Paste #1]", "transformedContent": "a long pasted text"}),
        event("system.message", 6, {"content": "You are an agent.", "role": "system"}),
        event("system.notification", 7, {"content": "A shell ended.", "kind": {"type": "shell_completed"}}),
        event("skill.invoked", 8, {"name": "pdf", "content": "How to read a PDF."}),
        event("abort", 9, {"reason": "user_initiated"}),
    )

    assert [(turn.role, turn.speaker, turn.parts[0].type) for turn in said.values()] == [
        ("system", None, "notice"),
        ("system", None, "notice"),
        ("user", "agent", "text"),
        ("user", None, "text"),
        *[("system", None, "notice")] * 4,
    ]
    assert typed(said["e5"]) == [("text", "[Paste #1]"), ("notice", "a long pasted text")]


def test_what_a_model_summed_up_is_a_summary_and_said_once() -> None:
    call = asked("c", "task_complete", summary="All jars are labelled.")
    said = turns(
        BEGINNING,
        event("session.compaction_complete", 2, {"success": True, "summaryContent": "They spoke of jars."}),
        event("session.handoff", 3, {"context": "A context.", "summary": "A summary."}),
        event("assistant.message", 4, {"content": "", "toolRequests": [call]}),
        event("session.task_complete", 5, {"summary": "All jars are labelled."}),
    )

    assert [typed(turn) for turn in said.values()] == [
        [("summary", "They spoke of jars.")],
        [("summary", "A context."), ("summary", "A summary.")],
        [("tool_call", "task_complete\nsummary: All jars are labelled.")],
    ]


def test_a_selection_that_was_attached_is_a_part_of_its_own() -> None:
    selected = {"type": "selection", "filePath": "/made-up/a.py", "displayName": "a.py", "text": "x = 1"}
    (turn,) = fold(
        BEGINNING, event("user.message", 2, {"content": "Why?", "attachments": [selected, 3]})
    ).turns

    assert typed(turn) == [("text", "Why?"), ("text", "[selection /made-up/a.py, a.py]"), ("text", "x = 1")]


def test_a_session_of_an_older_version_is_read_from_where_it_was_taken_over() -> None:
    call = {"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "a.txt", "tool_call_id": "c"},
    ]
    said = turns(BEGINNING, event("session.import_legacy", 2, {"legacySession": {"chatMessages": messages}}))

    assert [(key, turn.role, *typed(turn)) for key, turn in said.items()] == [
        ("e2/1", "user", ("text", "List.")),
        ("e2/2", "assistant", ("tool_call", "bash\ncommand: ls")),
        ("e2/3", "tool", ("tool_result", "a.txt")),
    ]


def test_events_of_unknown_type_and_versions_are_counted() -> None:
    folded = fold(
        event("session.start", 1, {"sessionId": SESSION, "version": 2}),
        event("session.invented", 2, {"message": "?"}),
        event("session.snapshot_rewind", 3, {"upToEventId": "e99"}),
        {"type": "abort"}, [], "x",
        event("user.message", 4, {"content": "Still here."}),
    )  # fmt: skip

    assert folded.unknown == {"version 2": 1, "session.invented": 1, "rewind to an unknown event": 1}
    assert ([turn.text for turn in folded.turns], folded.unreadable) == (["Still here."], 3)


def test_an_event_that_comes_again_is_there_already_and_another_with_its_id_is_kept() -> None:
    one = event("assistant.message", 2, {"content": "One.", "toolRequests": [asked("c")]})
    found = in_ranges(
        copilot_cli, lines_of(BEGINNING, one, one, one | {"data": {"content": "Two."}}, one), [2, 3]
    )

    assert found.said == ["One.", "Two.", "bash"]


def test_a_rewind_reaches_back_into_earlier_ranges() -> None:
    spoken = [event("user.message", n, {"content": f"Number {n}"}) for n in (2, 3, 4)]
    rewind = event("session.snapshot_rewind", 5, {"upToEventId": "e3"})
    first = copilot_cli.fold(None, lines_of(BEGINNING, *spoken))

    assert copilot_cli.fold(first.state, lines_of(rewind)).superseded == ("e3", "e4")


def test_a_session_is_known_by_its_beginning_and_else_by_its_file() -> None:
    found = copilot_cli.identify(sample.lines(), "/made-up/flat.jsonl")
    rest = sample.lines()[1:]
    in_folder = copilot_cli.identify(rest, "/made-up/abc/events.jsonl")
    flat = copilot_cli.identify(rest, "C:\\made-up\\abc.jsonl")

    assert found is not None
    assert (found.session, found.key, found.cwd) == (SESSION, SESSION, "/made-up/kitchen")
    assert [one.key if one else None for one in (in_folder, flat)] == ["abc", "abc"]
    assert copilot_cli.identify(['{"a": 1}'], "/made-up/abc.jsonl") is None


def test_what_is_a_session_is_recognised_by_its_content() -> None:
    found = recognise(Head.of("", "x", tuple(sample.lines())))

    assert found is not None
    assert (found[0].name, found[1]) == ("copilot-cli", "lines")


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"order.created","data":{"id":1},"id":"1","source":"/x","specversion":"1.0","time":"2026-01-01"}',
        '{"type":"session_meta","payload":{"id":"x"},"timestamp":"2026-01-01T00:00:00Z"}',
        '{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"Hi"},"parentId":null}',
        '{"level":"info","data":{},"id":1,"timestamp":2}',
    ],
)
def test_other_lines_are_no_session(line: str) -> None:
    assert copilot_cli.recognise(Head.of(line, "x", (line,))).confidence == 0.0


_CALL_IDS = st.sampled_from(["c1", "c2", "", None, 3])
_TEXTS = st.sampled_from(["", "One.", "Two.", None, 7, "\ud800"])
_TOLD = st.fixed_dictionaries(
    {"content": _TEXTS},
    optional={
        "toolCallId": _CALL_IDS,
        "toolName": _TEXTS,
        "reasoningText": _TEXTS,
        "parentToolCallId": st.sampled_from(["c1", None]),
        "agentName": _TEXTS,
        "message": _TEXTS,
        "title": _TEXTS,
        "toolRequests": st.lists(st.builds(asked, _CALL_IDS), max_size=2),
        "result": st.one_of(_TEXTS, st.builds(lambda text: {"content": text}, _TEXTS)),
        "upToEventId": st.sampled_from(["e2", "e3", "e99"]),
        "attachments": st.sampled_from([None, [{}], [{"type": "file", "path": "a"}]]),
    },
)
_KINDS = st.sampled_from([*copilot_cli._READERS, "session.snapshot_rewind", "hook.start", "odd.event"])
_EVENTS = st.builds(event, _KINDS, st.integers(1, 9), _TOLD)


@settings(deadline=None, max_examples=200)
@given(st.lists(_EVENTS, max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_any_cut_into_ranges_gives_the_same_turns(records: list[Any], ends: list[int]) -> None:
    lines = [json.dumps(record) for record in [BEGINNING, *records]]
    whole, cut = in_ranges(copilot_cli, lines), in_ranges(copilot_cli, lines, ends)

    assert list(cut.turns.items()) == list(whole.turns.items())
    assert (cut.unknown, cut.unreadable, cut.title) == (whole.unknown, whole.unreadable, whole.title)


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    [
        "content",
        "toolRequests",
        "attachments",
        "result",
        "error",
        "contents",
        "legacySession",
        "context",
        "source",
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(_KINDS, st.dictionaries(_NAMES, _JSON, max_size=5)), max_size=4), _JSON)
def test_nothing_raises_whatever_stands_there(told: list[Any], value: Any) -> None:
    records = [event(kind, 2, fields) | {"timestamp": value} for kind, fields in told]
    lines = [json.dumps(record) for record in [*records, value]]
    in_ranges(copilot_cli, lines, [1])
    copilot_cli.identify(lines, "x")
    copilot_cli.recognise(Head.of("", "x", tuple(lines)))


def test_every_text_comes_out() -> None:
    chance = random.Random(5)
    said = [f"word-{chance.getrandbits(64):x}" for _ in range(200)]
    kinds = ["user.message", "assistant.message", "assistant.reasoning", "system.message"]
    records = [
        event(chance.choice(kinds), n % 60, {"content": text}) | {"id": f"i{n}"}
        for n, text in enumerate(said)
    ]

    assert in_ranges(copilot_cli, lines_of(BEGINNING, *records), [10, 150]).said == sorted(said)


def test_deep_nesting_is_counted_and_the_rest_is_read() -> None:
    line = json.dumps(event("assistant.message", 2, {"content": "", "toolRequests": [asked("c", deep="@")]}))
    deep = line.replace('"@"', "[" * 960 + "]" * 960)
    folded = copilot_cli.fold(
        None, [deep, line.replace("@", "[" * 100_000), *lines_of(event("abort", 3, {"reason": "stop"}))]
    )

    assert folded.turns[-1].text == "stop"


def test_what_is_forgotten_first_does_not_depend_on_the_ranges() -> None:
    count = KNOWN_MAX + 3
    calls = [f"c{count - n:04d}" for n in range(count)]
    records = [BEGINNING]
    for number, call_id in enumerate(calls):
        told = {"toolCallId": call_id, "toolName": f"tool{number}", "arguments": {"at": str(number)}}
        records.append(event("tool.execution_start", len(records) + 1, told))
    for number, call_id in enumerate(calls[-8:]):
        told = {"toolCallId": call_id, "result": {"content": f"result {number}"}}
        records.append(event("tool.execution_complete", len(records) + 1, told))
    lines = lines_of(*records)

    whole = in_ranges(copilot_cli, lines).turns
    assert whole == in_ranges(copilot_cli, lines, [count - 2, count + 1]).turns
    assert [turn.speaker for turn in whole.values()][-1] == f"tool{count - 1}"
