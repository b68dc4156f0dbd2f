"""Pieces: what a text shares with those that are erased, as runs of characters and as whole lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

PIECE_CHARS_MIN = 4
"""A shorter piece of a text that is spread over several strings stays: it tells nothing."""
SPAN_CHARS_MIN = 12
"""A shorter piece is not looked for when its source is captured again: it would be found too often."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The runs of SPAN_CHARS_MIN characters in some texts, and their lines; those with few letters tell nothing."""

    runs: frozenset[str]
    lines: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Pieces:
        found = list(texts)
        runs = {run for text in found for run in _runs(text) if _tells(run)}
        return cls(frozenset(runs), frozenset(line for text in found for line in _lines(text)))

    def shared(self, text: str) -> Counter[str]:
        """Return the runs and the whole lines that stand in a text too, and how often each does."""
        found = Counter(run for run in _runs(text) if run in self.runs)
        found.update(line for line in _lines(text) if line in self.lines)
        return found

    def are_in(self, text: str) -> bool:
        """Tell whether a text shares anything."""
        return any(run in self.runs for run in _runs(text)) or any(
            line in self.lines for line in _lines(text)
        )


def _runs(text: str) -> Iterator[str]:
    return (text[at : at + SPAN_CHARS_MIN] for at in range(len(text) - SPAN_CHARS_MIN + 1))


def _lines(text: str) -> Iterator[str]:
    return (line for line in map(str.strip, text.split("\n")) if _tells(line))


def _tells(piece: str) -> bool:
    return sum(map(str.isalnum, piece)) >= PIECE_CHARS_MIN
