"""The lines of Aider's history: which are a person's, which were printed, and which are the answer's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from chronofile.domain.formats.records import BYTE_ORDER_MARK

Kind = Literal["user", "tool", "answer"]

BLANK_LINES_MAX = 10
"""Blank lines after a session's beginning that are looked past; Aider writes one."""

_BEGINNING = re.compile(r"\ufeff?# aider chat started at (\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)\s*")
_PROMPT = re.compile(r"####(?: .*)?\r?")
_PRINTED = re.compile(r">(?: .*)?\r?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BREAK = "  "
"""Aider ends with it each line that a person typed, and each that it printed."""


@dataclass(slots=True)
class Lines:
    """Tells lines apart, one after the other.

    `fence` is the code block that an answer has open, `after` the kind of the line before, "" after a blank one.
    `is_strict`: lines were seen to end as Aider ends them, so that a heading or a quotation in an answer, which
    does not, is told from a prompt and from what was printed.
    """

    fence: str = ""
    after: str = ""
    is_strict: bool = False

    def kind(self, line: str) -> Kind | None:
        """Return the kind of the next line, None for a blank one that is in no code block."""
        kind = self._kind(line.removesuffix("\r"))
        self.after = kind or ""
        if is_blank(line):
            self.after = ""
        return kind

    def is_left_by(self, following: str | None) -> bool:
        """Tell whether a session's beginning that comes now ends a code block that is open.

        Aider leaves a line blank before it and prints something next: that is `following`, the next line that
        is not blank. None is the end of the file, where a session has just begun: an answer is written as a whole.
        """
        if self.after or following is None:
            return not self.after
        is_ended = following.endswith((_BREAK, f"{_BREAK}\r"))
        return following.startswith("> ") and (is_ended or not self.is_strict)

    def _kind(self, line: str) -> Kind | None:
        if is_blank(line):
            return "answer" if self.fence else None
        marked = self._marked(line)
        if marked is not None:
            is_ended = line.endswith(_BREAK)
            self.is_strict = self.is_strict or is_ended
            self.fence = ""
            return marked
        self._follow_fence(line)
        return "answer"

    def _marked(self, line: str) -> Kind | None:
        is_ended = line.endswith(_BREAK)
        if _PROMPT.fullmatch(line):
            kind: Kind = "user"
        elif _PRINTED.fullmatch(line):
            kind = "tool"
        else:
            return None
        if self.after == kind:
            return kind if is_ended or not self.is_strict else None
        if line in ("####", ">") or ((self.is_strict or self.fence) and not is_ended):
            return None
        # Aider leaves a line blank before a prompt; in a code block this tells it from a line of the block.
        needs_blank = bool(self.fence) or (kind == "user" and self.is_strict)
        return None if needs_blank and self.after else kind

    def _follow_fence(self, line: str) -> None:
        found = _FENCE.match(line)
        if found is None:
            return
        mark, rest = found[1], found[2].strip()
        if not self.fence:
            if mark[0] == "~" or "`" not in rest:
                self.fence = mark
        elif mark[0] == self.fence[0] and len(mark) >= len(self.fence) and not rest:
            self.fence = ""


def beginning(line: str) -> str | None:
    """Return when the session that the line begins was started, None where it begins none."""
    found = _BEGINNING.fullmatch(line)
    return f"{found[1]}T{found[2]}" if found else None


def with_next(lines: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each line, and beside one that may begin a session the next line that is not blank, None at the end.

    That is "" beside all others, and where too many blank lines follow.
    """
    held: list[str] = []
    for line in lines:
        if held and is_blank(line) and len(held) <= BLANK_LINES_MAX:
            held.append(line)
            continue
        yield from _with_following(held, line)
        held = [line] if beginning(line) is not None else []
        if not held:
            yield line, ""
    yield from _with_following(held, None)


def _with_following(held: Sequence[str], following: str | None) -> Iterator[tuple[str, str | None]]:
    yield from ((line, following if number == 0 else "") for number, line in enumerate(held))


def is_prompt(line: str) -> bool:
    return line.startswith("#### ")


def is_blank(line: str) -> bool:
    return not line.removeprefix(BYTE_ORDER_MARK).strip()


def typed(line: str) -> str:
    """Return what a person typed in a line."""
    return line.removeprefix("####").removesuffix(_BREAK).removeprefix(" ")


def printed(line: str) -> str:
    return line.removeprefix(">").removesuffix(_BREAK).removeprefix(" ")
