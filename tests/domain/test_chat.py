"""Chats as text: who speaks is told by labels, and what is no chat for certain is none."""

from __future__ import annotations

import sysconfig
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import CONFIDENCE_MIN, chat
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Turn
from tests.samples import chat as sample

ROOT = Path(__file__).resolve().parents[2]


def turns_of(text: str) -> tuple[Turn, ...]:
    return chat.fold(None, text.split("\n")).turns


def said(text: str) -> list[tuple[str, str | None, str | None, str]]:
    return [(turn.role, turn.speaker, turn.at, turn.text) for turn in turns_of(text)]


def is_chat(text: str, name: str = "x.txt") -> bool:
    found = chat.recognise(Head.of(text, name))
    assert found.layout == "text"
    return found.confidence >= CONFIDENCE_MIN


def test_headings_with_times_label_turns_and_a_preamble_is_the_systems() -> None:
    turns = turns_of(sample.TEXT)

    assert is_chat(sample.TEXT, "x.md")
    assert [(turn.role, turn.speaker, turn.at) for turn in turns] == [
        ("system", None, None),
        ("user", None, "2026-01-02 10:00"),
        ("assistant", "Claude", "2026-01-02 10:01"),
        ("user", None, "2026-01-02 10:05"),
        ("assistant", "Claude", "2026-01-02 10:06"),
    ]
    assert turns[0].text == "# Hyacinths on the balcony\n\nCopied from the browser, January 2026."
    assert turns[0].parts[0].type == "notice"
    assert turns[1].text == "When do I plant hyacinths?\nMy balcony faces north. 🌱"
    assert "User: this line is part of the answer" in turns[2].text
    assert chat.fold(None, sample.TEXT.split("\n")).title == "Hyacinths on the balcony"


PLAIN = [("user", None, None, "Hi"), ("assistant", None, None, "Hello\n\nagain"), ("user", None, None, "Bye")]


@pytest.mark.parametrize(
    "text",
    [
        "User: Hi\nAssistant: Hello\n\nagain\nUser: Bye\n",
        "Human: Hi\n\nAI: Hello\n\nagain\n\nHuman: Bye",
        "user: Hi\nassistant: Hello\n\nagain\nuser: Bye\n",
        "**You:** Hi\n\n**Assistant:** Hello\n\nagain\n\n**You:** Bye\n",
        "**User**:\nHi\n\n**Assistant**:\nHello\n\nagain\n\n**User**:\nBye\n",
        "## You\n\nHi\n\n## Assistant\n\nHello\n\nagain\n\n## You\n\nBye\n",
        "### 🧑 User:\n\nHi\n\n### 🤖 Assistant:\n\nHello\n\nagain\n\n### 🧑 User:\n\nBye\n",
        "**You said:**\n\nHi\n\n**Assistant said:**\n\nHello\n\nagain\n\n**You said:**\n\nBye\n",
        "👤 User: Hi\n🤖 Assistant: Hello\n\nagain\n👤 User: Bye\n",
        "## Prompt:\nHi\n\n## Response:\nHello\n\nagain\n\n## Prompt:\nBye\n",
        "_**User**_\n\nHi\n\n---\n\n_**Agent**_\n\nHello\n\nagain\n\n---\n\n_**User**_\n\nBye\n",
        "User: Hi\r\nAssistant: Hello\n\nagain\r\nUser: Bye\r\n",
    ],
)
def test_labels_are_written_in_many_ways(text: str) -> None:
    assert is_chat(text)
    assert said(text) == PLAIN


def test_a_copied_page_says_who_said_it() -> None:
    text = (
        "You said:\nHow deep?\nChatGPT said:\nTen centimetres.\nYou said:\nThanks\nChatGPT said:\nGladly.\n"
    )

    assert is_chat(text)
    assert is_chat("> " + text.replace("\nYou said", "\n> You said"))
    assert said(text)[:2] == [
        ("user", None, None, "How deep?"),
        ("assistant", "ChatGPT", None, "Ten centimetres."),
    ]


def test_a_name_is_a_label_where_the_other_speaker_is_known() -> None:
    text = "Ada: Hi\nClaude: Hello\nNote: not a speaker\nAda: Bye\nClaude: Bye, Ada\n"

    assert is_chat(text)
    assert said(text) == [
        ("user", "Ada", None, "Hi"),
        ("assistant", "Claude", None, "Hello\nNote: not a speaker"),
        ("user", "Ada", None, "Bye"),
        ("assistant", "Claude", None, "Bye, Ada"),
    ]


def test_a_model_in_the_label_is_the_speaker() -> None:
    text = (
        "_**User (2026-05-10 09:00:00Z)**_\n\nHi\n\n---\n\n_**Agent (made-up-1 2026-05-10 09:00:05Z)**_\n\nHello\n"
        "\n---\n\n_**User (2026-05-10 09:01:00Z)**_\n\nBye\n"
    )
    assert said(text) == [
        ("user", None, "2026-05-10 09:00:00Z", "Hi"),
        ("assistant", "made-up-1", "2026-05-10 09:00:05Z", "Hello"),
        ("user", None, "2026-05-10 09:01:00Z", "Bye"),
    ]


def test_messenger_exports_of_both_kinds_are_read() -> None:
    ios = "[13/05/2023, 10:11:12] Ada: One\n[13/05/2023, 10:11:13] Bob B.: Two\nlines\n[14/05/2023, 10:11:12] Ada: Three"
    android = (
        "5/13/23, 10:11\u202fPM - Messages are encrypted.\n5/13/23, 10:11\u202fPM - Ada: One\n"
        "5/13/23, 10:12\u202fPM - Bob: Two\n5/14/23, 12:01\u202fAM - Ada: Three: 3\n"
    )
    assert is_chat(ios)
    assert is_chat(android)
    assert said(ios) == [
        ("user", "Ada", "2023-05-13T10:11:12", "One"),
        ("user", "Bob B.", "2023-05-13T10:11:13", "Two\nlines"),
        ("user", "Ada", "2023-05-14T10:11:12", "Three"),
    ]
    assert said(android) == [
        ("system", None, "2023-05-13T22:11:00", "Messages are encrypted."),
        ("user", "Ada", "2023-05-13T22:11:00", "One"),
        ("user", "Bob", "2023-05-13T22:12:00", "Two"),
        ("user", "Ada", "2023-05-14T00:01:00", "Three: 3"),
    ]


def test_chats_saved_from_a_meeting_or_copied_from_a_messenger_are_read() -> None:
    meeting = "10:11:12 From Ada to Everyone:\n\tHi\n10:12:00 From Bob B. : Hello\n10:13:00 From Ada to Bob B.: Bye\n"
    copied = (
        "Ada, [13.05.2023 10:11]\nHi\n\nBob B., [13.05.2023 10:12]\nHello\n\nAda, [13.05.2023 10:13]\nBye\n"
    )

    for text in (meeting, copied):
        assert is_chat(text)
        assert [(turn.speaker, turn.text.strip()) for turn in turns_of(text)] == [
            ("Ada", "Hi"), ("Bob B.", "Hello"), ("Ada", "Bye"),
        ]  # fmt: skip
    assert turns_of(copied)[0].at == "2023-05-13T10:11:00"
    assert turns_of(meeting)[0].at is None


@pytest.mark.parametrize(
    ("dates", "times"),
    [
        (("01/02/2023", "05/02/2023", "13/02/2023"), "2023-02-01T10:11:00"),
        (("02/01/2023", "02/05/2023", "02/13/2023"), "2023-02-01T10:11:00"),
        (("01.02.23", "02.02.23", "03.02.23"), "2023-02-01T10:11:00"),
        (("2023-02-01", "2023-02-02", "2023-02-03"), "2023-02-01 10:11"),
        (("01/02/2023", "02/02/2023", "01/03/2023"), "2023-02-01T10:11:00"),
        (("01/02/2023", "02/03/2023", "03/04/2023"), None),
        (("99/99/2023", "02/03/2023", "03/04/2023"), None),
    ],
)
def test_day_and_month_are_told_apart_by_the_whole_file_or_not_at_all(
    dates: tuple[str, ...], times: str | None
) -> None:
    lines = [f"{date}, 10:11 - {who}: Hi" for date, who in zip(dates, ("Ada", "Bob", "Ada"), strict=True)]

    assert is_chat("\n".join(lines))
    assert turns_of("\n".join(lines))[0].at == times


def test_logs_of_chat_rooms_are_read() -> None:
    for text in (
        "<ada> hi\n<bob> hello\n<ada> all well?\n* bob nods\n<bob> yes\n",
        "10:11 <ada> hi\n10:12 <bob> hello\n10:13 <ada> all well?\n* bob nods\n10:14 <bob> yes\n",
        "[10:11:12] <@ada> hi\n[10:12:00] <bob> hello\n[10:13:00] <@ada> all well?\n* bob nods\n[10:14:00] <bob> yes\n",
        "[10:11] ada: hi\n[10:12] bob: hello\n[10:13] ada: all well?\n* bob nods\n[10:14] bob: yes\n",
    ):
        assert is_chat(text, "x.log")
        assert [(turn.speaker, turn.text) for turn in turns_of(text)] == [
            ("ada", "hi"), ("bob", "hello"), ("ada", "all well?\n* bob nods"), ("bob", "yes"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "User: Hi\nAssistant: Hello\n",
        "User: one\nUser: two\nUser: three\n",
        "HAMLET: To be, or not to be.\nOPHELIA: Good my lord.\nHAMLET: I humbly thank you.\nOPHELIA: My lord.\n",
        "Anna: We ship on Friday.\nBen: Fine.\nAnna: Who tests?\nBen: I do.\n",
        "user: root\nassistant: none\nmodel: x\n",
        "services:\n  user: root\n  ai: yes\nUser: x\n",
        "From: ada@example.invalid\nTo: bob@example.invalid\nSubject: Hi\n\nHello\n",
        "[2023-05-12 10:11:12] INFO: one\n[2023-05-12 10:11:13] ERROR: two\n[2023-05-12 10:11:14] INFO: three\n",
        "[12:00:01] main INFO: a\n[12:00:02] net WARN: b\n[12:00:03] main INFO: c\n[12:00:04] net WARN: d\n",
        "2023-05-12 10:11:12,123 - app - INFO - a: b\n2023-05-12 10:11:12,124 - db - INFO - a: b\n" * 3,
        "10:00 Welcome: Ada\n10:15 Talk: Bob\n11:00 Break: all\n",
        "<Multi_key> <a> : x\n<dead> <b> : y\n<Multi_key> <c> : x\n<dead> <d> : y\n",
        "# Notes\n\n## 2.0\n\n### AI\n\n* a\n\n### Gemini\n\n* b\n\n## 1.0\n\n### AI\n\n* c\n",
        "<html> x\n<body> y\n<p> z\n<div> w\n",
        "# Roles\n\n## User\n\nMay read.\n\n## Admin\n\nMay write.\n\n## Guest\n\nMay look.\n",
        "# API\n\n## User\n\nA user.\n\n## Assistant\n\nAn assistant.\n",
        "# The library\n\n" + "It does things.\n" * 200 + "\nUser: Hi\nAssistant: Hello\nUser: Bye\n",
        "# Usage\n\n```\nUser: Hi\nAssistant: Hello\nUser: Bye\n```\n",
        "**Note:** one\n\n**Warning:** two\n\n**Note:** three\n",
        "Q: What is it?\nA: A tool.\nQ: Why?\nA: Because.\n",
        "## 1.2.0\n\n- Added: x\n- Fixed: y\n\n## 1.1.0\n\n- Added: z\n",
        '"""A module."""\n\nUser: str\nAI: int\nUser: x\n' * 2 + "x" * 900_000,
    ],
)
def test_what_may_be_something_else_is_no_chat(text: str) -> None:
    assert not is_chat(text)
    assert chat.identify(text.split("\n"), "x.txt") is None


def test_code_and_configuration_are_no_chats_whatever_stands_in_them() -> None:
    chat = "User: Hi\nAssistant: Hello\nUser: Bye\n"

    assert not any(
        is_chat(chat, f"x{suffix}") for suffix in (".py", ".yaml", ".json", ".toml", ".html", ".eml")
    )
    assert all(is_chat(chat, name) for name in ("x", "x.md", "x.TXT", "chat.2026-01-02", "x.log"))


def test_a_chat_is_named_by_how_it_begins() -> None:
    text = sample.TEXT
    named = chat.identify(text.split("\n"), "/a/hyacinths.md")
    grown = chat.identify((text + "\n## User\n\nThanks!\n").split("\n"), "/b/other name.md")
    other = chat.identify(text.replace("When do", "Where do").split("\n"), "/a/hyacinths.md")

    assert named is not None
    assert grown is not None
    assert other is not None
    assert (named.session, grown.session) == ("hyacinths", "other name")
    assert named.key == grown.key != other.key
    assert named.updated == "2026-01-02 10:06"


def test_turns_keep_their_keys_when_the_chat_grows() -> None:
    chat = "User: yes\nAssistant: And?\nUser: yes\nAssistant: And then\n"
    before, after = turns_of(chat), turns_of(chat + "more\nUser: no\n")

    assert [turn.key for turn in before] == [turn.key for turn in after[:4]]
    assert len({turn.key for turn in after}) == 5
    assert [turn.text for turn in after] == ["yes", "And?", "yes", "And then\nmore", "no"]


def test_an_unclosed_fence_hides_no_labels() -> None:
    assert len(turns_of("User: Hi\n```\nAssistant: Hello\nUser: Bye\nAssistant: Bye\n")) == 4


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["User:", "Assistant:", "## You", "```", "", "<a> b", "1/2/23, 1:1 - A: b", "x"])
        | st.text()
    )
)
def test_whatever_stands_there_nothing_is_lost_and_nothing_raises(lines: list[str]) -> None:
    lines = "\n".join(lines).split("\n")
    turns = chat.fold(None, lines).turns
    chat.identify(lines, "x.md")

    there = "".join("".join(turn.text.split()) for turn in turns)
    words = "".join("".join(part.split()) for part in lines)
    # Each character of a turn's text stands in the file in the same order; only labels and layout are left out.
    at = 0
    for character in there:
        at = words.index(character, at) + 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["User", "Assistant"]), st.text("abc é\u2028:#*`<>-\n", min_size=1)),
        min_size=4,
    )
)
def test_every_text_comes_out(said_by: list[tuple[str, str]]) -> None:
    lines = [line for who, text in said_by for line in (f"_**{who}**_", "", f"z{text}z", "", "---", "")]
    text = "\n".join(lines)
    speakers = {who for who, _ in said_by}
    turns = turns_of(text)

    if len(speakers) == 2 and is_chat(text):
        whole = "\n".join(turn.text for turn in turns)
        assert all(f"z{said}z" in whole for _, said in said_by)


@pytest.mark.parametrize(
    "folder", [sysconfig.get_paths()["purelib"], str(ROOT / "docs"), str(ROOT / "domain")]
)
def test_no_file_of_a_library_or_of_this_project_is_taken_for_a_chat(folder: str) -> None:
    wrong: list[str] = []
    for path in Path(folder).rglob("*"):
        if path.suffix.lower() in (".txt", ".md", ".rst", ".log", "") and path.is_file():
            head = path.read_bytes()[: 64 << 10]
            if b"\0" not in head and is_chat(head.decode("utf-8", "replace"), path.with_suffix(".txt").name):
                wrong.append(str(path))
    assert wrong == []


SPACES = " " * 200_000
SLOW = (
    f"# a{SPACES}b", f"## a{SPACES}#{SPACES}b", "#" + "#" * 200_000, f"10:00 From a to {SPACES}x", "10:00 From" + " to" * 60_000,
    f"User{SPACES}x", f"> {SPACES}x", f"a said{SPACES}x", f"01/01/2020, 10:00 - {SPACES}x", "# gpt" + " 1111" * 23 + " x",
    "gpt" + " 1111" * 11 + " x: hi", "**" + "a" * 200_000,
)  # fmt: skip


@pytest.mark.parametrize("line", SLOW, ids=range(len(SLOW)))
def test_no_line_takes_long(line: str) -> None:
    lines = ["# User", "Hi", "", "# Assistant", "Yes", line, "", "# User", "And?", "", "# Assistant", "No"]
    began = time.perf_counter()

    chat.recognise(Head.of("\n".join([line, *lines]), "x.md"))
    chat.identify(lines, "x.md")
    chat.fold(None, [line, *lines])

    assert line in "\n".join(turn.text for turn in chat.fold(None, lines).turns)
    assert time.perf_counter() - began < 5


def test_a_long_line_after_a_label_is_said_whole() -> None:
    words = "word " * 10_000 + "end  "

    assert said(f"User: {words}\nAssistant: Yes\nUser: Thanks")[0][3] == words


def test_a_heading_may_be_closed_and_have_white_space_behind_it() -> None:
    text = "# The talk ##    \n## User ##{}\nHi\n## Assistant #\nYes\n## User\nBye"
    turns = said(text.format(" " * 1_000))

    assert [(role, text) for role, _, _, text in turns][1:] == [
        ("user", "Hi"),
        ("assistant", "Yes"),
        ("user", "Bye"),
    ]
    assert chat.fold(None, text.split("\n")).title == "The talk"


def test_products_are_speakers_with_whatever_version() -> None:
    names = ["Claude Opus 4.1", "gpt-4o-mini 2024", "Gemini 2.5 Pro", "Claude Code"]
    for name in names:
        assert said(f"User: Hi\n{name}: Yes\nUser: Bye")[1][:2] == ("assistant", name)
    assert "assistant" not in [role for role, *_ in said("User: Hi\nGpt 1111 seasons: Yes\nUser: Bye")]
