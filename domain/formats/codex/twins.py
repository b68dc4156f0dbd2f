"""Twins: the records of a Codex rollout that say what another one has said, found by their words or by a call's id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.formats.codex.said import MARK_BYTES, Origin, Saying
from chronofile.domain.identity import digest

WINDOW_MAX = 96
"""Pieces of dialogue whose twin may still come; a twin that comes after more than these is told again."""
CALLS_MAX = 512
NOTICES_MAX = 512
"""Calls and notices that are remembered; the oldest is forgotten first."""

_MARK_CHARS = 2 * MARK_BYTES
_RESPONSE = "r"


@dataclass(slots=True)
class Told:
    """A piece that was told: by records of which origins, in which turn (none where it shares one), as what."""

    mark: str
    origins: str
    key: str
    type: str


@dataclass(slots=True)
class Twins:
    """What was told of late, so that it is told once."""

    window: list[Told] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    """By call: `r` where a response item told it, else `stage=key` of the turns that events gave it."""
    notices: dict[str, None] = field(default_factory=dict)

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> Twins:
        marks: str = state["notices"]
        return cls(
            window=[Told(*entry) for entry in state["window"]],
            calls=dict(state["calls"]),
            notices={marks[i : i + _MARK_CHARS]: None for i in range(0, len(marks), _MARK_CHARS)},
        )

    def state(self) -> dict[str, Any]:
        return {
            "window": [[told.mark, told.origins, told.key, told.type] for told in self.window],
            "calls": [list(entry) for entry in self.calls.items()],
            "notices": "".join(self.notices),
        }

    def take(self, mark: str, origin: Origin) -> Told | None:
        """Return the oldest piece with a mark that no record of this origin has told yet, and note that one has."""
        for told in self.window:
            if told.mark == mark and origin not in told.origins:
                told.origins += origin
                return told
        return None

    def note(self, mark: str, origin: Origin, key: str, kind: str) -> None:
        self.window.append(Told(mark, origin, key, kind))
        if len(self.window) > WINDOW_MAX:
            del self.window[0]

    def is_new(self, mark: str) -> bool:
        """Tell whether a notice was not told yet, and note that it is."""
        if mark in self.notices:
            return False
        self.notices[mark] = None
        if len(self.notices) > NOTICES_MAX:
            del self.notices[next(iter(self.notices))]
        return True

    def stages(self, said: Saying) -> dict[str, str] | None:
        """Return what events told of a saying's call so far, by stage; None where a response item told it."""
        known = self.calls.get(_call(said), "")
        if known == _RESPONSE:
            return None
        return dict(entry.split("=", 1) for entry in known.split())

    def answered(self, said: Saying) -> None:
        """Note that a response item tells of the call: from now on events of it are left out."""
        self._note_call(_call(said), _RESPONSE)

    def told_by_event(self, said: Saying, stages: Mapping[str, str], key: str) -> None:
        entries = {**stages, said.stage: key}
        self._note_call(_call(said), " ".join(f"{stage}={told}" for stage, told in entries.items()))

    def _note_call(self, call: str, what: str) -> None:
        self.calls.pop(call, None)
        self.calls[call] = what
        if len(self.calls) > CALLS_MAX:
            del self.calls[next(iter(self.calls))]


def _call(said: Saying) -> str:
    return digest("call", said.call, size=MARK_BYTES)
