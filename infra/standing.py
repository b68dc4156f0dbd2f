"""Standing: where everything is, as `status` tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chronofile import __version__
from chronofile.infra import upkeep
from chronofile.infra.erasing.receipts import unfinished
from chronofile.infra.reports import DatabaseStatus, Status
from chronofile.ingest import spool
from chronofile.query import catalogue
from chronofile.query.tally import tally

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


def status_of(parts: Parts) -> Status:
    """Return where everything stands, without moving anything."""
    head = parts.store.position()
    counts = catalogue.counts(parts.engine)
    found = tally(parts.engine)
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
        ),
        spool=spool.standing(parts.config.home),
        captured=found.captured,
        parsed=found.parsed,
        failed=found.failed,
        rejections=found.rejections,
        batches=found.batches,
        agents=found.agents,
    )
