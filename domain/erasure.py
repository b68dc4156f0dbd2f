"""Erasure: what is left of an erased passage, by which it is known again and tells nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chronofile.domain.identity import encoded

BEGINNING_CHARS = 12
"""How much of a passage its first hash is of: enough to be looked for at every place of a text."""

MARK = "[erased]"

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

    Line breaks stay, so that the lines after it keep their numbers. Every place of the text is hashed: this
    is for the few sources of which a passage was erased.
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


def _standing(text: str, at: int, spans: list[Span], key_of: KeyOf) -> Span | None:
    beginnings: dict[int, str] = {}
    for span in spans:
        if at + span.chars > len(text):
            continue
        size = min(span.chars, BEGINNING_CHARS)
        if size not in beginnings:
            beginnings[size] = key_of(encoded(text[at : at + size]))
        if beginnings[size] == span.beginning and span.whole == key_of(encoded(text[at : at + span.chars])):
            return span
    return None
