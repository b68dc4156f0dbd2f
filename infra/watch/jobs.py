"""Jobs: what one flush is to capture, and how it is parted where something in it cannot be captured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chronofile.infra.watch.flush import Reason


@dataclass(frozen=True, slots=True)
class Job:
    """Everything below the paths, or `only` what changed there."""

    reason: Reason
    paths: Sequence[Path]
    only: frozenset[Path] | None = None


def parts(job: Job) -> list[Job]:
    """Return jobs that come to the same, none where it is one file: so what cannot be captured is found in the end."""
    wanted = sorted(job.paths if job.only is None else job.only)
    if len(wanted) < 2:
        wanted = [below for path in wanted for below in _entries(path)]
    if not wanted:
        return []
    middle = (len(wanted) + 1) // 2
    halves = [wanted[:middle], wanted[middle:]]
    return [replace(job, reason="retry", only=frozenset(half)) for half in halves if half]


def _entries(path: Path) -> Iterator[Path]:
    try:
        yield from path.iterdir()
    except OSError:
        return
