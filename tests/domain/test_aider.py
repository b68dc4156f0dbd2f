"""Aider: sessions in one file, prompts, what was printed and answers, and marks that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import aider, recognise
from chronofile.domain.formats.heads import Head
from tests.domain.ranges import in_ranges, typed
from tests.samples.aider import HISTORY

START = "# aider chat started at 2026-05-06 07:08:09"
KEY = "2026-05-06T07:08:09"


def parted(text: str) -> dict[str | None, list[str]]:
    """Return the lines of each session, under None those of nobody."""
    found: dict[str | None, list[str]] = {}
    for whose, line in aider.part(text.removesuffix("\n").split("\n")):
        found.setdefault(whose[1] if whose else None, []).append(line)
    return found


def said(text: str, *ends: int) -> list[tuple[str, str]]:
    """Return what was said in a session of this text: its turns' roles and texts."""
    turns = in_ranges(aider, f"{START}\n\n{text}".split("\n"), ends).turns
    return [(turn.role, turn.text) for turn in turns.values()]


def test_a_history_is_parted_into_its_sessions() -> None:
    sessions = parted(HISTORY)

    assert list(sessions) == ["2026-05-06T07:08:09", "2026-05-06T08:00:00"]
    first, second = (in_ranges(aider, lines).turns for lines in sessions.values())
    assert [(turn.role, turn.text) for turn in first.values()] == [
        ("tool", "Aider v0.80.0\nGit repo: .git with 3 files"),
        ("user", "/add oven.py"),
        ("tool", "Added oven.py to the chat"),
        ("user", "Why does the oven beep?\n\n# It began yesterday 🍞"),
        (
            "assistant",
            (
                "It beeps since the door is open:\n\n```python\n#### not a prompt\n> not printed\n"
                '# aider chat started at 2020-01-01 00:00:00\nprint("beep")\n```\n\n\nClose it.'
            ),
        ),
        ("tool", "Tokens: 1.2k sent, 300 received."),
    ]
    assert [turn.text for turn in second.values()] == ["Aider v0.80.0", "Thanks!", "You are welcome."]


def test_turns_are_numbered_and_bear_the_time_of_their_session() -> None:
    turns = in_ranges(aider, parted(HISTORY)[KEY]).turns

    assert list(turns) == ["1", "2", "3", "4", "5", "6"]
    assert {turn.at for turn in turns.values()} == {KEY}
    assert typed(turns["1"])[0][0] == "tool_result"


def test_a_file_that_grows_only_adds_lines_to_its_sessions() -> None:
    lines = HISTORY.split("\n")
    whole = parted(HISTORY)
    for end in range(len(lines)):
        for session, part in parted("\n".join(lines[:end]) + "\n").items():
            assert whole[session][: len(part)] == part or session is None


def test_sessions_that_began_in_the_same_second_are_two() -> None:
    assert list(parted(f"{START}\n\nOne\n{START}\n\nTwo\n")) == [KEY, f"{KEY}#2"]


def test_a_time_that_no_calendar_has_is_none() -> None:
    lines = ["# aider chat started at 2026-13-45 99:00:00", "", "#### Hi  "]

    assert [turn.at for turn in in_ranges(aider, lines).turns.values()] == [None]


def test_prompts_with_a_blank_line_between_them_are_two() -> None:
    assert said("#### One  \n\n#### Two  \n#### Three  ") == [("user", "One"), ("user", "Two\nThree")]


def test_a_heading_and_a_quotation_in_an_answer_are_the_answers() -> None:
    answer = "Do this:\n\n#### Step 1\n\n> as they say\n\n# Done"

    assert said(f"#### How?  \n\n{answer}\n\n> Tokens: 3  \n") == [
        ("user", "How?"),
        ("assistant", answer),
        ("tool", "Tokens: 3"),
    ]


def test_marks_count_where_an_editor_took_the_spaces_at_the_ends_away() -> None:
    assert said("> Aider v0\n\n#### How?\n####\n#### And why?\n\nSo.\n> Tokens: 3") == [
        ("tool", "Aider v0"),
        ("user", "How?\n\nAnd why?"),
        ("assistant", "So."),
        ("tool", "Tokens: 3"),
    ]


def test_a_code_block_that_was_broken_off_ends_with_the_next_prompt() -> None:
    text = "#### Go  \n\n```python\nx = 1\n\n> ^C again to exit  \n\n#### Again  \n\nYes."

    assert said(text) == [
        ("user", "Go"),
        ("assistant", "```python\nx = 1"),
        ("tool", "^C again to exit"),
        ("user", "Again"),
        ("assistant", "Yes."),
    ]


def test_longer_fences_hold_shorter_ones() -> None:
    answer = "````markdown\n```\n#### inner\n```\n# aider chat started at 2026-01-01 00:00:00\n````"

    assert said(f"#### Go  \n\n{answer}\n") == [("user", "Go"), ("assistant", answer)]
    assert list(parted(f"{START}\n\n#### Go  \n\n{answer}\n")) == [KEY]


def test_lines_of_windows_and_an_empty_prompt_are_read() -> None:
    text = f"{START}\r\n\r\n#### One  \r\n#### Two  \r\n\r\nYes.\r\n\r\nNo.\r\n\r\n#### <blank>  \r\n"
    (lines,) = parted(text).values()
    turns = list(in_ranges(aider, lines).turns.values())

    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "One\nTwo"),
        ("assistant", "Yes.\n\nNo."),
        ("system", "<blank>"),
    ]
    assert turns[2].parts[0].type == "notice"


def test_lines_before_the_first_session_belong_to_nobody() -> None:
    assert parted(f"\n\nlost\n\n{START}\n\n#### Hi  \n") == {None: ["lost"], KEY: [START, "", "#### Hi  "]}
    assert parted("only\n\ntext\n") == {None: ["only", "text"]}


def test_a_published_chat_is_a_session() -> None:
    text = '# A chat\n\n<div class="chat-transcript" markdown="1">\n\n> $ aider\n\n#### Hi  \n\nHello.\n\n</div>\n#### Bye\n'
    sessions = parted(text)

    assert [name and name.partition("-")[0] for name in sessions] == ["chat"]
    (lines,) = sessions.values()
    turns = in_ranges(aider, lines).turns.values()
    assert [(turn.role, turn.text) for turn in turns] == [
        ("system", "# A chat"),
        ("tool", "$ aider"),
        ("user", "Hi"),
        ("assistant", "Hello."),
        ("user", "Bye"),
    ]


def test_a_history_is_recognised_by_its_content() -> None:
    for text in (HISTORY, "\ufeff" + HISTORY.lstrip(), f"trimmed\n{START}\n\n> Aider  \n\n#### Hi  \n"):
        found = recognise(Head.of(text, "notes.md"))
        assert found is not None
        assert (found[0].name, found[1]) == ("aider", "parted")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Notes\n\n#### A heading\n\n> A quotation\n",
        f"# How to\n\nA session begins so:\n\n```\n{START}\n#### Hi\n```\n\n#### More\n",
        "# 2026-01-01 10:00:00\n+/help\n",
        '{"a": "# aider chat started at 2026-05-06 07:08:09"}',
    ],
)
def test_other_texts_are_no_history(text: str) -> None:
    assert aider.recognise(Head.of(text, ".aider.chat.history.md")).confidence < 0.5


_LINES = st.sampled_from(
    ["", "  ", "#### One  ", "#### Two", "####", "####   ", "> printed  ", "> quoted", ">", "Words.", "```", "```py", "````",
     "~~~", "# Heading", "\r", "#### Three  \r", "x\u2028y", "\ud800", "#### <blank>  "]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(_LINES, max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_any_cut_into_ranges_gives_the_same_turns(lines: list[str], ends: list[int]) -> None:
    lines = [START, *lines]
    whole, cut = in_ranges(aider, lines), in_ranges(aider, lines, ends)

    assert list(cut.turns.items()) == list(whole.turns.items())
    assert cut.state == whole.state


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(_LINES, st.just(START), st.text(max_size=8)), max_size=40))
def test_every_line_comes_out_once_and_every_word_of_it(lines: list[str]) -> None:
    lines = [part for line in lines for part in line.split("\n")]
    found = list(aider.part(lines))
    sessions: dict[str, list[str]] = {}
    for whose, line in found:
        if whose is not None:
            sessions.setdefault(whose[1], []).append(line)

    assert sorted(line for line in lines if line.replace("\ufeff", "").strip()) == sorted(
        line for _, line in found if line.replace("\ufeff", "").strip()
    )
    for part in sessions.values():
        words = "".join(turn.text for turn in in_ranges(aider, part).turns.values())
        for line in part:
            assert line.lstrip("#> ").strip() in words or line.startswith(("# aider chat", "<div", "</div"))


INTERRUPTED = f"""{START}

> Aider v0.80·

#### write the walrus·

Here it is:

```python
def walrus():

^C KeyboardInterrupt

# aider chat started at 2026-05-09 11:00:00

> Aider v0.80·

#### describe the platypus·

It lays eggs.
""".replace("·", "  ")


def test_a_session_that_ended_within_a_code_block_does_not_swallow_the_next() -> None:
    sessions = parted(INTERRUPTED)

    assert list(sessions) == [KEY, "2026-05-09T11:00:00"]
    for lines in sessions.values():
        for ends in ((), range(len(lines))):
            turns = in_ranges(aider, lines, ends).turns
            assert [turn.role for turn in turns.values()] == ["tool", "user", "assistant"]
    whole, lines = sessions, INTERRUPTED.split("\n")
    for end in range(len(lines)):
        for session, part in parted("\n".join(lines[:end]) + "\n").items():
            assert whole[session or ""][: len(part)] == part


def test_a_beginning_in_a_code_block_is_none_where_aider_printed_nothing() -> None:
    block = "```\nfirst\n\n# aider chat started at 2020-01-01 00:00:00\n\nno print\n```"

    assert list(parted(f"{START}\n\n> Aider  \n\n#### Hi  \n\n{block}\n")) == [KEY]
