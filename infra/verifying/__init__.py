"""Verifying: whether all that was captured is still there, byte for byte and passage for passage."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import TYPE_CHECKING

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.errors import UnknownScope
from chronofile.domain.identity import decoded, storable
from chronofile.infra.reports import Listed, Verified
from chronofile.infra.requests import sources_named
from chronofile.infra.verifying.contents import texts_of
from chronofile.infra.verifying.run import Verification
from chronofile.infra.verifying.source import VerifiedSource, check_memory
from chronofile.ingest import spool
from chronofile.projections import histories
from chronofile.projections.histories import History
from chronofile.query import catalogue

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


def verify(parts: Parts, only: Collection[str] | None = None) -> Verified:
    """Compare what the log says was captured with the store, the files and the passages; `only` these sources.

    All is read as of one moment and one position, that of the passages, and a range at a time. A file that went
    on is no disagreement. Raises what the database raises.
    """
    began_s = time.monotonic()
    # What hooks left that could not be captured, each with its reason.
    aside = spool.standing(parts.config.home).set_aside
    isolated = parts.engine.connect().execution_options(isolation_level="REPEATABLE READ")
    with isolated as conn, conn.begin():
        run = Verification.begun(parts, conn)
        for some in histories.read(parts.store, _streams(run, only), run.position):
            for history in some:
                _check(run, history)
        run.list_what_failed(only)
    return Verified(
        position=run.position,
        sources=run.sources,
        contents=run.kept.read,
        bytes=run.kept.read_bytes,
        passages=run.passages,
        disagreements=tuple(run.disagreements),
        listed=(*run.listed, *(Listed("set-aside", None, a.entry, 1, a.reason) for a in aside)),
        projections=catalogue.projection_status(parts.engine, parts.store.position()),
        took_s=round(time.monotonic() - began_s, 3),
    )


def selected(parts: Parts, scope: str | None, source: str | None) -> frozenset[str] | None:
    """Return the sources of a scope, or that a URI or a path names; None for all.

    Raises UnknownScope, UnknownSource.
    """
    found: frozenset[str] | None = None
    if scope is not None:
        entries = catalogue.list_sources(parts.engine, scope=storable(scope))
        if not entries:
            raise UnknownScope(f"({scope})")
        found = frozenset(entry.id for entry in entries)
    if source is not None:
        named = frozenset(sources_named(source, parts.store, parts.engine))
        found = named if found is None else found & named
    return found


def _streams(run: Verification, only: Collection[str] | None) -> list[str]:
    """Return what is to be looked at; the sources of one file come together."""
    query = sa.text(
        "SELECT originator_id FROM log.events WHERE originator_version = 1 AND notification_id <= :position"
        " AND (originator_id LIKE 'source-%' OR originator_id LIKE 'memory-%' OR originator_id LIKE 'scope-%')"
    )
    found = run.conn.scalars(query, {"position": run.position})
    wanted = [stream for stream in found if only is None or streams.id_of(stream) in only]
    return sorted(wanted, key=lambda stream: (run.uris.get(streams.id_of(stream), ""), stream))


def _check(run: Verification, history: History) -> None:
    """Check all that one stream names."""
    keys = texts_of(recorded.event for recorded in history.events)
    texts = {key: decoded(text) for key, text in run.kept.several(keys).items()}
    contents = {key: key in texts for key in keys}
    if history.stream.startswith("source-"):
        contents |= VerifiedSource(run, history, texts).check()
    elif history.stream.startswith("memory-"):
        check_memory(run, history, texts)
    run.tell_contents(history.source, contents)
