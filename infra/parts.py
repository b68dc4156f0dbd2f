"""Parts: the objects that a memory is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from chronofile.projections.projection import Projection

if TYPE_CHECKING:
    import sqlalchemy as sa

    from chronofile.domain.ports import Extractor
    from chronofile.infra.config import Config
    from chronofile.infra.contents import ContentStore
    from chronofile.infra.event_store import EventStore
    from chronofile.infra.models import LoadedModels


@dataclass(frozen=True, slots=True)
class Parts:
    """What a memory is made of; wiring builds it."""

    config: Config
    conninfo: str
    data_folder: Path | None
    store: EventStore
    ledger: EventStore
    contents: ContentStore
    store_key: bytes
    engine: sa.Engine
    models: LoadedModels
    projections: Sequence[Projection]
    vectors: Projection
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    notes: tuple[str, ...]
    close: Callable[[], None]
    extractor: Extractor | None = None
    """What reads documents; None without the extra."""

    @property
    def all_projections(self) -> list[Projection]:
        """The projections with that of the transformer vectors, upstream first."""
        return [*self.projections, self.vectors]

    def read(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored contents by their keys, as they are now; what was erased is missing."""
        with self.engine.connect() as conn:
            return self.contents.read(conn, keys)
