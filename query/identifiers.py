"""Identifiers: the names of code that a question holds, and the passages in which they stand whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chronofile.projections.words import ENGLISH_STOP_WORDS

IDENTIFIERS_MAX = 8
LOOK_UP_WORDS_MAX = 2

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
# What prose does not have: an underscore, a capital after a small letter, a dot between two names.
_OF_CODE = re.compile(r"_|[a-z0-9][A-Z]|\w\.\w")
_DEFINES = r"(?:class|def|fn|func|function|struct|interface|trait|enum|type|impl|module|const|let|var)\s+"
_WORD = re.compile(r"\w+(?:[-.']\w+)*")


def identifiers(question: str) -> tuple[str, ...]:
    """Return the names of code in a question: `read_many`, `QuerySet`, `os.path`; none in plain prose."""
    found = (match.group().strip(".") for match in _NAME.finditer(question))
    return tuple(dict.fromkeys(name for name in found if _OF_CODE.search(name)))[:IDENTIFIERS_MAX]


def standing(names: Sequence[str], text: str) -> tuple[float, float]:
    """Return the share of the names that stand whole in a text, and of those that it defines: from 0 to 1."""
    if not names:
        return 0.0, 0.0
    whole = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    defined = [name for name in whole if re.search(rf"\b{_DEFINES}{re.escape(name)}(?!\w)", text)]
    return len(whole) / len(names), len(defined) / len(names)


def looks_up(question: str, text: str) -> bool:
    """Return whether a question is no more than one or two words, all of which stand in the text."""
    words = {word.casefold() for word in _WORD.findall(question)} - ENGLISH_STOP_WORDS
    held = text.casefold()
    return 0 < len(words) <= LOOK_UP_WORDS_MAX and all(word in held for word in words)
