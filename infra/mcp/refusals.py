"""Refusals: why a call could not be answered, for a program to read and a model to act upon."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from pydantic import ValidationError

from chronofile.domain import errors, memories
from chronofile.domain.identity import storable
from chronofile.domain.times import UnreadableTime
from chronofile.infra.failures import is_expected, sentence_of
from chronofile.infra.mcp.lending import Leaving, StillOpening, is_gone, is_of_the_database

NEAREST_MAX = 5
NAMES_CHARS_MAX = 200
OURS = ("internal_error", "database_error")
"""The codes behind which a mistake of ours may be, so that the details belong into the log."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """`code` is for programs, `message` says what is wrong, `hint` what to do; `retry` that the same call may work later."""

    code: str
    message: str
    hint: str
    retry: bool = False
    nearest: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return it as one line of JSON: {"error": {"code", "message", "hint", "retry", "nearest"}}."""
        found = {name: value for name, value in asdict(self).items() if name != "nearest" or value}
        return storable(json.dumps({"error": found}, ensure_ascii=False)) or ""


_OPENED_ANEW = "Ask again: the database is opened anew. `chronofile doctor` in a terminal looks closer."
_DETAILS = "The server's standard error has the details."
_KNOWN: tuple[tuple[type[Exception], str, str, bool], ...] = (
    (errors.UnknownScope, "unknown_scope", "Use a scope that there is, or `all` for every scope.", False),
    (errors.UnknownSource, "unknown_source", "Take `source.uri` from a hit of search_memory.", False),
    (errors.UnknownPassage, "unknown_passage", "Take `id` from a hit of search_memory.", False),
    (
        memories.MemoryConflict,
        "memory_conflict",
        "Use another key for another memory, or correct_memory with this id to change this one's text.",
        False,
    ),
    (
        memories.UnknownMemory,
        "unknown_memory",
        "Take `id` from remember or from a hit of search_memory.",
        False,
    ),
    (
        memories.NotAMemory,
        "not_a_memory",
        "Only what remember saved can be corrected or forgotten here.",
        False,
    ),
    (memories.MemoryIsForgotten, "memory_forgotten", "Use remember: it saves the text anew.", False),
    (memories.TextErased, "text_erased", "A person had it removed for good: do not store it.", False),
    (
        memories.WrongToken,
        "wrong_token",
        "Call forget_memory with these ids and no token, look at what it shows, then use the token that it gives.",
        False,
    ),
    (UnreadableTime, "unreadable_time", "Write it as 2026-05-08 or 2026-05-08T14:30:00+02:00.", False),
    (errors.BadRequest, "bad_request", "Change the arguments as the message says.", False),
    (StillOpening, "still_opening", "Ask again in a few seconds.", True),
    (Leaving, "leaving", "Start the server again.", False),
    (errors.LogBusy, "database_busy", "Ask again in a few seconds.", True),
)


def refusal_of(error: Exception) -> Refusal:
    """Return what an error means to whoever called."""
    for kind, code, hint, retry in _KNOWN:
        if isinstance(error, kind):
            return Refusal(code, sentence_of(error), hint, retry)
    if is_gone(error):
        return Refusal("database_unavailable", sentence_of(error), _OPENED_ANEW, retry=True)
    if is_of_the_database(error):
        return Refusal("database_error", sentence_of(error), _DETAILS)
    if is_expected(error):
        hint = (
            "A person has to see to it: `chronofile doctor` in a terminal looks closer. Each call tries anew."
        )
        return Refusal("unavailable", sentence_of(error), hint, retry=True)
    message = f"Something is wrong in Chronofile itself ({type(error).__name__})."
    return Refusal("internal_error", message, _DETAILS)


def bad_arguments(error: ValidationError) -> Refusal:
    """Return which arguments are wrong, without repeating their values."""
    found = [f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()]
    message = f"The arguments do not fit. {'; '.join(found)}."
    return Refusal("bad_arguments", message[:1_000], "The tool's input schema says what each one takes.")


def unknown_tool(name: str, known: Iterable[str]) -> Refusal:
    names = tuple(known)
    return Refusal(
        "unknown_tool", f"There is no tool {_clipped(name)!r}.", "Use one of `nearest`.", nearest=names
    )


def unknown_scope(name: str, known: Iterable[str], *, from_start: bool) -> Refusal:
    """Return a refusal that names the scopes nearest to one that there is not."""
    close = nearest(name, known)
    hint = (
        "Use one of `nearest`, or `all` for every scope."
        if close
        else "Nothing was captured in any scope yet."
    )
    if from_start:
        hint = f"This server was started with --scope {_clipped(name)}. Name a scope in the call. {hint}"
    return Refusal("unknown_scope", f"There is no scope {_clipped(name)!r}.", hint, nearest=close)


def nearest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the names most like one, best first: at most five, the first five of all where none is alike.

    `api` is like `project:api`: what stands behind the colon is a name of its own.
    """
    names = sorted(set(known))
    spelled = {part.casefold(): full for full in reversed(names) for part in (full.rpartition(":")[2], full)}
    close = difflib.get_close_matches(name.casefold()[:NAMES_CHARS_MAX], spelled, 2 * NEAREST_MAX)
    found = tuple(dict.fromkeys(spelled[part] for part in close)) or tuple(names)
    return found[:NEAREST_MAX]


def _clipped(name: str) -> str:
    return name[:NAMES_CHARS_MAX]
