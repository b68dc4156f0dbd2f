"""Turns: the messages of a transcript, in the words of whoever spoke them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from chronofile.domain.formats.heads import Head

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
    superseded: bool = False
    """Whether something else took its place in the conversation as it goes on: another branch, a rewind."""

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
    later range extends comes again, whole, under its key. `removed` are keys of turns that were never
    to be there, and `superseded` those of earlier turns whose place was taken: they stay, and are marked.
    `unknown` counts records of types that the format does not know and that were kept raw, a version that
    it does not know as `version <its number>`; `unreadable` counts records that are no such record at all.
    `title` is what the conversation is called as far as the range tells, None where it does not.
    """

    turns: tuple[Turn, ...]
    state: State
    removed: tuple[str, ...] = ()
    unknown: Mapping[str, int] | None = None
    unreadable: int = 0
    superseded: tuple[str, ...] = ()
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a transcript is: the tool's own session id, and what else the first records tell.

    `session` is what answers call the session. `key` tells apart what shares a session id (a sub-agent
    of a session has the session's id and an agent's id). `cwd` is the session's working directory.
    `scope` is set where the records themselves name their scope. `updated` (ISO-8601) is when a conversation
    that is captured as a whole was last changed, as far as it tells: of two states the later one is shown.
    """

    session: str
    key: str
    cwd: str | None = None
    scope: str | None = None
    updated: str | None = None


Layout = Literal["lines", "text", "conversations", "parted"]
"""Where a file's records and conversations end.

`lines`: each line is a record of the one conversation, and the file grows. `text`: the file is one conversation that
somebody wrote down as text, and is captured as a whole. `conversations`: the file is JSON, each
conversation one record, written anew as a whole: the elements of an array, or the one value that there is. They
reach the fold as lines, with the line breaks between their values turned into spaces. `parted`: the lines belong
to several conversations, which `PartedFormat.part` tells apart.
"""


@dataclass(frozen=True, slots=True)
class Likeness:
    """How surely a file is of a format, 0 to 1, and how its records lie in it if it is."""

    confidence: float
    layout: Layout = "lines"


class Format(Protocol):
    """One transcript format. Everything here is a pure function of its arguments."""

    name: str
    """As stored in events and shown in answers: `claude-code`, `turns`."""
    version: int
    """Goes up when the same records give other turns."""
    is_json: bool
    """Whether each record is a JSON object on a line; else the lines are text."""

    def recognise(self, head: Head) -> Likeness:
        """How surely a file that begins like this is of this format; its name is a hint and no more."""
        ...

    def identify(self, lines: Sequence[str], path_name: str) -> Identity | None:
        """Who the transcript is, from its first lines, or from a conversation's one record; None if they do not tell."""
        ...

    def fold(self, state: State | None, lines: Sequence[str]) -> Folded:
        """Fold complete lines (without their line ends) into turns; `state` is None at the beginning.

        Nothing in a record raises: what cannot be read is counted.
        """
        ...


Session = tuple[str | None, str]
"""The scope that lines name, or None, and the session that they belong to."""


class PartedFormat(Format, Protocol):
    """A format whose files hold the lines of several conversations."""

    def part(self, lines: Iterable[str]) -> Iterator[tuple[Session | None, str]]:
        """Yield each line of a file with whom it belongs to, None for one that belongs to nobody."""
        ...
