"""Messages in the shapes of models' APIs are a conversation, whichever agent wrote them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.formats import messages, recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded

OPENAI = [
    {"role": "system", "content": "You help at the harbour."},
    {"role": "user", "content": "Which lock is open?"},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "I should look.",
        "tool_calls": [{"id": "c1", "function": {"name": "locks", "arguments": '{"open": true}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "Lock 4"},
    {"role": "assistant", "content": "Lock 4 is open."},
]
WRAPPED = [
    {"type": "session_start", "id": "s-1", "title": "Locks", "cwd": "/made-up"},
    {"type": "message", "id": "m1", "timestamp": "2026-05-08T12:00:00Z", "message": {"role": "user", "content": "Hi"}},
    {"type": "message", "id": "m2", "message": {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]}},
]  # fmt: skip
GOOGLE = [
    {"uuid": "u1", "sessionId": "g", "type": "user", "message": {"role": "user", "parts": [{"text": "Hi"}]}},
    {
        "uuid": "u2",
        "type": "assistant",
        "message": {
            "role": "model",
            "parts": [{"text": "Hm.", "thought": True}, {"functionCall": {"name": "look", "args": {"at": "x"}}}],
        },
    },
    {"uuid": "u3", "message": {"role": "user", "parts": [{"functionResponse": {"response": {"output": "A file"}}}]}},
]  # fmt: skip


def lines(records: list[Any]) -> tuple[str, ...]:
    return tuple(json.dumps(record) for record in records)


def fold(records: list[Any]) -> Folded:
    return messages.fold(None, lines(records))


def said(folded: Folded) -> list[tuple[str, str, str]]:
    return [(turn.role, part.type, part.text) for turn in folded.turns for part in turn.parts]


def test_messages_of_openais_shape_are_turns_with_thoughts_calls_and_results() -> None:
    assert said(fold(OPENAI)) == [
        ("system", "text", "You help at the harbour."),
        ("user", "text", "Which lock is open?"),
        ("assistant", "thinking", "I should look."),
        ("assistant", "tool_call", "locks\nopen: true"),
        ("tool", "tool_result", "Lock 4"),
        ("assistant", "text", "Lock 4 is open."),
    ]


def test_wrapped_messages_have_their_ids_times_session_and_title() -> None:
    folded = fold(WRAPPED)

    assert [(turn.key, turn.at) for turn in folded.turns] == [("m1", "2026-05-08T12:00:00Z"), ("m2", None)]
    assert folded.title == "Locks"
    identity = messages.identify(lines(WRAPPED), "x.jsonl")
    assert identity is not None
    assert (identity.session, identity.key, identity.cwd) == ("s-1", "s-1", "/made-up")


def test_messages_of_googles_shape_are_turns_too() -> None:
    assert said(fold(GOOGLE)) == [
        ("user", "text", "Hi"),
        ("assistant", "thinking", "Hm."),
        ("assistant", "tool_call", "look\nat: x"),
        ("tool", "tool_result", "A file"),
    ]


def test_without_an_id_the_first_message_is_the_key_and_the_folder_the_name() -> None:
    here = messages.identify(lines(OPENAI), "/made-up/session_7/messages.jsonl")
    renamed = messages.identify(lines(OPENAI), "/made-up/renamed.jsonl")

    assert here is not None
    assert renamed is not None
    assert (here.session, renamed.session) == ("session_7", "renamed")
    assert here.key == renamed.key
    assert messages.identify(["{}", "garbage"], "x") is None


@pytest.mark.parametrize("records", [OPENAI, WRAPPED, GOOGLE])
def test_a_conversation_is_recognised_when_somebody_and_an_assistant_speak(records: list[Any]) -> None:
    found = recognise(Head("x.jsonl", lines(records)))

    assert found is not None
    assert found[0].name == "messages"


@pytest.mark.parametrize(
    "records",
    [
        OPENAI[1:2],
        [{"type": "user", "content": "a row"}] * 5,
        [{"level": "info", "content": "a log"}, *OPENAI[1:2]],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}, *[{"a": 1}] * 9],
        [{"messages": OPENAI}],
    ],
)
def test_other_records_are_no_conversation(records: list[Any]) -> None:
    assert messages.recognise(Head("x.jsonl", lines(records))).confidence < 0.5


def test_records_of_other_types_are_counted() -> None:
    folded = fold([*OPENAI, {"type": "usage", "tokens": 1}, {"x": 1}])

    assert folded.unknown == {"usage": 1, "record": 1}
    assert messages.fold(None, ["garbage"]).unreadable == 1


@pytest.mark.parametrize("records", [OPENAI, WRAPPED, GOOGLE])
def test_any_cut_gives_the_same_turns(records: list[Any]) -> None:
    whole = fold(records)
    for cut in range(1, len(records)):
        first = messages.fold(None, lines(records)[:cut])
        second = messages.fold(json.loads(json.dumps(first.state)), lines(records)[cut:])
        assert (*first.turns, *second.turns) == whole.turns


values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "type", "content", "text", "message", "parts", "tool_calls", "function"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(values, max_size=4))
def test_nothing_raises(records: list[Any]) -> None:
    found = lines(records)
    messages.fold(None, found)
    messages.recognise(Head("x", found))
    messages.identify(found, "x")


def test_an_answer_that_only_calls_a_tool_is_a_message() -> None:
    records = [
        {"role": "user", "content": "Which lock is open?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "locks", "arguments": "{}"}}],
        },
        {"role": "assistant", "toolCalls": [{"name": "doors", "args": {"at": "quay"}}]},
        {"role": "tool", "content": "Lock 4"},
    ]
    folded = fold(records)

    assert said(folded)[1:3] == [
        ("assistant", "tool_call", "locks"),
        ("assistant", "tool_call", "doors\nat: quay"),
    ]
    assert folded.unknown == {}
    assert messages.recognise(Head("x", lines(records[:2]))).confidence == messages.CERTAIN


def test_images_of_openais_shape_are_facts() -> None:
    images = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "https://a.invalid/x.png"}},
        {"type": "input_image", "image_url": "data:image/jpeg;base64,QUJD"},
        {"type": "input_image", "file_id": "f-1"},
        {"type": "image_url", "image_url": 5},
    ]
    facts = [
        "[image image/png, 3 bytes]",
        "[image https://a.invalid/x.png]",
        "[image image/jpeg, 3 bytes]",
        "[image f-1]",
        "[image]",
    ]
    folded = fold([{"role": "user", "content": images}, {"role": "tool", "content": images[:1]}])

    assert [text for role, _, text in said(folded) if role == "user"] == facts
    assert said(folded)[-1] == ("tool", "tool_result", facts[0])
    assert folded.unknown == {}
