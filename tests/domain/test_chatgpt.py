"""ChatGPT's exports: a tree in reading order, one branch of it shown, every word of it kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.formats import chatgpt
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded, Turn
from tests.samples.chatgpt import BEGAN_S, chain, conversation, full, message, node

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
needs_samples = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="../shared/data/transcripts is not here")


def fold(*told: Any) -> Folded:
    return chatgpt.fold(None, [one if isinstance(one, str) else json.dumps(one) for one in told])


def said(folded: Folded) -> list[Turn]:
    """Return the turns without the title."""
    return [turn for turn in folded.turns if not turn.key.startswith("title:")]


def parts(content: Any, **fields: Any) -> list[tuple[str, str]]:
    """Return the parts of the one message that a conversation has."""
    turns = said(fold(chain(message(content, **fields))))
    return [(part.type, part.text) for turn in turns for part in turn.parts]


def tree(*edges: tuple[str, str | None], current: str | None = None, **fields: Any) -> Folded:
    """Fold a tree of messages that each say what they are called, from pairs of (id, parent)."""
    children: dict[str | None, list[str]] = {}
    for key, parent in edges:
        children.setdefault(parent, []).append(key)
    nodes = [node(key, parent, children.get(key, ()), message(key)) for key, parent in edges]
    told = conversation(*nodes, **fields) | {"current_node": current}
    return fold(told)


def shown(folded: Folded) -> list[str]:
    return [turn.key for turn in said(folded) if not turn.superseded]


def confidence(value: object, name: str = "conversations.json") -> float:
    return chatgpt.recognise(Head.of(json.dumps(value), name)).confidence


class TestTrees:
    def test_turns_come_in_the_order_of_the_tree_and_not_of_time(self) -> None:
        turns = said(
            fold(chain(message("late", at=BEGAN_S + 9), message("early", role="assistant", at=BEGAN_S)))
        )

        assert [turn.text for turn in turns] == ["late", "early"]

    def test_other_branches_than_the_shown_one_are_superseded(self) -> None:
        folded = tree(("a", None), ("b1", "a"), ("c1", "b1"), ("b2", "a"), ("c2", "b2"), current="c2")

        assert [turn.key for turn in said(folded)] == ["a", "b1", "c1", "b2", "c2"]
        assert shown(folded) == ["a", "b2", "c2"]

    def test_the_shown_branch_may_end_in_the_middle_and_be_the_first(self) -> None:
        folded = tree(("a", None), ("b1", "a"), ("c1", "b1"), ("b2", "a"), current="b1")

        assert shown(folded) == ["a", "b1"]

    @pytest.mark.parametrize("current", [None, "nowhere", 7, ""])
    def test_without_a_current_node_the_branch_of_the_newest_leaf_is_shown(self, current: Any) -> None:
        told = conversation(
            node("a", None, ["b", "c"], message("a")),
            node("b", "a", [], message("b", at=BEGAN_S + 50)),
            node("c", "a", [], message("c", at=BEGAN_S + 40)),
        )

        assert shown(fold(told | {"current_node": current})) == ["a", "b"]

    def test_a_message_may_be_named_as_current_in_place_of_its_node(self) -> None:
        told = conversation(
            {"id": "n1", "parent": None, "children": ["n2", "n3"], "message": message("a", key="m1")},
            {"id": "n2", "parent": "n1", "children": [], "message": message("b", key="m2")},
            {"id": "n3", "parent": "n1", "children": [], "message": message("c", key="m3")},
            current="m2",
        )

        assert shown(fold(told)) == ["m1", "m2"]

    def test_several_roots_are_all_kept(self) -> None:
        folded = tree(("a", None), ("b", "a"), ("x", None), ("y", "x"), current="y")

        assert ([turn.key for turn in said(folded)], shown(folded)) == (["a", "b", "x", "y"], ["x", "y"])

    def test_cycles_end(self) -> None:
        folded = tree(("a", "c"), ("b", "a"), ("c", "b"), ("own", "own"), current="b")

        assert sorted(turn.key for turn in said(folded)) == ["a", "b", "c", "own"]
        assert sorted(shown(folded)) == ["a", "b", "c"]

    def test_a_parent_that_is_missing_begins_a_tree(self) -> None:
        folded = tree(("a", "gone"), ("b", "a"), current="b")

        assert shown(folded) == ["a", "b"]

    def test_a_tree_may_be_told_by_its_children_or_by_its_parents_alone(self) -> None:
        by_children = conversation(
            {"id": "a", "children": ["b", "c"], "message": message("a", key="a")},
            {"id": "b", "message": message("b", key="b")},
            {"id": "c", "message": message("c", key="c")},
            current="b",
        )
        by_parents = conversation(
            {"id": "c", "parent": "a", "message": message("c", key="c")},
            {"id": "a", "message": message("a", key="a")},
            {"id": "b", "parent": "a", "message": message("b", key="b")},
            current="b",
        )

        assert shown(fold(by_children)) == shown(fold(by_parents)) == ["a", "b"]

    def test_messages_that_name_no_others_are_a_list(self) -> None:
        nodes = {f"n{n}": {"message": message(f"word {n}", key=f"m{n}")} for n in range(3)}
        folded = fold({"id": "c", "mapping": nodes, "current_node": "n2"})

        assert shown(folded) == ["m0", "m1", "m2"]

    def test_ten_thousand_branches_and_ten_thousand_messages_in_a_row_are_read(self) -> None:
        wide = tree(("a", None), *((f"b{n}", "a") for n in range(10_000)), current="b9999")
        deep = tree(("n0", None), *((f"n{n}", f"n{n - 1}") for n in range(1, 10_000)), current="n9999")

        assert (len(said(wide)), shown(wide)) == (10_001, ["a", "b9999"])
        assert len(shown(deep)) == 10_000

    def test_a_message_that_is_there_under_two_nodes_is_one_turn_unless_it_says_something_else(self) -> None:
        told = conversation(
            {"id": "n1", "message": message("one", key="m")},
            {"id": "n2", "message": message("one", key="m")},
            {"id": "n3", "message": message("two", key="m")},
        )

        assert [(turn.key, turn.text) for turn in said(fold(told))] == [("m", "one"), ("m#2", "two")]


class TestTurns:
    def test_a_message_is_a_turn_with_its_id_time_and_role(self) -> None:
        turn = said(fold(chain(message("Grüezi", key="m-7", at=1_770_000_000.25))))[0]

        assert (turn.key, turn.native_ids, turn.role, turn.speaker) == ("m-7", ("m-7",), "user", None)
        assert (turn.at, turn.text) == ("2026-02-02T02:40:00.250000+00:00", "Grüezi")

    @pytest.mark.parametrize(
        ("at", "expected"),
        [
            ("1770000000.5", "2026-02-02T02:40:00.500000+00:00"),
            ("2026-02-02T02:40:00Z", "2026-02-02T02:40:00Z"),
            ("2026-02-02T02:40:00", "2026-02-02T02:40:00"),
            (1_770_000_000_000, "2026-02-02T02:40:00+00:00"),
            ("yesterday", None),
            (None, None),
            (float("nan"), None),
            (True, None),
            ([], None),
        ],
    )
    def test_times_are_counted_or_spelled(self, at: Any, expected: str | None) -> None:
        assert said(fold(chain(message("x", at=at))))[0].at == expected

    def test_the_title_is_a_turn_and_the_conversations_title(self) -> None:
        folded = fold(chain(message("x"), title="Sowing beans"))
        first = folded.turns[0]

        assert folded.title == "Sowing beans"
        assert (first.role, [(part.type, part.text) for part in first.parts]) == (
            "system",
            [("notice", "Sowing beans")],
        )

    @pytest.mark.parametrize("title", [None, "", 7])
    def test_a_conversation_may_have_no_title(self, title: Any) -> None:
        folded = fold(chain(message("x"), title=title))

        assert (folded.title, len(folded.turns)) == (None, 1)

    def test_each_part_of_a_text_stays_as_it_is(self) -> None:
        assert parts([" one\r\n", "", "two \u2028 \ud800"]) == [
            ("text", " one\r\n"),
            ("text", "two \u2028 \ud800"),
        ]

    def test_what_the_model_asks_of_a_tool_is_a_call_with_the_tools_name(self) -> None:
        code = {"content_type": "code", "language": "python", "text": "print('\\n')"}

        assert parts(code, role="assistant", recipient="python") == [("tool_call", "python\nprint('\\n')")]
        assert parts('{"q":"frost"}', role="assistant", recipient="web.run") == [
            ("tool_call", "web.run\nq: frost")
        ]
        assert parts("plain", role="assistant", recipient="all") == [("text", "plain")]

    def test_a_document_in_a_canvas_is_found_as_it_reads(self) -> None:
        written = json.dumps({"name": "Plan", "content": 'Say "früh".\nThen rest.'})
        changed = json.dumps({"updates": [{"pattern": "a\nb", "replacement": "c\td"}]})

        assert parts(written, role="assistant", recipient="canmore.create_textdoc") == [
            ("tool_call", 'canmore.create_textdoc\nname: Plan\ncontent: Say "früh".\nThen rest.')
        ]
        assert parts(changed, role="assistant", recipient="canmore.update_textdoc") == [
            ("tool_call", "canmore.update_textdoc\nupdates.0.pattern: a\nb\nupdates.0.replacement: c\td")
        ]

    def test_a_document_that_a_person_made_in_a_canvas_is_found(self) -> None:
        canvas = {"user_created_textdocs": [{"title": "Mine", "content": "By my own hand."}, 7]}

        assert parts("See.", canvas=canvas) == [
            ("text", "See."),
            ("text", "Mine"),
            ("text", "By my own hand."),
        ]

    def test_what_a_tool_answers_is_its_result_and_the_tool_speaks(self) -> None:
        turn = said(
            fold(
                chain(
                    message({"content_type": "execution_output", "text": "42"}, role="tool", author="python")
                )
            )
        )[0]

        assert (turn.role, turn.speaker, turn.parts[0].type, turn.text) == (
            "tool",
            "python",
            "tool_result",
            "42",
        )

    @pytest.mark.parametrize(
        "hidden", [{"weight": 0.0}, {"weight": 0}, {"is_visually_hidden_from_conversation": True}]
    )
    def test_what_was_never_shown_is_a_notice_of_the_systems(self, hidden: dict[str, Any]) -> None:
        turn = said(fold(chain(message("Context", **hidden))))[0]

        assert (turn.role, turn.parts[0].type) == ("system", "notice")

    def test_custom_instructions_are_notices_wherever_they_stand(self) -> None:
        content = {
            "content_type": "user_editable_context",
            "user_profile": "I garden.",
            "user_instructions": "Be brief.",
        }
        older = {"about_user_message": "I garden.", "about_model_message": "Be brief."}
        expected = [("notice", "I garden."), ("notice", "Be brief.")]

        assert parts(content) == expected
        assert (
            parts("", role="system", is_user_system_message=True, user_context_message_data=older) == expected
        )
        assert parts(content, user_context_message_data=older) == expected

    def test_the_name_of_the_model_is_in_no_text(self) -> None:
        folded = fold(
            chain(
                message("x", role="assistant", model_slug="model-of-the-day"),
                default_model_slug="model-of-the-day",
            )
        )

        assert "model-of-the-day" not in repr(folded.turns)


class TestContents:
    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            (
                {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "C", "chunks": ["C"]}, "more"]},
                [("thinking", "S"), ("thinking", "C"), ("thinking", "more")],
            ),
            ({"content_type": "thoughts", "thoughts": [{"content": "", "chunks": ["c"]}]}, [("thinking", "c")]),
            ({"content_type": "thoughts", "parts": ["P"]}, [("thinking", "P")]),
            ({"content_type": "reasoning_recap", "content": "Thought for 3s"}, [("notice", "Thought for 3s")]),
            ({"content_type": "model_editable_context", "model_set_context": "1. Rye"}, [("notice", "1. Rye")]),
            (
                {"content_type": "tether_quote", "title": "T", "url": "u", "text": "Q"},
                [("text", "T"), ("text", "u"), ("text", "Q")],
            ),
            (
                {"content_type": "sonic_webpage", "title": "T", "text": "Page", "snippet": "Pag"},
                [("text", "T"), ("text", "Page")],
            ),
            ({"content_type": "sonic_webpage", "snippet": "S"}, [("text", "S")]),
            ({"content_type": "tether_browsing_display", "result": "R", "summary": "S"}, [("text", "R"), ("text", "S")]),
            ({"content_type": "system_error", "name": "E", "text": "failed"}, [("text", "E"), ("text", "failed")]),
            (
                {"content_type": "computer_output", "state": {"title": "Page"}, "screenshot": {"content_type": "image_asset_pointer", "size_bytes": 9}},
                [("text", "Page"), ("text", "[image 9 bytes]")],
            ),
            ("words by themselves", [("text", "words by themselves")]),
            ({"parts": ["no type"]}, [("text", "no type")]),
            ({"text": "no parts"}, [("text", "no parts")]),
            ({"content_type": "code", "text": "1+1", "result": "2"}, [("text", "1+1"), ("tool_result", "2")]),
        ],
    )  # fmt: skip
    def test_contents_are_read_by_their_type(self, content: Any, expected: list[tuple[str, str]]) -> None:
        said_in = content if isinstance(content, dict) else {"content_type": "text", "parts": [content]}

        assert parts(said_in) == expected

    def test_voices_are_read_and_recordings_are_facts(self) -> None:
        content = [
            {"content_type": "audio_transcription", "text": "Hello there", "direction": "in"},
            {"content_type": "audio_asset_pointer", "format": "wav", "size_bytes": 99},
            {"content_type": "real_time_user_audio_video_asset_pointer", "frames_asset_pointers": []},
        ]

        assert parts(content, kind="multimodal_text") == [
            ("text", "Hello there"),
            ("text", "[audio wav, 99 bytes]"),
            ("text", "[audio and video]"),
        ]

    def test_pictures_are_facts_with_what_they_were_asked_for(self) -> None:
        picture = {
            "content_type": "image_asset_pointer",
            "asset_pointer": "sediment://file_1",
            "size_bytes": 48029,
            "width": 1024,
            "height": 768,
            "metadata": {"dalle": {"prompt": "A hen in a hat"}},
        }

        assert parts([picture], role="tool", author="dalle.text2im") == [
            ("tool_result", "[image 48029 bytes, 1024 x 768 pixels]"),
            ("tool_result", "A hen in a hat"),
        ]

    def test_a_picture_in_base64_never_comes_out(self) -> None:
        url = "data:image/png;base64," + "QUJD" * 5_000_000
        found = parts([{"content_type": "image_asset_pointer", "asset_pointer": url}, url])

        assert found == [("text", "[image]"), ("text", "[image/png 15000000 bytes]")]

    def test_files_are_facts_once(self) -> None:
        files = [
            {"id": "file-1", "name": "a.png"},
            {"id": "f2", "name": "b.txt", "mime_type": "text/plain", "size": 42},
        ]
        picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}

        assert parts([picture, "Look."], attachments=files) == [
            ("text", "[image]"),
            ("text", "Look."),
            ("text", "[file b.txt, text/plain, 42 bytes]"),
        ]

    def test_unknown_types_are_counted_and_their_words_come_out(self) -> None:
        unknown = {
            "content_type": "dream",
            "title": "T",
            "parts": ["P", {"content_type": "odd", "text": "X"}],
        }
        folded = fold(chain(message(unknown), message("y", role="ghost")))

        assert folded.unknown == {"content dream": 1, "role ghost": 1}
        assert [part.text for part in said(folded)[0].parts] == ["T", "P", "X"]


class TestShapes:
    def test_a_full_conversation_is_read_with_nothing_unknown(self) -> None:
        folded = fold(full())

        assert (folded.unknown, folded.unreadable, folded.title) == ({}, 0, "Sowing beans")
        assert [turn.key for turn in folded.turns if turn.superseded] == ["ask-old", "answer-old"]

    def test_a_list_of_messages_is_read_in_its_order(self) -> None:
        listed = {
            "id": "c",
            "title": "T",
            "messages": [message("one", key=""), message("two", role="assistant")],
        }
        nodes = {"id": "c", "linear_conversation": [{"id": "n", "message": message("one")}]}

        assert [turn.text for turn in said(fold(listed))] == ["one", "two"]
        assert [turn.text for turn in said(fold(nodes))] == ["one"]

    def test_equal_messages_of_a_list_without_ids_are_all_kept(self) -> None:
        same = {"author": {"role": "user"}, "content": {"parts": ["ok"]}}
        folded = fold({"id": "c", "messages": [same, same]})

        assert [turn.text for turn in said(folded)] == ["ok", "ok"]

    def test_a_capture_of_a_browser_is_the_conversation_within(self) -> None:
        captured = {"session": {"provider": "chatgpt", "title": "Seen"}, "raw_provider_payload": full()}

        assert fold(captured).turns == fold(full()).turns
        assert identity(captured) == identity(full())

    def test_a_capture_without_the_sites_own_words_is_what_was_seen(self) -> None:
        turns = [
            {"provider_turn_id": "t1", "role": "user", "text": "Hi", "timestamp": "2026-01-01T00:00:00Z"}
        ]
        captured = {
            "session": {"provider": "chatgpt", "provider_session_id": "c-9", "title": "Seen", "turns": turns}
        }
        folded = fold(captured)

        assert [(turn.key, turn.text) for turn in said(folded)] == [("t1", "Hi")]
        assert (folded.title, identity(captured), confidence(captured)) == ("Seen", "c-9", 1.0)

    def test_a_document_of_a_canvas_may_stand_by_itself(self) -> None:
        document = {
            "id": "t-1",
            "title": "Plan",
            "textdoc_type": "document",
            "content": "Dig.",
            "updated_at": "2026-01-01T00:00:00Z",
        }
        folded = fold(document)

        assert [(turn.role, turn.text) for turn in folded.turns] == [
            ("system", "Plan"),
            ("assistant", "Dig."),
        ]
        assert (confidence(document), identity(document)) == (1.0, "textdoc/t-1")


def identity(told: Any) -> str | None:
    found = chatgpt.identify([json.dumps(told)], "conversations.json")
    return found.key if found else None


class TestIdentity:
    def test_a_conversation_is_its_own_id(self) -> None:
        found = chatgpt.identify([json.dumps(conversation(key="c-5") | {"update_time": "1770000000"})], "x")

        assert found is not None
        assert (found.session, found.key, found.updated) == ("c-5", "c-5", "2026-02-02T02:40:00+00:00")

    @pytest.mark.parametrize(
        "fields", [{"id": "c"}, {"conversation_id": "c"}, {"id": "other", "conversation_id": "c"}]
    )
    def test_either_id_will_do_and_the_conversations_comes_first(self, fields: dict[str, Any]) -> None:
        assert identity({"mapping": {}} | fields) == "c"

    def test_without_an_id_it_is_what_began_it(self) -> None:
        def named(*words: str, **fields: Any) -> str | None:
            told = chain(*map(message, words), **fields)
            return identity({key: value for key, value in told.items() if "id" not in key})

        assert named("Hello") == named("Hello", "and more", title="Renamed", update_time=BEGAN_S + 9)
        assert len({named("Hello"), named("Bye"), named("Hello", create_time=1)}) == 3
        assert named() is None

    @pytest.mark.parametrize("line", ["", "x", "[]", "7", "null", "[" * 100_000])
    def test_what_is_no_conversation_is_nobody(self, line: str) -> None:
        assert chatgpt.identify([line], "x") is None


class TestRecognition:
    @pytest.mark.parametrize(
        "value",
        [
            [full()],
            full(),
            {"conversations": [full()]},
            {"raw_provider_payload": full()},
            [{"id": "c", "mapping": {"m": {"parent": None, "message": {"author": {"role": "user"}, "content": {"parts": ["x"]}}}}}],
            [{"title": "Empty", "create_time": 1.0, "mapping": {}}],
        ],
    )  # fmt: skip
    def test_exports_and_single_conversations_are_recognised(self, value: object) -> None:
        assert confidence(value) == 1.0

    def test_a_conversation_of_which_the_tree_is_cut_off_is_recognised(self) -> None:
        before = {"gizmo_id": None, "plugin_ids": None, "safe_urls": ["https://x.example"] * 9_000}
        without_tree = json.dumps([before | full()])[:65_536]
        within_text = json.dumps([chain(message("x" * 100_000))])[:65_536]

        assert "mapping" not in without_tree
        assert chatgpt.recognise(Head.of(without_tree, "x")).confidence == 1.0
        assert chatgpt.recognise(Head.of(within_text, "x")).confidence == 1.0

    @pytest.mark.parametrize(
        "value",
        [
            [],
            {},
            {"name": "package", "version": "1.0.0", "dependencies": {}},
            {"type": "FeatureCollection", "features": [{"type": "Feature"}]},
            {"cells": [{"cell_type": "code"}], "nbformat": 4},
            {"mapping": {"properties": {"title": {"type": "text"}}}},
            {"mappings": "AAAA", "sources": []},
            [{"id": "c-1", "conversation_id": "c-1", "title": "Shared", "is_anonymous": True}],
            {"messages": [{"role": "user", "content": "Hi"}]},
            {"messages": [{"id": 1, "author": {"name": "x"}, "content": "Hi"}]},
            [{"uuid": "u", "name": "n", "chat_messages": []}],
            [{"id": "user-1", "email": "made-up@example.invalid"}],
        ],
    )
    def test_other_json_is_not(self, value: object) -> None:
        assert confidence(value) == 0.0


ATOMS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
KEYS = st.sampled_from(
    ["mapping", "message", "author", "role", "content", "content_type", "parts", "text", "thoughts", "parent", "children",
     "metadata", "attachments", "recipient", "weight", "create_time", "title", "id", "current_node", "a", "b",
     "raw_provider_payload", "session", "messages", "dalle", "user_context_message_data", "canvas"]
)  # fmt: skip
JSON = st.recursive(
    ATOMS
    | st.sampled_from(["user", "assistant", "tool", "code", "thoughts", "multimodal_text", "a", "b", "all"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(KEYS, JSON, max_size=8))
def test_whatever_stands_there_nothing_raises(told: dict[str, Any]) -> None:
    line = json.dumps(told)

    first, second = chatgpt.fold(None, [line]), chatgpt.fold(None, [line])
    chatgpt.identify([line], "x")
    chatgpt.recognise(Head.of(line, "x"))
    assert first == second
    assert all(count > 0 for count in (first.unknown or {}).values())
    assert len({turn.key for turn in first.turns}) == len(first.turns)


@given(
    st.lists(
        st.tuples(
            st.integers(-1, 12), st.text(min_size=1), st.sampled_from(["user", "assistant", "tool", "system"])
        ),
        max_size=12,
    ),
    st.integers(0, 14),
)
def test_every_text_comes_out_once_whatever_the_tree_is(
    drawn: list[tuple[int, str, str]], current: int
) -> None:
    nodes = [
        node(f"n{n}", None if parent < 0 else f"n{parent}", [], message(text, role=role))
        for n, (parent, text, role) in enumerate(drawn)
    ]
    told = conversation(*nodes, current=f"n{current}") if nodes else conversation(node("r", None))
    turns = said(fold(told))

    assert sorted(turn.text for turn in turns) == sorted(text for _, text, _ in drawn)
    assert not drawn or any(not turn.superseded for turn in turns)


@pytest.mark.parametrize("line", ["", "  ", "\ufeff"])
def test_blank_lines_are_nothing(line: str) -> None:
    assert fold(line).unreadable == 0


@pytest.mark.parametrize("line", ["x", "[1]", '{"mapping": {"a"', "[" * 100_000])
def test_what_is_no_json_object_is_counted(line: str) -> None:
    assert fold(line).unreadable == 1


def test_json_that_is_nested_deeply_is_read_as_far_as_it_goes() -> None:
    inner = '{"content_type":"multimodal_text","parts":["deep",' * 300 + '"end"' + "]}" * 300
    told = json.dumps(chain(message("PLACE"))).replace('{"content_type": "text", "parts": ["PLACE"]}', inner)
    folded = fold(told)

    assert "end" in "".join(turn.text for turn in folded.turns)


@needs_samples
def test_the_samples_are_read_with_nothing_unreadable() -> None:
    paths = sorted((TRANSCRIPTS / "chatgpt").glob("*.json"))
    for path in paths:
        value = json.loads(path.read_bytes())
        for told in value if isinstance(value, list) else [value]:
            folded = fold(told)
            assert (folded.turns != (), folded.unreadable) == (True, 0), path.name
            assert all(kind.startswith("content synthetic-") for kind in folded.unknown or {}), path.name
    assert paths
