"""Gemini CLI: documents and lines, what comes again, what is taken back, and the older dumps."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import gemini_cli, recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.standing import MESSAGES_MAX
from chronofile.domain.turns import Folded, Likeness, Turn
from tests.domain.ranges import in_ranges, typed
from tests.samples import gemini_cli as sample
from tests.samples.gemini_cli import BEGINNING, SESSION, call, message


def lines_of(*records: Any) -> list[str]:
    return [json.dumps(record, ensure_ascii=False) for record in records]


def fold(*records: Any) -> Folded:
    return gemini_cli.fold(None, lines_of(*records))


def turns(*records: Any) -> dict[str, Turn]:
    return {turn.key: turn for turn in fold(*records).turns}


def document(*messages: Any, **fields: Any) -> dict[str, Any]:
    return BEGINNING | {"messages": list(messages)} | fields


def likeness(text: str) -> tuple[str, str] | None:
    lines = tuple(text.split("\n")) if text.startswith("{") else ()
    found = recognise(Head.of(text, "x", lines))
    return (found[0].name, found[1]) if found else None


def test_a_session_of_lines_tells_who_said_what() -> None:
    folded = gemini_cli.fold(None, sample.lines())
    said = {turn.key: turn for turn in folded.turns}

    assert typed(said["m1"]) == [("text", "When is high tide in Whitby? \u2028 Größe: 🌊")]
    assert typed(said["m2"]) == [
        ("thinking", "Looking"),
        ("thinking", "The tide table is a file."),
        ("text", "I look it up."),
        ("tool_call", "read_file\npath: tides.txt"),
    ]
    result = said["m2/c1"]
    assert (result.role, result.speaker, result.text) == ("tool", "read_file", "Whitby 04:12 and 16:40")
    assert [key for key, turn in said.items() if turn.superseded] == ["m4"]
    assert (said["m6"].role, typed(said["m6"])) == ("system", [("notice", "Request cancelled.")])
    assert (folded.title, folded.unknown, folded.unreadable) == ("Tides on the Yorkshire coast", {}, 0)


def test_a_document_and_lines_of_the_same_session_are_the_same_turns() -> None:
    messages = [message("user", 1, "Hi"), message("gemini", 2, "Hello", toolCalls=[call("c", "ls", "a.txt")])]

    assert turns(document(*messages)) == turns(BEGINNING, *messages)


def test_a_message_that_comes_again_in_a_later_range_replaces_the_former() -> None:
    first = gemini_cli.fold(None, lines_of(BEGINNING, message("gemini", 1, "I look.")))
    again = message("gemini", 1, "I look.", toolCalls=[call("c", "ls", "a.txt")])
    second = gemini_cli.fold(first.state, lines_of(again))

    assert [turn.key for turn in second.turns] == ["m1", "m1/c"]
    assert typed(second.turns[0]) == [("text", "I look."), ("tool_call", "ls")]
    assert second.superseded == ()


def test_a_rewind_reaches_back_into_earlier_ranges() -> None:
    first = gemini_cli.fold(
        None, lines_of(BEGINNING, *(message("user", number, "?") for number in (1, 2, 3)))
    )
    second = gemini_cli.fold(first.state, lines_of({"$rewindTo": "m2"}, message("user", 4, "!")))

    assert second.superseded == ("m2", "m3")
    assert [turn.key for turn in second.turns] == ["m4"]


def test_a_rewind_to_an_unknown_message_takes_all_back() -> None:
    said = turns(BEGINNING, message("user", 1, "One"), message("user", 2, "Two"), {"$rewindTo": "m9"})

    assert [turn.superseded for turn in said.values()] == [True, True]


def test_a_message_that_comes_again_after_a_rewind_holds() -> None:
    one = message("user", 1, "One")
    first = gemini_cli.fold(None, lines_of(BEGINNING, one, {"$rewindTo": "m1"}))
    second = gemini_cli.fold(first.state, lines_of(one))

    assert [turn.superseded for turn in first.turns] == [True]
    assert [turn.superseded for turn in second.turns] == [False]


def test_a_rewritten_history_keeps_what_it_leaves_out_and_what_it_changes() -> None:
    shown = message("gemini", 2, "", toolCalls=[call("c", "cat", "The whole long file.")])
    masked = message("gemini", 2, "", toolCalls=[call("c", "cat", "[masked]")])
    summary = {"id": "s", "timestamp": "2026-03-04T10:00:00Z", "type": "user", "content": "What came before."}
    said = turns(
        BEGINNING, message("user", 1, "Old."), shown, message("user", 3, "Kept."),
        {"$set": {"messages": [summary, masked, message("user", 3, [{"text": "Kept."}])]}},
    )  # fmt: skip

    gone = {turn.text for turn in said.values() if turn.superseded}
    held = {turn.text for turn in said.values() if not turn.superseded}
    assert gone == {"Old.", "cat", "The whole long file."}
    assert held == {"What came before.", "cat", "[masked]", "Kept."}


def test_what_stands_in_a_content_and_beside_it_is_said_once() -> None:
    content = [
        {"text": "**Plan** I think it over.", "thought": True},
        {"text": "I call.", "thoughtSignature": "x"},
        {"functionCall": {"id": "c", "name": "ls", "args": {"path": "."}}},
    ]
    thoughts = [{"subject": "Plan", "description": "I think it over."}]
    answer = message("gemini", 1, content, thoughts=thoughts, toolCalls=[call("c", "ls", "a.txt", path=".")])
    response = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a.txt"}}}
    said = turns(BEGINNING, answer, message("user", 2, [response]))

    assert typed(said["m1"]) == [
        ("thinking", "**Plan** I think it over."),
        ("text", "I call."),
        ("tool_call", "ls\npath: ."),
    ]
    assert list(said) == ["m1", "m1/c"]


def test_what_a_person_typed_is_told_from_what_was_put_in() -> None:
    content = [
        {"text": "Explain @a.txt"},
        {"text": "\n--- Content from referenced files ---"},
        {"text": "secret words"},
    ]
    said = turns(
        BEGINNING,
        message("user", 1, content, displayContent="Explain @a.txt"),
        message("user", 2, content),
        message("user", 3, "/help me with more", displayContent="/help me"),
        message("user", 4, "<session_context>\nToday is Monday.</session_context>"),
    )

    expected = [("text", "Explain @a.txt"), ("notice", content[1]["text"]), ("notice", "secret words")]
    assert typed(said["m1"]) == typed(said["m2"]) == expected
    assert typed(said["m3"]) == [("text", "/help me"), ("notice", " with more")]
    assert (said["m4"].role, said["m4"].parts[0].type) == ("system", "notice")


def test_attachments_are_facts_and_other_parts_are_read() -> None:
    content = [
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.invalid/v"}},
        {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"hologram": {}},
        7,
    ]
    folded = fold(BEGINNING, message("gemini", 1, content))

    assert typed(folded.turns[0]) == [
        ("text", "[image image/png, 3 bytes]"),
        ("text", "[video video/mp4, https://example.invalid/v]"),
        ("tool_call", "1 + 1"),
    ]
    assert typed(folded.turns[1]) == [("tool_result", "2")]
    assert folded.unknown == {"part hologram": 1, "part": 1}


def test_messages_of_unknown_type_and_other_records_are_counted() -> None:
    folded = fold(
        BEGINNING, message("oracle", 1, "?"), {"id": "x", "type": "telemetry"}, {"strange": 1}, [1], 4
    )

    assert folded.unknown == {"message oracle": 1, "message telemetry": 1, "record strange": 1}
    assert (folded.turns, folded.unreadable) == ((), 2)


def test_an_older_dump_has_keys_that_stay_when_it_grows() -> None:
    ask, answer = (
        {"role": "user", "parts": [{"text": "Hm?"}], "ts": 1695000000},
        {"role": "model", "parts": [{"text": "Ok"}]},
    )
    before = fold({"history": [ask, answer], "start_time": "2026-01-01T00:00:00Z"})
    after = fold({"history": [ask, answer, ask, answer], "start_time": "2026-01-01T00:00:00Z"})

    assert [turn.role for turn in after.turns] == ["user", "assistant"] * 2
    assert len({turn.key for turn in after.turns}) == 4
    assert [turn.key for turn in after.turns][:2] == [turn.key for turn in before.turns]
    assert before.turns[0].at == "2023-09-18T01:20:00+00:00"


def test_a_prompt_of_ai_studio_is_read() -> None:
    prompt = {
        "runSettings": {"model": "models/made-up"},
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "chunkedPrompt": {
            "chunks": [
                {"role": "user", "text": "Hello", "createTime": "2026-01-01T00:00:00Z"},
                {"role": "user", "driveImage": {"id": "picture-1"}},
                {"role": "model", "text": "It greets.", "isThought": True},
                {"role": "model", "text": "Hello you.", "finishReason": "STOP"},
            ],
            "pendingInputs": [{"role": "user", "text": "not sent"}],
        },
    }
    said = [(turn.role, *typed(turn)) for turn in fold(prompt).turns]

    assert said == [
        ("system", ("text", "Be kind.")),
        ("user", ("text", "Hello")),
        ("user", ("text", "[image picture-1]")),
        ("assistant", ("thinking", "It greets.")),
        ("assistant", ("text", "Hello you.")),
    ]
    assert likeness(json.dumps(prompt, indent=1)) == ("gemini-cli", "conversations")


def test_two_messages_of_one_id_in_a_document_are_two() -> None:
    said = turns(document(message("user", 1, "One"), message("user", 1, "Two"), message("user", 1, "One")))

    assert [turn.text for turn in said.values()] == ["One", "Two"]


def test_a_sub_agents_session_is_its_own_and_nobody_typed_in_it() -> None:
    aside = BEGINNING | {"kind": "subagent"}
    path = f"/made-up/chats/parent-1/{SESSION}.jsonl"
    identity = gemini_cli.identify(lines_of(aside), path)
    moved = gemini_cli.identify(lines_of(aside), "/elsewhere/chats/x.jsonl")

    assert identity is not None
    assert moved is not None
    assert identity.session == f"parent-1/agent-{SESSION}"
    assert identity.key == moved.key == moved.session
    assert turns(aside, message("user", 1, "Look."))["m1"].speaker == "agent"


def test_a_session_is_known_by_its_id_and_else_by_its_beginning() -> None:
    named = gemini_cli.identify(sample.lines(), "x.jsonl")
    whole = gemini_cli.identify(lines_of(document()), "x.json")
    first = {"role": "user", "parts": [{"text": "Hi"}]}
    short = gemini_cli.identify(lines_of({"history": [first | {"timestamp": 1_767_322_800}]}), "a.json")
    long = gemini_cli.identify(lines_of({"history": [first | {"timestamp": 1_767_322_800}, first]}), "b.json")

    assert named is not None
    assert whole is not None
    assert short is not None
    assert long is not None
    assert (named.key, named.cwd, named.updated) == (SESSION, None, None)
    assert whole.updated == BEGINNING["lastUpdated"]
    assert short.key == long.key
    assert gemini_cli.identify(["{}"], "x") is None
    assert gemini_cli.identify(["garbage"], "x") is None


def test_what_is_a_session_is_recognised_by_its_content() -> None:
    keys_sorted = json.dumps(
        document(*(message("gemini", n, "Hi" * 9_000) for n in range(9))), sort_keys=True, indent=1
    )
    whole = json.dumps(document(message("user", 1, "Hi")))

    assert likeness("\n".join(sample.lines())) == ("gemini-cli", "lines")
    assert likeness(json.dumps(document(message("user", 1, "Hi")), indent=2)) == (
        "gemini-cli",
        "conversations",
    )
    assert likeness(keys_sorted[: 64 << 10]) == ("gemini-cli", "conversations")
    assert gemini_cli.recognise(Head.of(whole, "x", (whole,))) == Likeness(1.0, "conversations")
    assert gemini_cli.recognise(Head.of("", "x", tuple(sample.lines()[:1]))) == Likeness(1.0, "lines")


@pytest.mark.parametrize(
    "value",
    [
        [
            {
                "sessionId": "s",
                "messageId": 0,
                "type": "user",
                "message": "/quit",
                "timestamp": "2026-01-01T00:00:00Z",
            }
        ],
        {"name": "a-package", "version": "1.0.0", "scripts": {"test": "x"}},
        {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {}}]},
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
        {"messages": [{"id": 1, "type": "email", "content": "Hi"}], "total": 1},
        {"history": [{"commit": "abc", "at": "2026-01-01"}]},
        {"level": "info", "type": "error", "content": "x"},
    ],
)
def test_other_json_is_no_session(value: Any) -> None:
    written = json.dumps(value)

    assert likeness(written) is None or likeness(written) != ("gemini-cli", "conversations")
    assert (
        gemini_cli.recognise(Head.of(written, "x", (written,) if written.startswith("{") else ())).confidence
        < 0.5
    )


def test_ten_thousand_messages_are_read_and_a_rewind_takes_back_what_is_remembered() -> None:
    records = [
        message("user", number % 60, f"Number {number}") | {"id": f"n{number}"} for number in range(10_000)
    ]
    found = in_ranges(gemini_cli, lines_of(BEGINNING, *records, {"$rewindTo": "n0"}), range(0, 10_000, 997))

    assert len(found.turns) == 10_000
    assert sum(turn.superseded for turn in found.turns.values()) == MESSAGES_MAX


_TEXTS = st.sampled_from(["", "One.", "Two.", "\ud800", "a\x00b"])
_CONTENTS = st.one_of(
    _TEXTS,
    st.lists(
        st.one_of(
            st.builds(lambda text, thought: {"text": text, "thought": thought}, _TEXTS, st.booleans()),
            st.builds(lambda text: {"functionResponse": {"id": "c", "response": {"output": text}}}, _TEXTS),
            st.just({"functionCall": {"id": "c", "name": "ls", "args": {}}}),
            st.sampled_from([None, 3, {}, {"inlineData": 1}]),
        ),
        max_size=3,
    ),
)
_CALLS = st.lists(
    st.builds(lambda name, text: call(name, "ls", text), st.sampled_from("cd"), _TEXTS), max_size=2
)
_MESSAGES = st.builds(
    lambda kind, number, content, calls: message(kind, number, content, toolCalls=calls),
    st.sampled_from(["user", "gemini", "info", "model", "odd"]), st.integers(0, 7), _CONTENTS, _CALLS,
)  # fmt: skip
_NAMELESS = st.builds(lambda made: {name: made[name] for name in made if name != "id"}, _MESSAGES)
_RECORDS = st.one_of(
    _MESSAGES,
    _NAMELESS,
    st.builds(lambda number: {"$rewindTo": f"m{number}"}, st.integers(0, 9)),
    st.builds(
        lambda messages: {"$set": {"messages": messages}},
        st.lists(st.one_of(_MESSAGES, _NAMELESS), max_size=4),
    ),
    st.builds(lambda title: {"$set": {"summary": title}}, st.sampled_from(["T", "U", "", 3])),
    st.sampled_from([BEGINNING, {}, {"$set": 3}, {"$rewindTo": 3}, document(message("user", 1, "Whole"))]),
)


@settings(deadline=None, max_examples=200)
@given(st.lists(_RECORDS, max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_any_cut_into_ranges_gives_the_same_turns(records: list[Any], ends: list[int]) -> None:
    lines = [json.dumps(record) for record in records]
    whole, cut = in_ranges(gemini_cli, lines), in_ranges(gemini_cli, lines, ends)

    assert list(cut.turns.items()) == list(whole.turns.items())
    assert (cut.unknown, cut.unreadable, cut.title) == (whole.unknown, whole.unreadable, whole.title)


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["id", "type", "role", "content", "parts", "text", "messages", "history", "$set", "$rewindTo", "toolCalls",
                 "result", "thoughts", "functionResponse", "response", "chunkedPrompt", "chunks", "displayContent", "args"]
            ),
            inner, max_size=5,
        ),
    ),
    max_leaves=25,
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(_JSON, max_size=5))
def test_nothing_raises_whatever_stands_there(values: list[Any]) -> None:
    lines = [json.dumps(value) for value in values]
    in_ranges(gemini_cli, lines, [1])
    gemini_cli.identify(lines, "x")
    for line in lines:
        gemini_cli.recognise(Head.of(line, "x", (line,)))


def test_deep_nesting_is_counted_and_the_rest_is_read() -> None:
    deep = '{"id":"x","timestamp":"","type":"gemini","content":"","toolCalls":[{"id":"c","name":"n","args":{"a":%s}}]}'
    lines = [deep % ("[" * depth + "]" * depth) for depth in (100, 950, 100_000)]
    folded = gemini_cli.fold(None, [*lines, *lines_of(message("user", 1, "Still here."))])

    assert folded.turns[-1].text == "Still here."


def test_every_text_comes_out() -> None:
    chance = random.Random(4)
    said = [f"word-{chance.getrandbits(64):x}" for _ in range(60)]
    records = [
        message(kind, n, text) | {"id": f"i{n}"}
        for n, text in enumerate(said)
        for kind in [chance.choice(["user", "gemini"])]
    ]
    records.insert(40, {"$rewindTo": "i20"})

    assert in_ranges(gemini_cli, lines_of(BEGINNING, *records), [10, 30]).said == sorted(said)


def test_conversations_that_begin_with_the_same_words_are_two() -> None:
    def key(name: str, *texts: str, **fields: Any) -> str:
        roles = ("user", "model")
        history = [
            {"role": roles[n % 2], "parts": [{"text": text}], **fields} for n, text in enumerate(texts)
        ]
        found = gemini_cli.identify(lines_of({"history": history}), name)
        assert found is not None
        return found.key

    long = "All of it, and what comes of it when the tide is in, and who is asked for it, and who is not to be asked. "
    one = key("save.json", "Hi", "Hello", "The kelp", long)

    assert one != key("save.json", "Hi", "Hello", "The crab", long)
    assert one != key("other.json", "Hi", "Hello", "The kelp", long)
    assert one == key("/copies/save.json", "Hi", "Hello", "The kelp", long, "And then?", "Low tide")
    # A time tells two apart better than their words, and a renamed copy is the same.
    at = {"timestamp": "2026-01-02T03:04:05Z"}
    assert key("a.json", "Hi", **at) == key("b.json", "Hi", "Hello", **at) != key("a.json", "Hi")


def test_prompts_of_ai_studio_without_times_are_told_apart() -> None:
    def key(name: str, *texts: str) -> str:
        chunks = [{"role": "user", "text": text} for text in texts]
        found = gemini_cli.identify(lines_of({"chunkedPrompt": {"chunks": chunks}}), name)
        assert found is not None
        return found.key

    assert key("Trip plan", "Help me", "To Whitby") != key("Tax notes", "Help me", "With the form")
    assert key("Prompt", "Help me", "To Whitby") != key("Prompt", "Help me", "With the form")
