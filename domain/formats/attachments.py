"""Attachments: what is said of a file that came with a message, in place of what is in it."""

from __future__ import annotations

import re

FACT_CHARS_MAX = 300
_DATA_URL = re.compile(r"data:([\w.+/-]*)(?:;[\w.=+-]+)*;base64,")


def attached(kind: str, *facts: object) -> str:
    """Return a kind of thing and what is known of it in brackets: `[image image/png, 123 bytes]`.

    Facts that are no text and no number are left out, and long ones are cut: a link may hold a whole picture.
    """
    known = [
        str(fact)[:FACT_CHARS_MAX]
        for fact in facts
        if isinstance(fact, str | int | float) and not isinstance(fact, bool) and fact != ""
    ]
    return f"[{kind} {', '.join(known)}]" if known else f"[{kind}]"


def size(count: object) -> str | None:
    """Return a number of bytes as a fact, None where it is no number."""
    if isinstance(count, bool) or not isinstance(count, int | float) or not 0 <= count < float("inf"):
        return None
    return f"{int(count)} bytes"


def base64_size(written: object) -> str | None:
    """Return as a fact how many bytes a text in base64 stands for, None where it is no text."""
    if not isinstance(written, str):
        return None
    # Three bytes are written as four characters, the last ones filled up with "=".
    return f"{len(written) * 3 // 4 - written[-2:].count('=')} bytes"


def without_base64(text: str) -> str:
    """Return a text that is nothing but a link with a file in it as a fact, and any other as it is."""
    found = _DATA_URL.match(text) if text.startswith("data:") else None
    return attached(found[1] or "file", base64_size(text[found.end() :])) if found else text
