"""A source as its own stream tells it, and what follows from seeing its file again: pure decisions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from chronofile.domain.events import (
    CaptureRejected,
    ContentKey,
    Event,
    RevisionCaptured,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
    SourceRescoped,
)

MOVE_BYTES_MIN = 64
"""Smaller files are too often equal by chance to call one the other's new place."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a source stands: everything that a capture decides by."""

    version: int = 0
    kind: str = "file"
    scope: str = "global"
    uri: ContentKey = ""
    file: ContentKey | None = None
    session: str | None = None
    revision: int = 0
    content: ContentKey | None = None
    """The whole's content where one range holds it, else None."""
    end: int = 0
    probe: str = ""
    format: str | None = None
    removed: bool = False
    rejections: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Registration:
    """What a source is when it is first seen: its event is SourceRegistered."""

    kind: str
    scope: str
    key: ContentKey
    uri: ContentKey
    ordinal: int
    session: str | None


@dataclass(frozen=True, slots=True)
class Seen:
    """One range of a source's bytes as just read: all content keys are of contents that go in beside it."""

    content: ContentKey
    start: int
    end: int
    format: str
    encoding: str
    uri: ContentKey
    key: ContentKey
    file: ContentKey
    probe: str
    event_time: str | None


@dataclass(frozen=True, slots=True)
class Occasion:
    """The run that sees: its batch and its clock."""

    batch: str
    observed_at: str


def source_of(events: Iterable[Event]) -> Source:
    """Fold a source's own events; none give a source that does not exist (version 0)."""
    return evolve(Source(), events)


def evolve(source: Source, events: Iterable[Event]) -> Source:
    """Return the source as it stands after further events of its own."""
    for event in events:
        source = _evolved(source, event)
    return source


def capture(source: Source, registration: Registration, seen: Seen, now: Occasion) -> list[Event]:
    """Decide what seeing these bytes means. Bytes that are captured already mean nothing.

    A whole (`start` 0) is compared with what the source holds; a range continues it and must start at
    the source's end, which the caller has seen to.
    """
    events = _registered(source, registration, now)
    if _is_captured(source, seen):
        return [*events, *_moved(source, seen, now)]
    assert seen.start in (0, source.end)
    return [*events, *_moved(source, seen, now), _revision(source.revision + 1, seen, now)]


def _is_captured(source: Source, seen: Seen) -> bool:
    if source.removed or not source.revision:
        return False
    return source.content == seen.content if seen.start == 0 else seen.start == seen.end == source.end


def reject(
    source: Source, registration: Registration, rejected: tuple[str, str], file: ContentKey, now: Occasion
) -> list[Event]:
    """Record a rejection (reason, state) once; the same state with the same reason again means nothing."""
    if rejected in source.rejections:
        return []
    reason, state = rejected
    rejection = CaptureRejected(reason, state, file, now.batch, now.observed_at)
    return [*_registered(source, registration, now), rejection]


def remove(source: Source, now: Occasion) -> list[Event]:
    """Decide what it means that the source's file is gone."""
    if source.removed or not source.revision:
        return []
    return [SourceRemoved(now.batch, now.observed_at)]


def _registered(source: Source, what: Registration, now: Occasion) -> list[Event]:
    if source.version:
        return []
    return [
        SourceRegistered(what.kind, what.scope, what.key, what.uri, what.ordinal, what.session, now.batch)
    ]


def _moved(source: Source, seen: Seen, now: Occasion) -> list[Event]:
    if not source.version or source.uri == seen.uri:
        return []
    return [SourceMoved(seen.uri, seen.key, seen.file, now.batch, now.observed_at)]


def _revision(number: int, seen: Seen, now: Occasion) -> RevisionCaptured:
    return RevisionCaptured(
        revision=number,
        content=seen.content,
        start=seen.start,
        end=seen.end,
        format=seen.format,
        encoding=seen.encoding,
        file=seen.file,
        probe=seen.probe,
        batch=now.batch,
        observed_at=now.observed_at,
        event_time=seen.event_time,
    )


def _evolved(source: Source, event: Event) -> Source:
    source = replace(source, version=source.version + 1)
    match event:
        case SourceRegistered():
            return replace(source, kind=event.kind, scope=event.scope, uri=event.uri, session=event.session)
        case RevisionCaptured():
            return replace(
                source,
                revision=event.revision,
                content=event.content if event.start == 0 else None,
                end=event.end,
                probe=event.probe,
                format=event.format,
                file=event.file,
                removed=False,
            )
        case SourceMoved():
            return replace(source, uri=event.uri, file=event.file)
        case SourceRescoped():
            return replace(source, scope=event.scope)
        case SourceRemoved():
            return replace(source, removed=True)
        case CaptureRejected():
            return replace(source, rejections=source.rejections | {(event.reason, event.state)})
        case _:
            return source
