"""Turns: the messages of a transcript, in the words of whoever spoke them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Role = Literal["user", "assistant", "system", "tool"]
PartType = Literal["text", "thinking", "tool_call", "tool_result", "summary", "notice"]

PART_SEPARATOR = "\n\n"


@dataclass(frozen=True, slots=True)
class Part:
    """One block of a turn. A `summary` is derived text, a `notice` was put in by a tool and not by a person."""

    type: PartType
    text: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: `key` names it within its source for ever, `native_ids` are the source's own ids for it.

    `at` is the source's own time as it stands there (ISO-8601, with or without an offset), None where
    it is missing or unreadable.
    """

    key: str
    native_ids: tuple[str, ...]
    role: Role
    speaker: str | None
    at: str | None
    parts: tuple[Part, ...]
    session: str | None = None
    """The session it belongs to where that is not the source's own: a sidechain."""

    @property
    def text(self) -> str:
        """The text that passages partition: the parts, a blank line between two of them."""
        return PART_SEPARATOR.join(part.text for part in self.parts)


State = Mapping[str, Any]
"""What a fold remembers between two ranges of one source: JSON, and no more than the turns still open."""


@dataclass(frozen=True, slots=True)
class Folded:
    """What a range of records came to.

    `turns` are the turns that the range began or extended, in order of their beginning; one that a
    later range extends comes again, whole, under its key. `removed` are keys of turns that a rewind
    took away. `unknown` counts records of types that the format does not know and that were kept raw;
    `unreadable` counts records that are no such record at all.
    """

    turns: tuple[Turn, ...]
    state: State
    removed: tuple[str, ...] = ()
    unknown: Mapping[str, int] | None = None
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a transcript is: the tool's own session id, and what else the first records tell.

    `session` is what answers call the session. `key` tells apart what shares a session id (a sub-agent
    of a session has the session's id and an agent's id). `cwd` is the session's working directory.
    `scope` is set where the records themselves name their scope.
    """

    session: str
    key: str
    cwd: str | None = None
    scope: str | None = None


class Format(Protocol):
    """One transcript format. Everything here is a pure function of its arguments."""

    name: str
    """As stored in events and shown in answers: `claude-code`, `turns`."""
    version: int
    """Goes up when the same records give other turns."""

    def recognise(self, head: Sequence[str], path_name: str) -> float:
        """How surely the first lines of a file are of this format, 0 to 1; the name is a hint and no more."""
        ...

    def identify(self, lines: Sequence[str], path_name: str) -> Identity | None:
        """Who the transcript is, from its first lines; None when they do not tell yet."""
        ...

    def fold(self, state: State | None, lines: Sequence[str]) -> Folded:
        """Fold complete lines (without their line ends) into turns; `state` is None at the beginning."""
        ...
