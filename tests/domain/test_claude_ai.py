"""Claude.ai's exports: conversations with their branches and artifacts, projects, memories and design chats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.formats import claude_ai
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded, Turn
from tests.samples.claude_ai import BEGAN, conversation, full, memories, message, project

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
needs_samples = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="../shared/data/transcripts is not here")

DESIGN: dict[str, Any] = {
    "uuid": "x-1",
    "title": "A sign for the shop",
    "project": {"uuid": "y", "name": "Signs"},
    "created_at": BEGAN,
    "updated_at": BEGAN,
    "messages": [
        {
            "uuid": "x-m1",
            "role": "user",
            "created_at": BEGAN,
            "content": {"content": "Draw a sign", "authorName": "Mara Quill", "authorAccountUuid": "a-1"},
        },
        {
            "uuid": "x-m2",
            "role": "assistant",
            "content": {
                "content": "Done.",
                "timestamp": BEGAN,
                "contentBlocks": [
                    {"type": "thinking", "text": "Green would do."},
                    {"type": "text", "text": "Done."},
                    {
                        "type": "tool_call",
                        "toolCall": {"name": "write", "input": {"path": "a"}, "output": "ok"},
                    },
                    {
                        "type": "user_interjection",
                        "message": {"content": "Wait", "attachments": [{"name": "b.png"}]},
                    },
                    {"type": "error", "message": "It failed."},
                ],
            },
        },
    ],
}


def fold(*told: Any) -> Folded:
    return claude_ai.fold(None, [one if isinstance(one, str) else json.dumps(one) for one in told])


def said(folded: Folded) -> list[Turn]:
    """Return the turns without the title and the summary."""
    return [turn for turn in folded.turns if turn.key != "summary" and not turn.key.startswith("title:")]


def parts(content: Any, **fields: Any) -> list[tuple[str, str]]:
    """Return the parts of the one message that a conversation has."""
    turns = said(fold(conversation(message(content=content) | fields)))
    return [(part.type, part.text) for turn in turns for part in turn.parts]


def shown(folded: Folded) -> list[str]:
    return [turn.key for turn in said(folded) if not turn.superseded]


def confidence(value: object) -> float:
    return claude_ai.recognise(Head.of(json.dumps(value), "conversations.json")).confidence


def identity(told: Any) -> str | None:
    found = claude_ai.identify([json.dumps(told)], "conversations.json")
    return found.key if found else None


class TestMessages:
    def test_a_message_is_a_turn_with_its_id_time_and_role(self) -> None:
        one, two = said(
            fold(conversation(message("Grüezi", uuid="m-1"), message("Hi", uuid="m-2", sender="assistant")))
        )

        assert (one.key, one.native_ids, one.role, one.speaker) == ("m-1", ("m-1",), "user", None)
        assert (one.at, one.text, two.role) == (BEGAN, "Grüezi", "assistant")

    @pytest.mark.parametrize(
        ("at", "expected"),
        [
            ("2026-02-03T08:15:00.123456+00:00", "2026-02-03T08:15:00.123456+00:00"),
            ("2026-02-03T08:15:00.123456", "2026-02-03T08:15:00.123456"),
            ("2099-02-03T08:15:00Z", "2099-02-03T08:15:00Z"),
            ("soon", None),
            (None, None),
            (1_770_000_000, "2026-02-02T02:40:00+00:00"),
        ],
    )
    def test_times_stay_as_they_are_written(self, at: Any, expected: str | None) -> None:
        assert said(fold(conversation(message("x", at=at))))[0].at == expected

    def test_the_words_come_out_once_although_they_stand_in_two_places(self) -> None:
        assert parts([{"type": "text", "text": "Once"}], text="Once") == [("text", "Once")]

    @pytest.mark.parametrize("content", [[], None, [{"type": "text", "text": ""}], [None]])
    def test_the_flat_text_is_taken_where_the_content_is_empty(self, content: Any) -> None:
        turns = said(fold(conversation(message("Flat", content=content) | {"content": content})))

        assert [turn.text for turn in turns] == ["Flat"]

    def test_the_flat_text_is_not_taken_where_the_content_is_a_call(self) -> None:
        found = parts(
            [{"type": "tool_use", "name": "repl", "input": {"code": "1"}}],
            text="This block is not supported.",
        )

        assert found == [("tool_call", "repl\ncode: 1")]

    def test_title_and_summary_are_turns_of_their_own(self) -> None:
        folded = fold(full())
        title, summary = folded.turns[:2]

        assert folded.title == "Rye bread"
        assert (title.role, title.parts[0].type, title.text) == ("system", "notice", "Rye bread")
        assert (summary.role, summary.parts[0].type) == ("system", "summary")

    def test_what_is_read_from_an_attachment_is_a_part_of_its_own(self) -> None:
        attachment = {
            "file_name": "a.txt",
            "file_type": "txt",
            "file_size": 9,
            "extracted_content": "Line one\r\n two",
        }

        assert parts([{"type": "text", "text": "See"}], attachments=[attachment, 7]) == [
            ("text", "See"),
            ("text", "[attachment a.txt, txt, 9 bytes]"),
            ("text", "Line one\r\n two"),
        ]

    def test_files_are_facts_once(self) -> None:
        files = [{"file_name": "a.png", "file_uuid": "f"}, {"file_name": "b.png"}]
        again = [{"file_name": "a.png", "file_uuid": "f", "file_kind": "image", "size_bytes": 3}]

        assert parts([], files=files, files_v2=again, sync_sources=[{"type": "drive"}]) == [
            ("text", "[file a.png]"),
            ("text", "[file b.png]"),
            ("text", "[source drive]"),
        ]

    def test_messages_without_ids_keep_their_names_when_the_conversation_grows(self) -> None:
        first = [message("one", uuid=None), message("ok", uuid=None), message("ok", uuid=None)]
        before = said(fold(conversation(*first)))
        after = said(fold(conversation(*first, message("more", uuid=None))))

        assert [turn.text for turn in before] == ["one", "ok", "ok"]
        assert after[:3] == before


class TestBlocks:
    @pytest.mark.parametrize(
        ("block", "expected"),
        [
            ("words", [("text", "words")]),
            ({"type": "thinking", "thinking": "Hm", "summaries": [{"summary": "S"}]}, [("thinking", "Hm"), ("summary", "S")]),
            ({"type": "redacted_thinking", "data": "x"}, []),
            ({"type": "token_budget"}, []),
            ({"type": "voice_note", "title": "T", "text": "V"}, [("text", "T"), ("text", "V")]),
            ({"type": "tool_use", "name": "search", "input": {"q": "a\nb", "n": 2}}, [("tool_call", "search\nq: a\nb\nn: 2")]),
            ({"type": "tool_use", "name": "x", "input": None}, [("tool_call", "x")]),
            ({"type": "tool_use", "input": {"a": [{"b": "c"}]}}, [("tool_call", 'tool\na: [{"b":"c"}]')]),
            ({"type": "tool_result", "content": "plain"}, [("tool_result", "plain")]),
            ({"type": "tool_result", "content": [{"type": "text", "text": "R"}], "display_content": {"text": "R"}}, [("tool_result", "R")]),
            (
                {"type": "tool_result", "content": [], "display_content": {"type": "table", "table": [["a", "b"]], "text": "T"}},
                [("tool_result", "T"), ("tool_result", "a"), ("tool_result", "b")],
            ),
            (
                {"type": "tool_result", "content": [{"type": "knowledge", "title": "T", "url": "u", "text": "K"}]},
                [("tool_result", "T"), ("tool_result", "u"), ("tool_result", "K")],
            ),
            (
                {"type": "tool_result", "content": [{"type": "local_resource", "file_path": "/a.md", "mime_type": "text/markdown"}]},
                [("tool_result", "[file /a.md, text/markdown]")],
            ),
            (
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 5_000_000}},
                [("text", "[image image/png, 15000000 bytes]")],
            ),
            ({"type": "document", "source": {"type": "text", "data": "D"}}, [("text", "D")]),
        ],
    )  # fmt: skip
    def test_blocks_are_read_by_their_type(self, block: Any, expected: list[tuple[str, str]]) -> None:
        assert parts([block]) == expected

    def test_an_artifact_is_found_as_it_reads(self) -> None:
        content = {"id": "a", "type": "text/markdown", "content": '# Plan\n\n"früh" \\n'}
        text = parts([{"type": "tool_use", "name": "artifacts", "input": content}])[0][1]

        assert '# Plan\n\n"früh" \\n' in text

    def test_unknown_blocks_are_counted_and_their_words_come_out(self) -> None:
        blocks = [
            {"type": "dream", "text": "X", "thinking": "Y"},
            {"type": "future_use", "name": "f", "input": {"a": "b"}},
            7,
        ]
        folded = fold(conversation(message(content=blocks), message("s", uuid="m-2", sender="ghost")))

        assert folded.unknown == {"block dream": 1, "block future_use": 1, "block": 1, "sender ghost": 1}
        assert [(part.type, part.text) for part in said(folded)[0].parts] == [
            ("text", "X"),
            ("thinking", "Y"),
            ("tool_call", "f\na: b"),
        ]


class TestBranches:
    def test_the_official_export_is_shown_as_it_is_listed(self) -> None:
        folded = fold(conversation(*(message(f"w{n}", uuid=f"m-{n}") for n in range(4))))

        assert shown(folded) == ["m-0", "m-1", "m-2", "m-3"]

    def test_other_branches_than_the_current_leafs_are_superseded(self) -> None:
        assert [turn.key for turn in said(fold(full()))] == ["m-1", "m-2", "m-3", "m-4"]
        assert shown(fold(full())) == ["m-3", "m-4"]

    def test_without_a_current_leaf_the_newest_branch_is_shown(self) -> None:
        told = conversation(
            message("a", uuid="a", parent_message_uuid=None),
            message("b", uuid="b", parent_message_uuid="a", at="2026-02-03T09:00:00+00:00"),
            message("c", uuid="c", parent_message_uuid="a", at="2026-02-03T08:00:00+00:00"),
        )

        assert shown(fold(told)) == ["a", "b"]

    def test_cycles_and_ten_thousand_branches_end(self) -> None:
        cycle = conversation(
            message("a", uuid="a", parent_message_uuid="b"), message("b", uuid="b", parent_message_uuid="a")
        )
        wide = conversation(
            message("a", uuid="a"),
            *(message("x", uuid=f"m{n}", parent_message_uuid="a") for n in range(10_000)),
        )

        assert len(said(fold(cycle))) == 2
        assert len(shown(fold(wide))) == 2


class TestProjectsAndMemories:
    def test_a_projects_words_and_documents_are_turns(self) -> None:
        folded = fold(project())

        assert [(turn.key, turn.role, turn.text) for turn in said(folded)] == [
            ("description", "user", "All about the little bakery."),
            ("prompt_template", "user", "Answer as a baker would."),
            ("d-1", "user", "[document ovens.md]\n\nThe stone oven holds 250 degrees."),
        ]
        assert (folded.title, identity(project()), confidence([project()])) == ("Bakery", "project/p-1", 1.0)

    def test_memories_are_summaries(self) -> None:
        files = [{"path": "/mara.md", "content": "She opens at six.", "updated_at": BEGAN}]
        told = memories() | {"memory_files": files}
        turns = said(fold(told))

        assert [turn.key for turn in turns] == ["conversations", "project/p-1", "file//mara.md"]
        assert {turn.parts[-1].type for turn in turns} == {"summary"}
        assert (identity(told), confidence([told])) == ("memories/a-1", 1.0)

    def test_a_design_chat_is_a_conversation(self) -> None:
        folded = fold(DESIGN)
        one, two = said(folded)

        assert (one.role, one.speaker, one.text, one.at) == ("user", "Mara Quill", "Draw a sign", BEGAN)
        assert [(part.type, part.text) for part in two.parts] == [
            ("thinking", "Green would do."),
            ("text", "Done."),
            ("tool_call", "write\npath: a"),
            ("tool_result", "ok"),
            ("text", "Wait"),
            ("text", "[attachment b.png]"),
            ("notice", "It failed."),
        ]
        assert (two.at, folded.title, identity(DESIGN), confidence(DESIGN)) == (
            BEGAN,
            "A sign for the shop",
            "x-1",
            1.0,
        )

    def test_a_capture_of_a_browser_is_the_conversation_within(self) -> None:
        captured = {"session": {"provider": "claude-ai"}, "raw_provider_payload": full()}
        turns = [{"provider_turn_id": "t", "role": "assistant", "text": "Seen"}]
        only_seen = {"session": {"provider": "claude-ai", "provider_session_id": "c-9", "turns": turns}}

        assert (fold(captured).turns, identity(captured)) == (fold(full()).turns, "c-rye")
        assert ([turn.text for turn in said(fold(only_seen))], identity(only_seen)) == (["Seen"], "c-9")


class TestIdentity:
    def test_a_conversation_is_its_own_id_with_the_time_of_its_last_change(self) -> None:
        found = claude_ai.identify([json.dumps(conversation())], "x")

        assert found is not None
        assert (found.session, found.key, found.updated) == ("c-1", "c-1", "2026-02-03T09:00:00.000000+00:00")

    def test_without_an_id_it_is_what_began_it(self) -> None:
        def named(*words: str, **fields: Any) -> str | None:
            return identity(conversation(*(message(word, uuid=None) for word in words), uuid=None, **fields))

        assert named("Hello") == named("Hello", "and more", name="Renamed", updated_at="2027-01-01T00:00:00Z")
        assert len({named("Hello"), named("Bye"), named("Hello", created_at=None)}) == 3
        assert named() is None

    @pytest.mark.parametrize("line", ["", "x", "[]", "7", "null", "[" * 100_000, '{"uuid": "u"}'])
    def test_what_is_nothing_of_claude_is_nobody(self, line: str) -> None:
        assert claude_ai.identify([line], "x") is None


class TestRecognition:
    @pytest.mark.parametrize(
        "value", [[full()], full(), {"conversations": [full()]}, {"raw_provider_payload": full()}]
    )
    def test_exports_and_single_conversations_are_recognised(self, value: object) -> None:
        assert confidence(value) == 1.0

    def test_a_project_of_which_the_documents_are_cut_off_is_recognised(self) -> None:
        long = json.dumps([project() | {"docs": [{"uuid": "d", "content": "x" * 100_000}]}])

        assert claude_ai.recognise(Head.of(long[:65_536], "x")).confidence == 1.0

    @pytest.mark.parametrize(
        "value",
        [
            [],
            {},
            [{"uuid": "a-1", "full_name": "Mara Quill", "email_address": "made-up@example.invalid"}],
            {"name": "package", "version": "1.0.0", "private": True},
            {"messages": [{"role": "user", "content": "Hi"}]},
            {"messages": [{"role": "user", "content": {"parts": ["Hi"]}}]},
            {"id": "c", "mapping": {"n": {"message": None, "parent": None, "children": []}}},
            {"type": "FeatureCollection", "features": []},
            {"uuid": "u", "name": "n"},
            {"invalid": "This is no conversation."},
        ],
    )
    def test_other_json_is_not(self, value: object) -> None:
        assert confidence(value) == 0.0


ATOMS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
KEYS = st.sampled_from(
    ["uuid", "name", "summary", "chat_messages", "content", "text", "type", "sender", "thinking", "input", "attachments",
     "files", "parent_message_uuid", "current_leaf_message_uuid", "docs", "prompt_template", "conversations_memory",
     "project_memories", "messages", "contentBlocks", "toolCall", "role", "display_content", "created_at", "session"]
)  # fmt: skip
JSON = st.recursive(
    ATOMS
    | st.sampled_from(
        ["human", "assistant", "text", "thinking", "tool_use", "tool_result", "knowledge", "tool_call"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(KEYS, JSON, max_size=8))
def test_whatever_stands_there_nothing_raises(told: dict[str, Any]) -> None:
    line = json.dumps(told)

    first, second = claude_ai.fold(None, [line]), claude_ai.fold(None, [line])
    claude_ai.identify([line], "x")
    claude_ai.recognise(Head.of(line, "x"))
    assert first == second
    assert all(count > 0 for count in (first.unknown or {}).values())
    assert len({turn.key for turn in first.turns}) == len(first.turns)


@given(st.lists(st.tuples(st.integers(-1, 12), st.text(min_size=1), st.booleans()), max_size=12))
def test_every_text_comes_out_once_whatever_the_tree_is(drawn: list[tuple[int, str, bool]]) -> None:
    messages = [
        message(
            text, uuid=f"m{n}" if has_id else None, parent_message_uuid=None if parent < 0 else f"m{parent}"
        )
        for n, (parent, text, has_id) in enumerate(drawn)
    ]
    turns = said(fold(conversation(*messages)))

    assert sorted(turn.text for turn in turns) == sorted(text for _, text, _ in drawn)
    assert not drawn or any(not turn.superseded for turn in turns)


@pytest.mark.parametrize("line", ["x", "[1]", '{"chat_messages": [', "[" * 100_000, '{"users": 1}'])
def test_what_is_nothing_of_claude_is_counted(line: str) -> None:
    assert fold(line).unreadable == 1


def test_json_that_is_nested_deeply_is_read_as_far_as_it_goes() -> None:
    inner = '[{"type":"tool_result","content":' * 300 + '"end"' + "}]" * 300
    told = json.dumps(conversation(message(content="PLACE"))).replace('"PLACE"', inner)

    assert "end" in "".join(turn.text for turn in fold(told).turns)


@needs_samples
def test_the_samples_are_read_with_nothing_unreadable() -> None:
    paths = [
        path for path in sorted((TRANSCRIPTS / "claude_ai").glob("*.json")) if "invalid" not in path.name
    ]
    for path in paths:
        value = json.loads(path.read_bytes())
        for told in value if isinstance(value, list) else [value]:
            folded = fold(told)
            assert folded.turns, path.name
            assert all("synthetic-" in kind for kind in folded.unknown or {}), path.name
    assert paths


@pytest.mark.parametrize("kind", [{"a": 1}, ["text"], 5, None])
def test_a_block_whose_type_is_no_word_is_counted_and_its_words_come_out(kind: Any) -> None:
    folded = fold(conversation(message(content=[{"type": kind, "text": "The heron flew"}])))

    assert "The heron flew" in [turn.text for turn in said(folded)]
    assert folded.unknown == {"block": 1}
