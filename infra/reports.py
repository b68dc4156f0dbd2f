"""Reports: what the commands tell, as values with the shapes that others read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Self

from chronofile.domain.rejection import REJECTION_SENTENCES
from chronofile.ingest.spool import SpoolStanding
from chronofile.query.catalogue import Counts, ProjectionStatus
from chronofile.query.tally import AgentCount, CapturedCount, ParsedCount

if TYPE_CHECKING:
    from chronofile.infra.agents.broken_hooks import BrokenHook
    from chronofile.infra.agents.overdue import Transcripts
    from chronofile.ingest.capture import Captured


@dataclass(frozen=True, slots=True)
class RejectedPath:
    """A path that could not be captured: the reason's code, what more is known, and what the reason means."""

    path: str
    reason: str
    detail: str
    sentence: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one run of ingest did: counts of this run alone. `batch` is None when nothing was appended."""

    batch: str | None
    sources: int
    revisions: int
    unchanged: int
    rejected: tuple[RejectedPath, ...]
    redactions: int
    """Secrets that were taken out of what was captured."""
    position: int
    pending_vectors: int | None
    """None, as `passages`, where the database went away before they could be counted."""
    moved: int
    removed: int
    omitted: Mapping[str, int]
    waiting_bytes: int
    """Bytes of last lines that are not complete yet; they are captured when they are."""
    read_bytes: int
    passages: int | None
    unread_records: int | None
    """How many records of the whole memory gave no turn; None where it was not waited for, or cannot be counted."""
    note: str | None = None
    """What is left to do, or what keeps the captured from becoming searchable."""
    erased_passages: int = 0
    """Passages that were erased before, and were left out of what was captured."""
    stopped: bool = False
    """Whether what was captured could not be made searchable as far as was asked; `note` says why."""

    @classmethod
    def of(
        cls,
        captured: Captured,
        counts: Counts | None,
        note: str | None,
        *,
        stopped: bool = False,
        waited: bool = True,
    ) -> Self:
        """Return the report of a run, with what the memory holds after it, if that is known.

        `waited` is whether the capture was read into passages before it was counted.
        """
        secrets, erased_passages = taken_out(captured)
        return cls(
            batch=captured.batch,
            sources=len(captured.sources),
            revisions=captured.revisions,
            unchanged=captured.unchanged,
            rejected=tuple(
                RejectedPath(str(r.path), r.reason, r.detail, REJECTION_SENTENCES[r.reason])
                for r in captured.rejected
            ),
            redactions=secrets,
            position=captured.position,
            pending_vectors=None if counts is None else counts.pending_vectors,
            moved=captured.moved,
            removed=captured.removed,
            omitted={str(reason): count for reason, count in captured.omitted.items()},
            waiting_bytes=captured.waiting_bytes,
            read_bytes=captured.read_bytes,
            passages=None if counts is None else counts.passages,
            unread_records=counts.omissions if counts is not None and waited else None,
            note=note,
            erased_passages=erased_passages,
            stopped=stopped,
        )

    @property
    def failed(self) -> bool:
        """Whether a path that was named is missing, nothing at all could be read, or it is not searchable."""
        return self.unreadable or self.stopped

    @property
    def unreadable(self) -> bool:
        """Whether a path that was named is missing, or nothing at all could be read.

        What was read and is not captured again, an older state or what was erased, is no trouble.
        """
        missing = any(rejected.reason == "missing" for rejected in self.rejected)
        older = self.omitted.get("older-copy", 0)
        erased = any(rejected.reason == "erased" for rejected in self.rejected)
        nothing = not (self.sources or self.unchanged or self.moved or self.removed or older or erased)
        return missing or (nothing and bool(self.rejected))


def taken_out(captured: Captured) -> tuple[int, int]:
    """Return how many secrets, and how many passages that were erased before, a capture left out of what it took."""
    from chronofile.ingest.cleaning import ERASED

    erased = captured.redactions.get(ERASED, 0)
    return captured.redactions.total() - erased, erased


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """Where the data is: `mode` is `embedded` or `external`."""

    mode: str
    data_folder: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """Where everything stands."""

    position: int
    projections: Mapping[str, ProjectionStatus]
    passages: int
    vectors: int
    pending_vectors: int
    embedder: str
    bytes: Mapping[str, int]
    database: DatabaseStatus
    sources: int
    rejected: int
    omissions: int
    home: str
    version: str
    notes: tuple[str, ...] = ()
    spool: SpoolStanding = field(default_factory=SpoolStanding)
    """What agents' hooks noted and is not captured yet, and what could not be used."""
    captured: CapturedCount = field(default_factory=CapturedCount)
    parsed: ParsedCount = field(default_factory=ParsedCount)
    failed: Mapping[str, int] = field(default_factory=dict)
    """Revisions that gave no passages, by reason."""
    rejections: Mapping[str, int] = field(default_factory=dict)
    """Sources that were seen and not captured, by the reason's code."""
    batches: Mapping[str, datetime] = field(default_factory=dict)
    """When each tool last began to capture something: `ingest`, `watch`, `hook:claude-code`."""
    agents: Mapping[str, AgentCount] = field(default_factory=dict)
    transcripts: Mapping[str, Transcripts] = field(default_factory=dict)
    """The transcripts of the agents of this machine's user."""
    overdue: tuple[str, ...] = ()
    """A sentence for each agent of which some are not captured as they are; `notes` has it too."""
    broken_hooks: tuple[BrokenHook, ...] = ()
    """Hooks in agents' settings that cannot run; `notes` has a sentence for each."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something of a source that is not as it was captured; `remedy` says what to do."""

    source: str
    uri: str | None
    problem: str
    detail: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Something that a verification tells and that is no disagreement.

    `state` is `behind`, `changed`, `gone`, `recovered`, `unreadable` or `waiting` of a file, `undone` or `erased` of what was
    captured, `failed` or `omitted` of what gave no passages, `rejected`, or `set-aside` of what a hook left.
    `count` is in bytes for `behind` and `waiting`. `uri` is None where it was erased too.
    """

    state: str
    source: str | None
    uri: str | None
    count: int
    detail: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification found, as of a position; `contents` and `bytes` are those that it read and hashed."""

    position: int
    sources: int
    contents: int
    bytes: int
    passages: int
    disagreements: tuple[Disagreement, ...]
    listed: tuple[Listed, ...]
    projections: Mapping[str, ProjectionStatus]
    took_s: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the doctor looked at; `remedy` is the command or step that mends it."""

    check: str
    ok: bool
    detail: str
    remedy: str | None = None
