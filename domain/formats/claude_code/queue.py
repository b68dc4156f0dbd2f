"""Queued prompts of Claude Code: what was typed while the agent was at work, until a record of a turn holds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.turns import State, Turn

WAITING_MAX = 32
"""Queued prompts that may still become a turn's record; the oldest is taken for one that never will."""
_CHARS_MAX = 1_000


@dataclass(slots=True)
class Queue:
    """The beginnings of the prompts that wait, by the keys of the turns that they are meanwhile."""

    waiting: dict[str, str] = field(default_factory=dict)

    @classmethod
    def resume(cls, state: State | None) -> Queue:
        return cls() if state is None else cls(dict(state.get("queue", ())))

    def state(self) -> dict[str, Any]:
        return {"queue": [list(entry) for entry in self.waiting.items()]}

    def add(self, turn: Turn) -> None:
        self.waiting[turn.key] = turn.parts[0].text[:_CHARS_MAX]
        if len(self.waiting) > WAITING_MAX:
            del self.waiting[next(iter(self.waiting))]

    def taken(self, turns: Iterable[Turn]) -> list[str]:
        """Return the keys of the prompts that these turns hold: as their text, or as lines of one that joins several."""
        if not self.waiting:
            return []
        texts = [f"\n{part.text.strip()}\n" for turn in turns for part in turn.parts]
        found = [key for key, begin in self.waiting.items() if any(_holds(text, begin) for text in texts)]
        for key in found:
            del self.waiting[key]
        return found


def _holds(text: str, begin: str) -> bool:
    words = begin.strip()
    return f"\n{words}\n" in text or (len(begin) == _CHARS_MAX and f"\n{words}" in text)
