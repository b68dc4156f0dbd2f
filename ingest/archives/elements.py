"""Elements: the JSON values that an export lists, found one after the other without holding the rest of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from chronofile.ingest.marked import ReadBytes, in_utf8

CHUNK_BYTES = 1 << 20
ELEMENT_BYTES_MAX = 64 << 20

# Possessive: a string of megabytes is one step, and nothing is tried twice.
_OUTSIDE = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_LISTED = re.compile(rb'"conversations"\s*:\s*$')
_LISTED_BYTES = 256
"""How far before a bracket the name of its list is looked for."""
_NOWHERE = 1 << 62
_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


@dataclass(frozen=True, slots=True)
class Element:
    """One listed value, on one line: the line breaks between its parts are spaces, its strings are as they were.

    `content` is None where it is longer than the limit, or cut off. `size` counts its bytes.
    """

    content: bytes | None
    size: int
    is_cut_off: bool = False


def elements(read: ReadBytes, limit_bytes: int = ELEMENT_BYTES_MAX) -> Iterator[Element]:
    """Yield the objects and arrays that a JSON text lists.

    These are the elements of the array that it is, or those of its field `conversations`; else the text's own
    values, one or several. What stands between them is passed over. Holds no more than one element and a chunk. A
    text that begins with the mark of UTF-16 or UTF-32 is read as UTF-8.
    """
    scanner = _Scanner(limit_bytes)
    read = in_utf8(read)
    while chunk := read(CHUNK_BYTES):
        yield from scanner.take(chunk)
    yield from scanner.end()


def one_line(content: bytes) -> bytes:
    """Return a JSON text on one line: within its strings there are no line breaks that this could change."""
    return content.translate(_LINE_ENDS) if b"\n" in content or b"\r" in content else content


@dataclass(slots=True)
class _Scanner:
    """Follows brackets and strings; elements stand at `level` open brackets."""

    limit_bytes: int
    buffer: bytearray = field(default_factory=bytearray)
    at: int = 0
    begin: int | None = None
    """Where the element that is open begins in the buffer."""
    dropped: int = 0
    """How many bytes of the open element were let go of, since it is longer than the limit."""
    depth: int = 0
    level: int = 0
    in_string: bool = False
    is_object: bool = False

    def take(self, chunk: bytes) -> Iterator[Element]:
        self.buffer += chunk
        while self._advance():
            bracket = self.buffer[self.at]
            self.at += 1
            if bracket in b"[{":
                self._open(bracket)
            else:
                yield from self._close()
        self._let_go()

    def end(self) -> Iterator[Element]:
        if self.begin is not None or self.dropped:
            yield Element(None, self.dropped + len(self.buffer) - (self.begin or 0), is_cut_off=True)

    def _advance(self) -> bool:
        """Go to the next bracket outside of strings; tell whether there is one yet."""
        if self.in_string and not self._leave_string():
            return False
        found = _OUTSIDE.match(self.buffer, self.at)
        self.at = self.at if found is None else found.end()
        if self.at < len(self.buffer) and self.buffer[self.at] == ord('"'):
            # The string goes on in a later chunk.
            self.at, self.in_string = self.at + 1, True
            return self._leave_string() and self._advance()
        return self.at < len(self.buffer)

    def _leave_string(self) -> bool:
        found = _INSIDE.match(self.buffer, self.at)
        self.at = self.at if found is None else found.end()
        if self.at < len(self.buffer) and self.buffer[self.at] == ord('"'):
            self.at, self.in_string = self.at + 1, False
            return True
        return False

    def _open(self, bracket: int) -> None:
        if self.depth == 0:
            self.is_object = bracket == ord("{")
            self.level = 0 if self.is_object else 1
        elif self.depth == 1 and self.is_object and self.level == 0 and bracket == ord("["):
            named = self.buffer[max(0, self.at - 1 - _LISTED_BYTES) : self.at - 1]
            if _LISTED.search(named):
                # What stands around the list is no conversation.
                self.level, self.begin, self.dropped = 2, None, 0
        if self.depth == self.level:
            self.begin, self.dropped = self.at - 1, 0
        self.depth += 1

    def _close(self) -> Iterator[Element]:
        self.depth = max(0, self.depth - 1)
        if self.depth == self.level and (self.begin is not None or self.dropped):
            size = self.dropped + self.at - (self.begin or 0)
            is_whole = not self.dropped and size <= self.limit_bytes
            content = (
                one_line(bytes(memoryview(self.buffer)[self.begin or 0 : self.at])) if is_whole else None
            )
            self.begin, self.dropped = None, 0
            if size > CHUNK_BYTES:
                self._let_go()  # Of what is large there is one copy while somebody looks at it.
            yield Element(content, size)
        elif self.depth < self.level:
            # The list is over: what comes after it belongs to what stands around it.
            self.level = 0 if self.depth == 0 else _NOWHERE

    def _let_go(self) -> None:
        """Forget what is behind, and of an element that is too long all that was read."""
        keep = max(0, self.at - _LISTED_BYTES)
        if self.begin is not None:
            if self.dropped or self.at - self.begin > self.limit_bytes:
                keep = max(keep, self.begin)
                self.dropped += keep - self.begin
            else:
                keep = self.begin
            self.begin = 0
        del self.buffer[:keep]
        self.at -= keep
