"""A memory as its own stream tells it, and what remembering, correcting and forgetting mean: pure decisions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chronofile.domain.errors import BadRequest, ChronofileError
from chronofile.domain.events import (
    ContentKey,
    Event,
    MemoryCorrected,
    MemoryForgotten,
    MemoryRemembered,
)
from chronofile.domain.identity import digest

KIND_DEFAULT = "note"
KIND_CHARS_MAX = 40
TEXT_CHARS_MAX = 100_000
KEY_CHARS_MAX = 1_000
REASON_CHARS_MAX = 10_000
FORGOTTEN_AT_ONCE_MAX = 1_000
FORMAT = "memory"
"""The kind and format of the source that a memory is, and what its URI begins with."""

_KIND = re.compile(rf"[a-z0-9_-]{{1,{KIND_CHARS_MAX}}}")


class MemoryConflict(ChronofileError):
    """This key stands for another text already, and nothing was changed:"""

    def __init__(self, identifier: str, *, forgotten: bool) -> None:
        advice = (
            "It is forgotten; use another key." if forgotten else "Use another key, or correct that memory."
        )
        super().__init__(f"memory {identifier}. {advice}")
        self.identifier = identifier


class UnknownMemory(ChronofileError):
    """There is no memory or passage with this id, and nothing was done; take ids from the hits of a search:"""

    def __init__(self, identifiers: Collection[str]) -> None:
        super().__init__(", ".join(identifiers))
        self.identifiers = tuple(identifiers)


class NotAMemory(ChronofileError):
    """A passage of a captured file or session is no memory, and nothing was done:"""

    def __init__(self, identifiers: Collection[str]) -> None:
        advice = "`chronofile undo` hides what a batch captured, `chronofile erase` removes it for good."
        super().__init__(f"{', '.join(identifiers)}. {advice}")
        self.identifiers = tuple(identifiers)


class MemoryIsForgotten(ChronofileError):
    """A forgotten memory cannot be corrected; remember it again:"""


class TextErased(ChronofileError):
    """This text was erased and is not stored again; say it in other words if it is to be remembered."""


class WrongToken(ChronofileError):
    """The token is not that of this list as it stands now, and nothing was forgotten."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a memory stands; `first` is the text that it was last remembered with, before any correction.

    Texts are named by the keys of what was given, and `text` is the key of what is stored of it. `said` is the
    version of the event that gave it: forgetting does not change it.
    """

    version: int = 0
    scope: str = ""
    kind: str = KIND_DEFAULT
    text: ContentKey = ""
    original: ContentKey = ""
    first: ContentKey = ""
    said: int = 0
    forgotten: bool = False


@dataclass(frozen=True, slots=True)
class Wording:
    """A text as it is to be kept: the keys of what is stored and of what was given, and what was taken out of it."""

    text: ContentKey
    original: ContentKey
    redactions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and when."""

    actor: str
    observed_at: str


def memory_id(scope: str, key: str, store_key: bytes) -> str:
    """Return the id of the memory that an idempotency key names in a scope."""
    return digest("memory", scope, key, key=store_key)


def text_id(scope: str, kind: str, text: str, ordinal: int, store_key: bytes) -> str:
    """Return the id of the memory of a text; `ordinal` counts those that began with it and now say something else."""
    fields = ("memory", scope, kind, text)
    return digest(*fields, key=store_key) if ordinal == 0 else digest(*fields, ordinal, key=store_key)


def memory_of(events: Iterable[Event]) -> Memory:
    """Fold a memory's own events; none give one that does not exist (version 0)."""
    memory = Memory()
    for event in events:
        memory = _evolved(replace(memory, version=memory.version + 1), event)
    return memory


def remember(
    memory: Memory, identifier: str, scope: str, kind: str, wording: Wording, asker: Asker
) -> list[Event]:
    """Decide what it means that a text is to be remembered under an id.

    The text that the memory began with, or that it has now, means nothing new: so a call that is repeated does
    no harm, also after a correction. A memory that was forgotten is there again. Raises MemoryConflict for
    another text.
    """
    if memory.version and wording.original not in (memory.first, memory.original):
        raise MemoryConflict(identifier, forgotten=memory.forgotten)
    if memory.version and not memory.forgotten:
        return []
    return [
        MemoryRemembered(
            scope=scope,
            kind=kind,
            text=wording.text,
            actor=asker.actor,
            observed_at=asker.observed_at,
            redactions=wording.redactions,
            original=_unless_kept(wording),
        )
    ]


def says_otherwise(memory: Memory, original: ContentKey) -> bool:
    """Tell whether a memory is there, and with another text than the given one."""
    return bool(memory.version) and not memory.forgotten and memory.original != original


def correct(memory: Memory, identifier: str, wording: Wording, asker: Asker) -> list[Event]:
    """Decide what it means that another text takes a memory's place; the text that it has means nothing.

    Raises UnknownMemory, MemoryIsForgotten.
    """
    if not memory.version:
        raise UnknownMemory([identifier])
    if memory.forgotten:
        raise MemoryIsForgotten(identifier)
    if wording.original == memory.original:
        return []
    return [
        MemoryCorrected(
            text=wording.text,
            actor=asker.actor,
            observed_at=asker.observed_at,
            redactions=wording.redactions,
            original=_unless_kept(wording),
        )
    ]


def forget(memory: Memory, reason: ContentKey | None, asker: Asker) -> list[Event]:
    """Decide what it means that a memory is to be forgotten; one that is forgotten stays so."""
    if not memory.version or memory.forgotten:
        return []
    return [MemoryForgotten(reason, asker.actor, asker.observed_at)]


def token(memories: Mapping[str, Memory], present: Collection[ContentKey], store_key: bytes) -> str:
    """Return what binds to exactly these memories, by id, and to what each says now; `present` are contents there are.

    It changes with every new text, and not by forgetting: so a call that is repeated is recognised.
    """
    state: list[str | int] = []
    for identifier, memory in sorted(memories.items()):
        state += [identifier, memory.said, int(memory.text in present)]
    return digest("forget", *state, key=store_key, size=12)


def require_kind(kind: str) -> None:
    """Raise BadRequest for what cannot be a memory's kind."""
    if not _KIND.fullmatch(kind):
        shown = kind[: KIND_CHARS_MAX + 1]
        raise BadRequest(
            f"a kind is 1 to {KIND_CHARS_MAX} of a-z, 0-9, - and _, such as note; not {shown!r}."
        )


def require_text(text: str) -> None:
    """Raise BadRequest for a text that is blank or too long."""
    if not text.strip():
        raise BadRequest("there is no text to remember.")
    if len(text) > TEXT_CHARS_MAX:
        raise BadRequest(f"a memory has at most {TEXT_CHARS_MAX:,} characters; this text has {len(text):,}.")


def require_key(key: str) -> None:
    """Raise BadRequest for what cannot be an idempotency key."""
    if not key.strip() or len(key) > KEY_CHARS_MAX:
        raise BadRequest(f"a key has 1 to {KEY_CHARS_MAX:,} characters and is not blank.")


def require_ids(identifiers: Sequence[str]) -> None:
    """Raise BadRequest where no memory is named, or too many."""
    if not 1 <= len(identifiers) <= FORGOTTEN_AT_ONCE_MAX:
        raise BadRequest(f"name 1 to {FORGOTTEN_AT_ONCE_MAX:,} memories, not {len(identifiers):,}.")


def _unless_kept(wording: Wording) -> ContentKey | None:
    return None if wording.original == wording.text else wording.original


def _evolved(memory: Memory, event: Event) -> Memory:
    match event:
        case MemoryRemembered() | MemoryCorrected():
            original = event.text if event.original is None else event.original
            memory = replace(memory, text=event.text, original=original, said=memory.version)
            if isinstance(event, MemoryCorrected):
                return memory
            return replace(memory, scope=event.scope, kind=event.kind, first=original, forgotten=False)
        case MemoryForgotten():
            return replace(memory, forgotten=True)
        case _:
            return memory
