"""Claude Code's records become turns: one for each message, typed, whole, and the same however they arrive."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import claude_code
from chronofile.domain.formats.claude_code.chains import LINKS_MAX
from chronofile.domain.formats.claude_code.queue import WAITING_MAX
from chronofile.domain.formats.draft import MARKS_MAX, OPEN_MAX
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import read_record
from chronofile.domain.turns import Folded, State, Turn

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
SAMPLES = [*TRANSCRIPTS.glob("claude_code/**/*.json*"), *TRANSCRIPTS.glob("edge_derived/*.jsonl")]
needs_samples = pytest.mark.skipif(not SAMPLES, reason="../shared/data/transcripts is not here")


def line(kind: str, uuid: str | None, content: object = None, /, **fields: Any) -> str:
    record: dict[str, Any] = {
        "type": kind,
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "cwd": "/w",
    }
    if uuid is not None:
        record["uuid"] = uuid
    if content is not None:
        record["message"] = {"role": kind, "content": content} | fields.pop("message", {})
    return json.dumps(record | fields)


def said(message_id: str, uuid: str, *blocks: dict[str, Any], **fields: Any) -> str:
    return line("assistant", uuid, list(blocks), message={"id": message_id}, **fields)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, **given_input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t", "name": name, "input": given_input}


def result(content: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t", "content": content}


def fold(*lines: str, state: State | None = None) -> Folded:
    return claude_code.fold(state, lines)


def turn(*lines: str) -> Turn:
    (only,) = fold(*lines).turns
    return only


def typed(one: Turn) -> list[tuple[str, str]]:
    return [(part.type, part.text) for part in one.parts]


def in_ranges(lines: Sequence[str], ends: Iterable[int]) -> tuple[dict[str, Turn], list[Folded]]:
    """Fold range by range, the state through JSON as a store would keep it; turns by key, latest wins."""
    state: State | None = None
    turns: dict[str, Turn] = {}
    folded: list[Folded] = []
    begin = 0
    for end in [*sorted(ends), len(lines)]:
        folded.append(claude_code.fold(state, lines[begin:end]))
        state = json.loads(json.dumps(folded[-1].state, sort_keys=True))
        for key in folded[-1].removed:
            turns.pop(key, None)
        turns.update({one.key: one for one in folded[-1].turns})
        for key in folded[-1].superseded:
            turns[key] = replace(turns[key], superseded=True)
        begin = max(begin, end)
    return turns, folded


def test_records_of_one_message_are_one_turn() -> None:
    folded = fold(
        said("m1", "a", {"type": "thinking", "thinking": "Hm.", "signature": "x"}),
        said("m1", "b", text("I look.")),
        said("m1", "c", call("Read", file_path="a.py", limit=3, nested={"ü": [1]})),
    )

    (turn_of,) = folded.turns
    assert (turn_of.key, turn_of.native_ids, turn_of.role, turn_of.speaker) == (
        "m1",
        ("a", "b", "c"),
        "assistant",
        None,
    )
    assert typed(turn_of) == [
        ("thinking", "Hm."),
        ("text", "I look."),
        ("tool_call", 'Read\nfile_path: a.py\nlimit: 3\nnested: {"ü":[1]}'),
    ]
    assert turn_of.at == "2026-01-02T03:04:05.678Z"


def test_a_message_that_a_later_range_extends_comes_again_whole() -> None:
    first = fold(said("m1", "a", text("One.")), line("user", "u", [result("ok")]))
    second = fold(said("m1", "b", text("Two.")), line("user", "v", "And?"), state=first.state)

    assert [one.key for one in second.turns] == ["m1", "v"]
    assert second.turns[0].text == "One.\n\nTwo."
    assert second.turns[0].native_ids == ("a", "b")


def test_a_message_that_was_closed_long_ago_is_not_overwritten() -> None:
    others = [said(f"n{n}", f"n{n}", text("Other.")) for n in range(OPEN_MAX)]
    first = fold(said("m1", "a", text("One.")), *others)
    second = fold(said("m1", "b", text("Two.")), state=first.state)

    assert "m1" not in {one.key for one in second.turns}
    assert [one.text for one in second.turns] == ["Two."]


def test_the_same_record_twice_adds_nothing() -> None:
    records = [said("m1", "a", text("One.")), line("user", "u", "Hello"), said("m1", "b", text("Two."))]
    first = fold(*records, *records)
    again = fold(*records, state=first.state)

    assert [one.text for one in first.turns] == ["One.\n\nTwo.", "Hello"]
    assert again.turns == ()


def test_two_records_with_one_id_and_different_texts_are_both_kept() -> None:
    folded = fold(line("user", "u", "One"), line("user", "u", "Two"))

    assert [one.text for one in folded.turns] == ["One", "Two"]
    assert len({one.key for one in folded.turns}) == 2


def test_tool_results_are_the_tools_words_without_base64() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA" * 10 + "AA=="},
    }
    folded = fold(
        line("user", "a", [result("  verbatim\n")], toolUseResult={"stdout": "twin"}, isMeta=True),
        line("user", "b", [result([text("one"), image, {"type": "tool_reference", "tool_name": "Grep"}])]),
        line("user", "c", [result(None), result("")]),
    )

    assert [(one.role, typed(one)) for one in folded.turns] == [
        ("tool", [("tool_result", "  verbatim\n")]),
        ("tool", [("tool_result", "one\n[image image/png, 31 bytes]\n[tool_reference Grep]")]),
    ]


def test_a_record_with_a_result_and_words_is_two_turns() -> None:
    folded = fold(line("user", "u", [text("No, stop."), result("rejected")]))

    assert [(one.key, one.native_ids, one.role, one.text) for one in folded.turns] == [
        ("u", ("u",), "user", "No, stop."),
        ("u#2", ("u",), "tool", "rejected"),
    ]


def test_images_and_documents_of_a_person_are_named() -> None:
    pdf = {
        "type": "document",
        "title": "a.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
    }
    note = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The note."}}

    one = turn(line("user", "u", [text("Look:"), pdf, note]))

    assert one.role == "user"
    assert one.text == "Look:\n\n[document a.pdf, application/pdf, 3 bytes]\n\nThe note."


@pytest.mark.parametrize(
    "words",
    [
        "<command-name>/exit</command-name>\n  <command-message>exit</command-message>\n<command-args></command-args>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<local-command-caveat>Caveat</local-command-caveat>",
        "<system-reminder>\nNote.\n</system-reminder>\n",
        "<task-notification>done</task-notification>",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
    ],
)
def test_text_that_no_person_wrote_is_a_notice(words: str) -> None:
    for one in (turn(line("user", "u", words)), turn(line("user", "u", [text(words)]))):
        assert (one.role, typed(one)) == ("system", [("notice", words)])


@pytest.mark.parametrize(
    "words",
    [
        "Why does <system-reminder>x</system-reminder> appear?",
        "<command-name>/plan</command-name><command-args>the move to 5433</command-args>",
        "[Request interrupted by user] is what I see",
        "<system-reminder> is a tag",
        "<div>x</div>",
    ],
)
def test_a_persons_text_stays_a_persons_text(words: str) -> None:
    one = turn(line("user", "u", words))

    assert (one.role, typed(one)) == ("user", [("text", words)])


def test_meta_records_and_notifications_are_notices() -> None:
    folded = fold(
        line("user", "a", "Caveat", isMeta=True),
        line("user", "b", "Done", origin={"kind": "task-notification"}),
    )

    assert [(one.role, typed(one)) for one in folded.turns] == [
        ("system", [("notice", "Caveat")]),
        ("system", [("notice", "Done")]),
    ]


def test_a_reminder_is_split_off_where_the_text_stays_exact() -> None:
    reminder = "<system-reminder>r</system-reminder>"

    one = turn(line("user", "u", f"Before.\n\n{reminder}\n\nAfter."))

    assert typed(one) == [("text", "Before."), ("notice", reminder), ("text", "After.")]
    assert one.text == f"Before.\n\n{reminder}\n\nAfter."


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "\n\n", "\n", "<system-reminder>", "</system-reminder>", " "]), min_size=1
    ).map("".join)
)
def test_a_persons_text_is_exact_whatever_reminders_it_holds(words: str) -> None:
    assert turn(line("user", "u", words)).text == words


def test_compaction_summaries_and_summary_records_are_marked_as_derived() -> None:
    folded = fold(
        line("summary", None, summary="Ports", leafUuid="x"),
        line("user", "u", "So far: ...", isCompactSummary=True),
        line("system", "b", content="Conversation compacted", subtype="compact_boundary"),
    )

    assert [(one.key, one.role, typed(one)) for one in folded.turns] == [
        ("summary:x", "system", [("summary", "Ports")]),
        ("u", "system", [("summary", "So far: ...")]),
        ("b", "system", [("notice", "Conversation compacted")]),
    ]


def test_errors_of_the_interface_are_notices() -> None:
    one = turn(line("assistant", "a", [text("API Error: 500")], message={"model": "<synthetic>", "id": "m"}))

    assert (one.role, typed(one)) == ("system", [("notice", "API Error: 500")])


def test_what_was_typed_while_the_agent_worked_is_a_persons_turn() -> None:
    folded = fold(
        line("queue-operation", None, operation="enqueue", content="also the docs"),
        line(
            "attachment",
            "a",
            attachment={"type": "queued_command", "prompt": "also the docs", "commandMode": "prompt"},
        ),
        line(
            "attachment",
            "b",
            attachment={"type": "queued_command", "prompt": "done", "commandMode": "task-notification"},
        ),
        line("attachment", "c", attachment={"type": "todo_reminder", "content": []}),
    )

    assert [(one.role, one.text) for one in folded.turns] == [("user", "also the docs"), ("system", "done")]


def queued(words: str) -> str:
    return line("queue-operation", None, operation="enqueue", content=words)


def test_a_queued_prompt_is_a_turn_until_a_record_of_its_own_comes() -> None:
    lines = [
        queued("Also the docs."),
        queued("And the tests."),
        queued("ok"),
        line("user", "u", "Look at it."),
    ]
    first = fold(*lines)
    second = fold(line("user", "v", "Also the docs.\nAnd the tests."), state=first.state)

    assert [one.text for one in first.turns] == ["Also the docs.", "And the tests.", "ok", "Look at it."]
    assert [one.key for one in second.turns] == ["v"]
    assert second.removed == tuple(one.key for one in first.turns[:2])
    assert [one.text for one in fold(*lines, lines[0]).turns] == [one.text for one in first.turns]


def test_a_prompt_that_waits_for_ever_is_a_turn() -> None:
    others = [queued(f"Prompt {number}") for number in range(WAITING_MAX + 1)]
    folded = fold(queued("x" * 2_000), *others, line("user", "u", "y" * 1_000))

    assert len(folded.turns) == WAITING_MAX + 3
    assert len(fold(queued("x" * 2_000), line("user", "u", "x" * 2_000)).turns) == 1
    notified = fold(queued("<task-notification>done</task-notification>"))
    assert [(one.role, one.parts[0].type) for one in notified.turns] == [("system", "notice")]


def test_a_title_that_is_written_again_is_one_turn() -> None:
    folded = fold(*[line("custom-title", None, customTitle=title) for title in ("Ports", "Ports", "Docs")])

    assert [typed(one) for one in folded.turns] == [[("notice", "Ports")], [("notice", "Docs")]]
    assert folded.title == "Docs"


def test_a_title_that_a_person_gave_is_believed_before_others() -> None:
    summary = line("summary", None, summary="Of before", leafUuid="x")
    guessed, given = (
        line("ai-title", None, aiTitle="Guessed"),
        line("custom-title", None, customTitle="Given"),
    )

    assert fold(summary).title == "Of before"
    assert fold(guessed, summary).title == "Guessed"
    first = fold(guessed, given)
    assert first.title == "Given"
    assert fold(line("ai-title", None, aiTitle="Again"), state=first.state).title is None
    assert {one.text for one in fold(summary, guessed, given).turns} == {"Of before", "Guessed", "Given"}


def test_a_prompt_typed_anew_at_the_same_place_supersedes_what_followed_the_first() -> None:
    lines = [
        line("user", "u1", "Begin.", parentUuid=None),
        said("m1", "a1", text("Begun."), parentUuid="u1"),
        line("user", "u2", "Go left.", parentUuid="a1"),
        said("m2", "a2", call("Read", path="left"), parentUuid="u2"),
        line("user", "r2", [result("seen")], parentUuid="a2"),
        said("m3", "a3", text("Left it is."), parentUuid="r2"),
        line("user", "u3", "Go right.", parentUuid="a1"),
        said("m4", "a4", text("Right it is."), parentUuid="u3"),
    ]
    whole, _ = in_ranges(lines, [])
    by_line, ranges = in_ranges(lines, range(len(lines)))

    assert [one.key for one in whole.values() if one.superseded] == ["u2", "m2", "r2", "m3"]
    assert by_line == whole
    assert [part.superseded for part in ranges if part.superseded] == [("u2", "m2", "r2", "m3")]


def test_results_of_tools_that_share_a_parent_supersede_nothing() -> None:
    lines = [
        line("user", "u1", "Begin.", parentUuid=None),
        said("m1", "a1", call("Read", path="a"), parentUuid="u1"),
        line("user", "r1", [result("one")], parentUuid="a1"),
        said("m1", "a2", call("Read", path="b"), parentUuid="a1"),
        line("user", "r2", [result("two")], parentUuid="a1"),
        line("user", "n1", "Note.", parentUuid="a1", isMeta=True),
        line("user", "u2", "Go on.", parentUuid="a1"),
        line("user", "u2", "Go on.", parentUuid="a1"),
        line("user", "u9", "Another root.", parentUuid=None),
    ]

    assert not any(one.superseded for one in fold(*lines).turns)


def test_what_is_attached_with_words_is_a_notice_and_the_rest_is_counted_or_silent() -> None:
    def attached(uuid: str, kind: str, **fields: Any) -> str:
        return line("attachment", uuid, attachment={"type": kind} | fields)

    folded = fold(
        attached("a", "file", filename="/w/a", content={"type": "text", "file": {"content": "The words."}}),
        attached("b", "nested_memory", content={"type": "Project", "content": "Use tabs."}),
        attached("c", "hook_additional_context", content=["One.", "Two."]),
        attached("d", "skill_listing", content="- a skill"),
        attached("e", "hologram", content="Seen anew."),
        attached("f", "file", content={"type": "image", "file": {"base64": "AAAA"}}),
        line("attachment", "g", attachment="x"),
    )

    assert [typed(one) for one in folded.turns] == [
        [("notice", "The words.")],
        [("notice", "Use tabs.")],
        [("notice", "One."), ("notice", "Two.")],
        [("notice", "Seen anew.")],
    ]
    assert folded.unknown == {"attachment hologram": 1}


def test_errors_refusals_and_links_are_notices() -> None:
    folded = fold(
        line("system", "a", subtype="api_error", error={"message": "529", "formatted": "Overloaded (529)"}),
        line("system", "b", content="refusal", apiRefusalExplanation="Not that."),
        line("system", "c", subtype="stop_hook_summary", hookErrors=["It failed.", 7], hookInfos=[]),
        line("pr-link", None, prUrl="https://example.invalid/pull/7", prNumber=7),
        line("frame-link", None, title="A preview", frameUrl="https://example.invalid/f"),
    )

    assert [one.text for one in folded.turns] == [
        "Overloaded (529)",
        "refusal\n\nNot that.",
        "It failed.",
        "https://example.invalid/pull/7",
        "A preview\n\nhttps://example.invalid/f",
    ]


def test_a_result_that_only_its_twin_holds_is_told() -> None:
    def only(content: object, twin: object) -> str:
        return turn(line("user", "u", [result(content)], toolUseResult=twin)).text

    assert only("", {"stdout": "a.txt", "stderr": "warned"}) == "a.txt\nwarned"
    assert only([], {"content": [{"type": "text", "text": "Found."}]}) == "Found."
    assert only("", "Error: no") == "Error: no"
    assert only("kept", {"stdout": "other"}) == "kept"


def test_uses_and_outcomes_that_are_records_of_their_own_are_turns() -> None:
    folded = fold(
        line("tool_use", "a", name="bash", input={"command": "ls"}),
        line("tool_result", "b", name="bash", output="a.txt\n"),
        line("result", None, key="k", agentId="f00", result={"summary": "Done."}),
    )

    assert [(one.role, one.speaker, one.text) for one in folded.turns] == [
        ("assistant", None, "bash\ncommand: ls"),
        ("tool", None, "a.txt\n"),
        ("tool", "f00", '{"summary":"Done."}'),
    ]


def test_texts_within_an_argument_are_verbatim() -> None:
    one = turn(said("m", "a", call("MultiEdit", edits=[{"old": 'a "b"', "new": "c\nd"}], todos=[{"x": "y"}])))

    assert one.text == 'MultiEdit\nedits.0.old: a "b"\nedits.0.new: c\nd\ntodos: [{"x":"y"}]'


def web(*records: dict[str, Any], **fields: Any) -> str:
    return json.dumps({"loglines": list(records)} | fields)


def test_a_session_on_the_web_is_a_document_with_the_same_records() -> None:
    asked = {
        "type": "user",
        "timestamp": "2026-01-02T03:04:05Z",
        "message": {"role": "user", "content": "Which port?"},
    }
    answered = {
        "type": "assistant",
        "timestamp": "2026-01-02T03:04:09Z",
        "message": {"content": [text("5432.")]},
    }
    document = web(asked, answered, "x")  # type: ignore[arg-type]
    identity = claude_code.identify([document], "session.json")
    grown = claude_code.identify([web(asked, answered, asked | {"timestamp": "2026-01-03"})], "other.json")

    likeness = claude_code.recognise(Head.of(document[:-20], "session.json"))
    assert (likeness.layout, likeness.confidence) == ("conversations", 1)
    assert identity is not None
    assert grown is not None
    assert identity.session.startswith("web-")
    assert identity.key == f"{identity.session}/web" == grown.key
    assert (identity.updated, grown.updated) == ("2026-01-02T03:04:09Z", "2026-01-03")
    folded = fold(document)
    assert [(one.key, one.role, one.text) for one in folded.turns] == [
        ("line-1", "user", "Which port?"),
        ("line-1.2", "assistant", "5432."),
    ]
    assert folded.unreadable == 1


def test_a_session_on_the_web_does_not_fight_with_the_file_of_the_same_session() -> None:
    record = json.loads(line("user", "u", "Hi"))
    on_the_web, here = (
        claude_code.identify([web(record)], "s.json"),
        claude_code.identify([json.dumps(record)], "s.jsonl"),
    )

    assert on_the_web is not None
    assert here is not None
    assert (on_the_web.session, on_the_web.key, here.key) == ("s", "s/web", "s")
    assert claude_code.identify([web()], "s.json") is None
    assert claude_code.recognise(Head.of('{"loglines": [1, {"level": "info"}]}', "x.json")).confidence == 0


def test_sidechains_in_a_main_file_have_a_session_of_their_own() -> None:
    folded = fold(
        line("user", "u", "Do it", parentUuid=None, isSidechain=False),
        line("user", "1-of-the-roots", "Search", parentUuid=None, isSidechain=True),
        line("user", "2-of-the-roots", "Read", parentUuid=None, isSidechain=True),
        said("m1", "a", text("Found"), parentUuid="1-of-the-roots", isSidechain=True),
        said("m2", "b", text("Seen"), parentUuid="a", isSidechain=True),
        said("m3", "c", text("Done"), parentUuid="u", isSidechain=False),
    )

    assert [(one.text, one.session, one.speaker) for one in folded.turns] == [
        ("Do it", None, None),
        ("Search", "s/sidechain-1-of-the", "agent"),
        ("Read", "s/sidechain-2-of-the", "agent"),
        ("Found", "s/sidechain-1-of-the", "agent"),
        ("Seen", "s/sidechain-1-of-the", "agent"),
        ("Done", None, None),
    ]


def test_orphans_and_cycles_of_parents_do_no_harm() -> None:
    folded = fold(
        line("user", "u", "Main", isSidechain=False),
        line("user", "a", "A", parentUuid="b", isSidechain=True),
        line("user", "b", "B", parentUuid="a", isSidechain=True),
        line("user", "o", "O", parentUuid="nowhere", isSidechain=True),
        line("user", "self", "S", parentUuid="self", isSidechain=True),
    )

    assert [one.session for one in folded.turns] == [
        None,
        *[f"s/sidechain-{root}" for root in ("a", "a", "o", "self")],
    ]


def test_a_sub_agents_file_is_a_session_of_its_own() -> None:
    lines = [
        line("user", "u", "Search", isSidechain=True, agentId="f00", parentUuid=None),
        said("m", "a", text("Found"), isSidechain=True, agentId="f00", attributionAgent="explorer"),
    ]
    identity = claude_code.identify(lines, "agent-f00.jsonl")

    assert identity is not None
    assert (identity.session, identity.key, identity.cwd) == ("s/agent-f00", "s/agent-f00", "/w")
    assert [(one.session, one.speaker) for one in fold(*lines).turns] == [(None, "agent"), (None, "explorer")]


def test_a_main_file_is_the_session_that_it_is_named_by() -> None:
    lines = [line("user", "u", "Hi", sessionId="old"), line("user", "v", "Hi", sessionId="new"), "garbage"]

    for path_name, session in (("new.jsonl", "new"), ("x/other.jsonl", "old"), ("c:\\x\\new.jsonl", "new")):
        identity = claude_code.identify(lines, path_name)
        assert identity is not None
        assert (identity.session, identity.key) == (session, session)
    assert claude_code.identify(['{"type":"summary","summary":"x","leafUuid":"y"}'], "new.jsonl") is None


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
        '{"type":"user","n":' + "9" * 9_000 + "}",
    ]
    folded = fold("", "  \t", "\ufeff", "\ufeff" + line("user", "u", "Hi") + "\r", *garbage)

    assert [one.text for one in folded.turns] == ["Hi"]
    assert folded.unreadable == len(garbage)
    assert folded.unknown == {}


def test_input_that_is_nested_too_deeply_raises_nothing() -> None:
    for depth in (100, 500, 900, 990, 5_000):
        deep = (
            '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"X","input":{"a":'
            + "[" * depth
            + "]" * depth
            + "}}]}}"
        )
        folded = fold(deep)
        assert len(folded.turns) + folded.unreadable == 1


def test_types_that_are_not_known_are_counted() -> None:
    folded = fold(
        line("hologram", "a"), line("hologram", "b"), line("user", "u", [{"type": "smell"}, 7]), line("progress", "p"), line("mode", None)
    )  # fmt: skip

    assert folded.turns == ()
    assert folded.unknown == {"hologram": 2, "block smell": 1, "block": 1}
    assert folded.unreadable == 0


def test_times_that_are_none_are_none() -> None:
    folded = fold(
        *[
            line("user", f"u{n}", "x", timestamp=at)
            for n, at in enumerate(["soon", 17, None, "2026-13-01", "", "2026-01-02"])
        ]
    )

    assert [one.at for one in folded.turns] == [None] * 5 + ["2026-01-02"]


def test_records_without_ids_are_turns_by_their_line() -> None:
    folded = fold(line("user", None, "yes"), "", line("user", None, "yes"))

    assert [(one.key, one.native_ids, one.text) for one in folded.turns] == [
        ("line-1", (), "yes"),
        ("line-3", (), "yes"),
    ]


def test_lone_surrogates_and_nulls_go_through() -> None:
    folded = fold('{"type":"user","uuid":"u","message":{"content":"a\\ud800\\u0000"}}')

    assert folded.turns[0].text == "a\ud800\x00"
    assert json.loads(json.dumps(folded.state)) == folded.state


def test_the_state_stays_small() -> None:
    lines = [line("user", "first", "x", isSidechain=False)]
    for n in range(3 * MARKS_MAX):
        lines.append(said(f"m{n}", f"a{n}", text("word " * 20), isSidechain=True, parentUuid=f"a{n - 1}"))
    state = fold(*lines).state

    assert len(state["open"]) == OPEN_MAX
    assert len(state["roots"]) <= LINKS_MAX
    assert len(json.dumps(state)) < 60_000
    assert fold(*lines).turns[-1].session == "s/sidechain-a0"


def test_a_line_of_megabytes_is_one_turn() -> None:
    assert len(turn(line("user", "u", [result("x" * 5_000_000)])).text) == 5_000_000


_IDS = st.sampled_from([None, *"abcdefgh"])
_BLOCKS = st.one_of(
    st.builds(text, st.sampled_from(["One.", "Two.", ""])),
    st.builds(result, st.sampled_from(["ok", ""])),
    st.just({"type": "thinking", "thinking": ""}),
    st.just(call("Read", path="a")),
)
_RECORDS = st.one_of(
    st.builds(
        lambda uuid, message, blocks, parent, aside: said(message, uuid, *blocks, parentUuid=parent, isSidechain=aside),
        _IDS, st.sampled_from([None, *[f"m{n}" for n in range(OPEN_MAX + 4)]]), st.lists(_BLOCKS, max_size=2), _IDS, st.booleans(),
    ),
    st.builds(lambda uuid, blocks, parent: line("user", uuid, blocks, parentUuid=parent), _IDS, st.lists(_BLOCKS, max_size=2), _IDS),
    st.builds(lambda words: line("queue-operation", None, content=words), st.sampled_from(["One.", "Two.", "Three."])),
    st.builds(lambda kind, words: line(kind, None, customTitle=words, aiTitle=words), st.sampled_from(["custom-title", "ai-title"]), st.sampled_from(["One.", "T"])),
    st.builds(lambda leaf: line("summary", None, summary="S", leafUuid=leaf), _IDS),
    st.sampled_from(["", "garbage", line("new-type", "z")]),
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(_RECORDS, max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_ranges_fold_to_the_same_turns_as_the_whole(lines: list[str], ends: list[int]) -> None:
    whole, (one,) = in_ranges(lines, [])
    turns, ranges = in_ranges(lines, ends)

    assert list(turns.items()) == list(whole.items())
    assert ranges[-1].state == one.state
    assert sum(part.unreadable for part in ranges) == one.unreadable


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "message", "input", "file"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
_KINDS = [
    "user",
    "assistant",
    "system",
    "attachment",
    "queue-operation",
    "summary",
    "custom-title",
    "ai-title",
    "result",
]
_FIELDS = ["message", "content", "attachment", "prompt", "toolUseResult", "error", "hookErrors", "uuid", "parentUuid",
           "sessionId", "isSidechain", "timestamp", "result", "output", "input", "summary", "customTitle", "loglines"]  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from([*_KINDS, "tool_use", "tool_result", "pr-link"]),
    st.dictionaries(st.sampled_from(_FIELDS), _ANYTHING),
)
def test_a_record_of_whatever_shape_raises_nothing(kind: str, fields: dict[str, Any]) -> None:
    written = json.dumps({"type": kind} | fields)
    folded = fold(
        written, json.dumps({"loglines": [{"type": kind} | fields]}), line("user", "after", "After.")
    )

    assert folded.turns[-1].text == "After."
    assert json.loads(json.dumps(folded.state)) == folded.state
    claude_code.identify([written], "x.jsonl")
    claude_code.identify([json.dumps({"loglines": [{"type": kind} | fields]})], "x.json")
    claude_code.recognise(Head.of(written, "x.jsonl", (written,)))


def read(path: Path) -> list[str]:
    content = path.read_bytes().decode("utf-8", "replace")
    return [content.replace("\n", " ")] if path.suffix == ".json" else content.split("\n")


def spoken(lines: Iterable[str]) -> Iterator[str]:
    """Yield every string that a person or the assistant said, straight from the records."""
    records = [
        inner for record in map(read_record, lines) for inner in (record or {}).get("loglines", [record])
    ]
    for record in records:
        message = (record or {}).get("message")
        if record is None or record.get("type") not in ("user", "assistant") or not isinstance(message, dict):
            continue
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            words = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
            if isinstance(words, str):
                yield words


def test_records_that_two_writers_put_on_one_line_are_read_one_by_one() -> None:
    one, two, three = (
        line("user", uuid, words) for uuid, words in (("u1", "One"), ("u2", "Two"), (None, "Three"))
    )

    folded = fold(f"\ufeff{one}{two} {three}\r", one + two[:40], line("user", None, "Four") + "garbage")

    assert [(one.key, one.text) for one in folded.turns] == [
        ("u1", "One"),
        ("u2", "Two"),
        ("line-1.3", "Three"),
        ("line-3", "Four"),
    ]
    assert folded.unreadable == 2
    assert claude_code.recognise(Head("x.jsonl", (one + two,))).confidence == 1
    assert claude_code.identify([line("mode", None, sessionId="") + two], "x.jsonl") == claude_code.identify(
        [two], "x.jsonl"
    )


def test_a_line_of_brackets_without_end_is_unreadable_once() -> None:
    assert fold('{"a":' * 100_000, line("user", "u", "Words") + '{"a":' * 100_000).unreadable == 2


@needs_samples
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_word_of_a_sample_is_in_some_turn(path: Path) -> None:
    lines = read(path)
    whole, (folded,) = in_ranges(lines, [])
    everything = "\x00".join(one.text for one in whole.values())

    assert all(words in everything for words in spoken(lines))
    assert folded.unreadable == sum(
        1
        for one in lines
        if one.strip("\ufeff \r\t") and not {"type", "loglines"} & (read_record(one) or {}).keys()
    )


@needs_samples
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_folds_line_by_line_to_the_same_turns(path: Path) -> None:
    lines = read(path)[:150]

    assert in_ranges(lines, range(len(lines)))[0] == in_ranges(lines, [])[0]


def test_a_prompt_typed_anew_behind_another_attachment_takes_the_first_ones_place() -> None:
    def hook(uuid: str, parent: str) -> str:
        return line(
            "attachment",
            uuid,
            parentUuid=parent,
            attachment={"type": "hook_success", "content": f"Of {uuid}"},
        )

    lines = [
        line("user", "u1", "Begin", parentUuid=None),
        said("m1", "a1", text("Begun"), parentUuid="u1"),
        hook("t1", "a1"),
        line("user", "u2", "Wrong", parentUuid="t1"),
        said("m2", "a2", text("Wrongly"), parentUuid="u2"),
        hook("t2", "a1"),
        line("progress", "p2", parentUuid="t2"),
        line("user", "u3", "Right", parentUuid="p2"),
        said("m3", "a3", text("Rightly"), parentUuid="u3"),
    ]
    for ends in ((), (5,), range(1, len(lines))):
        turns, _ = in_ranges(lines, ends)
        assert [one.key for one in turns.values() if one.superseded] == ["u2", "m2"]


def test_a_prompt_behind_one_that_waited_goes_on_from_it() -> None:
    queued = {"type": "queued_command", "prompt": "And this?", "commandMode": "prompt"}
    lines = [
        said("m1", "a1", text("Begun"), parentUuid="u0"),
        line("user", "u1", "First", parentUuid="a1"),
        line("attachment", "t1", parentUuid="a1", attachment=queued),
        line("user", "u2", "Then", parentUuid="t1"),
    ]

    assert not any(one.superseded for one in fold(*lines).turns)


def test_a_session_that_begins_twice_keeps_both() -> None:
    lines = [line("user", f"u{n}", f"Prompt {n}", parentUuid=None) for n in range(2)]

    assert not any(one.superseded for one in fold(*lines).turns)


def test_a_page_that_a_search_found_has_its_address_and_title() -> None:
    page = {"type": "web_search_result", "url": "https://a.invalid", "title": "On kelp"}

    assert turn(line("user", "u", [result([page])])).text == "[web_search_result https://a.invalid, On kelp]"


def test_a_reminder_in_the_middle_of_words_stays_with_them() -> None:
    words = "Hello <system-reminder>Be short.</system-reminder>"

    assert typed(turn(line("user", "u", words))) == [("text", words)]
