"""Marked texts: those that begin with the mark of UTF-16 or UTF-32, read as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from chronofile.domain.formats.records import BYTE_ORDER_MARK

ReadBytes = Callable[[int], bytes]
"""Returns up to so many bytes more, none at the end."""

_MARK_BYTES = 4
_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def beginning_text(beginning: bytes) -> str:
    """Return the first bytes of a file as text, without its mark; empty where they are no text."""
    encoding = _encoding(beginning)
    if encoding is not None:
        return codecs.getincrementaldecoder(encoding)("replace").decode(beginning)
    return "" if b"\0" in beginning else beginning.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)


def in_utf8(read: ReadBytes) -> ReadBytes:
    """Return what reads the same text as UTF-8; bytes that begin with no mark, or with that of UTF-8, stay as they are."""
    beginning = _first_bytes(read)
    encoding = _encoding(beginning)
    decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)("replace")

    def decoded(size: int) -> bytes:
        nonlocal beginning
        chunk, beginning = beginning or read(size), b""
        while chunk and decoder is not None:
            text = decoder.decode(chunk)
            if text:
                return text.encode("utf-8", "surrogatepass")
            chunk = read(size)
        return chunk

    return decoded


def _first_bytes(read: ReadBytes) -> bytes:
    beginning = b""
    while len(beginning) < _MARK_BYTES and (more := read(_MARK_BYTES - len(beginning))):
        beginning += more
    return beginning


def _encoding(beginning: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if beginning.startswith(mark)), None)
