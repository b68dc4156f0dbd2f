"""String literals of JSON: where they stand in a text, and what they say, with the way back from each character."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_LITERAL: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_PLAIN: Final = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_OTHER: Final = b"\x80"
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


def literals(text: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield where the string literals of JSON stand, without their quotation marks."""
    for match in _LITERAL.finditer(text, start, len(text) if end is None else end):
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


def _character(escape: re.Match[bytes]) -> bytes:
    if (number := escape[1]) is not None:
        code = int(number, 16)
        return bytes([code]) if code < 0x80 else _OTHER
    return _PLAIN.get(escape[2], escape[2])
