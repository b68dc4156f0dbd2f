"""String literals of JSON: where they stand in a text, and what they say, with the way back from each character."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# Repeats are unrolled, so that a literal of megabytes is one step for each backslash in it.
_LITERAL: Final = r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_IN_TEXT: Final = re.compile(_LITERAL, re.DOTALL)
_IN_BYTES: Final = re.compile(_LITERAL.encode(), re.DOTALL)
_COLON: Final = re.compile(rb"\s*:")
_ESCAPE: Final = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_PLAIN: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
OTHER: Final = b"\x80"
"""Stands for any character that is no ASCII: no pattern tells those apart."""


@dataclass(frozen=True, slots=True)
class Unescaped:
    """What a literal says, one byte a character. `starts` are places in it, `origins` where those stand in the text around."""

    text: bytes
    starts: Sequence[int]
    origins: Sequence[int]

    def origin(self, offset: int) -> int:
        """Return where the character at an offset begins in the text around; at the end of this, where the literal ends."""
        piece = bisect_right(self.starts, offset) - 1
        return self.origins[piece] + offset - self.starts[piece]


def literals(text: str | bytes, start: int = 0, end: int = sys.maxsize) -> Iterator[tuple[int, int]]:
    """Yield where the string literals of JSON stand in [start, end), without their quotation marks."""
    found = (
        _IN_TEXT.finditer(text, start, end) if isinstance(text, str) else _IN_BYTES.finditer(text, start, end)
    )
    for match in found:
        yield match.span(1)


def unescaped(text: bytes, start: int, end: int) -> Unescaped:
    """Return what the literal [start, end) says."""
    if text.find(b"\\", start, end) < 0:
        return Unescaped(text[start:end], (0,), (start,))
    pieces: list[bytes] = []
    starts, origins = [0], [start]
    length, last = 0, start
    for escape in _ESCAPE.finditer(text, start, end):
        pieces += (text[last : escape.start()], _character(escape))
        length += escape.start() - last
        last = escape.end()
        starts += (length, length + 1)
        origins += (escape.start(), last)
        length += 1
    pieces.append(text[last:end])
    return Unescaped(b"".join(pieces), starts, origins)


def neighbours(text: bytes) -> Iterator[list[tuple[int, int]]]:
    """Yield the literals that stand side by side in a list of JSON, where there are two and more of them."""
    run: list[tuple[int, int]] = []
    for start, end in literals(text):
        between = text[run[-1][1] + 1 : start - 1].strip() if run else b""
        if between != b",":
            if len(run) > 1:
                yield run
            run = []
        run.append((start, end))
        if _COLON.match(text, end + 1):
            # A name in an object, and what stood before it is the value of another.
            run = []
    if len(run) > 1:
        yield run


def joined(text: bytes, spans: Sequence[tuple[int, int]]) -> Unescaped:
    """Return what several literals say, each on a line of its own; what stands between them is an end of a line."""
    pieces: list[bytes] = []
    starts: list[int] = []
    origins: list[int] = []
    length = 0
    for number, (start, end) in enumerate(spans):
        said = unescaped(text, start, end)
        starts += (length + place for place in said.starts)
        origins += said.origins
        length += len(said.text)
        pieces.append(said.text)
        if number < len(spans) - 1 and not said.text.endswith((b"\n", b"\r")):
            pieces.append(b"\n")
            starts.append(length)
            origins.append(end)
            length += 1
    return Unescaped(b"".join(pieces), starts, origins)


def _character(escape: re.Match[bytes]) -> bytes:
    if (number := escape[1]) is not None:
        code = int(number, 16)
        return bytes([code]) if code < 0x80 else OTHER
    return _PLAIN.get(escape[2], escape[2])
