"""Sections: where a text starts anew, at Markdown headings and at definitions in code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TextKind = Literal["prose", "code", "markdown"]

TITLE_CHARS_MAX = 120
LEAD_CHARS_MAX = 8_000
"""How far before a definition its comments and decorators are looked for, in code points."""
_LINE_CHARS_MAX = 400

_FENCE = re.compile(r"^[ \t]*(?:[-*+>][ \t]+)?(`{3,}|~{3,})([^\n]*)", re.MULTILINE)
_HEADING = re.compile(
    r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<text>[^\n]*))?\r?$"
    r"|^(?P<above> {0,3}[^\s#>|`~\-=*+][^\n]{0,200})\n {0,3}(?P<line>={2,}|-{2,})[ \t]*\r?$",
    re.MULTILINE,
)

_INDENT = r"^(?P<indent> {0,4}|\t)"
_MODIFIERS = (
    r"(?:(?:export|default|declare|pub(?:\([^)\n]{0,40}\))?|public|private|protected|internal|static|final|abstract"
    r"|async|override|virtual|inline|extern|unsafe|const|partial|sealed|open|data|case|local|constexpr)[ \t]+){0,6}"
)
# Words that are definitions wherever they begin a line.
_KEYWORDS = (
    r"(?:def|defp|defmodule|defmacro|class|func|fn|fun|function\*?|struct|impl|interface|trait|enum|namespace"
    r"|macro_rules!)(?:<[^>\n]{0,80}>)?[ \t]+[\w$(*&<:~'\[]"
)
# Words that are also words of a sentence: only with what ends or opens a definition later on the line.
_COMMON_WORDS = (
    r"(?:type|object|record|module|mod|package|extension|protocol|union|macro|resource|sub|test|describe|mixin)"
    r"(?:[ \t]+|\()[\w\"'$][^\n]{0,200}[={(][^\n.]{0,100}$"
)
_METHOD = r"(?:public|private|protected|internal|static|override)[ \t][^\n;={]{0,200}\([^\n;]{0,300}$"
_BOUND = r"(?:const|let|var)[ \t]+[\w$]+[^\n=]{0,80}=[ \t]*(?:async[ \t]*)?(?:function\b|\([^\n]{0,200}=>|\($|[\w$]+[ \t]*=>)"
_NOT_A_TYPE = (
    r"(?!(?:if|for|foreach|while|switch|return|else|elif|assert|raise|await|yield|with|from|import|del|not|print|throw"
    r"|new|delete|goto|in|and|or|lambda|let|var|const|except|catch|echo|use|using|include|require|export|do|try)\b)"
)
_C_FUNCTION = (
    _NOT_A_TYPE
    + r"[A-Za-z_][\w:<>, \t*&~]{0,120}[ \t*&][\w:~]{1,80}[ \t]?\([^\n;=\"'.]{0,300}[{),(][ \t]*\r?$"
)
_SHELL_FUNCTION = r"[\w-]{1,80}[ \t]?\(\)[ \t]*\{"
_TABLE = r"\[{1,2}[\w.\-\"' :/]*[A-Za-z][\w.\-\"' :/]*\]{1,2}[ \t]*\r?$"
_SQL = r"(?i:create[ \t]+(?:or[ \t]+replace[ \t]+)?(?:\w+[ \t]+){0,2}(?:table|view|index|function|procedure|trigger|type)\b)"

_DEFINITION = re.compile(
    rf"{_INDENT}(?:{_MODIFIERS}(?:{_KEYWORDS}|{_COMMON_WORDS}|{_BOUND})|{_METHOD})"
    rf"|^(?:{_C_FUNCTION}|{_SHELL_FUNCTION}|{_TABLE}|{_SQL})",
    re.MULTILINE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
_LEAD = re.compile(r"(?:#|//|/\*|\*|--|;;|@|<!--|template[ \t]*<|\[[A-Z]|\"\"\")")


@dataclass(frozen=True, slots=True)
class Section:
    """Where a text starts anew: `start` is where the section begins, `title` its heading or definition line.

    `line` is where the title's own line begins: comments and decorators may stand between `start` and
    it. A section of a lower `depth` encloses those of a higher one (Markdown: 1 to 6; code: indentation).
    """

    start: int
    line: int
    title: str
    depth: int


def sections(text: str, kind: TextKind) -> tuple[Section, ...]:
    """Return the sections of a text in order; what stands before the first one belongs to none."""
    if kind == "markdown":
        return tuple(_headings(text))
    return tuple(_definitions(text)) if kind == "code" else ()


def fences(text: str) -> list[tuple[int, int]]:
    """Return the spans of Markdown's fenced blocks, from the opening line to the end of the closing one.

    A fence that is never closed reaches to the end of the text.
    """
    spans: list[tuple[int, int]] = []
    start, mark = -1, ""
    for match in _FENCE.finditer(text):
        if start < 0:
            # A backtick in the rest of an opening line makes it inline code.
            if match[1][0] == "~" or "`" not in match[2]:
                start, mark = match.start(), match[1]
        elif match[1].startswith(mark) and not match[2].strip():
            spans.append((start, _next_line(text, match.end())))
            start = -1
    return [*spans, (start, len(text))] if start >= 0 else spans


def _headings(text: str) -> Iterator[Section]:
    blocks = fences(text)
    for match in _HEADING.finditer(text):
        start = match.start()
        index = bisect_right(blocks, (start, len(text))) - 1
        if index >= 0 and start < blocks[index][1]:
            continue
        if match["marks"]:
            title, depth = (match["text"] or "").rstrip("# \t\r"), len(match["marks"])
        elif _begins_paragraph(text, start):
            title, depth = match["above"].strip(), 1 if match["line"][0] == "=" else 2
        else:
            continue
        yield Section(start, start, title[:TITLE_CHARS_MAX], depth)


def _definitions(text: str) -> Iterator[Section]:
    floor = 0
    for match in _DEFINITION.finditer(text):
        line = match.start()
        indent = match["indent"] or ""
        title = text[line : min(_line_end(text, line), line + _LINE_CHARS_MAX)].strip()
        start = _lead_start(text, line, indent, max(floor, line - LEAD_CHARS_MAX))
        yield Section(start, line, title[:TITLE_CHARS_MAX], len(indent.expandtabs(4)))
        floor = _next_line(text, line)


def _lead_start(text: str, line: int, indent: str, floor: int) -> int:
    """Return where the comments and decorators directly above a definition begin, not before `floor`."""
    start = line
    while start > floor:
        above = text.rfind("\n", floor, start - 1) + 1 or floor
        content = text[above : min(start, above + _LINE_CHARS_MAX)].rstrip()
        stripped = content.lstrip()
        opened = _opening(text, above, stripped, indent, floor)
        if opened is not None:
            start = opened
        elif stripped and _LEAD.match(stripped) and content.startswith(indent) and _is_near(content, indent):
            start = above
        else:
            break
    return start


def _opening(text: str, above: int, stripped: str, indent: str, floor: int) -> int | None:
    """Return where a comment or decorator begins of which the line at `above` is the last of several."""
    if stripped.endswith("*/") and not stripped.startswith("/*"):
        opening = text.rfind("/*", floor, above)
        return None if opening < 0 else max(text.rfind("\n", floor, opening) + 1, floor)
    if stripped == ")":
        opening = text.rfind(f"\n{indent}@", floor, above)
        is_whole = opening >= 0 and not _BLANK_LINE.search(text, opening + 1, above)
        return opening + 1 if is_whole else None
    return None


def _is_near(content: str, indent: str) -> bool:
    # The continuation of a block comment is indented by one more than its first line.
    extra = len(content) - len(content.lstrip()) - len(indent)
    return extra == 0 or (extra == 1 and content.lstrip().startswith("*"))


def _begins_paragraph(text: str, start: int) -> bool:
    if start == 0:
        return True
    previous = text.rfind("\n", 0, start - 1) + 1
    return not text[previous : min(start, previous + _LINE_CHARS_MAX)].strip()


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _next_line(text: str, at: int) -> int:
    return min(_line_end(text, at) + 1, len(text))
