"""People: whom a question is about, as far as its words say so."""

from __future__ import annotations

import re
from collections.abc import Iterable

NICKNAME_CHARS_MIN = 3

# What transcripts call their sides is not a name.
ROLES = frozenset({"user", "assistant", "system", "tool", "human", "ai"})

_SELF = re.compile(r"\b(?:I|my|me|mine|myself)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")


def named_person(question: str, speakers: Iterable[str]) -> str | None:
    """Return the one speaker whom a question names, None where it names none or several.

    A name is the speaker's whole name, its first word, or a short form of that of three letters and
    more ("Mel"). In a question with capitals a name has one, so that "mark it" is not about Mark.
    """
    capitals = any(map(str.isupper, question))
    words = {word.lower() for word in _WORD.findall(question) if word[0].isupper() or not capitals}
    first = {speaker: _first_name(speaker) for speaker in dict.fromkeys(speakers)}
    first = {speaker: name for speaker, name in first.items() if name and name not in ROLES}
    exact = [speaker for speaker, name in first.items() if name in words]
    if exact:
        return exact[0] if len(exact) == 1 else _by_whole_name(question, exact)
    short = {word for word in words if len(word) >= NICKNAME_CHARS_MIN}
    near = [speaker for speaker, name in first.items() if any(name.startswith(word) for word in short)]
    return near[0] if len(near) == 1 else None


def asks_of_self(question: str) -> bool:
    """Return whether the asker asks about themselves: then what users said counts like what a named person said."""
    return _SELF.search(question) is not None


def _first_name(speaker: str) -> str:
    words = _WORD.findall(speaker)
    return words[0].lower() if words else ""


def _by_whole_name(question: str, speakers: list[str]) -> str | None:
    whole = [speaker for speaker in speakers if " " in speaker and speaker.lower() in question.lower()]
    return whole[0] if len(whole) == 1 else None
