"""Standing: which messages of a growing conversation hold, so that a rewind finds what it took back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chronofile.domain.turns import Turn

MESSAGES_MAX = 2_000
"""Messages that are remembered; of those before them a rewind takes nothing back."""


@dataclass(frozen=True, slots=True)
class Stood:
    """A message that holds: the keys of its turns, and a mark of what it says."""

    keys: tuple[str, ...]
    mark: str = ""


@dataclass(slots=True)
class Standing:
    """The messages of a conversation that hold, by their ids in order, and this range's turns by key.

    `taken_back` are keys of turns of earlier ranges that do not hold any more.
    """

    messages: dict[str, Stood] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    taken_back: dict[str, None] = field(default_factory=dict)

    @classmethod
    def resume(cls, packed: Sequence[Sequence[Any]]) -> Standing:
        return cls({name: Stood(tuple(keys), mark) for name, mark, *keys in packed})

    def packed(self) -> list[list[Any]]:
        """Return what the next range needs, as JSON."""
        return [[name, stood.mark, *stood.keys] for name, stood in self.messages.items()]

    def put(self, name: str, turns: Iterable[Turn], mark: str = "") -> None:
        """Let a message hold with these turns; one of its id that did before is replaced where it stands."""
        keys = []
        for turn in turns:
            keys.append(turn.key)
            self.turns[turn.key] = turn
            self.taken_back.pop(turn.key, None)
        before = self.messages.get(name)
        if before is not None:
            self._take_back(key for key in before.keys if key not in keys)
        self.messages[name] = Stood(tuple(keys), mark)
        if len(self.messages) > MESSAGES_MAX:
            del self.messages[next(iter(self.messages))]

    def rewind_to(self, name: str) -> None:
        """Take back a message and all that came after it; all there is where it is not known."""
        names = list(self.messages)
        for gone in names[names.index(name) if name in self.messages else 0 :]:
            self.take_back(gone)

    def take_back(self, name: str) -> None:
        self._take_back(self.messages.pop(name).keys)

    def arrange(self, names: Iterable[str]) -> None:
        """Put the messages that hold into another order; those that are not named come first."""
        for name in dict.fromkeys(names):
            if name in self.messages:
                self.messages[name] = self.messages.pop(name)

    def free_name(self, name: str) -> str:
        """Return a name that no message that holds has: this one, or a longer one."""
        found, number = name, 1
        while found in self.messages:
            number += 1
            found = f"{name}#{number}"
        return found

    def _take_back(self, keys: Iterable[str]) -> None:
        for key in keys:
            if key in self.turns:
                self.turns[key] = replace(self.turns[key], superseded=True)
            else:
                self.taken_back[key] = None
