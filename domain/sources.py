"""A source as its own stream tells it, and what follows from seeing its file again: pure decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

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
    original: ContentKey | None = None
    """Key of the whole's own bytes where one range holds them, else None."""
    end: int = 0
    probe: str = ""
    format: str | None = None
    event_time: str | None = None
    removed: bool = False
    hidden: bool = False
    """Whether what was captured last, or what it continues, was undone."""
    shown: RevisionCaptured | None = None
    """The whole that is shown, where nothing continues it: also an earlier one, if later ones were undone."""
    undone: frozenset[ContentKey] = frozenset()
    """Keys of the own bytes of wholes that were undone and not captured again since."""
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

    original: ContentKey
    """Key of the bytes as they are in the file; `content` is that of what is kept of them."""
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
    redactions: Mapping[str, int] = field(default_factory=dict)
    commit: str | None = None
    branch: ContentKey | None = None
    dirty: bool | None = None
    """What the file's repository said of it: see RevisionCaptured."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """The run that sees: its batch and its clock."""

    batch: str
    observed_at: str


def source_of(events: Iterable[Event], reverted: Collection[str] = ()) -> Source:
    """Fold a source's own events; none give a source that does not exist (version 0).

    `reverted` are batches that were undone.
    """
    return evolve(Source(), events, reverted)


def evolve(source: Source, events: Iterable[Event], reverted: Collection[str] = ()) -> Source:
    """Return the source as it stands after further events of its own."""
    for event in events:
        source = _evolved(source, event, reverted)
    return source


def shown(events: Iterable[Event], reverted: Collection[str] = ()) -> list[RevisionCaptured]:
    """Return the ranges that a source shows: a whole and what continues it, none where it is removed.

    What a reverted batch captured is not shown, nor is a range that continues it: with the range before it
    gone, nobody knows what it belongs to. A whole that was captured before is shown in its place.
    """
    ranges: list[RevisionCaptured] = []
    broken = False
    for event in events:
        match event:
            case RevisionCaptured():
                hidden = event.batch in reverted
                broken = hidden or (broken and event.start > 0)
                if not broken:
                    ranges = [event] if event.start == 0 else [*ranges, event]
            case SourceRemoved(batch=batch) if batch not in reverted:
                ranges, broken = [], False
            case _:
                pass
    return ranges


def original_of(event: RevisionCaptured) -> ContentKey:
    """Return the key of the range's bytes as they were in the file."""
    return event.content if event.original is None else event.original


def capture(
    source: Source,
    registration: Registration,
    seen: Seen,
    now: Occasion,
    *,
    again: bool = False,
    goes_on: bool = False,
) -> list[Event]:
    """Decide what seeing these bytes means. Bytes that are captured already mean nothing.

    A whole (`start` 0) is compared with what the source holds; a range continues it and must start at
    the source's end, which the caller has seen to. With `again` what was undone is captured once more. A whole that
    `goes_on` is the beginning of one.
    """
    events = _registered(source, registration, now)
    if holds(source, seen.original, (seen.start, seen.end), again=again, goes_on=goes_on):
        return [*events, *_moved(source, seen, now)]
    assert seen.start in (0, source.end)
    return [*events, *_moved(source, seen, now), _revision(source.revision + 1, seen, now)]


def holds(
    source: Source,
    original: ContentKey,
    span: tuple[int, int],
    *,
    again: bool = False,
    goes_on: bool = False,
) -> bool:
    """Tell whether a range's bytes are captured already: as what is shown or, unless `again`, as what was undone."""
    if source.removed or not source.revision:
        return False
    is_taken_anew = again and source.hidden
    if span[0]:
        return not is_taken_anew and span[0] == span[1] == source.end
    if goes_on:
        return not is_taken_anew and source.original == original
    is_shown = source.shown is not None and original_of(source.shown) == original
    return is_shown or (not again and original in source.undone)


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
    """Decide what it means that the source's file is gone, or is another source by now.

    Of one that was never captured its rejection is over.
    """
    if source.removed or not (source.revision or source.rejections):
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
        redactions=seen.redactions,
        original=None if seen.original == seen.content else seen.original,
        commit=seen.commit,
        branch=seen.branch,
        dirty=seen.dirty,
    )


def _evolved(source: Source, event: Event, reverted: Collection[str]) -> Source:
    source = replace(source, version=source.version + 1)
    match event:
        case SourceRegistered():
            return replace(source, kind=event.kind, scope=event.scope, uri=event.uri, session=event.session)
        case RevisionCaptured():
            return _revised(source, event, is_reverted=event.batch in reverted)
        case SourceMoved():
            return replace(source, uri=event.uri, file=event.file)
        case SourceRescoped():
            return replace(source, scope=event.scope)
        case SourceRemoved():
            return source if event.batch in reverted else _removed(source)
        case CaptureRejected():
            rejections = source.rejections | {(event.reason, event.state)}
            return replace(source, rejections=rejections, removed=source.removed and source.revision > 0)
        case _:
            return source


def _revised(source: Source, event: RevisionCaptured, *, is_reverted: bool) -> Source:
    original = original_of(event)
    hidden = is_reverted or (source.hidden and event.start > 0)
    shown, undone = source.shown, source.undone
    if event.start:
        shown = shown if hidden else None
    elif hidden:
        undone |= {original}
    else:
        shown, undone = event, undone - {original}
    return replace(
        source,
        revision=event.revision,
        original=original if event.start == 0 else None,
        end=event.end,
        probe=event.probe,
        format=event.format,
        event_time=event.event_time,
        file=event.file,
        removed=False,
        hidden=hidden,
        shown=shown,
        undone=undone,
    )


def _removed(source: Source) -> Source:
    """What was rejected may be so again, and be told again."""
    return replace(source, removed=True, hidden=False, shown=None, rejections=frozenset())
