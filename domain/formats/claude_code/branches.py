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
_MARK_BYTES = 4


@dataclass(slots=True)
class Branches:
    """The last turns of the conversation as it goes on, by key, each prompt with a mark of what it answers.

    Two results of tools may answer one record, and two pieces of a message too. Two prompts do only where
    somebody went back to that place and typed another one.
    """

    live: dict[str, str] = field(default_factory=dict)

    @classmethod
    def resume(cls, state: State | None) -> Branches:
        return cls() if state is None else cls(dict(state.get("live", ())))

    def state(self) -> dict[str, Any]:
        return {"live": [list(entry) for entry in self.live.items()]}

    def take(self, record: Record, turns: Sequence[Turn]) -> list[str]:
        """Note a record's turns; return the keys of those whose place they take."""
        if record.get("isSidechain") is True:
            return []
        parent = text_field(record, "parentUuid")
        is_prompt = record.get("type") == "user" and [turn.role for turn in turns] == ["user"]
        mark = digest(parent, size=_MARK_BYTES) if parent and is_prompt else ""
        replaced: list[str] = []
        if mark and turns[0].key not in self.live:
            keys = list(self.live)
            begin = next((at for at, key in enumerate(keys) if self.live[key] == mark), len(keys))
            replaced = keys[begin:]
        for key in replaced:
            del self.live[key]
        for turn in turns:
            if turn.parts:
                self.live.setdefault(turn.key, mark)
        while len(self.live) > LIVE_MAX:
            del self.live[next(iter(self.live))]
        return replaced
