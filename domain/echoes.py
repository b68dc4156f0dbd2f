"""Echoes: text that Chronofile itself put into a prompt, fenced by marks and known again in transcripts."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal

from chronofile.domain.erasure import MARK
from chronofile.domain.identity import digest, storable
from chronofile.domain.turns import PART_SEPARATOR, Part, Turn

Mark = Literal["quotation", "answer", "context"]
"""What a fence is around: one passage, a whole answer, what is put into a prompt unasked."""
Span = tuple[int, int]

CHECKED_TIMES_MAX = 64
"""How often the length of a text is hashed at most to find the echoes in it; what is left is no echo."""
LABEL_CHARS_MAX = 8_000
_HASH_BYTES = 8
_LEFT_OUT = (MARK, "[redacted: ")
"""What stands where something was taken out of a fence after it was made; its hash fits no more."""

_MARK = r"chronofile (quotation|answer|context) ([0-9a-f]{16})"
# Inside JSON a line break is a backslash and an n, and inside JSON inside JSON two backslashes and an n.
_FENCE = re.compile(rf"<<<{_MARK}(?P<break>\r?\n|\\{{1,2}}n|\\{{4}}n)|{_MARK}>>>")
_LEVELS = {"": 0, "\\": 1, "\\\\": 2, "\\\\\\\\": 3}
_LABEL = re.compile(r"(?:\[\d{1,6}\] )?passage [0-9a-f]{32} \| [^\n]*? \| revision \d+$")
_WRAPPING = re.compile(
    r'(?:[\s\[\]{},:"\\]|\b(?:type|text|content|isError|is_error|annotations|_meta|result|output|true|false|null)\b)*'
)

ANSWER_FIELDS = frozenset({"query", "scopes", "matched", "degraded", "took_ms", "hits"})
CONTEXT_FIELDS = frozenset({"hit", "before", "after"})
"""The fields by which our answers as JSON are known: to a search, and to a passage."""
_WRAPPING_FIELDS = ("structuredContent", "structured_content", "result", "output", "content", "text")
_HINTS = ("took_ms", "before")
_CUT_ANSWER = re.compile(r'\s*\{\s*"query"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"scopes"\s*:\s*\[')
_CUT_CONTEXT = re.compile(r'\s*\{\s*"hit"\s*:\s*\{\s*"id"\s*:\s*"[0-9a-f]{32}"')


def fence(text: str, mark: Mark = "quotation") -> str:
    """Return a text between two marks that name its own hash, so that no text can end its own fence."""
    named = f"chronofile {mark} {fence_name(text, mark)}"
    return f"<<<{named}\n{text}\n{named}>>>"


def fence_name(text: str, mark: str = "quotation") -> str:
    """Return the hash that the marks around a text name."""
    # What no client takes is replaced on the way to it, see `storable`, and must not change the hash.
    return digest(mark, storable(text), size=_HASH_BYTES)


def turn_echoes(turn: Turn) -> tuple[Span, ...]:
    """Return the echoes in a turn's text: spans in code points, in order, apart from one another.

    A blank line between an echo and what follows it belongs to the echo, and so does white space that has
    nothing else beside it: what is between echoes always says something.
    """
    text = turn.text
    if "<<<chronofile " not in text and not any(hint in text for hint in _HINTS):
        return ()
    found: list[Span] = []
    at = 0
    for parts, is_result in _runs(turn):
        own = PART_SEPARATOR.join(part.text for part in parts)
        spans = _result_echoes(own) if is_result else echoes(own)
        found += [(at + start, at + end) for start, end in spans]
        at += len(own) + len(PART_SEPARATOR)
    return _widened(text, found, turn.parts) if found else ()


def echoes(text: str, *, may_be_cut: bool = False) -> tuple[Span, ...]:
    """Return the spans of the fences in a text, in order, each with the labels above it.

    The hash in a mark is checked, so a fence around anything but what Chronofile fenced counts for nothing. It is not
    checked where something was erased or redacted inside, since the text that it was of is gone.
    Where the text `may_be_cut`, as the result of a tool may be, a fence without an end reaches to its end.
    Line breaks may be those of JSON, up to three times over.
    """
    marks = list(_FENCE.finditer(text))
    openings, ends = _by_name(marks, is_opening=True), _by_name(marks, is_opening=False)
    found: list[Span] = []
    budget = CHECKED_TIMES_MAX * len(text)
    after = 0
    for opening in marks:
        if opening["break"] is None or opening.start() < after:
            continue
        name = (opening[1], opening[2])
        place = bisect_left(ends.get(name, ()), opening.end())
        if place == len(ends.get(name, ())):
            if not may_be_cut:
                continue
            after = len(text)
        else:
            end = ends[name][place]
            # A text cannot hold its own hash, so an end belongs to the last such opening before it.
            last = openings[name][bisect_right(openings[name], end) - 1]
            budget -= end - opening.end()
            if last != opening.start() or budget < 0 or not _is_ours(opening, text[opening.end() : end]):
                continue
            after = end + len(f"chronofile {name[0]} {name[1]}>>>")
        found.append((_with_labels(text, opening), after))
    return tuple(found)


def quotations(text: str) -> tuple[tuple[Span, bool], ...]:
    """Return the closed quotations in an echo, in order, each with the labels above it and whether it has any.

    A quotation within another one is a part of it. Hashes are not checked.
    """
    marks = list(_FENCE.finditer(text))
    ends = _by_name(marks, is_opening=False)
    found: list[tuple[Span, bool]] = []
    after = 0
    for opening in marks:
        if opening["break"] is None or opening[1] != "quotation" or opening.start() < after:
            continue
        behind = ends.get((opening[1], opening[2]), [])
        if (place := bisect_left(behind, opening.end())) < len(behind):
            start = _with_labels(text, opening)
            after = behind[place] + len(f"chronofile quotation {opening[2]}>>>")
            found.append(((start, after), start < opening.start()))
    return tuple(found)


def line_break_of(echo: str) -> str:
    """Return how a line break is written in an echo: as it is, or as JSON writes it, up to three times over."""
    opening = _FENCE.search(echo)
    return (opening["break"] if opening else None) or "\n"


def _by_name(marks: Sequence[re.Match[str]], *, is_opening: bool) -> dict[tuple[str, str], list[int]]:
    """Return where the openings or the ends with each name begin, in order."""
    found: dict[tuple[str, str], list[int]] = {}
    for mark in marks:
        if (mark["break"] is not None) is is_opening:
            found.setdefault((mark[1] or mark[4], mark[2] or mark[5]), []).append(mark.start())
    return found


def _is_ours(opening: re.Match[str], inside: str) -> bool:
    return any(left in inside for left in _LEFT_OUT) or _is_intact(opening, inside)


def _is_intact(opening: re.Match[str], inside: str) -> bool:
    """Tell whether the text between two marks is the one whose hash they name."""
    line_break = opening["break"]
    if not inside.endswith(line_break):
        return False
    inside = inside[: -len(line_break)]
    if line_break == "\r\n":
        inside = inside.replace("\r\n", "\n")
    try:
        for _ in range(_LEVELS[line_break.rstrip("\r\n").removesuffix("n")]):
            inside = json.loads(f'"{inside}"', strict=False)
    except ValueError:
        return False
    return fence_name(inside, opening[1]) == opening[2]


def _with_labels(text: str, opening: re.Match[str]) -> int:
    """Return where the two lines of labels above a fence begin, or the fence itself where there are none."""
    at, line_break = opening.start(), opening["break"]
    first_end = text.rfind(line_break, max(0, at - LABEL_CHARS_MAX), max(0, at - len(line_break)))
    if first_end < 0 or not text.endswith(line_break, first_end + 1, at):
        return at
    above = text.rfind(line_break, max(0, first_end - LABEL_CHARS_MAX), first_end)
    label = _LABEL.search(text, max(0, above, first_end - LABEL_CHARS_MAX), first_end)
    is_labelled = label is not None and text.startswith("scope ", first_end + len(line_break))
    return label.start() if label is not None and is_labelled else at


def _result_echoes(text: str) -> tuple[Span, ...]:
    """Return the echoes in what a tool answered: all of it where it is our answer as JSON, or JSON around one."""
    if any(hint in text for hint in _HINTS) and is_answer(text):
        return ((0, len(text)),)
    found = echoes(text, may_be_cut=True)
    if found and all(_WRAPPING.fullmatch(text, *gap) for gap in _gaps(found, len(text))):
        return ((0, len(text)),)
    return found


def is_answer(text: str) -> bool:
    """Tell whether a text is one of our answers as JSON, also one whose end was cut off."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        return _holds_answer(json.loads(text))
    except RecursionError:
        return False
    except ValueError:
        fields = ('"matched"', '"degraded"', '"took_ms"')
        is_cut_answer = _CUT_ANSWER.match(text) is not None and all(field in text for field in fields)
        return is_cut_answer or _CUT_CONTEXT.match(text) is not None


def _holds_answer(value: object) -> bool:
    if isinstance(value, dict):
        if value.keys() >= ANSWER_FIELDS or value.keys() >= CONTEXT_FIELDS:
            return True
        return any(_holds_answer(value[field]) for field in _WRAPPING_FIELDS if field in value)
    if isinstance(value, list):
        return bool(value) and all(map(_holds_answer, value))
    return isinstance(value, str) and any(hint in value for hint in _HINTS) and is_answer(value)


def _runs(turn: Turn) -> Iterator[tuple[Sequence[Part], bool]]:
    """Yield each result of a tool by itself, and what stands between results together: its parts may share a fence."""
    run: list[Part] = []
    for part in turn.parts:
        if part.type != "tool_result" and turn.role != "tool":
            run.append(part)
            continue
        if run:
            yield run, False
            run = []
        yield [part], True
    if run:
        yield run, False


def _widened(text: str, found: Sequence[Span], parts: Sequence[Part]) -> tuple[Span, ...]:
    """Take in the blank line after a part that ends with an echo, and white space that has nothing beside it."""
    separator = len(PART_SEPARATOR)
    ends = {end - separator for end in accumulate(len(part.text) + separator for part in parts)}
    taken = [(start, min(end + separator * (end in ends), len(text))) for start, end in found]
    blank = [(start, end) for start, end in _gaps(taken, len(text)) if not text[start:end].strip()]
    joined: list[Span] = []
    for start, end in sorted([*taken, *blank]):
        touches = bool(joined) and joined[-1][1] == start
        joined.append((joined.pop()[0] if touches else start, end))
    return tuple(joined)


def _gaps(spans: Sequence[Span], length: int) -> list[Span]:
    """Return what is between spans, before them and behind."""
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), length]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
