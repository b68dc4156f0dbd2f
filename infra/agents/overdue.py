"""Overdue: transcripts on disk that are not captured as they are, as when a hook is broken or was never there."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from chronofile.domain.wording import counted
from chronofile.ingest.agents import Kept, paths, selections
from chronofile.ingest.archives import companions
from chronofile.ingest.known import KnownFile
from chronofile.ingest.reading import fingerprint_of
from chronofile.ingest.scan import Found, scan

OVERDUE_S = 900.0
"""What changed later than so long ago may be captured any moment."""
FILES_MAX = 10_000
ENTRIES_MAX = 50_000
"""How many transcripts of an agent, and how many entries below its folders, are looked at; the rest is not."""
REMEDY = "chronofile ingest --agents"

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))

KnownOf = Callable[[Sequence[Path]], Mapping[Path, KnownFile]]
"""Returns what is known of files, by path."""


@dataclass(frozen=True, slots=True)
class Transcripts:
    """An agent's transcripts on this machine: how many there are, and how many of them are not captured as they are.

    `since` is when the first of these was changed; None where there are none.
    """

    found: int
    uncaptured: int = 0
    since: datetime | None = None


def transcripts(
    places: Mapping[str, Sequence[Kept]], known_of: KnownOf, *, home: Path, now: datetime
) -> dict[str, Transcripts]:
    """Look at the transcripts of each agent in its `places`, without opening one; agents without any are left out.

    What the rules of a capture leave out is none of them, and nothing below `home` is.
    """
    looked = {name: list(_changed(found, home)) for name, found in places.items()}
    return {name: _compared(found, known_of, now) for name, found in looked.items() if found}


def overdue(looked: Mapping[str, Transcripts], now: datetime) -> Iterator[str]:
    """Yield a sentence for each agent of which a transcript is not captured as it is."""
    for name, found in looked.items():
        if found.since is not None:
            verb = "is" if found.uncaptured == 1 else "are"
            yield (
                f"{name}: {found.uncaptured:,} of {counted(found.found, 'transcript')} {verb} not captured as of now; the"
                f" first was changed {_age(found.since, now)} ago. Is its hook installed, or chronofile watch running?"
                f" {REMEDY} captures what there is."
            )


@dataclass(frozen=True, slots=True)
class _Look:
    path: Path
    size: int
    mtime_ns: int


def _changed(places: Sequence[Kept], home: Path) -> Iterator[_Look]:
    """Yield how each transcript looks; what cannot be read is passed over."""
    entries = islice(scan(paths(places), home=home, selected=selections(places)), ENTRIES_MAX)
    named = (found.path for found in entries if isinstance(found, Found))
    for path in islice(named, FILES_MAX):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            looked = companions.fingerprint(path, fingerprint_of(status))
            yield _Look(path, looked.size, looked.mtime_ns)


def _compared(looked: Sequence[_Look], known_of: KnownOf, now: datetime) -> Transcripts:
    latest_ns = int((now.timestamp() - OVERDUE_S) * 1e9)
    rested = [look for look in looked if look.mtime_ns < latest_ns]
    known = known_of([look.path for look in rested])
    waiting_ns = [look.mtime_ns for look in rested if not _is_captured(look, known.get(look.path))]
    since = datetime.fromtimestamp(min(waiting_ns) / 1e9, UTC) if waiting_ns else None
    return Transcripts(len(looked), len(waiting_ns), since)


def _is_captured(look: _Look, known: KnownFile | None) -> bool:
    """Tell whether a file was captured as it is. One that changed while it was is known by its size alone."""
    if known is None or known.fingerprint.size != look.size:
        return False
    return known.fingerprint.mtime_ns in (-1, look.mtime_ns)


def _age(since: datetime, now: datetime) -> str:
    seconds = int((now - since).total_seconds())
    unit_s, unit = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
    return counted(seconds // unit_s, unit)
