"""Assembling: the pieces that readers of documents find, put together as one text in Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

TEXT_CHARS_MAX = 10_000_000
"""As much as is captured of a text file."""
BESIDE_CHARS_MAX = 8_000_000

_NO_TITLE = re.compile(
    r"\W*(?:untitled|unspecified|anonymous|unknown|none|title|(?:powerpoint )?pr[eä]sentation\d*|microsoft \w+ - .*|.*\.\w{2,5})?\W*",
    re.IGNORECASE,
)
_BEGINNING_CHARS = 600
_TIGHT = re.compile(r"\| | {0,40}(- )")
_BREAKS = re.compile(r"\s*[\r\n\v\f\x85\u2028\u2029]+\s*")


class TooMuchText(Exception):
    """The document has more text than is captured of one."""


class Broken(Exception):
    """The document is not what its format asks for."""


class Locked(Exception):
    """The document is locked with a password."""


@dataclass(slots=True)
class Assembled:
    """A text in the making: blocks with a blank line between them, but none between list items or rows of a table."""

    pieces: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    omitted: Counter[str] = field(default_factory=Counter)
    _chars: int = 0
    _joint: str | None = None
    """What the last block is an item of: a list, a table, or nothing."""

    def add(self, block: str) -> None:
        """Add a block; one without words adds nothing. Raises TooMuchText."""
        block = block.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip("\n")
        if not block.strip():
            return
        found = _TIGHT.match(block)
        joint = None if found is None else found[1] or found[0]
        if self.pieces:
            self.pieces.append("\n" if joint is not None and joint == self._joint else "\n\n")
        self.pieces.append(block)
        self._joint = joint
        self._chars += len(block)
        if self._chars > TEXT_CHARS_MAX:
            raise TooMuchText

    def extend(self, blocks: Iterable[str]) -> None:
        for block in blocks:
            self.add(block)

    def heading(self, level: int, text: str) -> None:
        self.add(heading(level, text))

    def entitle(self, title: str) -> None:
        """Put a title above the text, unless it begins with it, or the title is one that a program made up."""
        said = one_line(title)
        if (
            self.pieces
            and not _NO_TITLE.fullmatch(said)
            and said not in "".join(self.pieces)[:_BEGINNING_CHARS]
        ):
            self.pieces[:0] = [heading(1, said), "\n\n"]

    @property
    def text(self) -> str:
        return "".join([*self.pieces, "\n"]) if self.pieces else ""

    @property
    def beside_text(self) -> str:
        return "\n".join(filter(None, self.beside))[:BESIDE_CHARS_MAX]


def heading(level: int, text: str) -> str:
    """Return a heading on one line; level 1 is the highest."""
    said = one_line(text)
    return f"{'#' * max(1, min(level, 6))} {said}" if said else ""


def item(depth: int, text: str) -> str:
    """Return a list item; its further lines stand under its first."""
    indent = "  " * min(depth, 20)
    return f"{indent}- " + text.strip().replace("\n", f"\n{indent}  ") if text.strip() else ""


def row(cells: Sequence[str]) -> str:
    """Return a row of a table on one line; empty cells at its end are left out, and of an empty row nothing is left."""
    said = [one_line(cell) for cell in cells]
    while said and not said[-1]:
        said.pop()
    return f"| {' | '.join(said)} |" if said else ""


def one_line(text: str) -> str:
    return _BREAKS.sub(" ", text.strip())
