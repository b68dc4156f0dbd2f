"""Erasure: what is left of an erased passage, by which it is known again and tells nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from chronofile.domain.identity import encoded

BEGINNING_CHARS = 12
"""How much of a passage its first hash is of: enough to be looked for at every place of a text."""

MARK = "[erased]"
SHORT_CHARS = 24
"""A text shorter than this is taken out only where it is no part of a longer word, and a passage that is shorter
only of sources that have it as a passage of its own."""

KeyOf = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class Span:
    """An erased passage: its length in code points, and keyed hashes of its beginning and of all of it."""

    chars: int
    beginning: str
    whole: str

    @classmethod
    def of(cls, text: str, key_of: KeyOf) -> Span:
        return cls(len(text), key_of(encoded(text[:BEGINNING_CHARS])), key_of(encoded(text)))

    @classmethod
    def parsed(cls, spelled: str) -> Span:
        chars, beginning, whole = spelled.split(":")
        return cls(int(chars), beginning, whole)

    def __str__(self) -> str:
        """Return the span as events and tables hold it."""
        return f"{self.chars}:{self.beginning}:{self.whole}"


def without(text: str, spans: Iterable[Span], key_of: KeyOf) -> tuple[str, int]:
    """Return the text with a mark in place of each erased passage, and how many there were.

    One of fewer than SHORT_CHARS code points is left where it is only a part of a longer word. Line breaks stay,
    so that the lines after it keep their numbers. Every place of the text is hashed: this is for the few sources
    of which a passage was erased.
    """
    pieces: list[str] = []
    done = at = 0
    wanted = sorted(spans, key=lambda span: -span.chars)
    while at < len(text):
        found = _standing(text, at, wanted, key_of)
        if found is None:
            at += 1
            continue
        removed = text[at : at + found.chars]
        pieces += [text[done:at], MARK, "\n" * removed.count("\n")]
        done = at = at + found.chars
    return "".join([*pieces, text[done:]]), len(pieces) // 3


def without_texts(text: str, texts: Collection[str]) -> tuple[str, int]:
    """Return what `without` returns, for erased passages that are still known: in one pass, and much faster."""
    wanted = sorted(filter(None, texts), key=lambda one: (-len(one), one))
    if not wanted:
        return text, 0
    return re.compile("|".join(map(_pattern, wanted))).subn(_marked, text)


def _pattern(text: str) -> str:
    """Return what finds a text, as `_standing` does: a short one not within a longer word."""
    if len(text) >= SHORT_CHARS:
        return re.escape(text)
    before = r"(?<!\w)" if _is_of_a_word(text[0]) else ""
    after = r"(?!\w)" if _is_of_a_word(text[-1]) else ""
    return before + re.escape(text) + after


def _marked(found: re.Match[str]) -> str:
    return MARK + "\n" * found[0].count("\n")


def _is_of_a_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _is_within_a_word(text: str, start: int, end: int) -> bool:
    goes_on_before = start > 0 and _is_of_a_word(text[start - 1]) and _is_of_a_word(text[start])
    goes_on_after = end < len(text) and _is_of_a_word(text[end]) and _is_of_a_word(text[end - 1])
    return goes_on_before or goes_on_after


def _standing(text: str, at: int, spans: list[Span], key_of: KeyOf) -> Span | None:
    beginnings: dict[int, str] = {}
    for span in spans:
        if at + span.chars > len(text):
            continue
        size = min(span.chars, BEGINNING_CHARS)
        if size not in beginnings:
            beginnings[size] = key_of(encoded(text[at : at + size]))
        if beginnings[size] != span.beginning:
            continue
        end = at + span.chars
        is_part = span.chars < SHORT_CHARS and _is_within_a_word(text, at, end)
        if not is_part and span.whole == key_of(encoded(text[at:end])):
            return span
    return None
