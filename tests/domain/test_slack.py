"""Slack's messages as turns: what Slack showed is the text, and all else that an export holds is kept or counted."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import recognise, slack
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Folded, Turn
from tests.samples.slack import ADA, BOB, OPS, STAMP, channel, files, message, person

USERS = {
    ADA: {"name": "ada", "real_name": "Ada Made-Up", "display_name": "ada"},
    BOB: {"real_name": "Bob Invented", "bot_id": "B7"},
}


def lines(*messages: Any, **about: Any) -> list[str]:
    first = {"channel": {"id": OPS, "name": "ops"} | about, "day": "2026-01-02"}
    named = {"users": USERS, "channels": {OPS: "ops", "C2": "lab"}}
    return [json.dumps(one) for one in (first, named, *messages)]


def folded(*messages: Any, **about: Any) -> Folded:
    return slack.fold(None, lines(*messages, **about))


def only(record: dict[str, Any]) -> Turn:
    (turn,) = folded(record).turns
    return turn


def shown(text: str) -> str:
    return only(message(text)).text


def confidence(value: Any, name: str = "x/2026-01-02.json") -> float:
    found = slack.recognise(Head.of(value if isinstance(value, str) else json.dumps(value), name))
    assert found.layout == "conversations"
    return found.confidence


def test_a_message_is_a_turn_with_its_stamp_as_id() -> None:
    turn = only(message("All is well"))

    assert (turn.key, turn.native_ids, turn.role, turn.speaker) == (STAMP, (STAMP,), "user", "Ada Made-Up")
    assert (turn.at, turn.text) == ("2026-01-02T10:00:00.000100+00:00", "All is well")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (f"<@{ADA}>: hi", "@ada: hi"),
        (f"<@{BOB}> hi", "@Bob Invented hi"),
        ("<@U0NOBODY1> and <@U0NOBODY2|carl>", "@U0NOBODY1 and @carl"),
        ("<#C1|ops> <#C2> <#C2|> <#C9>", "#ops #lab #lab #C9"),
        ("<!here> <!channel> <!everyone|@everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@crew> <!subteam^S2>", "@crew @S2"),
        ("<!date^1767348000^{date}|Jan 2>", "Jan 2"),
        ("<https://a.invalid/?x=1&amp;y=2>", "https://a.invalid/?x=1&y=2"),
        ("<https://a.invalid|here &amp; now>", "here & now (https://a.invalid)"),
        ("<http://a.invalid|a.invalid> <mailto:a@b.invalid|a@b.invalid>", "a.invalid a@b.invalid"),
        (
            "1 &lt; 2 &gt; 0 &amp;amp; <not a link> *bold* :smile:",
            "1 < 2 > 0 &amp; <not a link> *bold* :smile:",
        ),
        ("a < b <", "a < b <"),
    ],
)
def test_the_text_is_what_slack_showed(text: str, seen: str) -> None:
    assert shown(text) == seen


def test_replies_stand_after_the_message_that_they_answer() -> None:
    at = [f"176734800{n}.000100" for n in range(5)]
    found = folded(
        message("Question", at[0], thread_ts=at[0], reply_count=2),
        message("Else", at[1]),
        message("Answer", at[2], thread_ts=at[0]),
        message("To an older one", at[3], thread_ts="1700000000.000100"),
        message("Also in channel", at[4], thread_ts=at[0], subtype="thread_broadcast"),
    )
    assert [turn.text for turn in found.turns] == [
        "Question", "Answer", "Also in channel", "Else", "To an older one",
    ]  # fmt: skip
    assert found.unknown == {}


def test_an_edited_message_keeps_its_first_time() -> None:
    turn = only(message("Better", edited={"user": ADA, "ts": "1767349999.000000"}))

    assert (turn.at, turn.text) == ("2026-01-02T10:00:00.000100+00:00", "Better")


@pytest.mark.parametrize(
    "subtype", ["channel_join", "channel_topic", "tombstone", "pinned_item", "huddle_thread"]
)
def test_what_slack_wrote_itself_is_a_notice(subtype: str) -> None:
    turn = only(message("has joined", subtype=subtype))

    assert (turn.role, [part.type for part in turn.parts]) == ("system", ["notice"])


def test_bots_are_tools_and_speak_in_attachments() -> None:
    found = folded(
        {
            "type": "message", "subtype": "bot_message", "username": "ci", "bot_id": "B1", "text": "", "ts": STAMP,
            "attachments": [
                {"pretext": "Build 7", "title": "Log", "title_link": "https://a.invalid", "text": "All *green*",
                 "fields": [{"title": "Branch", "value": "main"}], "footer": "took 2 s", "fallback": "no"},
                {"fallback": "Only this"},
            ],
        },
        {"type": "message", "bot_id": "B7", "text": "By its user", "ts": "1767348001.000100"},
        {"type": "message", "bot_id": "B8", "bot_profile": {"name": "Helper"}, "text": "x", "ts": "1767348002.000100"},
        {"type": "message", "bot_id": "B9", "text": "y", "ts": "1767348003.000100"},
    )  # fmt: skip
    assert [(turn.role, turn.speaker) for turn in found.turns] == [
        ("tool", "ci"), ("tool", "Bob Invented"), ("tool", "Helper"), ("tool", "B9"),
    ]  # fmt: skip
    assert [part.text for part in found.turns[0].parts] == [
        "Build 7", "Log (https://a.invalid)", "All *green*", "Branch", "main", "took 2 s", "Only this",
    ]  # fmt: skip


def test_what_a_link_leads_to_is_a_notice_and_a_shared_message_is_text() -> None:
    turn = only(
        message(
            "<https://a.invalid>",
            attachments=[
                {"from_url": "https://a.invalid", "title": "A page", "text": "About it"},
                {
                    "from_url": "https://x.slack.invalid",
                    "is_share": True,
                    "author_name": "Bob",
                    "text": "Said before",
                },
            ],
        )
    )
    assert [(part.type, part.text) for part in turn.parts] == [
        ("text", "https://a.invalid"), ("notice", "A page"), ("notice", "About it"), ("text", "Bob"),
        ("text", "Said before"),
    ]  # fmt: skip


def test_files_are_a_short_fact_and_their_text_a_part() -> None:
    turn = only(
        message(
            "Here",
            files=[
                {
                    "name": "a.png",
                    "mimetype": "image/png",
                    "size": 123,
                    "title": "A cat",
                    "alt_txt": "a cat asleep",
                },
                {
                    "name": "n.txt",
                    "filetype": "text",
                    "preview": "first line",
                    "plain_text": "first line\nsecond",
                },
                {"mode": "tombstone", "name": None, "title": "This file was deleted."},
                {
                    "name": "v.mp4",
                    "transcription": {"status": "complete", "preview": {"content": "hello there"}},
                },
            ],
        )
    )
    assert [part.text for part in turn.parts] == [
        "Here", "[file a.png, image/png, 123 bytes]", "A cat", "a cat asleep", "[file n.txt, text]",
        "first line\nsecond", "[file This file was deleted., deleted]", "[file v.mp4]", "hello there",
    ]  # fmt: skip


RICH = {
    "type": "rich_text",
    "elements": [
        {
            "type": "rich_text_section",
            "elements": [
                {"type": "text", "text": "Ask "}, {"type": "user", "user_id": ADA}, {"type": "text", "text": " in "},
                {"type": "channel", "channel_id": OPS}, {"type": "emoji", "name": "wave"},
                {"type": "link", "url": "https://a.invalid", "text": "there"},
            ],
        },
        {
            "type": "rich_text_list", "style": "ordered",
            "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": t}]} for t in "ab"],
        },
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "x = 1"}]},
    ],
}  # fmt: skip


def test_rich_text_is_read_where_the_text_is_empty() -> None:
    assert only(message("", blocks=[RICH])).text == (
        "Ask @ada in #ops:wave:there (https://a.invalid)\n1. a\n2. b\nx = 1"
    )
    assert only(message("Ask", blocks=[RICH])).text == "Ask"


def test_other_blocks_add_what_the_text_does_not_say() -> None:
    found = folded(
        message(
            "Alert: disk full",
            blocks=[
                {"type": "header", "text": {"type": "plain_text", "text": "Alert"}},
                {"type": "section", "text": {"type": "mrkdwn", "text": f"*disk* full on <@{ADA}>"},
                 "fields": [{"type": "mrkdwn", "text": "Host: h1"}]},
                {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Mute"}}]},
                {"type": "divider"},
                {"type": "hologram", "text": "made of light"},
            ],
        )
    )  # fmt: skip
    assert [part.text for part in found.turns[0].parts] == [
        "Alert: disk full", "Alert", "*disk* full on @ada", "Host: h1", "Mute", "made of light",
    ]  # fmt: skip
    assert found.unknown == {"block hologram": 1}


def test_what_was_edited_or_deleted_is_kept_as_superseded_where_an_export_has_it() -> None:
    found = folded(
        message("Now", STAMP),
        {
            "type": "message", "subtype": "message_changed", "ts": "1767348500.000100",
            "message": message("Now"), "previous_message": message("Before"),
        },
        {
            "type": "message", "subtype": "message_deleted", "ts": "1767348600.000100",
            "previous_message": message("Gone", "1767348400.000100"),
        },
    )  # fmt: skip
    assert [(turn.text, turn.superseded) for turn in found.turns] == [
        ("Now", False), ("Before", True), ("Gone", True),
    ]  # fmt: skip
    assert len({turn.key for turn in found.turns}) == 3


def test_the_title_is_the_channels_name_or_who_talks_with_each_other() -> None:
    assert folded(message("x")).title == "ops"
    assert folded(message("x"), id="D1", name=None, members=[ADA, BOB]).title == "Ada Made-Up, Bob Invented"
    assert folded(message("x"), name="mpdm-a--b-1", members=[ADA, "U0X"]).title == "Ada Made-Up, U0X"


def test_what_is_said_of_a_channel_is_a_turn_of_its_first_day() -> None:
    whole = channel(is_whole=True)
    turn = folded(message("x"), **whole).turns[0]

    assert (turn.role, turn.key.partition(":")[0]) == ("system", "title")
    assert [part.text for part in turn.parts] == ["ops", "Ask @Bob Invented & wait", "Keeping things up"]


def test_unknown_types_are_counted_and_their_text_is_kept() -> None:
    found = folded(
        message("a", subtype="telepathy"),
        message("b", "1767348001.000100", type="dream"),
        message("c", None),  # type: ignore[arg-type]
        7,
        [],
    )
    assert [turn.text for turn in found.turns] == ["a", "b", "c"]
    assert found.unknown == {"subtype telepathy": 1, "type dream": 1, "message without a time": 1}
    assert found.unreadable == 2


def test_who_nobody_knows_speaks_by_the_id_or_by_what_the_message_says() -> None:
    assert only(message("x", user="U0GONE001")).speaker == "U0GONE001"
    assert (
        only(message("x", user="U0GONE001", user_profile={"real_name": "Cy Made-Up"})).speaker == "Cy Made-Up"
    )
    assert only(message("x", user=None, username="import")).speaker == "import"


def test_a_day_is_named_by_its_channels_id_and_the_day() -> None:
    found = slack.identify(lines(message("a"), message("b", "1767348060.000000")), "ops/2026-01-02.json")
    edited = slack.identify(lines(message("a", edited={"ts": "1767349000.000000"})), "elsewhere.json")
    nameless = slack.identify([json.dumps({"channel": {"name": "ops"}, "team": "T1", "day": "d"})], "")

    assert found is not None
    assert edited is not None
    assert nameless is not None
    assert (found.session, found.key, found.updated) == (
        OPS,
        f"{OPS}/2026-01-02",
        "2026-01-02T10:01:00+00:00",
    )
    assert (edited.key, edited.updated) == (found.key, "2026-01-02T10:16:40+00:00")
    assert (nameless.session, nameless.key) == ("T1:ops", "T1:ops/d")
    assert slack.identify([], "") is None
    assert slack.identify([json.dumps(message("a"))], "") is not None


def test_days_and_lists_of_an_export_are_recognised_by_what_stands_in_them() -> None:
    for name, value in files().items():
        assert confidence(value, f"/e/{name}") >= 0.5
    assert confidence([message("x" * 70_000)]) == 1.0
    assert confidence(json.dumps([message("a"), message("x" * 70_000)])[: 64 << 10]) == 1.0
    assert confidence([message("a"), {"type": "message", "text": "no time", "user": ADA}]) == 1.0


@pytest.mark.parametrize(
    "value",
    [
        {}, [], [1, 2], "x", "[", [{"type": "message", "text": "x"}], [{"type": "event", "ts": "1700000000.5"}],
        [{"id": 1, "name": "a"}], [{"role": "user", "content": "x"}], {"messages": [{"type": "message"}]},
        [{"type": "Feature", "geometry": {}}], [{"uuid": "u", "full_name": "Ada", "email_address": "a@b.invalid"}],
    ],
)  # fmt: skip
def test_other_json_is_not_slacks(value: Any) -> None:
    assert confidence(value) == 0.0
    assert confidence(value, "/x/users.json") <= 0.5
    found = recognise(Head.of(json.dumps(value), "x.json"))
    assert found is None or found[0].name != "slack"


def test_people_of_other_tools_are_no_people_of_slack() -> None:
    assert confidence([{"uuid": "u", "full_name": "Ada"}], "/x/users.json") == 0.0
    assert confidence([{"id": 7, "profile": {}}], "/x/users.json") == 0.0
    assert confidence([person(ADA, "Ada", "ada")], "/x/other.json") == 0.0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "ts", "user", "subtype", "thread_ts", "blocks", "attachments", "files", "file", "comment", "edited", "room",
    "bot_id", "bot_profile", "user_profile", "username", "message", "previous_message", "channel", "users", "members",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(min_size=1), st.dictionaries(st.sampled_from(FIELDS), JSON)), max_size=6))
def test_whatever_stands_there_nothing_raises_and_every_text_comes_out(said: list[tuple[str, Any]]) -> None:
    kept = [(text, fields) for text, fields in said if fields.get("subtype") != "message_replied"]
    records = [
        {
            "type": "message",
            "text": f"z{text}z".translate({60: None, 38: None}),
            "ts": f"17673480{n:02}.000100",
        }
        | fields
        for n, (text, fields) in enumerate(kept)
    ]
    found = slack.fold(None, lines(*records))
    slack.identify(lines(*records), "x")

    whole = "\n".join(part.text for turn in found.turns for part in turn.parts)
    is_context = [
        isinstance(one.get("channel"), dict) or isinstance(one.get("users"), dict) for one in records
    ]
    # json.dumps and json.loads change nothing of a string, surrogates included.
    assert all(
        one["text"] in whole
        for one, is_it in zip(records, is_context, strict=True)
        if not is_it or "ts" in one
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text() | st.builds(json.dumps, JSON)))
def test_lines_that_are_anything_do_not_raise(found: list[str]) -> None:
    slack.fold(None, found)
    slack.identify(found, "x")


def test_of_blocks_that_are_nested_without_end_the_text_is_kept() -> None:
    deep = '{"type": "section", "elements": [' * 300 + "]}" * 300
    line = json.dumps(message("deep", blocks="?")).replace('"?"', f"[{deep}]")
    found = slack.fold(None, [*lines(message("first", "1767348001.000100")), line])

    assert [turn.text for turn in found.turns] == ["first", "deep"]
    assert found.unknown in ({}, {"nested too deeply": 1})


def test_a_day_whose_messages_share_a_stamp_is_read_once() -> None:
    began = time.perf_counter()

    found = folded(*(message(f"Word {n}") for n in range(5_000)), message("Word 7"))

    assert [turn.text for turn in found.turns] == [f"Word {n}" for n in range(5_000)]
    assert [turn.key for turn in found.turns[:3]] == [STAMP, f"{STAMP}#2", f"{STAMP}#3"]
    assert time.perf_counter() - began < 5
