"""Selections: which files below a folder are wanted, by patterns of their paths within it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path

ANY_FOLDERS = "**"

_Pattern = tuple[re.Pattern[str] | None, ...]
"""A name's pattern after the other, None for any number of folders."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The files that one of the patterns names: `*` stands for a part of a name, `**` for any number of folders."""

    patterns: tuple[str, ...]

    def holds(self, parts: Sequence[str]) -> bool:
        """Tell whether the file with these names, from the folder down, is wanted."""
        return any(_matches(parts, _compiled(pattern)) for pattern in self.patterns)

    def leads_to(self, parts: Sequence[str]) -> bool:
        """Tell whether something below the folder with these names may be wanted."""
        return any(_leads(parts, _compiled(pattern)) for pattern in self.patterns)

    def with_others(self, other: Selection) -> Selection:
        """Return what holds whatever one of the two does."""
        return Selection(tuple(dict.fromkeys((*self.patterns, *other.patterns))))


@dataclass(frozen=True, slots=True)
class Within:
    """A folder, by its path, and what is wanted of it."""

    folder: str
    selection: Selection

    def wants(self, path: str, *, is_folder: bool) -> bool:
        """Tell whether a file below the folder is wanted, or something below a folder there."""
        parts = Path(path).relative_to(self.folder).parts
        return self.selection.leads_to(parts) if is_folder else self.selection.holds(parts)


Selected = Mapping[Path, Selection]
"""What is wanted of the folders that a capture is to look through; all that is below one that is not in it."""


def merged(found: Iterable[tuple[Path, Selection]]) -> dict[Path, Selection]:
    """Return what is wanted of each folder where one may be named several times."""
    selected: dict[Path, Selection] = {}
    for path, selection in found:
        before = selected.get(path)
        selected[path] = selection if before is None else before.with_others(selection)
    return selected


@cache
def _compiled(pattern: str) -> _Pattern:
    return tuple(None if part == ANY_FOLDERS else re.compile(translate(part)) for part in pattern.split("/"))


def _matches(parts: Sequence[str], pattern: _Pattern) -> bool:
    if not pattern:
        return not parts
    first, rest = pattern[0], pattern[1:]
    if first is None:
        return any(_matches(parts[start:], rest) for start in range(len(parts) + 1))
    return bool(parts) and first.match(parts[0]) is not None and _matches(parts[1:], rest)


def _leads(parts: Sequence[str], pattern: _Pattern) -> bool:
    for part, wanted in zip(parts, pattern, strict=False):
        if wanted is None:
            return True
        if wanted.match(part) is None:
            return False
    return len(parts) < len(pattern)
