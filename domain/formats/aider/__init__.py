"""Aider's history of chats, `.aider.chat.history.md`: Markdown that all sessions of a project are written to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from chronofile.domain.formats.aider.lines import (
    Kind,
    Lines,
    beginning,
    is_blank,
    is_prompt,
    printed,
    typed,
    with_next,
)
from chronofile.domain.formats.heads import Head
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, Role, Session, State, Turn

name = "aider"
version = 1
is_json = False

PREAMBLE_LINES_MAX = 200
"""Lines before the first session that are held until it shows whether a chat without a beginning follows."""
_PUBLISHED = '<div class="chat-transcript"'
_MARKUP = re.compile(r"</?div\b[^<>]*>\s*")
_BLANK_PROMPT = "<blank>"
_ROLES: dict[Kind, Role] = {"user": "user", "tool": "tool", "answer": "assistant"}


def recognise(head: Head) -> Likeness:
    """Return how surely a file's beginning is Aider's history: it begins with a session, or one is further down."""
    lines = head.text.split("\n")
    first = next((line for line in lines if not is_blank(line)), "")
    if beginning(first) is not None:
        return Likeness(1.0, "parted")
    if "# aider chat started at" not in head.text and _PUBLISHED not in head.text:
        return Likeness(0.0, "parted")
    is_chat = any(whose is not None for whose, _ in part(lines)) and any(map(is_prompt, lines))
    return Likeness(0.7 if is_chat else 0.0, "parted")


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return the first session; None when there is none yet."""
    session = next((whose[1] for whose, _ in part(lines) if whose is not None), None)
    return None if session is None else Identity(session=session, key=session)


def part(lines: Iterable[str]) -> Iterator[tuple[Session | None, str]]:
    """Yield each line with its session: the second in which it began, with `#2` where another began in the same.

    What looks like a session's beginning within a code block of an answer is none, but where it stands as Aider writes
    it: an answer that was interrupted leaves its block open. A chat that somebody published without its beginning
    is a session too, named by what was asked first.
    """
    marks, begun = Lines(), Counter[str]()
    session: str | None = None
    before: list[str] = []
    is_published = False
    for line, following in with_next(lines):
        at = beginning(line)
        if at is not None and marks.fence and not marks.is_left_by(following):
            at = None
        if at is not None:
            yield from ((None, lost) for lost in before if not is_blank(lost))
            before, marks = [], Lines()
            begun[at] += 1
            session = at if begun[at] == 1 else f"{at}#{begun[at]}"
        elif session is None and is_published and is_prompt(line):
            session = f"chat-{digest(line.rstrip(), size=8)}"
            yield from (((None, session), held) for held in before)
            before = []
        elif session is None:
            marks.kind(line)
            is_published = is_published or line.startswith(_PUBLISHED)
            before.append(line)
            if len(before) > PREAMBLE_LINES_MAX and not is_blank(oldest := before.pop(0)):
                yield None, oldest
            continue
        if at is None:
            marks.kind(line)
        yield (None, session), line
    yield from ((None, lost) for lost in before if not is_blank(lost))


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold the lines of one session into turns; a prompt, an answer, or what Aider printed in a row is one each.

    Only the session's beginning has a time, which all of its turns bear. Their keys are their numbers.
    """
    session = _Session.resume(state)
    for line in lines:
        session.take(line.removesuffix("\r"))
    session.close()
    return Folded(tuple(session.turns.values()), session.state())


@dataclass(slots=True)
class _Session:
    """The turns of a range, the last of which may go on: `said` are its lines so far."""

    marks: Lines = field(default_factory=Lines)
    at: str | None = None
    is_begun: bool = False
    """Whether the session has its beginning, or is a published chat."""
    number: int = 0
    kind: Kind | None = None
    said: list[str] = field(default_factory=list)
    turns: dict[str, Turn] = field(default_factory=dict)

    @classmethod
    def resume(cls, state: State | None) -> _Session:
        if state is None:
            return cls()
        marks = Lines(**state["marks"])
        return cls(marks, state["at"], state["begun"], state["number"], state["kind"], list(state["said"]))

    def state(self) -> State:
        marks = self.marks
        return {
            "marks": {"fence": marks.fence, "after": marks.after, "is_strict": marks.is_strict},
            "at": self.at,
            "begun": self.is_begun,
            "number": self.number,
            "kind": self.kind,
            "said": self.said,
        }

    def take(self, line: str) -> None:
        at = None if self.is_begun or self.number else beginning(line)
        if at is not None:
            self.is_begun, self.at = True, _time(at)
            return
        kind = self.marks.kind(line)
        if not self.is_begun:
            # Who publishes a chat may have lost the spaces that tell a prompt from a heading.
            self.marks.is_strict = False
            if _MARKUP.fullmatch(line):
                return
        if kind is None and self.kind != "answer":
            self.close()
            self.kind = None
        elif kind is None or kind == self.kind:
            self.said.append(line)
        else:
            self.close()
            self.number, self.kind, self.said = self.number + 1, kind, [line]

    def close(self) -> None:
        """Write the turn that is open, as far as it goes."""
        if self.kind is None:
            return
        texts = {"user": map(typed, self.said), "tool": map(printed, self.said)}
        text = "\n".join(texts.get(self.kind, self.said))
        # Aider writes an answer without the white space around it, and blank lines before and after.
        text = text.rstrip() if self.kind == "answer" else text
        role, said = _ROLES[self.kind], Part("tool_result" if self.kind == "tool" else "text", text)
        is_foreword = self.kind == "answer" and self.number == 1 and not self.is_begun
        if is_foreword or (text == _BLANK_PROMPT and role == "user"):
            role, said = "system", Part("notice", text)
        if text:
            key = str(self.number)
            self.turns[key] = Turn(key, (), role, None, self.at, (said,))


def _time(beginning_at: str) -> str | None:
    """Return when a session began, in the local time of the machine, None for what no calendar has."""
    try:
        return datetime.fromisoformat(beginning_at).isoformat()
    except ValueError:
        return None
