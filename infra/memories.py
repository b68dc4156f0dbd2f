"""Memories: texts that somebody asks to be kept are remembered, corrected and forgotten in the log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from chronofile.domain import memories, streams
from chronofile.domain.envelope import Addition, Recorded
from chronofile.domain.errors import BadRequest, UnknownPassage, WrongExpectedVersion
from chronofile.domain.events import Event, ScopeCreated
from chronofile.domain.identity import decoded, storable
from chronofile.domain.memories import (
    KIND_DEFAULT,
    REASON_CHARS_MAX,
    Asker,
    NotAMemory,
    TextErased,
    UnknownMemory,
    Wording,
    WrongToken,
)
from chronofile.domain.scopes import GLOBAL, scope_of
from chronofile.domain.times import iso
from chronofile.infra.capturing import without_secrets
from chronofile.infra.requests import require_scope_name, working_directory
from chronofile.ingest import erased, known
from chronofile.ingest.appending import Appending
from chronofile.ingest.gathered import Gathered, text_key
from chronofile.query import catalogue

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

URI_PREFIX = f"{memories.FORMAT}:"
TRIES_MAX = 20
CORRECTED_MAX = 100
"""So many memories that began with one text may say something else by now."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory as it now stands; `created` is whether this call brought it in, `redactions` counts secrets taken out."""

    id: str
    scope: str
    kind: str
    position: int
    created: bool
    redactions: int
    scope_created: bool


@dataclass(frozen=True, slots=True)
class Corrected:
    """A memory after a correction; `changed` is false where it said that already."""

    id: str
    scope: str
    kind: str
    position: int
    changed: bool
    redactions: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory as it stood when it was asked for; `text` is None where it was erased, `said_at` when it got it."""

    id: str
    scope: str
    kind: str
    text: str | None
    said_at: datetime
    age_s: int
    forgotten: bool


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was asked to be forgotten, and which of it was: nothing yet in a preview, whose `token` does it."""

    memories: tuple[Entry, ...]
    token: str
    forgotten: tuple[str, ...]
    already: tuple[str, ...]
    """Those that were forgotten before."""
    position: int


def remember(
    parts: Parts,
    actor: str,
    text: str,
    *,
    scope: str | None = None,
    kind: str = KIND_DEFAULT,
    key: str | None = None,
) -> Remembered:
    """Remember a text; the scope is that of the working directory where none is given, else `global`.

    Raises BadRequest, TextErased, and MemoryConflict where the key stands for another text.
    """
    text, key = storable(text) or "", storable(key)
    memories.require_text(text)
    memories.require_kind(kind)
    if key is not None:
        memories.require_key(key)
    require_scope_name(scope)
    scope = scope or _scope_here(parts)
    for tries_left in reversed(range(TRIES_MAX)):
        gathered, wording = _worded(parts, text)
        identifier, stored = _named(parts, (scope, kind, key), text, wording.original)
        asker = Asker(actor, iso(parts.clock()))
        events = memories.remember(
            memories.memory_of(_events(stored)), identifier, scope, kind, wording, asker
        )
        creating = _new_scope(parts, scope, asker.observed_at) if events else []
        additions = [Addition(streams.memory(identifier), len(stored), events), *creating]
        if events and not _append(parts, additions, gathered, tries_left):
            continue
        recorded = parts.store.read(streams.memory(identifier)) if events else stored
        now = memories.memory_of(_events(recorded))
        position = recorded[now.said - 1].position
        return Remembered(
            identifier, now.scope, now.kind, position, bool(events), _count(wording), bool(creating)
        )
    raise AssertionError("the last try returns or raises")


def correct(parts: Parts, actor: str, named: str, text: str) -> Corrected:
    """Give a memory another text; `named` is its id, `memory:` and its id, or the id of one of its passages.

    Raises BadRequest, UnknownMemory, NotAMemory, MemoryIsForgotten, TextErased.
    """
    text = storable(text) or ""
    memories.require_text(text)
    (identifier,) = _resolved(parts, [named])
    stream = streams.memory(identifier)
    for tries_left in reversed(range(TRIES_MAX)):
        gathered, wording = _worded(parts, text)
        stored = parts.store.read(stream)
        asker = Asker(actor, iso(parts.clock()))
        events = memories.correct(memories.memory_of(_events(stored)), identifier, wording, asker)
        if events and not _append(parts, [Addition(stream, len(stored), events)], gathered, tries_left):
            continue
        recorded = parts.store.read(stream) if events else stored
        now = memories.memory_of(_events(recorded))
        position = recorded[now.said - 1].position
        return Corrected(identifier, now.scope, now.kind, position, bool(events), _count(wording))
    raise AssertionError("the last try returns or raises")


def forget(
    parts: Parts,
    actor: str,
    named: Sequence[str],
    *,
    reason: str | None = None,
    token: str | None = None,
    dry_run: bool = False,
) -> Forgetting:
    """Forget memories, all of them or none; with `token` only as they stood when it was given out.

    Raises BadRequest, UnknownMemory, NotAMemory, WrongToken.
    """
    memories.require_ids(named)
    reason = storable(reason) or None
    if reason is not None and len(reason) > REASON_CHARS_MAX:
        raise BadRequest(f"a reason has at most {REASON_CHARS_MAX:,} characters; this has {len(reason):,}.")
    identifiers = _resolved(parts, named)
    for tries_left in reversed(range(TRIES_MAX)):
        found = parts.store.read_many([streams.memory(i) for i in identifiers])
        stored = {i: found[streams.memory(i)] for i in identifiers}
        standing = {i: memories.memory_of(_events(own)) for i, own in stored.items()}
        texts = _texts(parts, standing)
        bound = memories.token(standing, texts.keys(), parts.store_key)
        if token is not None and token != bound:
            raise WrongToken
        gathered, because = _reasoned(parts, reason)
        asker = Asker(actor, iso(parts.clock()))
        events = {i: memories.forget(m, because, asker) for i, m in standing.items()}
        doing = {} if dry_run else {i: new for i, new in events.items() if new}
        additions = [Addition(streams.memory(i), len(stored[i]), new) for i, new in doing.items()]
        if additions and not _append(parts, additions, gathered, tries_left):
            continue
        return Forgetting(
            memories=tuple(_entry(parts, i, stored[i], texts) for i in identifiers),
            token=bound,
            forgotten=tuple(doing),
            already=tuple(i for i, memory in standing.items() if memory.forgotten),
            position=parts.store.position(),
        )
    raise AssertionError("the last try returns or raises")


def _scope_here(parts: Parts) -> str:
    here = working_directory()
    if here is None:
        return GLOBAL
    with parts.store.cursor() as cursor:
        return scope_of(str(here), known.directories(cursor)) or GLOBAL


def _worded(parts: Parts, text: str) -> tuple[Gathered, Wording]:
    """Return a text as it is to be stored, without the secrets in it. Raises TextErased."""
    kept, counts = without_secrets(parts, text)
    gathered = Gathered(parts.contents.key)
    wording = Wording(gathered.text(kept), text_key(parts.contents.key, text), dict(counts))
    with parts.store.cursor() as cursor:
        if erased.contents(cursor, [wording.text, wording.original]):
            raise TextErased
    return gathered, wording


def _reasoned(parts: Parts, reason: str | None) -> tuple[Gathered, str | None]:
    """Return a reason as it is to be stored, if there is one. Raises TextErased."""
    if reason is None:
        return Gathered(parts.contents.key), None
    gathered, wording = _worded(parts, reason)
    return gathered, wording.text


def _named(
    parts: Parts, names: tuple[str, str, str | None], text: str, original: str
) -> tuple[str, list[Recorded]]:
    """Return the id that (scope, kind, key) or a text without a key stands for, and what is stored under it.

    A text that was corrected since is remembered beside what it was corrected to.
    """
    scope, kind, key = names
    if key is not None:
        identifier = memories.memory_id(scope, key, parts.store_key)
        return identifier, parts.store.read(streams.memory(identifier))
    for ordinal in range(CORRECTED_MAX):
        identifier = memories.text_id(scope, kind, text, ordinal, parts.store_key)
        stored = parts.store.read(streams.memory(identifier))
        if not memories.says_otherwise(memories.memory_of(_events(stored)), original):
            return identifier, stored
    raise BadRequest(f"this text was remembered and corrected {CORRECTED_MAX} times; give it a key.")


def _new_scope(parts: Parts, scope: str, observed_at: str) -> list[Addition]:
    stream = streams.scope(scope)
    if scope == GLOBAL or parts.store.read(stream):
        return []
    return [Addition(stream, 0, [ScopeCreated(observed_at)])]


def _append(parts: Parts, additions: Sequence[Addition], gathered: Gathered, tries_left: int) -> bool:
    """Append, and tell whether it was done; somebody else may have been first, which is an error after the last try."""
    try:
        Appending(parts.store, parts.new_id).append(additions, contents=gathered.contents)
    except WrongExpectedVersion:
        if not tries_left:
            raise
        return False
    return True


def _resolved(parts: Parts, named: Sequence[str]) -> list[str]:
    """Return the memories that ids, URIs and passages' ids name, each once. Raises UnknownMemory, NotAMemory."""
    names = [storable(name.strip()) or "" for name in named]
    own = parts.store.read_many([streams.memory(name.removeprefix(URI_PREFIX)) for name in names])
    found: dict[str, None] = {}
    unknown, others = list[str](), list[str]()
    for name in names:
        identifier = name.removeprefix(URI_PREFIX)
        if own[streams.memory(identifier)]:
            found[identifier] = None
        elif (uri := _uri_of_passage(parts, name)) is None:
            unknown.append(name)
        elif uri.startswith(URI_PREFIX):
            found[uri.removeprefix(URI_PREFIX)] = None
        else:
            others.append(name)
    if unknown:
        raise UnknownMemory(unknown)
    if others:
        raise NotAMemory(others)
    return list(found)


def _uri_of_passage(parts: Parts, name: str) -> str | None:
    try:
        return catalogue.get(parts.engine, name, at=parts.clock()).hit.source.uri
    except UnknownPassage:
        return None


def _texts(parts: Parts, standing: Mapping[str, memories.Memory]) -> dict[str, str]:
    """Return the memories' texts by the keys of what is stored; what was erased is missing."""
    found = parts.read([memory.text for memory in standing.values()])
    return {key: decoded(content) for key, content in found.items()}


def _entry(parts: Parts, identifier: str, stored: Sequence[Recorded], texts: Mapping[str, str]) -> Entry:
    memory = memories.memory_of(_events(stored))
    said_at = stored[memory.said - 1].recorded_at
    age_s = max(0, int((parts.clock() - said_at).total_seconds()))
    text = texts.get(memory.text)
    return Entry(identifier, memory.scope, memory.kind, text, said_at, age_s, memory.forgotten)


def _events(stored: Collection[Recorded]) -> list[Event]:
    return [recorded.event for recorded in stored]


def _count(wording: Wording) -> int:
    return sum(wording.redactions.values())
