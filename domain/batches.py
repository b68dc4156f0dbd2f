"""A batch as its own stream tells it, and what undoing it means: pure decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from chronofile.domain.errors import ChronofileError
from chronofile.domain.events import BatchFinished, BatchRestored, BatchReverted, BatchStarted, Event

UNDO = "undo"
"""The tool of a batch that undoes another."""
PREFIX_CHARS_MIN = 4


class UnknownBatch(ChronofileError):
    """There is no batch with this id; `chronofile undo` without one lists the last ones:"""


class AmbiguousBatch(ChronofileError):
    """Several batches begin like this; give more of the id:"""

    def __init__(self, prefix: str, found: Sequence[str]) -> None:
        super().__init__(f"{prefix} may be {', '.join(found)}.")
        self.found = tuple(found)


class UndoneAlready(ChronofileError):
    """This was undone already, and nothing was done;"""

    def __init__(self, by: str) -> None:
        super().__init__(f"batch {by} did it, and `chronofile undo {by}` takes that back.")
        self.by = by


class NothingToUndo(ChronofileError):
    """This batch captured nothing and removed nothing, so there is nothing to hide; nothing was done."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Where a batch stands; `by` is the batch that reverted or restored it last."""

    version: int = 0
    tool: str = ""
    of: str | None = None
    finished: BatchFinished | None = None
    reverted: bool = False
    by: str | None = None


def batch_of(events: Iterable[Event]) -> Batch:
    """Fold a batch's own events; none give a batch that does not exist (version 0)."""
    batch = Batch()
    for event in events:
        batch = _evolved(replace(batch, version=batch.version + 1), event)
    return batch


def undo(chain: Sequence[Batch], by: str, observed_at: str) -> BatchReverted | BatchRestored:
    """Decide what undoing the first batch of a chain does to the last one, which captured.

    Each batch of a chain undid the next. So with an odd number of them what was captured is hidden, with an
    even one it is shown. Raises UndoneAlready where it stands so by now.
    """
    captured = chain[-1]
    hides = len(chain) % 2 == 1
    if captured.reverted == hides:
        # A batch that nobody touched is shown, and only a batch that once hid it asks for that.
        assert captured.by is not None
        raise UndoneAlready(captured.by)
    return BatchReverted(by, observed_at) if hides else BatchRestored(by, observed_at)


def _evolved(batch: Batch, event: Event) -> Batch:
    match event:
        case BatchStarted():
            return replace(batch, tool=event.tool, of=event.of)
        case BatchFinished():
            return replace(batch, finished=event)
        case BatchReverted(by=by) | BatchRestored(by=by):
            return replace(batch, reverted=isinstance(event, BatchReverted), by=by)
        case _:
            return batch
