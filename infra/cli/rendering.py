"""Rendering: results on standard output, as text for people or as JSON, in whatever encoding it has."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from chronofile.domain.wording import counted

_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400


def values_of(value: Any) -> Any:
    """Return an answer, a report or a part of one as JSON values."""
    from chronofile.query.answer import as_json

    return as_json(value)


def write_json(value: Any) -> None:
    """Write one JSON value on one line, at once.

    Text that the output's encoding lacks, lone surrogates among it, is escaped as JSON does it.
    """
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        line = json.dumps(value)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def write_lines(lines: Iterable[str]) -> None:
    """Write lines for people, each as `shown` makes it harmless."""
    encoding = sys.stdout.encoding
    for line in lines:
        harmless = shown(line).encode(encoding, "backslashreplace").decode(encoding)
        sys.stdout.write(harmless + "\n")


def note(sentence: str) -> None:
    """Write a sentence about the results to standard error, so that standard output has the results alone."""
    sys.stderr.write(shown(sentence) + "\n")


def shown(line: str) -> str:
    """Return a line without characters that would move the cursor, colour the terminal or turn text around.

    Captured text is a stranger's: it must not be able to write over what we say about it.
    """
    return _UNSHOWABLE.sub(lambda found: ascii(found[0])[1:-1], line)


def indented(text: str, by: str = "    ") -> list[str]:
    """Return a text's lines, each behind the same indent and otherwise as they are."""
    return [(by + line.removesuffix("\r")).rstrip(" ") for line in text.removesuffix("\n").split("\n")]


def table(rows: Sequence[Sequence[object]], *, right: Iterable[int] = ()) -> list[str]:
    """Return rows as aligned lines, the first being the headings; the columns `right` are aligned there.

    Nothing is cut: who reads them in a pipe needs all of a path.
    """
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    aligned = [
        [cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in cells)
    ]
    return ["  ".join(row).rstrip() for row in aligned]


def unread(records: int) -> str:
    """Return how many records were omitted, and where each is listed."""
    records_text = counted(records, "record")
    return f"{records_text} gave no turn or text (unreadable or of unknown type): chronofile sources"


def size(count: float) -> str:
    """Return a number of bytes as people say it."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1_000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1_000
    return f"{count:.1f} TB"


def age(seconds: int) -> str:
    """Return how long ago something was, in its largest unit."""
    for unit_s, name in ((_DAY_S, "day"), (_HOUR_S, "hour"), (_MINUTE_S, "minute")):
        if seconds >= unit_s:
            return f"{counted(seconds // unit_s, name)} ago"
    return "just now"
