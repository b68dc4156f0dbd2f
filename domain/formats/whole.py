"""Whole conversations: the turns of one that is written anew at each capture, collected in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from chronofile.domain.turns import Folded, Turn


@dataclass(slots=True)
class Conversation:
    """What the records of one conversation come to. A turn without text is none."""

    turns: dict[str, Turn] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    title: str | None = None
    _met: dict[str, set[Turn]] = field(default_factory=dict)
    """By key, the turns that came with it, where they are several."""
    _numbers: dict[str, int] = field(default_factory=dict)
    """By key, the last number that one of them got."""

    def add(self, turn: Turn) -> None:
        """Add a turn; one whose key is taken, and that is another, gets a longer one, so that nothing is lost."""
        if not any(part.text for part in turn.parts):
            return
        first = self.turns.get(turn.key)
        if first is None:
            self.turns[turn.key] = turn
            return
        met = self._met.setdefault(turn.key, {first})
        if turn in met:
            return
        met.add(turn)
        number = self._numbers.get(turn.key, 1) + 1
        while (key := f"{turn.key}#{number}") in self.turns:
            number += 1
        self._numbers[turn.key] = number
        self.turns[key] = replace(turn, key=key)

    def folded(self) -> Folded:
        return Folded(
            turns=tuple(self.turns.values()),
            state={},
            unknown=dict(self.unknown),
            unreadable=self.unreadable,
            title=self.title,
        )
