"""Detectors: one pass over a text each, begun where something rare stands.

Everything here works on bytes in which every character of ASCII is one byte of its own. Each pattern begins with a
literal, because Python's regular expressions find those at a gigabyte a second and more; what stands before is checked
with look-behinds. Repetitions are bounded or possessive, so that no text takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

MARK: Final = b"[redacted: "

FILLING: Final = frozenset(b"xX*.0-_#")
"""What stands in a token's place in documentation."""

# The characters of texts and code from the rare to the frequent; all others are rarer.
_FREQUENT: Final = "zjqxk/:=-vwybg.hm_pfucdlnotsriae"


@dataclass(frozen=True, slots=True)
class Span:
    """The characters [start, end) of a text, and the rule by which they are a secret."""

    rule: str
    start: int
    end: int


Judge = Callable[[bytes, "re.Match[bytes]"], Span | None]


@dataclass(frozen=True, slots=True)
class Detector:
    """One pass over a text.

    `loose` matches wherever `exact` matches, and also where escapes of JSON stand in the way. `folded` detectors are given
    the text in lower case; the judge sees the text as it is.
    """

    loose: re.Pattern[bytes]
    exact: re.Pattern[bytes]
    judge: Judge
    folded: bool = False

    def spans(self, text: bytes, lowered: bytes) -> Iterator[Span]:
        for match in self.exact.finditer(lowered if self.folded else text):
            if span := self.judge(text, match):
                yield span


def plain(
    rule: str, literal: str, rest: str, *, bound: bool = True, lead: int = 0, hint: str | None = None
) -> Detector:
    """Return a detector for a literal and what follows; the secret is the group `s`, or all and `lead` bytes before.

    `hint` is the loose pattern where escapes of JSON may stand in what follows the literal, or in the literal.
    """
    begun, skipped = anchored(literal)
    exact = compiled(begun + (edge(literal) if bound else "") + rest)
    loose = compiled(hint or begun + rest)
    group = "s" if "s" in exact.groupindex else 0
    lead = 0 if group else lead + skipped

    def judge(text: bytes, match: re.Match[bytes]) -> Span | None:
        start, end = match.span(group)
        return None if FILLING.issuperset(text[start:end]) else Span(rule, start - lead, end)

    return Detector(loose, exact, judge)


def folded(literal: str, rest: str, judge: Judge) -> Detector:
    pattern = compiled(anchored(literal)[0] + rest)
    return Detector(pattern, pattern, judge, folded=True)


def anchored(literal: str) -> tuple[str, int]:
    """Return a pattern for a literal that begins where its rarest character is, and how many stand before that."""
    skipped = min(range(len(literal)), key=lambda place: (_FREQUENT.find(literal[place]), place))
    behind = f"(?<={re.escape(literal)})" if skipped else ""
    return re.escape(literal[skipped:]) + behind, skipped


def edge(literal: str) -> str:
    """Return a look-behind: nothing that belongs to a word stands before what was just matched, but for escapes."""
    literal = re.escape(literal)
    before = (r"\\[nrtbf]", r"\\u[0-9a-fA-F]{4}", r"%[0-9A-F]{2}", r"[\[;]\dm", r"[\[;]\d\dm")
    return f"(?:(?<![A-Za-z0-9]{literal})|" + "|".join(f"(?<={one}{literal})" for one in before) + ")"


def compiled(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[bytes]:
    return re.compile(pattern.encode("ascii"), flags | re.DOTALL)
