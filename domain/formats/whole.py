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

    def add(self, turn: Turn) -> None:
        """Add a turn; one whose key is taken, and that is another, gets a longer one, so that nothing is lost."""
        if not any(part.text for part in turn.parts):
            return
        key, number = turn.key, 1
        while key in self.turns:
            if replace(self.turns[key], key=turn.key) == turn:
                return
            number += 1
            key = f"{turn.key}#{number}"
        self.turns[key] = turn if key == turn.key else replace(turn, key=key)

    def folded(self) -> Folded:
        return Folded(
            turns=tuple(self.turns.values()),
            state={},
            unknown=dict(self.unknown),
            unreadable=self.unreadable,
            title=self.title,
        )
