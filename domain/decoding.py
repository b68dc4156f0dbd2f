"""Decoding: bytes in a named encoding become text, and what could not be decoded is counted."""

from __future__ import annotations


def decode(content: bytes, encoding: str) -> tuple[str, int]:
    """Return the text and how many U+FFFD in it stand for bytes that are invalid in the encoding.

    A byte order mark that the encoding's name promises (`utf-8-sig`, `utf-16`, `utf-32`) is left out. Line
    ends and NUL characters stay as they are. There are never lone surrogates in the text. An encoding that
    Python does not know raises LookupError.
    """
    try:
        return content.decode(encoding), 0
    except UnicodeDecodeError:
        text = content.decode(encoding, "replace")
        # Each error adds one character to the one and none to the other, in every codec.
        return text, len(text) - len(content.decode(encoding, "ignore"))
