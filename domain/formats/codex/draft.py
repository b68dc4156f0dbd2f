"""Drafts of a Codex rollout: the turns that a range gives, and what must be remembered of those before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from chronofile.domain.formats.codex.injected import without_tags
from chronofile.domain.formats.codex.said import ASKED, Saying, mark_of, pieces
from chronofile.domain.formats.codex.twins import WINDOW_MAX, Told, Twins
from chronofile.domain.identity import digest
from chronofile.domain.turns import Part, State, Turn

LIVE_MAX = 4_000
"""Turns that a rollback can still reach; what came before stays as it is."""

# A twin of the first type is shown as what the second one says it is.
_CORRECTIONS = frozenset({("notice", "text"), ("text", "summary")})
_USER = "!"


@dataclass(slots=True)
class Rollout:
    """A rollout as far as it is folded. `line` counts its lines, `agent` names the sub-agent whose rollout it is,
    `began` is the time of its header.

    A turn's key is `line-` and the line that said it first, with `#2` and so on for further turns of that line.
    """

    line: int = 0
    agent: str | None = None
    began: str | None = None
    is_met: bool = False
    twins: Twins = field(default_factory=Twins)
    live: list[str] = field(default_factory=list)
    """The keys, without `line-`, of the turns that a rollback reaches; a person's ones begin with `!`."""
    turns: dict[str, Turn] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    superseded: list[str] = field(default_factory=list)
    title: str | None = None
    _at: str | None = None
    _number: int = 0

    @classmethod
    def resume(cls, state: State | None) -> Rollout:
        if state is None:
            return cls()
        return cls(
            line=state["line"],
            agent=state["agent"],
            began=state["began"],
            is_met=state["is_met"],
            twins=Twins.resume(state["twins"]),
            live=state["live"].split(),
        )

    def state(self) -> dict[str, Any]:
        return {
            "line": self.line,
            "agent": self.agent,
            "began": self.began,
            "is_met": self.is_met,
            "twins": self.twins.state(),
            "live": " ".join(self.live),
        }

    def next_line(self) -> None:
        self.line += 1
        self._number = 0

    def at(self, time: str | None) -> None:
        """Say when the records that follow were written."""
        self._at = time

    def call(self, title: str) -> None:
        """Take in what the conversation is called; the title is a turn, whose key is its text."""
        self.title = title
        key = f"title:{digest(title, size=8)}"
        if self.twins.is_new(mark_of("title", title)):
            self.turns[key] = Turn(key, (key,), "system", None, self._at, (Part("notice", title),))

    def say(self, said: Saying) -> None:
        """Take in what a record says, where no twin of it has said so."""
        stages: dict[str, str] | None = None
        if said.call is not None:
            stages = self.twins.stages(said)
            if said.origin == "r":
                self._take_back((stages or {}).values())
                self.twins.answered(said)
            elif stages is None or said.stage in stages:
                return
            elif ASKED in stages:
                said = replace(said, parts=tuple(part for part in said.parts if part.type != "tool_call"))
        key = self._say(said)
        if said.call is not None and said.origin != "r":
            self.twins.told_by_event(said, stages or {}, key)

    def roll_back(self, count: int) -> None:
        """Mark the last so many turns of the user, and all that came after them, as superseded."""
        begins = [number for number, entry in enumerate(self.live) if entry.startswith(_USER)][-count:]
        if not begins or not count:
            return
        for entry in self.live[begins[0] :]:
            key = _key(entry)
            if key in self.turns:
                self.turns[key] = replace(self.turns[key], superseded=True)
            else:
                self.superseded.append(key)
        del self.live[begins[0] :]
        # What is said again after this is said anew.
        self.twins.window.clear()

    def _say(self, said: Saying) -> str:
        """Return the key of the turn that a saying becomes, empty where there is none."""
        found = pieces(said)
        marks = [mark for mark, _ in found]
        whole = mark_of(said.kind, "".join(part.text for _, part in found)) if len(found) > 1 else ""
        twin = self.twins.take(whole, said.origin) if whole else None
        if twin is not None:
            return self._correct(twin, said)
        twins = [self.twins.take(mark, said.origin) for mark in marks]
        if twins and all(twins):
            return self._correct(twins[0], said) if twins[0] is not None and len(twins) == 1 else ""
        parts = said.parts
        if any(twins):
            parts = tuple(part for (_, part), twin in zip(found, twins, strict=True) if twin is None)
            whole = ""
        parts = self._new(parts) if said.once else parts
        key = self._begin(said, parts)
        own = key if len(found) == 1 else ""
        for (mark, part), twin in zip(found, twins, strict=True):
            if twin is None:
                self.twins.note(mark, said.origin, own, part.type)
        if whole:
            self.twins.note(whole, said.origin, "", said.type)
        return key

    def _correct(self, twin: Told, said: Saying) -> str:
        if (twin.type, said.type) not in _CORRECTIONS:
            return ""
        twin.type = said.type
        return self._begin(said, said.parts, twin.key)

    def _new(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(
            part
            for part in parts
            if part.type != "notice" or self.twins.is_new(mark_of("notice", without_tags(part.text)))
        )

    def _begin(self, said: Saying, parts: tuple[Part, ...], key: str = "") -> str:
        parts = tuple(part for part in parts if part.text)
        if not parts:
            return ""
        role = said.role
        if role == "user" and all(part.type == "notice" for part in parts):
            role = "system"
        speaker = said.speaker or ("agent" if self.agent and role == "user" else self.agent)
        if not key:
            self._number += 1
            key = f"line-{self.line}" if self._number == 1 else f"line-{self.line}#{self._number}"
        self.turns[key] = Turn(key, said.ids, role, speaker, self._at, parts)
        self._keep(key.removeprefix("line-"), is_user=role == "user")
        return key

    def _keep(self, key: str, *, is_user: bool) -> None:
        """Note a turn that a rollback reaches: a new one at the end, one that was corrected in its place."""
        entry = _USER + key if is_user else key
        if self._number and key in (known := [one.removeprefix(_USER) for one in self.live[-WINDOW_MAX:]]):
            self.live[len(self.live) - len(known) + known.index(key)] = entry
            return
        self.live.append(entry)
        if len(self.live) > LIVE_MAX:
            del self.live[0]

    def _take_back(self, keys: Iterable[str]) -> None:
        for key in keys:
            if key:
                self._forget(key)
                if self.turns.pop(key, None) is None:
                    self.removed[key] = None

    def _forget(self, key: str) -> None:
        entry = key.removeprefix("line-")
        self.live = [one for one in self.live if one.removeprefix(_USER) != entry]


def _key(entry: str) -> str:
    return f"line-{entry.removeprefix(_USER)}"
