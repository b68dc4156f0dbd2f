"""Wiring: the one place that builds objects and hands them to one another."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from chronofile.infra.config import Config, from_environment

if TYPE_CHECKING:
    from chronofile.infra.contents import ContentStore
    from chronofile.infra.event_store import EventStore
    from chronofile.infra.extraction import Extraction
    from chronofile.infra.memory import Memory
    from chronofile.infra.models import LoadedModels
    from chronofile.projections.control import Generation
    from chronofile.projections.projection import Projection
    from chronofile.projections.reading import Files


def open_memory(flags: Mapping[str, str | None], *, caller: str) -> Memory:
    """Open a home: start or join its database, bring its schema up to date, and put everything together.

    `caller` is how the ledger names who searches: `cli`, `mcp` or `python`. Raises what configuration,
    the embedded server and the migration raise.
    """
    return memory_of(from_environment(flags), caller=caller)


def memory_of(config: Config, *, caller: str, models: LoadedModels | None = None) -> Memory:
    """Open the home that a configuration names; `models` are the built-in ones unless others are given."""
    from chronofile.infra.models import LoadedModels

    models = models or LoadedModels()
    url = config["database_url"]
    if url is not None:
        return _assembled(config, _Database(url, None, lambda: None), models, caller)
    from chronofile.infra import embedded

    server = embedded.start(config.home)
    try:
        database = _Database(server.conninfo, server.data_folder, server.close)
        return _assembled(config, database, models, caller)
    except BaseException:
        server.close()
        raise


@dataclass(frozen=True, slots=True)
class _Database:
    """Where the data is, and how to let go of it. `data_folder` is None for an external one."""

    conninfo: str
    data_folder: Path | None
    release: Callable[[], None]


def _assembled(config: Config, database: _Database, models: LoadedModels, caller: str) -> Memory:
    from chronofile.infra.contents import ContentStore
    from chronofile.infra.datastore import Datastore, engine_of
    from chronofile.infra.event_store import EventStore
    from chronofile.infra.languages import FOLDER, Languages
    from chronofile.infra.memory import Memory
    from chronofile.infra.migrate import migrate, store_key
    from chronofile.infra.parts import Parts
    from chronofile.projections import control
    from chronofile.projections.reading import Files

    migrate(database.conninfo)
    key = store_key(database.conninfo)
    datastore, engine, contents = (
        Datastore(database.conninfo),
        engine_of(database.conninfo),
        ContentStore(key),
    )
    with engine.connect() as conn:
        serving = control.read_active(conn)
    store = EventStore(datastore, contents)
    extraction = _extraction()
    files = Files(extraction, Languages(config.home / FOLDER))
    projections, vectors, notes = _projections(config, serving, models, contents, key, store, files)
    control.ensure(engine, [*projections, vectors])

    def close() -> None:
        if extraction is not None:
            extraction.close()
        datastore.close()
        engine.dispose()
        database.release()

    return Memory(
        Parts(
            config=config,
            conninfo=database.conninfo,
            data_folder=database.data_folder,
            store=store,
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
            extractor=extraction,
        ),
        caller,
    )


def _projections(
    config: Config,
    serving: Mapping[str, Generation],
    models: LoadedModels,
    contents: ContentStore,
    key: bytes,
    store: EventStore,
    files: Files,
) -> tuple[list[Projection], Projection, list[str]]:
    """Return the projections in order, that of the transformer vectors, and what there is to say of them.

    What a generation was built with goes on until it is built anew: a changed setting is a note.
    """
    from chronofile.projections import lexical, vectors
    from chronofile.projections.instant import instant_projection
    from chronofile.projections.passage_writer import passages_projection
    from chronofile.projections.sources import sources_projection

    notes = []
    language = wanted = config["language"] or "english"
    if lexical.NAME in serving:
        language = str(serving[lexical.NAME].configuration["language"])
    if language != wanted:
        notes.append(f"words: {wanted} is configured, {language} serves")
    model = named = config["embedder"] or ""
    if vectors.NAME in serving:
        found = serving[vectors.NAME].configuration
        model, identity, dimension = str(found["model"]), str(found["embedder"]), int(found["dimension"])
    else:
        embedder = models.named(model)
        identity, dimension = embedder.identity, embedder.dimension
    if model != named:
        notes.append(f"vectors: {named} is configured, {model} serves")
    projections = [
        sources_projection(contents, store),
        passages_projection(contents, key, store, files),
        lexical.lexical_projection(language),
        instant_projection(models.static),
    ]
    return projections, vectors.vectors_projection(model, identity, dimension), notes


def _extraction() -> Extraction | None:
    """Return what reads documents, None without the extra. Its process begins with the first document."""
    from chronofile.infra.extraction import Extraction, is_installed

    return Extraction() if is_installed() else None
