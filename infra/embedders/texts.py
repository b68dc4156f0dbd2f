"""Texts as a tokenizer takes them: of bounded length and without lone surrogates."""

from __future__ import annotations

from collections.abc import Iterable


def encodable(texts: Iterable[str], chars_max: int) -> list[str]:
    """Return the texts cut to `chars_max` code points, lone surrogates replaced by U+FFFD.

    Tokenizers reject a string that has no UTF-8; and they read a whole text before they cut its tokens, so
    that a megabyte would cost as much as hundreds of passages for the same vector.
    """
    return [_encodable(text[:chars_max]) for text in texts]


def _encodable(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
