"""Sayings: what one record of a Codex rollout says, before it is known whether another record says it too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from chronofile.domain.identity import digest
from chronofile.domain.turns import Part, PartType, Role

Origin = Literal["r", "e", "i", "t", "c"]
"""Who wrote the record: a response item, an event, a completed item, the end of a task, a compaction."""

Stage = Literal["asked", "ended"]
"""What an event tells of a tool's call: that it was asked for, or that it is over and what came of it."""

ASKED: Stage = "asked"

MARK_BYTES = 6

_ASIDE = re.compile(r"<oai-mem-citation>.*?(?:</oai-mem-citation>|\Z)", re.DOTALL)
_ATTACHED = re.compile(r"\[(?:image|file|audio)\b[^\[\]\n]*\]")
_PLAN = re.compile(r"<proposed_plan>(.*?)(?:</proposed_plan>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Saying:
    """What a record says.

    Records of other origins that say the same under the same `kind` are its twins; without a kind it has none.
    A `call` is the id of a tool's call: what events tell of it is left out where response items tell it.
    With `once`, its notices are told the first time only, however often a session writes them.
    """

    origin: Origin
    role: Role
    parts: tuple[Part, ...]
    kind: str = ""
    ids: tuple[str, ...] = ()
    speaker: str | None = None
    call: str | None = None
    stage: Stage = "ended"
    once: bool = False

    @property
    def type(self) -> PartType:
        """Return the type of its first part that is no notice, or a notice."""
        types: list[PartType] = [part.type for part in self.parts if part.type != "notice"]
        return types[0] if types else "notice"


def pieces(said: Saying) -> list[tuple[str, Part]]:
    """Return what a saying consists of: marks by which each piece is found in a twin, and the piece as a part.

    Of an assistant's text a proposed plan is a piece of its own, since events tell it apart.
    """
    if not said.kind:
        return []
    found: list[tuple[str, Part]] = []
    # A twin may tell of an attachment in another way, or not at all.
    worded = [part for part in said.parts if not _ATTACHED.fullmatch(part.text)]
    for part in worded or said.parts:
        if said.kind == "assistant" and part.type == "text" and "<" in part.text:
            rest = _ASIDE.sub("", part.text)
            plans = [plan for plan in _PLAN.findall(rest) if plan.strip()]
            split = [_PLAN.sub("", rest), *plans] if plans else [rest]
        else:
            split = [part.text]
        for text in split:
            if mark := mark_of(said.kind, text):
                found.append((mark, part if len(split) == 1 else Part(part.type, text)))
    return found


def mark_of(kind: str, text: str) -> str:
    """Return a short digest of a text without its white space, empty where there is nothing else in it."""
    bare = "".join(text.split())
    return digest(kind, bare, size=MARK_BYTES) if bare else ""
