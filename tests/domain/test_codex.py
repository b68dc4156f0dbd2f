"""Codex's records become turns: each message and each use of a tool once, whatever a version writes down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import codex
from chronofile.domain.formats.codex.draft import LIVE_MAX
from chronofile.domain.formats.codex.twins import WINDOW_MAX
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import read_record
from chronofile.domain.turns import Folded, State, Turn

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
SAMPLES = sorted(TRANSCRIPTS.glob("codex/**/*.jsonl"))
needs_samples = pytest.mark.skipif(not SAMPLES, reason="../shared/data/transcripts is not here")

AT = "2026-01-02T03:04:05.678Z"


def record(kind: str, payload: dict[str, Any], at: str | None = AT) -> str:
    return json.dumps({"timestamp": at, "type": kind, "payload": payload})


def meta(**fields: Any) -> str:
    return record("session_meta", {"id": "s", "cwd": "/w", "cli_version": "0.99.0", "source": "cli"} | fields)


def event(kind: str, /, **fields: Any) -> str:
    return record("event_msg", {"type": kind} | fields)


def item(kind: str, /, **fields: Any) -> str:
    return record("response_item", {"type": kind} | fields)


def completed(kind: str, /, **fields: Any) -> str:
    return event("item_completed", thread_id="s", turn_id="t", item={"type": kind, "id": "i"} | fields)


def typed(words: str) -> str:
    """An event: what a person typed."""
    return event("user_message", message=words, images=[])


def told(words: str) -> str:
    """An event: what the agent answered."""
    return event("agent_message", message=words)


def message(role: str, *texts: str, **fields: Any) -> str:
    """A response item: what one of the two said."""
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts], **fields)


def call(call_id: str, name: str = "shell", **arguments: Any) -> str:
    return item("function_call", name=name, arguments=json.dumps(arguments), call_id=call_id)


def output(call_id: str, text: object) -> str:
    return item("function_call_output", call_id=call_id, output=text)


def fold(*lines: str, state: State | None = None) -> Folded:
    return codex.fold(state, lines)


def shown(*lines: str) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(one.role, [(part.type, part.text) for part in one.parts]) for one in fold(*lines).turns]


def in_ranges(lines: Sequence[str], ends: Iterable[int]) -> tuple[dict[str, Turn], list[Folded]]:
    """Fold range by range, the state through JSON as a store would keep it; turns by key, latest wins."""
    state: State | None = None
    turns: dict[str, Turn] = {}
    folded: list[Folded] = []
    begin = 0
    for end in [*sorted(ends), len(lines)]:
        folded.append(codex.fold(state, lines[begin:end]))
        state = json.loads(json.dumps(folded[-1].state, sort_keys=True))
        for key in folded[-1].removed:
            turns.pop(key, None)
        turns.update({one.key: one for one in folded[-1].turns})
        for key in folded[-1].superseded:
            turns[key] = replace(turns[key], superseded=True)
        begin = max(begin, end)
    return turns, folded


@pytest.mark.parametrize(
    "lines",
    [
        [message("user", "Which port?"), typed("Which port?"), told("5432."), message("assistant", "5432.")],
        [typed("Which port?"), message("user", "Which port?"), message("assistant", "5432."), told("5432.")],
        [typed("Which port?"), told("5432.")],
        [message("user", "Which port?"), message("assistant", "5432.")],
        [
            completed("UserMessage", content=[{"type": "text", "text": "Which port?"}]),
            message("user", "Which port?"),
            typed("Which port?"),
            message("assistant", "5432."),
            told("5432."),
            completed("AgentMessage", content=[{"type": "Text", "text": "5432."}]),
            event("task_complete", turn_id="t", last_agent_message="5432."),
        ],
    ],
)
def test_what_was_said_is_told_once_whatever_a_version_writes_down(lines: list[str]) -> None:
    assert shown(meta(), *lines) == [("user", [("text", "Which port?")]), ("assistant", [("text", "5432.")])]


def test_the_same_words_said_again_are_told_again() -> None:
    once = [message("user", "yes"), typed("yes"), told("Done."), message("assistant", "Done.")]

    assert [words for _, [(_, words)] in shown(*once, *once, *once)] == ["yes", "Done."] * 3
    only_items = [message("user", "yes"), message("assistant", "Done.")]
    assert [words for _, [(_, words)] in shown(*only_items, *only_items)] == ["yes", "Done."] * 2


def test_a_turn_is_named_by_its_line_and_has_the_tools_ids_and_time() -> None:
    (first, second) = fold(
        meta(), "", message("user", "Hello", id="msg-1"), typed("Hello"), call("c", cmd="ls")
    ).turns

    assert (first.key, first.native_ids, first.role, first.speaker, first.at) == (
        "line-3",
        ("msg-1",),
        "user",
        None,
        AT,
    )
    assert (second.key, second.native_ids, second.role) == ("line-5", ("c",), "assistant")


def test_thoughts_are_told_once_by_their_sections() -> None:
    thought = item(
        "reasoning",
        id="rs",
        summary=[{"type": "summary_text", "text": "**Ports**"}, {"type": "summary_text", "text": "**Docs**"}],
        content=[{"type": "reasoning_text", "text": "Raw."}],
        encrypted_content="gAAA",
    )
    sections = [("thinking", "**Ports**"), ("thinking", "**Docs**"), ("thinking", "Raw.")]

    assert shown(thought) == [("assistant", sections)]
    assert shown(event("agent_reasoning", text="**Ports**"), thought) == [
        ("assistant", sections[:1]),
        ("assistant", sections[1:]),
    ]
    assert shown(
        thought, event("agent_reasoning", text="**Docs**"), event("agent_reasoning_raw_content", text="Raw.")
    ) == [("assistant", sections)]


@pytest.mark.parametrize(
    "words",
    [
        "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>\n<environment_context>x</environment_context>",
        "<user_instructions>\n\nUse tabs.\n\n</user_instructions>",
        "<turn_aborted>\nThe user stopped it.\n</turn_aborted>",
        '<subagent_notification>{"status":"done"}</subagent_notification>',
        "<skill>\n<name>x</name>\n</skill>",
    ],
)
def test_text_that_no_person_wrote_is_a_notice_and_told_once(words: str) -> None:
    assert shown(message("user", words), typed("Go."), message("user", words)) == [
        ("system", [("notice", words)]),
        ("user", [("text", "Go.")]),
    ]


@pytest.mark.parametrize(
    "words",
    ["Why <environment_context>x</environment_context>?", "<div>x</div>", "<skill> is a tag", "# AGENTS.md"],
)
def test_a_persons_text_stays_a_persons_text(words: str) -> None:
    assert shown(message("user", words)) == [("user", [("text", words)])]


def test_what_looked_put_in_is_a_persons_when_an_event_says_so() -> None:
    words = "<skill>What is this?</skill>"
    first = fold(message("user", words))
    second = fold(typed(words), told("A skill."), state=first.state)

    assert [(one.key, one.role) for one in first.turns] == [("line-1", "system")]
    assert [(one.key, one.role, one.parts[0].type) for one in second.turns] == [
        ("line-1", "user", "text"),
        ("line-3", "assistant", "text"),
    ]


def test_instructions_of_the_developer_are_notices() -> None:
    lines = [
        message("developer", "<permissions instructions>Ask.</permissions instructions>", "Be brief.")
    ] * 2
    kinds = [event("user_message", message="<cwd>/w</cwd>", kind="environment_context")]

    assert shown(*lines, *kinds) == [
        (
            "system",
            [
                ("notice", "<permissions instructions>Ask.</permissions instructions>"),
                ("notice", "Be brief."),
            ],
        ),
        ("system", [("notice", "<cwd>/w</cwd>")]),
    ]


def test_instructions_in_the_header_are_told_once_with_those_in_a_message() -> None:
    assert shown(
        meta(instructions="Use tabs."),
        message("user", "<user_instructions>\n\nUse tabs.\n\n</user_instructions>"),
    ) == [("system", [("notice", "Use tabs.")])]


def test_an_image_is_named_and_its_tags_are_left_out() -> None:
    address = "data:image/png;base64," + "AAAA" * 10 + "AA=="
    content = [
        {"type": "input_text", "text": '<image name="[Image #1]">'},
        {"type": "input_image", "image_url": address},
        {"type": "input_text", "text": "</image>"},
        {"type": "input_text", "text": "Look."},
    ]
    seen = item("message", role="user", content=content)

    assert shown(seen) == [("user", [("text", "[image image/png, 31 bytes]"), ("text", "Look.")])]
    assert len(shown(seen, event("user_message", message="Look.", local_images=["/w/a.png"]))) == 1
    assert shown(
        event("user_message", message="Look.", images=[address], local_images=["/w/a.png"]), seen
    ) == [
        ("user", [("text", "Look."), ("text", "[image image/png, 31 bytes]"), ("text", "[image /w/a.png]")])
    ]
    assert "AAAA" not in repr(fold(output("c", [{"type": "input_image", "image_url": address}])).turns)


def test_calls_and_results_are_parts_with_their_words() -> None:
    assert shown(
        call("a", command=["bash", "-lc", 'grep "x" a'], workdir="/w", nested={"ü": [1]}),
        output("a", "Exit code: 0\nOutput:\n  verbatim\n"),
        item("custom_tool_call", call_id="b", name="apply_patch", input="*** Begin Patch\n+x\n"),
        item(
            "custom_tool_call_output",
            call_id="b",
            output='{"output":"Done.\\nA x\\n","metadata":{"exit_code":0}}',
        ),
        item("local_shell_call", call_id="c", action={"type": "exec", "command": ["ls"], "env": None}),
        output("c", [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]),
        item("function_call", name="x", namespace="mcp__y", arguments="not json", call_id="d"),
        output("d", {"content": "failed", "success": False}),
    ) == [
        ("assistant", [("tool_call", 'shell\ncommand: bash -lc grep "x" a\nworkdir: /w\nnested: {"ü":[1]}')]),
        ("tool", [("tool_result", "Exit code: 0\nOutput:\n  verbatim\n")]),
        ("assistant", [("tool_call", "apply_patch\ninput: *** Begin Patch\n+x\n")]),
        ("tool", [("tool_result", "Done.\nA x\n")]),
        ("assistant", [("tool_call", "local_shell\ntype: exec\ncommand: ls")]),
        ("tool", [("tool_result", "one\ntwo")]),
        ("assistant", [("tool_call", "mcp__y.x\ninput: not json")]),
        ("tool", [("tool_result", "failed")]),
    ]


_ENDS = [
    event("exec_command_end", call_id="c", command=["ls"], cwd="/w", aggregated_output="a.txt", exit_code=0),
    completed("CommandExecution", id="c", command=["ls"], cwd="/w", aggregated_output="a.txt"),
    event("patch_apply_end", call_id="c", changes={"/w/a": {"type": "add"}}, stdout="Success."),
    event("mcp_tool_call_end", call_id="c", invocation={"server": "s", "tool": "t"}, result={"Ok": {"content": []}}),
    event("view_image_tool_call", call_id="c", path="/w/a.png"),
    event("dynamic_tool_call_request", callId="c", tool="t", arguments={"a": 1}),
    event("dynamic_tool_call_response", call_id="c", tool="t", arguments={"a": 1}, content_items=[{"type": "inputText", "text": "Yes."}]),
    event("collab_agent_spawn_end", call_id="c", prompt="Search."),
    event("collab_waiting_end", call_id="c", agent_statuses=[{"status": {"completed": "Found."}}]),
]  # fmt: skip


@pytest.mark.parametrize("end", _ENDS)
def test_events_that_repeat_a_call_are_left_out_in_whatever_order_they_come(end: str) -> None:
    made, answered = call("c", command="ls"), output("c", "a.txt")
    expected = [("assistant", "shell\ncommand: ls"), ("tool", "a.txt")]

    for lines in (
        [made, end, answered],
        [made, answered, end],
        [end, made, answered],
        [end, end, made, answered],
    ):
        turns, _ = in_ranges(lines, range(len(lines)))
        assert [(one.role, one.text) for one in turns.values()] == expected


def test_an_event_about_a_call_that_no_item_tells_of_is_a_turn() -> None:
    assert shown(_ENDS[0], _ENDS[1]) == [
        ("tool", [("tool_call", "exec_command\ncommand: ls\nworkdir: /w"), ("tool_result", "a.txt")])
    ]
    assert shown(_ENDS[5], _ENDS[6]) == [
        ("assistant", [("tool_call", "t\na: 1")]),
        ("tool", [("tool_result", "Yes.")]),
    ]


def test_a_search_of_the_web_is_told_once_with_what_it_found() -> None:
    action = {"type": "search", "query": "ports", "queries": ["ports"]}
    found = [{"title": "Ports", "url": "https://a.invalid", "snippet": "All of them."}]
    asked = item("web_search_call", id="ws", status="completed", action=action)
    ended = event("web_search_end", call_id="ws", query="ports", action=action, results=found)
    expected = [
        ("assistant", [("tool_call", "web_search\nquery: ports")]),
        ("tool", [("tool_result", "Ports\nhttps://a.invalid\nAll of them.")]),
    ]

    assert shown(asked, ended) == shown(ended, asked) == expected
    assert shown(event("web_search_end", call_id="ws", query="ports"), asked) == expected[:1]
    assert (
        shown(asked, completed("Extension", kind="web", query="ports", action=action, results=found))
        == expected
    )


def test_a_plan_is_told_once() -> None:
    words = "Here it is.\n<proposed_plan>\n# Plan\n1. Move.\n</proposed_plan>\n"
    plan = completed("Plan", text="# Plan\n1. Move.\n")

    assert shown(message("assistant", words), told("Here it is.\n\n"), plan) == [
        ("assistant", [("text", words)])
    ]
    assert [
        [text for _, text in parts]
        for _, parts in shown(told("Here it is."), plan, message("assistant", words))
    ] == [
        ["Here it is."],
        ["# Plan\n1. Move.\n"],
    ]
    assert "1. Move." in shown(told("Here it is."), message("assistant", words))[1][1][0][1]


def test_a_compaction_is_a_summary_and_what_it_replaces_is_not_told_again() -> None:
    kept = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}]
    compacted = record("compacted", {"message": "So far: ports.", "replacement_history": kept})

    assert shown(message("user", "Go."), compacted, event("context_compacted")) == [
        ("user", [("text", "Go.")]),
        ("system", [("summary", "So far: ports.")]),
    ]
    assert shown(message("assistant", "So far: ports."), compacted) == [
        ("system", [("summary", "So far: ports.")])
    ]


def test_a_rollback_supersedes_the_last_turns_of_the_user_and_what_came_after() -> None:
    lines = [
        meta(), typed("One"), told("First."), typed("Two"), call("c", cmd="ls"), typed("Three"), told("Third."),
        event("thread_rolled_back", num_turns=2), typed("Four"),
    ]  # fmt: skip

    whole, (folded,) = in_ranges(lines, [])
    assert {one.text.split("\n")[0]: one.superseded for one in whole.values()} == {
        "One": False, "First.": False, "Two": True, "shell": True, "Three": True, "Third.": True, "Four": False,
    }  # fmt: skip
    assert folded.superseded == ()
    first = fold(*lines[:7])
    assert fold(*lines[7:], state=first.state).superseded == ("line-4", "line-5", "line-6", "line-7")


def test_rollbacks_of_nothing_and_of_more_than_there_is_do_no_harm() -> None:
    lines = [typed("One"), event("thread_rolled_back", num_turns=0)]
    assert [one.superseded for one in fold(*lines).turns] == [False]
    assert [one.superseded for one in fold(*lines, event("thread_rolled_back", num_turns=9)).turns] == [True]
    wrong = fold(*[event("thread_rolled_back", num_turns=count) for count in ("x", None, -1, True, 1.5)])
    assert wrong.unknown == {"event thread_rolled_back without num_turns": 5}


def test_what_is_said_again_after_a_rollback_is_a_new_turn() -> None:
    said = [message("user", "Go."), typed("Go.")]
    folded = fold(*said, event("thread_rolled_back", num_turns=1), *said)

    assert [(one.text, one.superseded) for one in folded.turns] == [("Go.", True), ("Go.", False)]


def test_a_rollback_reaches_the_turns_that_are_remembered() -> None:
    folded = fold(*[typed(f"Say {number}") for number in range(LIVE_MAX + 10)])
    after = fold(event("thread_rolled_back", num_turns=LIVE_MAX + 10), state=folded.state)

    assert len(after.superseded) == LIVE_MAX
    assert len(json.dumps(folded.state)) < 60_000


def test_the_name_of_a_thread_is_its_title_and_found_by_its_words() -> None:
    named = event("thread_name_updated", thread_id="s", thread_name="Ports")
    folded = fold(named, named, event("thread_name_updated", thread_id="s", thread_name="Docs"))

    assert folded.title == "Docs"
    assert [(one.role, one.parts[0].type, one.text) for one in folded.turns] == [
        ("system", "notice", "Ports"),
        ("system", "notice", "Docs"),
    ]
    assert all(one.key.startswith("title:") for one in folded.turns)


@pytest.mark.parametrize(
    ("fields", "speaker"),
    [
        ({"source": {"subagent": "review"}}, "review"),
        ({"source": {"subagent": {"other": "guard"}}}, "guard"),
        ({"source": {"subagent": {"thread_spawn": {"agent_nickname": "Ada", "depth": 1}}}}, "Ada"),
        ({"source": {"subagent": {"thread_spawn": {"depth": 1}}}, "agent_role": "explorer"}, "explorer"),
        ({"source": {"subagent": {}}}, "agent"),
    ],
)
def test_a_sub_agent_is_a_session_of_its_own_and_speaks_in_its_name(
    fields: dict[str, Any], speaker: str
) -> None:
    lines = [meta(id="child", session_id="root", **fields), typed("Search."), told("Found.")]
    identity = codex.identify(lines, "rollout-x.jsonl")

    assert identity is not None
    assert (identity.session, identity.key) == ("child", "child")
    assert [(one.role, one.speaker) for one in fold(*lines).turns] == [
        ("user", "agent"),
        ("assistant", speaker),
    ]


def test_what_another_agent_wrote_has_its_name() -> None:
    mail = {
        "author": "/root/worker",
        "recipient": "/root",
        "content": [{"type": "input_text", "text": "Done."}],
    }
    (only,) = fold(
        record("response_item", {"type": "agent_message"} | mail), record("inter_agent_communication", mail)
    ).turns

    assert (only.role, only.speaker, only.text) == ("user", "/root/worker", "Done.")


def test_a_fork_is_a_session_of_its_own() -> None:
    identity = codex.identify([meta(id="fork", forked_from_id="s", cwd="/fork"), meta(id="s")], "x.jsonl")

    assert identity is not None
    assert (identity.session, identity.key, identity.cwd) == ("fork", "fork", "/fork")


def test_reviews_goals_and_errors_are_told() -> None:
    finding = {"title": "A leak", "body": "It grows.", "code_location": {}}
    review = {"findings": [finding], "overall_explanation": "Nearly.", "overall_correctness": "incorrect"}
    ended = event("exited_review_mode", review_output=review)
    repeated = message("user", "<user_action>\nNearly. A leak.\n</user_action>")

    assert shown(
        event("entered_review_mode", prompt="Review it.", user_facing_hint="changes"),
        ended,
        event("thread_goal_updated", goal={"objective": "Ship."}),
        event("error", message="Overloaded."),
        event("task_complete", last_agent_message=None, error={"message": "Overloaded."}),
    ) == [
        ("system", [("notice", "Review it."), ("notice", "changes")]),
        ("assistant", [("text", text) for text in ("Nearly.", "incorrect", "A leak", "It grows.")]),
        ("system", [("notice", "Ship.")]),
        ("system", [("notice", "Overloaded.")]),
    ]
    assert len(shown(repeated, ended)) == len(shown(ended, repeated)) == 1


def test_the_oldest_rollouts_are_read() -> None:
    lines = [
        json.dumps({"id": "old", "timestamp": AT, "instructions": "Use tabs.", "git": {"branch": "main"}}),
        json.dumps({"record_type": "state"}),
        json.dumps({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>\nCurrent working directory: /old\n</environment_context>"}]}),
        json.dumps({"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}),
        json.dumps({"type": "reasoning", "id": "r", "summary": []}),
        json.dumps({"type": "function_call", "id": "f", "name": "shell", "arguments": "{}", "call_id": "c"}),
        json.dumps({"type": "function_call_output", "call_id": "c", "output": '{"output":"ok\\n","metadata":{}}'}),
        json.dumps({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}),
    ]  # fmt: skip
    identity = codex.identify(lines, "rollout.jsonl")

    assert codex.recognise(Head("x.jsonl", tuple(lines))).confidence == 1
    assert identity is not None
    assert (identity.session, identity.cwd) == ("old", "/old")
    assert [(one.role, one.text) for one in fold(*lines).turns][2:] == [
        ("user", "Hi"),
        ("assistant", "shell"),
        ("tool", "ok\n"),
        ("assistant", "Hello"),
    ]


def test_a_session_that_is_one_document_is_read() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "Which port?"}], "type": "message"},
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "5432."}],
        },
        "no item",
    ]
    line = json.dumps({"session": {"timestamp": AT, "id": "old", "instructions": ""}, "items": items})
    folded = fold(line)
    identity = codex.identify([line], "rollout-x.json")

    assert codex.recognise(Head.of(line[:200], "rollout-x.json")).layout == "conversations"
    assert codex.recognise(Head.of(line, "rollout-x.json", (line,))).confidence == 1
    assert identity is not None
    assert identity.key == "old"
    assert [(one.key, one.role, one.text, one.at) for one in folded.turns] == [
        ("line-1", "user", "Which port?", AT),
        ("line-1#2", "assistant", "5432.", AT),
    ]
    assert folded.unreadable == 1


def test_logs_without_ids_are_named_by_their_first_record() -> None:
    lines = [
        json.dumps({"created_at": AT, "role": "user", "message": "Which port?"}),
        json.dumps(
            {"created_at": AT, "type": "function_call", "function": {"name": "look"}, "arguments": {"a": "b"}}
        ),
        json.dumps({"created_at": AT, "type": "function_result", "name": "look", "result": "5432"}),
        json.dumps({"created_at": AT, "role": "assistant", "content": "5432."}),
    ]
    first, grown = codex.identify(lines[:1], "a.jsonl"), codex.identify(lines, "b.jsonl")

    assert 0.5 <= codex.recognise(Head("x.jsonl", tuple(lines))).confidence < 1
    assert first is not None
    assert first == grown
    assert [(one.role, one.text, one.at) for one in fold(*lines).turns] == [
        ("user", "Which port?", AT),
        ("assistant", "look\na: b", AT),
        ("tool", "5432", AT),
        ("assistant", "5432.", AT),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ['{"ts":"2026-01-02T03:04:05Z","dir":"to_tui","kind":"codex_event","payload":{"msg":{"type":"agent_message"}}}'],
        ['{"session_id":"s","ts":1,"text":"Hi"}'],
        ['{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"Hi"}}'],
        ['{"session":"s","turn":"1","role":"user","text":"Hi"}'],
        ['{"role":"user","content":"Hi"}'],
        ['{"timestamp":"2026-01-02T03:04:05Z","level":"info","message":"up"}'],
        ['{"type":"event_msg"}'],
        ['{"type":"message","id":"m","message":{"role":"user","content":[]},"timestamp":"x"}'],
        ['{"timestamp":"2026-01-02T03:04:05Z","role":"user","content":"a log of something else"}'],
        ['{"name":"x","version":"1.0.0"}'],
        [],
    ],
)  # fmt: skip
def test_what_is_no_rollout_is_not_taken_for_one(lines: list[str]) -> None:
    assert codex.recognise(Head("rollout-x.jsonl", tuple(lines))).confidence < 0.1
    assert lines[:1] != [] or codex.identify(lines, "rollout-x.jsonl") is None


def test_what_is_no_record_is_counted_and_raises_nothing() -> None:
    garbage = [
        "no json",
        "[1]",
        '"s"',
        "4",
        "null",
        "{",
        "{}",
        '{"type":1}',
        "[" * 200_000,
        '{"a":' * 100_000,
    ]
    folded = fold("", " \t", "\ufeff" + typed("Hi") + "\r", *garbage)

    assert [one.text for one in folded.turns] == ["Hi"]
    assert folded.unreadable == len(garbage)
    assert folded.unknown == {}


def test_types_that_are_not_known_are_counted() -> None:
    folded = fold(
        record("hologram", {}), item("hologram"), event("hologram"), completed("Hologram"), event("token_count"),
        record("turn_context", {"cwd": "/w"}), record("world_state", {}), item("ghost_snapshot"),
        item("message", role="user", content=[{"type": "smell", "text": "Words."}, 7]),
        json.dumps({"type": "event_msg", "payload": "x"}),
    )  # fmt: skip

    assert folded.unknown == {
        "hologram": 1, "item hologram": 1, "event hologram": 1, "item Hologram": 1, "block smell": 1, "block": 1,
        "event_msg without payload": 1,
    }  # fmt: skip
    assert [one.text for one in folded.turns] == ["Words."]


def test_times_that_are_none_are_none() -> None:
    times = ["soon", None, "2026-13-01", "", "2026-01-02T03:04:05"]
    lines = [
        record("event_msg", {"type": "user_message", "message": f"{n}"}, at) for n, at in enumerate(times)
    ]

    assert [one.at for one in fold(*lines).turns] == [None] * 4 + ["2026-01-02T03:04:05"]


def test_nesting_surrogates_and_long_lines_go_through() -> None:
    for depth in (100, 900, 990, 5_000):
        deep = record("response_item", {"type": "function_call", "name": "x", "arguments": {"a": 1}})
        folded = fold(deep.replace("1}", "[" * depth + "]" * depth + "}"), typed("After."))
        assert (len(folded.turns) + folded.unreadable, folded.turns[-1].text) == (2, "After.")
    folded = fold('{"type":"event_msg","payload":{"type":"user_message","message":"a\\ud800\\u0000"}}')
    assert folded.turns[0].text == "a\ud800\x00"
    assert json.loads(json.dumps(folded.state)) == folded.state
    assert len(fold(output("c", "x" * 5_000_000)).turns[0].text) == 5_000_000


def test_a_twin_that_comes_too_late_is_told_again() -> None:
    others = [told(f"Other {number}") for number in range(WINDOW_MAX)]

    assert len(fold(typed("Go."), *others, message("user", "Go.")).turns) == WINDOW_MAX + 2


_WORDS = st.sampled_from(
    ["One.", "Two.", "", "<skill>x</skill>", "<environment_context>y</environment_context>", " One. "]
)
_RECORDS = st.one_of(
    st.builds(typed, _WORDS),
    st.builds(told, _WORDS),
    st.builds(lambda role, texts: message(role, *texts), st.sampled_from(["user", "assistant", "developer"]), st.lists(_WORDS, max_size=3)),
    st.builds(lambda texts: item("reasoning", summary=[{"type": "summary_text", "text": text} for text in texts]), st.lists(_WORDS, max_size=2)),
    st.builds(lambda text: event("agent_reasoning", text=text), _WORDS),
    st.builds(lambda name: call(name, command="ls"), st.sampled_from("cd")),
    st.builds(output, st.sampled_from("cd"), _WORDS),
    st.sampled_from(_ENDS),
    st.builds(lambda count: event("thread_rolled_back", num_turns=count), st.integers(0, 4)),
    st.builds(lambda text: record("compacted", {"message": text}), _WORDS),
    st.builds(lambda text: event("task_complete", last_agent_message=text), _WORDS),
    st.builds(lambda text: event("thread_name_updated", thread_name=text), _WORDS),
    st.sampled_from(["", "garbage", meta(), meta(source={"subagent": "review"}, instructions="One."), record("new", {})]),
    st.builds(lambda a, b: a + b, st.builds(typed, _WORDS), st.builds(told, _WORDS)),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(_RECORDS, max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_ranges_fold_to_the_same_turns_as_the_whole(lines: list[str], ends: list[int]) -> None:
    whole, (one,) = in_ranges(lines, [])
    turns, ranges = in_ranges(lines, ends)

    assert list(turns.items()) == list(whole.items())
    assert ranges[-1].state == one.state
    assert sum(part.unreadable for part in ranges) == one.unreadable


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "text", "message", "content", "role", "payload", "item", "output", "result", "action", "call_id", "summary", "arguments"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
_KINDS = st.sampled_from(
    ["message", "reasoning", "function_call", "function_call_output", "web_search_call", "agent_message", "user_message",
     "item_completed", "exec_command_end", "mcp_tool_call_end", "exited_review_mode", "collab_waiting_end", "web_search_end",
     "dynamic_tool_call_response", "thread_rolled_back", "thread_name_updated", "UserMessage", "Plan", "session_meta"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(["response_item", "event_msg", "session_meta", "compacted", "inter_agent_communication", None]),
    _KINDS,
    st.dictionaries(st.sampled_from(["message", "content", "role", "item", "action", "output", "result", "call_id", "id",
                                     "source", "invocation", "findings", "num_turns", "command", "images", "type", "kind",
                                     "session", "items", "results"]), _ANYTHING),
)  # fmt: skip
def test_a_record_of_whatever_shape_raises_nothing(
    envelope: str | None, kind: str, fields: dict[str, Any]
) -> None:
    line = record(envelope, {"type": kind} | fields) if envelope else json.dumps({"type": kind} | fields)
    folded = fold(line, event("item_completed", item={"type": kind} | fields), typed("After."))

    bare = json.dumps(fields)
    fold(bare, json.dumps(fields | {"timestamp": AT}), json.dumps(fields | {"record_type": "state"}))
    codex.identify([bare], "x.jsonl")
    codex.recognise(Head.of(bare, "x.jsonl", (bare,)))
    assert folded.turns[-1].text == "After."
    json.dumps(folded.state)
    codex.identify([line], "x.jsonl")
    codex.recognise(Head("x.jsonl", (line,)))


@settings(deadline=None)
@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=8))
def test_every_text_comes_out_exactly(texts: list[str]) -> None:
    lines = [message("user", text) for text in texts] + [told(text) for text in texts]
    parts = [part.text for one in fold(*lines).turns for part in one.parts]

    assert all(text in parts for text in texts)


def spoken(lines: Iterable[str]) -> Iterator[str]:
    """Yield every string that a person or the assistant said, straight from the records."""
    for found in map(read_record, lines):
        payload = (found or {}).get("payload")
        if found is None or not isinstance(payload, dict):
            continue
        for field in ("message", "text", "last_agent_message") if found["type"] == "event_msg" else ():
            if isinstance(payload.get(field), str):
                yield payload[field]
        content = payload.get("content") if found["type"] == "response_item" else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                yield block["text"]


@needs_samples
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_word_of_a_sample_is_in_some_turn(path: Path) -> None:
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    whole, (folded,) = in_ranges(lines, [])
    everything = "\x00".join(one.text for one in whole.values())

    assert codex.recognise(Head(path.name, tuple(lines[:200]))).confidence >= 0.5
    assert codex.identify(lines[:200], path.name) is not None
    assert all(words in everything for words in spoken(lines))
    assert in_ranges(lines, range(len(lines)))[0] == whole
    assert folded.unreadable == 0


def test_a_block_whose_type_is_no_word_is_no_message_of_codexs() -> None:
    record = json.dumps({"type": "message", "role": "user", "content": [{"type": ["input_text"]}]})

    assert codex.recognise(Head.of(record, "x.jsonl", (record,))).confidence == 0.0
