"""Generations: which builds of which projection there are, how far each is, and which of them serve."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from psycopg.sql import SQL, Identifier
from sqlalchemy.dialects.postgresql import JSONB

from chronofile.projections.bulk import cursor_of, schema_of
from chronofile.projections.projection import Projection, is_sampled

control = sa.MetaData(schema="control")

generation = sa.Table(
    "generation",
    control,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("projection", sa.Text, nullable=False),
    sa.Column("code_version", sa.Integer, nullable=False),
    sa.Column("configuration", JSONB, nullable=False),
    sa.Column("upstream", JSONB, nullable=False),
    sa.Column("schema_name", sa.Text),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("error_position", sa.BigInteger),
)

active = sa.Table(
    "active",
    control,
    sa.Column("projection", sa.Text, primary_key=True),
    sa.Column("generation", sa.Integer, nullable=False),
)

CREATE_LOCK = 0x47454E  # "GEN": two processes that start at once make one generation.


@dataclass(frozen=True, slots=True)
class Generation:
    """One build of a projection. `upstream` names the generations it was built from, by projection."""

    id: int
    projection: str
    code_version: int
    configuration: Mapping[str, Any]
    upstream: Mapping[str, int]
    schema: str
    position: int
    error: str | None = None
    error_position: int | None = None

    def matches(self, projection: Projection) -> bool:
        """Whether this process's code and configuration are those that the generation was built with."""
        return self.code_version == projection.version and dict(self.configuration) == _plain(
            projection.configuration
        )


def ensure(engine: sa.Engine, projections: Sequence[Projection]) -> None:
    """Create and activate a first generation of each projection that has none. `projections`: upstream first."""
    with engine.begin() as conn:
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATE_LOCK)))
        serving = read_active(conn)
        for projection in projections:
            if projection.name not in serving:
                created = create(conn, projection, serving)
                conn.execute(sa.insert(active).values(projection=projection.name, generation=created.id))
                serving[projection.name] = created


def create(conn: sa.Connection, projection: Projection, serving: Mapping[str, Generation]) -> Generation:
    """Create an empty generation with tables of its own, built from the given generations upstream."""
    row = {
        "projection": projection.name,
        "code_version": projection.version,
        "configuration": _plain(projection.configuration),
        "upstream": {name: serving[name].id for name in projection.upstream},
        "position": 0,
    }
    number = conn.execute(sa.insert(generation).values(row).returning(generation.c.id)).scalar_one()
    schema = f"{projection.name}_{number}"
    conn.execute(sa.update(generation).where(generation.c.id == number).values(schema_name=schema))
    conn.execute(sa.schema.CreateSchema(schema))
    created = Generation(id=number, schema=schema, **row)  # type: ignore[arg-type]
    bound = translated(
        conn, {**{name: serving[name] for name in projection.upstream}, projection.name: created}
    )
    projection.tables.create_all(bound)
    for table in projection.tables.sorted_tables:
        _keep_samples_out(bound, table)
    return created


def _keep_samples_out(conn: sa.Connection, table: sa.Table) -> None:
    names = [column.name for column in table.columns if not is_sampled(column)]
    if names:
        unsampled = SQL(", ").join(
            SQL("ALTER COLUMN {} SET STATISTICS 0").format(Identifier(name)) for name in names
        )
        where = Identifier(schema_of(conn, table), table.name)
        cursor_of(conn).execute(SQL("ALTER TABLE {} {}").format(where, unsampled))


def read_active(conn: sa.Connection) -> dict[str, Generation]:
    """Return the generations that serve, by projection: one consistent set."""
    rows = conn.execute(sa.select(generation).join(active, active.c.generation == generation.c.id))
    return {row.projection: _generation(row) for row in rows}


def left_alone(serving: Mapping[str, Generation], projections: Sequence[Projection]) -> dict[str, str | None]:
    """Return which serving generations this process leaves as they are, each with the one upstream that it waits for.

    Those are the ones that another code version or configuration built (None), and what is built from one of
    them or from a generation that does not serve, since nothing passes its upstream. `projections`: upstream first.
    """
    found: dict[str, str | None] = {}
    for projection in projections:
        mine = serving.get(projection.name)
        if mine is None:
            continue
        if not mine.matches(projection):
            found[mine.projection] = None
            continue
        for name, number in mine.upstream.items():
            if name in found or name not in serving or serving[name].id != number:
                found[mine.projection] = name
                break
    return found


def read_all(conn: sa.Connection) -> list[Generation]:
    return [_generation(row) for row in conn.execute(sa.select(generation).order_by(generation.c.id))]


def translated(conn: sa.Connection, generations: Mapping[str, Generation]) -> sa.Connection:
    """Return the connection with each projection's symbolic schema standing for a generation's own."""
    names = {name: found.schema for name, found in generations.items()}
    return conn.execution_options(schema_translate_map=names)


def record_error(engine: sa.Engine, number: int, position: int | None, error: str | None) -> None:
    """Note what stopped a generation, or with None that nothing does any more."""
    with engine.begin() as conn:
        conn.execute(
            sa.update(generation)
            .where(generation.c.id == number)
            .values(error=error, error_position=position)
        )


def _generation(row: sa.Row[Any]) -> Generation:
    return Generation(
        id=row.id,
        projection=row.projection,
        code_version=row.code_version,
        configuration=row.configuration,
        upstream=row.upstream,
        schema=row.schema_name,
        position=row.position,
        error=row.error,
        error_position=row.error_position,
    )


def _plain(configuration: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(dict(configuration))))
