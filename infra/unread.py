"""Unread documents: those that were captured and whose text was not had when their bytes were new."""

from __future__ import annotations

import sqlalchemy as sa

from chronofile.domain.documents import DOCUMENTS
from chronofile.projections import control
from chronofile.projections.catalogue_rows import CAPTURED
from chronofile.projections.passages import failure
from chronofile.projections.sources import source


def unread_documents(engine: sa.Engine) -> dict[str, int]:
    """Return the sources that show a document which no passages could be made of, each with its revision."""
    query = (
        sa.select(source.c.id, source.c.revision)
        .join(failure, (failure.c.source == source.c.id) & (failure.c.revision == source.c.revision))
        .where(source.c.state == CAPTURED, ~source.c.hidden, source.c.format.in_(sorted(DOCUMENTS)))
    )
    with engine.connect() as plain:
        conn = control.translated(plain, control.read_active(plain))
        return {row.id: row.revision for row in conn.execute(query)}
