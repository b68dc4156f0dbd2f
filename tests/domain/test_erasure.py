"""Erased passages: known again by hashes alone, and taken out the same way as while they were known."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.erasure import MARK, SHORT_CHARS, Span, without, without_texts

PASSAGE = "The heron lands on the reservoir."


def key_of(content: bytes) -> str:
    return blake2b(content, key=b"k" * 32, digest_size=20).hexdigest()


def cut(text: str, *passages: str) -> tuple[str, int]:
    return without(text, [Span.of(passage, key_of) for passage in passages], key_of)


def test_a_passage_is_taken_out_wherever_it_stands() -> None:
    assert cut(f"a {PASSAGE} b {PASSAGE}{PASSAGE}", PASSAGE) == (f"a {MARK} b {MARK}{MARK}", 3)


def test_a_text_without_it_comes_back_as_it_is() -> None:
    assert cut("The heron stays.", PASSAGE) == ("The heron stays.", 0)
    assert cut("", PASSAGE) == ("", 0)
    assert cut(PASSAGE) == (PASSAGE, 0)


def test_line_breaks_stay_so_that_later_lines_keep_their_numbers() -> None:
    passage = "one line\nand another\nand a third one"
    assert cut(f"before\n{passage}\nafter", passage) == (f"before\n{MARK}\n\n\nafter", 1)


def test_of_two_that_begin_alike_the_longer_goes() -> None:
    assert cut(f"{PASSAGE} Always.", PASSAGE, f"{PASSAGE} Always.") == (MARK, 1)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("hunter7", MARK),
        ("say hunter7, twice hunter7.", f"say {MARK}, twice {MARK}."),
        ("hunter77 xhunter7 hunter7_ _hunter7", "hunter77 xhunter7 hunter7_ _hunter7"),
        ('{"password":"hunter7"}', f'{{"password":"{MARK}"}}'),
    ],
)
def test_a_short_one_is_left_where_it_is_part_of_a_word(text: str, left: str) -> None:
    assert cut(text, "hunter7")[0] == left
    assert without_texts(text, ["hunter7"])[0] == left


def test_a_long_one_goes_from_within_a_word_too() -> None:
    long = "x" * SHORT_CHARS
    assert cut(f"a{long}b", long) == (f"a{MARK}b", 1)


def test_a_span_is_spelled_and_read_again() -> None:
    span = Span.of(PASSAGE, key_of)
    assert Span.parsed(str(span)) == span
    assert "heron" not in str(span)


texts = st.text(st.sampled_from("ab_ \n.ä\U0001f600"), max_size=60)
passages = st.lists(st.text(st.sampled_from("ab_ .ä"), min_size=1, max_size=30), max_size=4)


@given(texts, passages)
def test_hashes_take_out_just_what_the_texts_themselves_would(text: str, gone: list[str]) -> None:
    assert cut(text, *gone) == without_texts(text, gone)


@given(texts, texts, passages)
def test_nothing_but_the_passages_goes(before: str, after: str, gone: list[str]) -> None:
    left, count = cut(f"{before}{after}", *gone)
    assert left.count("\n") == f"{before}{after}".count("\n")
    assert left.replace(MARK, "") == left if count == 0 else MARK in left
