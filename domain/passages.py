"""Passages: exact slices of a text that are indexed and returned, cut where the text itself divides."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from zlib import crc32

from chronofile.domain.echoes import turn_echoes
from chronofile.domain.identity import digest, encoded
from chronofile.domain.sections import Section, TextKind, fences, sections
from chronofile.domain.turns import PART_SEPARATOR, Part, PartType, Role, Turn

PASSAGE_CHARS_MAX = 800
TINY_CHARS = 80
"""A section shorter than this does not stand alone if it can be joined to its neighbour."""
RUN_BREAK = 10
"""In a run of tiny sections one of so many, chosen by its own text, begins a new passage."""
_FILL_MIN = 0.25
_WORD_FILL_MIN = 0.5
_BACK_STEPS_MAX = 16

Span = tuple[int, int]

_PARAGRAPH = re.compile(r"\n(?:[ \t\r]*\n)+")
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)]|[>|])[ \t])")
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]*_]{0,3}\s+|[。！？]+\s*")
_LINE = re.compile(r"\n(?:[ \t\r]*\n)*")
_WORD = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"(?:[ \t\r]*\n)+")

_PROSE_BORDERS = (
    (_PARAGRAPH, _FILL_MIN),
    (_ITEM, _FILL_MIN),
    (_SENTENCE, _FILL_MIN),
    (_LINE, _FILL_MIN),
    (_WORD, _WORD_FILL_MIN),
)
_CODE_BORDERS = ((_PARAGRAPH, _FILL_MIN), (_LINE, _FILL_MIN), (_WORD, _WORD_FILL_MIN))

_MARKDOWN_SUFFIXES = frozenset(
    {".md", ".markdown", ".mdx", ".mkd", ".rst", ".qmd", ".adoc", ".docx", ".epub", ".pdf", ".pptx", ".xlsx"}
)
"""With these names a document may be kept as a text, which has the headings of Markdown."""
_CODE_SUFFIX = re.compile(
    r"\.(?:py|pyi|pyx|[cm]?[jt]s|[jt]sx|vue|svelte|java|kts?|scala|groovy|gradle|go|rs|[chm]|cc|cpp|cxx|hh|hpp|hxx|mm|cs|fsx?"
    r"|vb|swift|rb|rake|php|p[lm]|lua|r|jl|exs?|[eh]rl|hs|mli?|clj|cljs|lisp|el|scm|dart|zig|nim|cr|d|s?v|vhd|asm|s|(?:ba|z|fi)?sh"
    r"|ps1|bat|sql|graphql|proto|thrift|tf|hcl|nix|cmake|mk|css|scss|sass|less|html?|xml|xsl|svg|jsonl?|json5|ya?ml|toml|ini"
    r"|cfg|conf|properties|env|[ct]sv|diff|patch|sol|ipynb)"
)
_CODE_NAMES = frozenset(
    {"makefile", "dockerfile", "containerfile", "jenkinsfile", "gemfile", "rakefile", "justfile"}
)


def kind_of(path_name: str) -> TextKind:
    """Return how a file's text is cut, from its name alone; unknown suffixes are prose."""
    path = PurePosixPath(path_name.replace("\\", "/"))
    suffix = path.suffix.lower()
    if suffix in _MARKDOWN_SUFFIXES:
        return "markdown"
    is_code = _CODE_SUFFIX.fullmatch(suffix) or path.name.lower() in _CODE_NAMES
    return "code" if is_code else "prose"


def cut(text: str, *, kind: TextKind, chars_max: int = PASSAGE_CHARS_MAX) -> tuple[Span, ...]:
    """Partition a text into spans of at most `chars_max` code points; joined they are the text again.

    A heading or a definition begins a new passage, and cutting starts anew there, so an edit moves no
    passage outside its own section. Within a section as much is packed into a passage as fits, up to
    the last best border: paragraph, fenced block, list item, sentence, line, word. White space goes with what it
    follows, indentation with its line.

    Sections of fewer than TINY_CHARS code points: a run of them is packed together, beginning anew
    at those that their own text's checksum chooses (so that an edit moves only its stretch of the
    run); what is tiny even then is joined to the first passage of the next section where that fits.
    """
    if chars_max < 1:
        raise ValueError(f"chars_max must be at least 1, not {chars_max}")
    if not text:
        return ()
    blocks = fences(text) if kind != "code" else []
    spans: list[Span] = []
    waiting: Span | None = None
    for start, end, inner in _stretches(text, _starts(text, kind)):
        pieces = list(_pieces(text, (start, end), chars_max, _Borders(kind, inner, blocks)))
        if waiting is not None and pieces[0][1] - waiting[0] <= chars_max:
            pieces[0] = (waiting[0], pieces[0][1])
        elif waiting is not None:
            spans.append(waiting)
        waiting = pieces.pop() if len(pieces) == 1 and _is_tiny(text, *pieces[0]) else None
        spans.extend(pieces)
    return tuple([*spans, waiting] if waiting is not None else spans)


def cut_turn(turn: Turn, *, chars_max: int = PASSAGE_CHARS_MAX) -> tuple[Span, ...]:
    """Partition a turn's text but for its echoes, so that no passage holds parts of two types.

    An assistant's words and summaries are cut as Markdown, tool calls and results as code, other parts as prose.
    What Chronofile itself put into the prompt (`turn_echoes`) gives no passage: it is there as what it quotes.
    """
    spans: list[Span] = []
    at = 0
    text = turn.text
    left_out = turn_echoes(turn)
    for kind, parts in groupby(turn.parts, key=_type):
        length = sum(len(part.text) + len(PART_SEPARATOR) for part in parts)
        end = min(at + length, len(text))
        for start, until in _outside(left_out, at, end):
            cuts = cut(text[start:until], kind=_part_kind(kind, turn.role), chars_max=chars_max)
            spans.extend((start + first, start + last) for first, last in cuts)
        at = end
    return tuple(spans)


def titles(text: str, spans: Sequence[Span], kind: TextKind) -> tuple[str | None, ...]:
    """Return for each span the heading or definition line that encloses its beginning, None where none does.

    `spans` are in order. A span that begins with a heading or a definition gets the one around that.
    """
    ahead = list(reversed(sections(text, kind)))
    around: list[Section] = []
    found: list[str | None] = []
    for start, end in spans:
        while ahead and ahead[-1].line < start:
            section = ahead.pop()
            _close(around, section.depth)
            around.append(section)
        if ahead and ahead[-1].start <= start <= ahead[-1].line:
            _close(around, ahead[-1].depth)
        elif kind == "code":
            _close(around, _indent(text, start, end), tables=False)
        found.append(around[-1].title if around else None)
    return tuple(found)


def passage_id(source_id: str, turn: str | None, text: str, k: int, store_key: bytes) -> str:
    """Return the id of the k-th passage (from 0) with this text in a turn or, without a turn, in a file.

    The store's key goes into it, so that the id of a short text does not let the text be guessed.
    """
    return digest("passage", source_id, turn, text, k, key=store_key)


@dataclass(frozen=True, slots=True)
class _Borders:
    """Where one stretch may be divided: `inner` section starts first, `blocks` not if it can be helped."""

    kind: TextKind
    inner: Sequence[int]
    blocks: Sequence[Span]

    def block_at(self, at: int) -> Span | None:
        """Return the fenced block that a cut at this place would divide."""
        index = bisect_left(self.blocks, (at, 0)) - 1
        return self.blocks[index] if index >= 0 and at < self.blocks[index][1] else None


def _starts(text: str, kind: TextKind) -> list[int]:
    starts = [section.start for section in sections(text, kind)]
    if starts and not text[: starts[0]].strip():
        # White space before the first section belongs to it.
        starts = starts[1:]
    return [0, *starts]


def _stretches(text: str, starts: Sequence[int]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the stretches that are cut by themselves: a section, or a run of tiny sections and their starts."""
    run: list[int] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        is_tiny = _is_tiny(text, start, end)
        if run and (not is_tiny or _begins_run(text, start, end)):
            yield run[0], start, run[1:]
            run = []
        if is_tiny:
            run.append(start)
        else:
            yield start, end, []
    if run:
        yield run[0], len(text), run[1:]


def _is_tiny(text: str, start: int, end: int) -> bool:
    return end - start < 4 * TINY_CHARS and len(text[start:end].strip()) < TINY_CHARS


def _begins_run(text: str, start: int, end: int) -> bool:
    return crc32(encoded(text[start:end].strip())) % RUN_BREAK == 0


def _pieces(text: str, stretch: Span, chars_max: int, borders: _Borders) -> Iterator[Span]:
    at, end = stretch
    room = TINY_CHARS if chars_max > 4 * TINY_CHARS else 0
    # The first of several pieces leaves room for a tiny section before it.
    spare = room if at > 0 else 0
    while end - at > chars_max:
        # What is left over at the end must not be tiny.
        limit = min(at + chars_max - spare, end - room)
        following = _border(text, at, limit, borders)
        yield at, following
        at, spare = following, 0
    yield at, end


def _border(text: str, at: int, limit: int, borders: _Borders) -> int:
    """Return the best place for a cut after `at`, at `limit` at the latest."""
    index = bisect_right(borders.inner, limit) - 1
    if index >= 0 and borders.inner[index] > at:
        return borders.inner[index]
    size = limit - at
    block = borders.block_at(limit)
    if block is not None and block[0] > at and block[0] >= at + size * _FILL_MIN:
        return block[0]
    is_code = borders.kind == "code" or block is not None
    for pattern, fill in _CODE_BORDERS if is_code else _PROSE_BORDERS:
        found = _last_border(text, pattern, at + max(int(size * fill), 1), limit)
        if found is not None:
            divided = None if is_code else borders.block_at(found)
            return found if divided is None else _after_blank_lines(text, divided[1], limit)
    return _between_characters(text, at, limit)


def _after_blank_lines(text: str, at: int, limit: int) -> int:
    blank = _BLANK_LINES.match(text, at, limit)
    return blank.end() if blank else at


def _last_border(text: str, pattern: re.Pattern[str], earliest: int, limit: int) -> int | None:
    """Return where the last match in text[earliest:limit] ends that leaves no white space behind it."""
    last = None
    for match in pattern.finditer(text, earliest, limit):
        last = match.end() if match.end() < limit or _is_border(text, limit, pattern) else last
    return last


def _is_border(text: str, at: int, pattern: re.Pattern[str]) -> bool:
    following = text[at : at + 1]
    # After a line's end indentation may follow, it belongs to the next line.
    return following not in ("\r", "\n") if pattern in (_PARAGRAPH, _LINE, _ITEM) else not following.isspace()


def _between_characters(text: str, at: int, limit: int) -> int:
    """Return `limit`, or a little before it where that would divide what is read as one character."""
    for cut_at in range(limit, max(limit - _BACK_STEPS_MAX, at), -1):
        if not _is_joined(text[cut_at - 1], text[cut_at]):
            return cut_at
    return limit


def _is_joined(before: str, after: str) -> bool:
    if before == "\r":
        return after == "\n"
    if "\ud800" <= before <= "\udbff":
        return "\udc00" <= after <= "\udfff"
    is_modifier = "\ufe00" <= after <= "\ufe0f" or "\U0001f3fb" <= after <= "\U0001f3ff"
    return is_modifier or "\u200d" in (before, after) or unicodedata.combining(after) > 0


def _outside(spans: Sequence[Span], start: int, end: int) -> Iterator[Span]:
    """Yield what of [start, end) is in none of the spans."""
    for first, last in spans:
        if first > start:
            yield start, min(first, end)
        start = max(start, last)
        if start >= end:
            return
    if start < end:
        yield start, end


def _type(part: Part) -> PartType:
    return part.type


def _part_kind(part: PartType, role: Role) -> TextKind:
    if part in ("tool_call", "tool_result"):
        return "code"
    return "markdown" if part == "summary" or (part == "text" and role == "assistant") else "prose"


def _close(around: list[Section], depth: int, *, tables: bool = True) -> None:
    while around and around[-1].depth >= depth and (tables or not around[-1].title.startswith("[")):
        around.pop()


def _indent(text: str, start: int, end: int) -> int:
    """Return the indentation of a span's first line in columns; one that begins with a bracket has the deepest."""
    for line in text[start:end].split("\n"):
        content = line.strip()
        if content:
            columns = len(line[: len(line) - len(line.lstrip())].expandtabs(4))
            return columns if content[0] not in "{)}" else columns + 1
    return 0
