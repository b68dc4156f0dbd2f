"""Events: what happened, in the past tense, without a word of anybody's text.

Text (a path, a URI, a question, what a file says) is a content row; an event holds its key. Stored names
are literals and released events are never edited: a change is a new version and an upcast (`upcasts.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ContentKey = str
"""A keyed hash that names a content row: see `identity.content_key`."""


@dataclass(frozen=True, slots=True)
class SourceRegistered:
    """A source was seen for the first time, or again after its key was registered before."""

    kind: str
    """`file` or `transcript`."""
    scope: str
    key: ContentKey
    """What names the source in its scope: a URI for files, the tool's own session id for transcripts."""
    uri: ContentKey
    ordinal: int
    """How often the key had been registered before."""
    session: str | None
    """The tool's own session id; None for files."""
    batch: str


@dataclass(frozen=True, slots=True)
class RevisionCaptured:
    """The source's bytes `[start, end)` were captured; `start` 0 makes it a whole new revision."""

    revision: int
    content: ContentKey
    """What is stored: the bytes without the secrets that were in them."""
    start: int
    end: int
    format: str
    encoding: str
    file: ContentKey
    """The absolute path it was read from."""
    probe: str
    """Keyed hash over the first 4 KB and the last 64 KB before `end`: tells whether a grown file only grew."""
    batch: str
    observed_at: str
    event_time: str | None
    """When the file was last changed, or a conversation that is captured as a whole, as far as it tells; else None."""
    redactions: Mapping[str, int] = field(default_factory=dict)
    """How many secrets each rule removed."""
    original: ContentKey | None = None
    """Key of the bytes as they were in the file, which are kept nowhere; None where they are the content."""
    commit: str | None = None
    """The commit that was checked out in the file's repository; None outside of any, and before the first one."""
    branch: ContentKey | None = None
    """The branch that was, None while none was."""
    dirty: bool | None = None
    """Whether the file differed from the commit or was not in it; None where nobody could tell."""


@dataclass(frozen=True, slots=True)
class SourceMoved:
    """The same source is now found under another URI."""

    uri: ContentKey
    key: ContentKey
    file: ContentKey
    batch: str
    observed_at: str


@dataclass(frozen=True, slots=True)
class SourceRescoped:
    """The source belongs to another scope from now on."""

    scope: str


@dataclass(frozen=True, slots=True)
class SourceRemoved:
    """The source's file is gone; what was captured stays and is shown only as of before."""

    batch: str
    observed_at: str


@dataclass(frozen=True, slots=True)
class CaptureRejected:
    """The source was seen and could not be captured; recorded once for each source, state and reason."""

    reason: str
    state: str
    """Hash of what was rejected: its bytes, or its size and time where it was not read."""
    file: ContentKey
    batch: str
    observed_at: str


@dataclass(frozen=True, slots=True)
class BatchStarted:
    """One run of a tool that captures began to append; with `of` it undoes that batch."""

    tool: str
    observed_at: str
    of: str | None = None


@dataclass(frozen=True, slots=True)
class BatchFinished:
    """The run ended by itself."""

    revisions: int
    rejected: int
    observed_at: str


@dataclass(frozen=True, slots=True)
class BatchReverted:
    """What the batch captured, and every range that continues it, is hidden from now on; `by` is the batch that did it."""

    by: str
    observed_at: str


@dataclass(frozen=True, slots=True)
class BatchRestored:
    """A batch that was reverted is shown again."""

    by: str
    observed_at: str


@dataclass(frozen=True, slots=True)
class ContentErased:
    """Contents are gone for good, as of before too, with everything that was derived from them."""

    contents: tuple[ContentKey, ...]
    """The rows that were deleted."""
    originals: tuple[ContentKey, ...]
    """Keys of bytes in files that are not to be captured again."""
    streams: tuple[str, ...]
    """The streams of the sources and memories that named one of the contents."""
    closed: tuple[str, ...]
    """The sources of which nothing is captured again."""
    spans: tuple[str, ...]
    """Passages that are left out when their sources are captured again: see `erasure.Span`."""
    actor: str
    reason: ContentKey | None
    receipt: ContentKey
    observed_at: str


@dataclass(frozen=True, slots=True)
class MemoryRemembered:
    """Somebody asked for a text to be remembered; again after it was forgotten."""

    scope: str
    kind: str
    text: ContentKey
    actor: str
    """`cli`, `mcp` or `python`."""
    observed_at: str
    redactions: Mapping[str, int] = field(default_factory=dict)
    original: ContentKey | None = None
    """Key of the text as it was given; None where that is what is stored."""


@dataclass(frozen=True, slots=True)
class MemoryCorrected:
    """Another text takes the memory's place; the former is shown only as of before."""

    text: ContentKey
    actor: str
    observed_at: str
    redactions: Mapping[str, int] = field(default_factory=dict)
    original: ContentKey | None = None


@dataclass(frozen=True, slots=True)
class MemoryForgotten:
    """The memory is hidden from now on, and shown only as of before."""

    reason: ContentKey | None
    actor: str
    observed_at: str


@dataclass(frozen=True, slots=True)
class ScopeCreated:
    """A scope was first needed."""

    observed_at: str


@dataclass(frozen=True, slots=True)
class DirectoryMapped:
    """What lies below a directory belongs to the scope from now on."""

    directory: ContentKey
    observed_at: str


@dataclass(frozen=True, slots=True)
class SearchServed:
    """A question was answered (ledger): who asked, over what, and which passages went out, best first."""

    question: ContentKey
    caller: str
    """`cli`, `mcp` or `python`."""
    scopes: tuple[str, ...]
    mode: str
    position: int
    as_of: int | None
    matched: bool
    passages: tuple[str, ...]
    took_ms: int
    observed_at: str


Event = (
    SourceRegistered
    | RevisionCaptured
    | SourceMoved
    | SourceRescoped
    | SourceRemoved
    | CaptureRejected
    | BatchStarted
    | BatchFinished
    | BatchReverted
    | BatchRestored
    | ContentErased
    | MemoryRemembered
    | MemoryCorrected
    | MemoryForgotten
    | ScopeCreated
    | DirectoryMapped
    | SearchServed
)

EVENT_TYPES: Mapping[str, type[Event]] = {
    "SourceRegistered": SourceRegistered,
    "RevisionCaptured": RevisionCaptured,
    "SourceMoved": SourceMoved,
    "SourceRescoped": SourceRescoped,
    "SourceRemoved": SourceRemoved,
    "CaptureRejected": CaptureRejected,
    "BatchStarted": BatchStarted,
    "BatchFinished": BatchFinished,
    "BatchReverted": BatchReverted,
    "BatchRestored": BatchRestored,
    "ContentErased": ContentErased,
    "MemoryRemembered": MemoryRemembered,
    "MemoryCorrected": MemoryCorrected,
    "MemoryForgotten": MemoryForgotten,
    "ScopeCreated": ScopeCreated,
    "DirectoryMapped": DirectoryMapped,
    "SearchServed": SearchServed,
}
"""Stored name to class. The names are in people's logs: they never change."""
