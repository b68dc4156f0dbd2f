"""Losses: what a stream loses in an erasure, and the events and contents that it gets instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from chronofile.domain import sources, streams
from chronofile.domain.erasure import MARK, Span, without_texts
from chronofile.domain.events import (
    CaptureRejected,
    Event,
    MemoryCorrected,
    MemoryForgotten,
    MemoryRemembered,
    RevisionCaptured,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
)
from chronofile.domain.identity import decoded, encoded
from chronofile.infra.erasing.chains import Cut, Read, counts_of
from chronofile.infra.erasing.cutting import cut_secrets, cut_texts, variants
from chronofile.infra.erasing.quoting import Names, Unquoted
from chronofile.ingest import erased
from chronofile.ingest.cleaning import ERASED
from chronofile.ingest.redaction import redact_text
from chronofile.ingest.sighting import TEXT

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


@dataclass(frozen=True, slots=True)
class Occasion:
    """Which erasure it is, who asks for it, and when."""

    erasure: str
    actor: str
    observed_at: str


@dataclass(frozen=True, slots=True)
class Loss:
    """What one stream loses, and the events and contents that it gets instead.

    `keys` are contents that are deleted unless somebody else names them, `texts` those among them that are what was
    captured or remembered, and `originals` the keys of bytes that are not to be captured again.
    """

    stream: str
    version: int
    events: tuple[Event, ...]
    keys: frozenset[str]
    texts: frozenset[str]
    originals: frozenset[str]
    contents: Mapping[str, bytes] = field(default_factory=dict)
    spans: tuple[str, ...] = ()
    closes: bool = False
    places: int = 0
    turns: int = 0
    """How many turns of a transcript said what is taken out."""


def whole(parts: Parts, now: Occasion, stream: str, events: Sequence[Event], _read: Read) -> Loss:
    """Decide what it means that all of a stream goes.

    The event that closes it is also what makes a capture that decided before a conflict.
    """
    names, texts, originals = _named(events)
    is_memory = any(isinstance(event, MemoryRemembered) for event in events)
    closing: Event = (
        MemoryForgotten(None, now.actor, now.observed_at)
        if is_memory
        else SourceRemoved(now.erasure, now.observed_at)
    )
    return Loss(
        stream=stream,
        version=len(events),
        events=(closing,),
        keys=frozenset(names | texts),
        texts=frozenset(texts),
        originals=frozenset(texts | originals),
        closes=True,
    )


def _named(events: Sequence[Event]) -> tuple[set[str], set[str], set[str]]:
    """Return the keys of a stream's names and reasons, of its texts, and of these as they were given."""
    names: set[str] = set()
    texts: set[str] = set()
    originals: set[str] = set()
    for event in events:
        match event:
            case SourceRegistered():
                names |= {event.key, event.uri}
            case RevisionCaptured():
                names |= {event.file, *filter(None, (event.branch,))}
                texts.add(event.content)
                originals.add(sources.original_of(event))
            case SourceMoved():
                names |= {event.uri, event.key, event.file}
            case CaptureRejected():
                names.add(event.file)
            case MemoryRemembered() | MemoryCorrected():
                texts.add(event.text)
                originals.add(event.original or event.text)
            case MemoryForgotten(reason=str() as reason):
                names.add(reason)
            case _:
                pass
    return names, texts, originals


def without(
    parts: Parts,
    now: Occasion,
    texts: Sequence[str],
    names: Names,
    stream: str,
    events: Sequence[Event],
    read: Read,
) -> Loss | None:
    """Decide what taking texts, and quotations of what is known by names, out of a stream means."""
    if not stream.startswith("source-"):
        return _memory_without(parts, now, texts, names, stream, events, read)
    command = f"chronofile erase --source {streams.id_of(stream)}"
    cut = cut_texts(command, events, texts, read, names, parts.extractor)
    loss = _recaptured(parts, now, stream, events, cut)
    if loss is None:
        return None
    spans = tuple(sorted({str(Span.of(text, parts.contents.key)) for text in cut.removed}))
    originals = {
        sources.original_of(event)
        for event in events
        if isinstance(event, RevisionCaptured) and event.content in cut.cleaned
    }
    return replace(loss, spans=spans, originals=frozenset(originals | cut.cleaned.keys()))


def _memory_without(
    parts: Parts,
    now: Occasion,
    texts: Sequence[str],
    names: Names,
    stream: str,
    events: Sequence[Event],
    read: Read,
) -> Loss | None:
    """Decide what taking texts out of a memory means; one that has nothing else goes as a whole."""
    wanted = {variant for text in texts for variant in variants(text)}
    unquoted = Unquoted(names)

    def remove(text: str) -> tuple[str, int]:
        left, quoted = unquoted.string(text)
        left, count = without_texts(left, wanted)
        return left, quoted + count

    loss = _reworded(parts, now, stream, events, read, remove)
    if loss is None:
        return None
    if any(content.strip() == MARK.encode() for content in loss.contents.values()):
        return whole(parts, now, stream, events, read)
    originals = {
        event.original or event.text
        for event in events
        if isinstance(event, MemoryRemembered | MemoryCorrected) and event.text in loss.keys
    }
    return replace(loss, originals=frozenset(originals | loss.keys))


def redacted(parts: Parts, now: Occasion, stream: str, events: Sequence[Event], read: Read) -> Loss | None:
    """Decide what taking the secrets out of a stream means. What has them may be captured again: without them."""
    if not stream.startswith("source-"):

        def remove(text: str) -> tuple[str, int]:
            found, counts = redact_text(text)
            return found, sum(counts.values())

        return _reworded(parts, now, stream, events, read, remove)
    cut = cut_secrets(events, _file_name(events, read), read, parts.extractor)
    return _recaptured(parts, now, stream, events, cut)


def _file_name(events: Sequence[Event], read: Read) -> str:
    """Return the name of the file that a source was last read from; nothing where it was erased."""
    files = [event.file for event in events if isinstance(event, RevisionCaptured)]
    return PurePath(decoded((read(files[-1]) if files else None) or b"")).name


def _recaptured(parts: Parts, now: Occasion, stream: str, events: Sequence[Event], cut: Cut) -> Loss | None:
    """Return the loss of what was cut, with the ranges that stand captured anew from what is left of them."""
    if not cut.cleaned:
        return None
    key_of = parts.contents.key
    with parts.store.cursor() as cursor:
        batches = {event.batch for event in events if isinstance(event, RevisionCaptured)}
        reverted = erased.reverted(cursor, batches)
    number = sources.source_of(events, reverted).revision
    again: list[Event] = []
    contents: dict[str, bytes] = {}
    standing = _standing(events, reverted)
    if not any(event.content in cut.cleaned for event in standing):
        standing = []
    for event in standing:
        number += 1
        # Batch and offsets stay, so that an undo still means the same bytes.
        anew = replace(
            event, revision=number, observed_at=now.observed_at, original=sources.original_of(event)
        )
        if event.content in cut.cleaned:
            content = cut.cleaned[event.content].content
            anew = replace(anew, content=key_of(content), redactions=counts_of(cut, event))
            if cut.cleaned[event.content].is_text:
                anew = replace(anew, format=TEXT, encoding="utf-8")
            contents[anew.content] = content
        again.append(replace(anew, original=None) if anew.original == anew.content else anew)
    return Loss(
        stream=stream,
        version=len(events),
        events=tuple(again),
        keys=frozenset(cut.cleaned) - contents.keys(),
        texts=frozenset(cut.cleaned),
        originals=frozenset(),
        contents=contents,
        places=cut.places,
        turns=len(cut.turns),
    )


def _standing(events: Sequence[Event], reverted: Collection[str]) -> list[RevisionCaptured]:
    """Return the ranges that a source shows, and those that it holds and an undo hides; none where it is removed."""
    shown = sources.shown(events, reverted)
    held: list[RevisionCaptured] = []
    for event in events:
        match event:
            case RevisionCaptured(start=0):
                held = [event]
            case RevisionCaptured():
                held.append(event)
            case SourceRemoved(batch=batch) if batch not in reverted:
                held = []
            case _:
                pass
    return held if held[: len(shown)] == shown else [*shown, *held]


def _reworded(
    parts: Parts,
    now: Occasion,
    stream: str,
    events: Sequence[Event],
    read: Read,
    remove: Callable[[str], tuple[str, int]],
) -> Loss | None:
    """Return the loss of a memory's texts that hold something, with the one that stands corrected."""
    said = [event for event in events if isinstance(event, MemoryRemembered | MemoryCorrected)]
    gone: set[str] = set()
    again: list[Event] = []
    contents: dict[str, bytes] = {}
    for event in said:
        content = read(event.text)
        if content is None:
            continue
        cleaned, count = remove(decoded(content))
        if not count:
            continue
        gone.add(event.text)
        if event is said[-1] and not isinstance(events[-1], MemoryForgotten):
            key = parts.contents.text_key(cleaned)
            contents[key] = encoded(cleaned)
            counts = {**event.redactions, ERASED: count}
            again.append(
                MemoryCorrected(key, now.actor, now.observed_at, counts, event.original or event.text)
            )
    if not gone:
        return None
    keys = frozenset(gone)
    return Loss(stream, len(events), tuple(again), keys, keys, frozenset(), contents, places=len(gone))
