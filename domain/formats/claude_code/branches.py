"""Branches of a Claude Code session: prompts that were typed anew at the same place, so that the first is history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.identity import digest
from chronofile.domain.turns import State, Turn

LIVE_MAX = 1_000
"""Turns that a rewind can still reach; what came before stays as it is."""
ASIDES_MAX = 1_000
"""Records that the tool put between two messages that are remembered; the oldest is forgotten first."""
_MARK_BYTES = 4
_ASIDES = frozenset({"attachment", "progress", "system"})


@dataclass(slots=True)
class Branches:
    """The last turns of the conversation as it goes on, by key, each prompt with a mark of what it answers.

    Two results of tools may answer one record, and two pieces of a message too. Two prompts do only where
    somebody went back to that place and typed another one. What the tool itself put between an answer and a prompt,
    anew before each, is looked past: `asides` are marks of such records, each with that of what it follows.

    Two prompts that answer nothing are left: a session that was taken up again begins like one that was edited.
    """

    live: dict[str, str] = field(default_factory=dict)
    asides: dict[str, str] = field(default_factory=dict)

    @classmethod
    def resume(cls, state: State | None) -> Branches:
        return cls() if state is None else cls(dict(state.get("live", ())), dict(state.get("asides", ())))

    def state(self) -> dict[str, Any]:
        return {
            "live": [list(entry) for entry in self.live.items()],
            "asides": [list(entry) for entry in self.asides.items()],
        }

    def pass_by(self, record: Record, turns: Sequence[Turn] = ()) -> None:
        """Note a record that the tool put between two messages, whether or not it has words."""
        uuid, parent = text_field(record, "uuid"), text_field(record, "parentUuid")
        is_typed = any(turn.role == "user" for turn in turns)
        if record.get("type") in _ASIDES and uuid and parent and not is_typed:
            self.asides[_mark(uuid)] = _mark(parent)
            while len(self.asides) > ASIDES_MAX:
                del self.asides[next(iter(self.asides))]

    def take(self, record: Record, turns: Sequence[Turn]) -> list[str]:
        """Note a record's turns; return the keys of those whose place they take."""
        if record.get("isSidechain") is True:
            return []
        self.pass_by(record, turns)
        parent = text_field(record, "parentUuid")
        is_prompt = record.get("type") == "user" and [turn.role for turn in turns] == ["user"]
        mark, passed = self._answered(parent) if parent and is_prompt else ("", set[str]())
        replaced: list[str] = []
        if mark and turns[0].key not in self.live:
            keys = list(self.live)
            begin = next((at for at, key in enumerate(keys) if self.live[key] == mark), len(keys))
            # What the tool put before the new prompt belongs to it.
            replaced = [key for key in keys[begin:] if _mark(key) not in passed]
        for key in replaced:
            del self.live[key]
        for turn in turns:
            if turn.parts:
                self.live.setdefault(turn.key, mark)
        while len(self.live) > LIVE_MAX:
            del self.live[next(iter(self.live))]
        return replaced

    def _answered(self, parent: str) -> tuple[str, set[str]]:
        """Return the mark of what a prompt answers, and the marks of the asides between the two."""
        mark, passed = _mark(parent), set[str]()
        while mark in self.asides and mark not in passed:
            passed.add(mark)
            mark = self.asides[mark]
        return mark, passed


def _mark(identifier: str) -> str:
    return digest(identifier, size=_MARK_BYTES)
