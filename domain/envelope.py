"""The envelope: what the log adds to an event when it records it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from chronofile.domain.events import Event


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event in its place: `position` in the whole log, `version` in its stream (the first is 1)."""

    position: int
    stream: str
    version: int
    event_id: str
    recorded_at: datetime
    event: Event


@dataclass(frozen=True, slots=True)
class Addition:
    """Events for one stream that must stand at version `after` (0: must not exist) when they are added."""

    stream: str
    after: int
    events: Sequence[Event]


@dataclass(frozen=True, slots=True)
class Page:
    """Consecutive events of the log: all that were recorded in `(after, position]`."""

    after: int
    position: int
    events: Sequence[Recorded]
