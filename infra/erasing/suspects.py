"""Suspects: the turns that said an erased text, and what they and the others are to say without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from chronofile.domain.turns import Turn
from chronofile.infra.erasing.pieces import SPAN_CHARS_MIN, Pieces
from chronofile.ingest.cleaning import Remove

Shown = tuple[str, str | None, str, str | None, bool]
"""What is shown of a turn: its text, who spoke it and as what, when, and whether it was superseded."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """Which turns of a chain said one of the texts, and how a cut of them is judged.

    `allowed` are the pieces that stand in a turn beside the text, by its key. `others` is what all other turns show:
    no cut may change one.
    """

    keys: frozenset[str]
    known: frozenset[str]
    allowed: Mapping[str, Counter[str]]
    others: Counter[Shown]
    ids: frozenset[str]
    """What other turns are called by themselves."""
    pieces: Pieces
    remove: Remove

    @classmethod
    def of(
        cls, texts: Collection[str], before: Sequence[Turn], after: Sequence[Turn], remove: Remove
    ) -> Suspects:
        """Return the suspects of the turns as they were, and as they are after the texts were cut from strings."""
        pieces = Pieces.of(texts)
        beside: dict[str, str] = {}
        for turn in before:
            left, count = remove(turn.text)
            if count:
                beside[turn.key] = left
        allowed = {key: pieces.shared(left) for key, left in beside.items()}
        known = frozenset(turn.key for turn in before)
        spared = [turn for turn in after if turn.key in known and turn.key not in beside]
        others = Counter(map(_shown, spared))
        ids = frozenset(native for turn in spared for native in turn.native_ids)
        return cls(frozenset(beside), known, allowed, others, ids, pieces, remove)

    def left(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return the turns that still say one of the texts, or a piece of it that stood nowhere else in the turn."""
        return [turn for turn in turns if self.remove(turn.text)[1] or self.pieces_left(turn)]

    def pieces_left(self, turn: Turn) -> set[str]:
        """Return the pieces that a turn still has of a text; none for a turn that never said it."""
        if turn.key in self.known and turn.key not in self.keys:
            return set()
        allowed = self.allowed.get(turn.key)
        if allowed is None:
            # Its key was made of what it said.
            allowed = sum(self.allowed.values(), Counter())
        return set(self.pieces.shared(turn.text) - allowed)

    def says_it(self, turn: Turn, but: Collection[str]) -> bool:
        """Tell whether a turn says a text, or a long line of it that is none of some and that no other turn says."""
        if self.remove(turn.text)[1]:
            return True
        lines = {piece for piece in self.pieces_left(turn) if len(piece) > SPAN_CHARS_MIN}
        return any(not self.is_of_others(line) for line in lines.difference(but))

    def is_of_others(self, text: str) -> bool:
        """Tell whether another turn says a text, or is by somebody who is called so."""
        bare = text.strip()
        return self.speaks(bare) or any(bare in other for other, *_ in self.others)

    def speaks(self, name: str) -> bool:
        return any(name == speaker for _, speaker, *_ in self.others)

    def spares(self, turns: Sequence[Turn]) -> bool:
        """Tell whether every other turn still shows what it did."""
        return not self.others - Counter(map(_shown, turns))


def _shown(turn: Turn) -> Shown:
    return turn.text, turn.speaker, turn.role, turn.at, turn.superseded
