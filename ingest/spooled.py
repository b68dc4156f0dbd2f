"""Spooled bytes: what a hook copied of a transcript, as a capture reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chronofile.domain.rejection import NotRead
from chronofile.ingest.reading import RANGE_BYTES

MARK = "spool-"
"""With it and an entry's name the fragment of a URI begins, of what was captured from the spool alone."""


@dataclass(frozen=True, slots=True)
class SpooledBytes:
    """What an entry holds of a transcript; offsets are the transcript's, and other bytes raise NotRead.

    `spans` are (start, end, offset in the entry's file), in order. `start` is where the first line begins that is
    new or partly so, `size` is after the last complete line.
    """

    entry: Path
    spans: tuple[tuple[int, int, int], ...]
    start: int
    size: int

    def range(self, start: int, end: int) -> bytes:
        for first, last, place in self.spans:
            if first <= start <= end <= last:
                return _read(self.entry, place + start - first, end - start)
        raise NotRead(self.entry, "vanished", f"The spool does not hold bytes {start} to {end}.")

    def ranges(self, start: int) -> Iterator[tuple[int, int]]:
        while self.size - start > RANGE_BYTES:
            block = self.range(start, min(self.size, start + 2 * RANGE_BYTES))
            cut = block.rfind(b"\n", 0, RANGE_BYTES) + 1 or block.find(b"\n", RANGE_BYTES) + 1
            end = start + cut if cut else self.size
            yield start, end
            start = end
        if start < self.size or not start:
            yield start, self.size

    def lines(self) -> list[bytes]:
        """Return the complete lines that are new, without line ends."""
        return self.range(self.start, self.size).removesuffix(b"\n").split(b"\n")

    def head(self) -> tuple[str, ...]:
        """Return the complete lines at the transcript's beginning, as far as they are held."""
        if not self.spans or self.spans[0][0]:
            return ()
        first = min(self.spans[0][1], self.size if len(self.spans) == 1 else self.spans[0][1])
        lines = self.range(0, first).removeprefix(b"\xef\xbb\xbf").split(b"\n")
        return tuple(line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines[:-1] or lines)


def held(file: Path, spans: tuple[tuple[int, int, int], ...], offset: int) -> SpooledBytes:
    """Find where the new lines begin and where the last complete one ends; both lie in the last span."""
    first, last, place = spans[-1]
    content = _read(file, place, last - first)
    start = content.rfind(b"\n", 0, max(0, offset - first)) + 1
    end = content.rfind(b"\n") + 1
    if content[end:].strip() and is_object(content[end:].decode("utf-8", "replace")):
        end = len(content)
    return SpooledBytes(file, spans, first + min(start, end), first + end)


def is_object(text: str) -> bool:
    """Tell whether a text is one whole JSON object."""
    try:
        return isinstance(json.loads(text.removeprefix("\ufeff")), dict)
    except (ValueError, RecursionError):
        return False


def _read(file: Path, offset: int, size: int) -> bytes:
    try:
        with file.open("rb") as opened:
            opened.seek(offset)
            content = opened.read(size)
    except OSError as failure:
        raise NotRead(file, "vanished", failure.strerror or "") from failure
    if len(content) < size:
        raise NotRead(file, "changed-while-read", f"It ends before byte {offset + size}.")
    return content
