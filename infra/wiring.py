"""Wiring: the one place that builds objects and hands them to one another."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from chronofile.infra.config import Config, from_environment

if TYPE_CHECKING:
    import sqlalchemy as sa

    from chronofile.infra.memory import Memory
    from chronofile.infra.models import LoadedModels
    from chronofile.projections.projection import Projection


def open_memory(flags: Mapping[str, str | None], *, caller: str) -> Memory:
    """Open a home: start or join its database, bring its schema up to date, and put everything together.

    `caller` is how the ledger names who searches: `cli`, `mcp` or `python`. Raises what configuration,
    the embedded server and the migration raise.
    """
    return memory_of(from_environment(flags), caller=caller)


def memory_of(config: Config, *, caller: str) -> Memory:
    """Open the home that a configuration names."""
    url = config["database_url"]
    if url is not None:
        return _assembled(config, url, None, lambda: None, caller)
    from chronofile.infra import embedded

    server = embedded.start(config.home)
    try:
        return _assembled(config, server.conninfo, server.data_folder, server.close, caller)
    except BaseException:
        server.close()
        raise


def _assembled(
    config: Config, conninfo: str, data_folder, release: Callable[[], None], caller: str
) -> Memory:  # type: ignore[no-untyped-def]
    from chronofile.infra.contents import ContentStore
    from chronofile.infra.datastore import Datastore, engine_of
    from chronofile.infra.event_store import EventStore
    from chronofile.infra.memory import Memory, Parts
    from chronofile.infra.migrate import migrate, store_key
    from chronofile.infra.models import LoadedModels
    from chronofile.projections import control
    from chronofile.projections.instant import instant_projection
    from chronofile.projections.lexical import lexical_projection
    from chronofile.projections.passage_writer import passages_projection
    from chronofile.projections.sources import sources_projection

    migrate(conninfo)
    key = store_key(conninfo)
    datastore, engine, models = Datastore(conninfo), engine_of(conninfo), LoadedModels()
    contents = ContentStore(key)
    projections = [
        sources_projection(contents),
        passages_projection(contents, key),
        lexical_projection(config["language"] or "english"),
        instant_projection(models.static),
    ]
    vectors, notes = _vectors(engine, config, models)
    control.ensure(engine, [*projections, vectors])

    def close() -> None:
        datastore.close()
        engine.dispose()
        release()

    return Memory(
        Parts(
            config=config,
            conninfo=conninfo,
            data_folder=data_folder,
            store=EventStore(datastore, contents),
            ledger=EventStore(datastore, contents, table="ledger"),
            contents=contents,
            store_key=key,
            engine=engine,
            models=models,
            projections=projections,
            vectors=vectors,
            clock=lambda: datetime.now(UTC),
            new_id=lambda: uuid.uuid4().hex,
            notes=tuple(notes),
            close=close,
        ),
        caller,
    )


def _vectors(engine: sa.Engine, config: Config, models: LoadedModels) -> tuple[Projection, list[str]]:
    """Return the projection of the embedder that serves, and what there is to say when another is configured."""
    from chronofile.projections import control, vectors

    wanted = config["embedder"] or ""
    with engine.connect() as conn:
        serving = control.read_active(conn).get(vectors.NAME)
    if serving is None:
        embedder = models.named(wanted)
        return vectors.vectors_projection(wanted, embedder.identity, embedder.dimension), []
    found = serving.configuration
    projection = vectors.vectors_projection(
        str(found["model"]), str(found["embedder"]), int(found["dimension"])
    )
    if found["model"] == wanted:
        return projection, []
    note = f"vectors: {wanted} is configured, {found['model']} serves"
    return projection, [note]
