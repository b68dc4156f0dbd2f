"""The aftermath of an erasure: every projection is brought past it, and nothing derived is left behind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from chronofile.domain.errors import ChronofileError
from chronofile.infra import upkeep
from chronofile.projections import erasing, runner
from chronofile.query import catalogue

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts
    from chronofile.infra.progress import Progress

POLL_S = 0.05


class ProjectionsNotOurs(ChronofileError):
    """Nothing was erased, since this version cannot erase what another version or configuration derived:"""


def require_ours(parts: Parts) -> None:
    """Raise ProjectionsNotOurs where a serving projection could not be brought past an erasure by this process."""
    if alone := upkeep.left_alone(parts):
        raise ProjectionsNotOurs("; ".join(alone.values()))


def bring_past(parts: Parts, position: int, progress: Progress) -> None:
    """Catch up until every serving projection has seen a position. Raises ProjectionStopped."""
    while True:
        runner.catch_up(parts.engine, parts.store, parts.all_projections, tick=progress.applied)
        serving = catalogue.serving(parts.engine)
        if all(serving[p.name].position >= position for p in parts.all_projections if p.name in serving):
            return
        time.sleep(POLL_S)  # Another process is at it.


def drop_idle(parts: Parts) -> None:
    """Drop the generations that do not serve: nobody brings them past an erasure, and they can be built again."""
    with parts.engine.begin() as conn:
        erasing.drop_idle(conn)


def forget_vectors(parts: Parts) -> None:
    """Remove the cached vectors of texts that no passage has any more."""
    with parts.engine.begin() as conn:
        erasing.forget_vectors(conn)
