"""Texts as a tokenizer takes them (of bounded length, without lone surrogates), and their token ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

ENCODED_TEXTS_MAX = 256  # A tokenizer's result weighs many times its ids, so few are held at a time.


def token_ids(tokenizer: Any, texts: Sequence[str], chars_max: int, *, special: bool) -> list[list[int]]:
    """Return each text's token ids, with the special tokens or without; only `chars_max` code points are read."""
    ids: list[list[int]] = []
    for start in range(0, len(texts), ENCODED_TEXTS_MAX):
        some = encodable(texts[start : start + ENCODED_TEXTS_MAX], chars_max)
        ids.extend(encoding.ids for encoding in tokenizer.encode_batch_fast(some, add_special_tokens=special))
    return ids


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
