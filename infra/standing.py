"""Standing: where everything is, as `status` tells it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from chronofile import __version__
from chronofile.infra import upkeep
from chronofile.infra.agents import agents_places
from chronofile.infra.agents.broken_hooks import broken_hooks
from chronofile.infra.agents.overdue import overdue, transcripts
from chronofile.infra.erasing.receipts import unfinished
from chronofile.infra.reports import DatabaseStatus, Status
from chronofile.ingest import hooked, known, spool
from chronofile.ingest.agents import ALL, Kept, paths
from chronofile.query import catalogue
from chronofile.query.tally import AgentCount, tally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from chronofile.infra.agents.overdue import Transcripts
    from chronofile.infra.parts import Parts


def status_of(parts: Parts) -> Status:
    """Return where everything stands, without moving anything."""
    head = parts.store.position()
    counts = catalogue.counts(parts.engine)
    places = agents_places(ALL)
    found = tally(parts.engine, {name: _names(paths(kept)) for name, kept in places.items()})
    looked, broken = _transcripts(parts, places), broken_hooks()
    uncaptured = tuple(overdue(looked, parts.clock()))
    noted = spool.standing(parts.config.home)
    folder = None if parts.data_folder is None else str(parts.data_folder)
    return Status(
        position=head,
        projections=catalogue.projection_status(parts.engine, head),
        passages=counts.passages,
        vectors=counts.vectors,
        pending_vectors=counts.pending_vectors,
        embedder=str(catalogue.vector_configuration(parts.engine).get("embedder", "none")),
        bytes=counts.bytes,
        database=DatabaseStatus("external" if folder is None else "embedded", folder),
        sources=counts.sources,
        rejected=counts.rejected,
        omissions=counts.omissions,
        home=str(parts.config.home),
        version=__version__,
        notes=(
            *parts.notes,
            *upkeep.left_alone(parts).values(),
            *unfinished(parts.config.home),
            *noted.notes,
            *(hook.sentence for hook in broken),
            *uncaptured,
        ),
        spool=noted,
        captured=found.captured,
        parsed=found.parsed,
        failed=found.failed,
        rejections=found.rejections,
        batches=found.batches,
        agents=_with_hooks(found.agents, hooked.last(parts.config.home)),
        transcripts=looked,
        overdue=uncaptured,
        broken_hooks=tuple(broken),
    )


def _names(places: Sequence[Path]) -> list[str]:
    """Return folders as paths of files may begin, with the links in them and without."""
    return list(dict.fromkeys(name for place in places for name in (str(place), os.path.realpath(place))))


def _transcripts(parts: Parts, places: Mapping[str, Sequence[Kept]]) -> dict[str, Transcripts]:
    def known_of(paths: Sequence[Path]) -> Mapping[Path, known.KnownFile]:
        with parts.store.cursor() as cursor:
            return known.files(cursor, paths)

    return transcripts(places, known_of, home=parts.config.home, now=parts.clock())


def _with_hooks(agents: Mapping[str, AgentCount], noted: Mapping[str, datetime]) -> dict[str, AgentCount]:
    """Add when a hook noted something, which is known also where it brought nothing new."""
    found = dict(agents)
    for name, moment in noted.items():
        count = found.get(name, AgentCount())
        last = moment if count.last_hook is None else max(moment, count.last_hook)
        found[name] = replace(count, last_hook=last)
    return dict(sorted(found.items()))
