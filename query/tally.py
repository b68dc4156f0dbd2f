"""The tally: how much was captured and became passages, what failed and why, and when each agent was captured last."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

import sqlalchemy as sa

from chronofile.domain.formats import FORMATS, neutral
from chronofile.domain.identity import encoded
from chronofile.projections import control, passages, sources
from chronofile.projections.passages import failure, passage
from chronofile.projections.projection import FOREVER, Verbatim

HOOK = "hook:"
"""What the tool of a batch begins with that an agent's hook asked for; the agent's name follows."""
NOWHERE: Mapping[str, Sequence[str]] = MappingProxyType({})
LATEST_SOURCES_MAX = 20
"""Of how many of an agent's sources, those captured last, the last event is looked for."""


@dataclass(frozen=True, slots=True)
class CapturedCount:
    """What is captured now; `bytes` are the sources' own sizes."""

    sources: int = 0
    revisions: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class ParsedCount:
    """What of the captured has passages now."""

    sources: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class AgentCount:
    """What was captured of an agent's transcripts and when last, and when its hook last noted something."""

    sources: int = 0
    bytes: int = 0
    last_capture: datetime | None = None
    last_event_time: str | None = None
    """When the last of what was captured happened, as the transcript has it."""
    last_hook: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """How capture stands. `failed` counts revisions by reason, `rejections` sources by the reason's code.

    `batches` has for each tool that captures when it last began to append something.
    """

    captured: CapturedCount = CapturedCount()
    parsed: ParsedCount = ParsedCount()
    failed: Mapping[str, int] = field(default_factory=dict)
    rejections: Mapping[str, int] = field(default_factory=dict)
    batches: Mapping[str, datetime] = field(default_factory=dict)
    agents: Mapping[str, AgentCount] = field(default_factory=dict)


def tally(engine: sa.Engine, folders: Mapping[str, Sequence[str]] = NOWHERE) -> Tally:
    """Count what there is now, as one moment has it.

    `folders` are where agents keep their transcripts, by agent: what was captured from there is the agent's, also
    where its transcripts are of no format that is known.
    """
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as plain, plain.begin():
        conn = control.translated(plain, control.read_active(plain))
        batches = _batches(conn)
        return Tally(
            captured=_captured(conn),
            parsed=_parsed(conn),
            failed=_by(conn, failure.c.reason),
            rejections=_by(conn, sources.source.c.rejection),
            batches=batches,
            agents=_agents(conn, batches, folders),
        )


def _captured(conn: sa.Connection) -> CapturedCount:
    entries = sources.source
    query = sa.select(sa.func.count(), sa.func.sum(entries.c.revision), sa.func.sum(entries.c.bytes))
    count, revisions, size = conn.execute(query.where(entries.c.state == "captured")).one()
    return CapturedCount(int(count), int(revisions or 0), int(size or 0))


def _parsed(conn: sa.Connection) -> ParsedCount:
    own = (passage.c.source == passages.source.c.id) & (passage.c.recorded_to == FOREVER)
    count = sa.select(sa.func.count()).select_from(passages.source)
    with_passages = count.where(sa.exists().where(own))
    standing = sa.select(sa.func.count()).select_from(passage).where(passage.c.recorded_to == FOREVER)
    return ParsedCount(
        int(conn.execute(with_passages).scalar_one()), int(conn.execute(standing).scalar_one())
    )


def _by(conn: sa.Connection, column: sa.Column[str | None]) -> dict[str, int]:
    query = sa.select(column, sa.func.count()).where(column.is_not(None)).group_by(column).order_by(column)
    return {str(name): int(count) for name, count in conn.execute(query)}


def _batches(conn: sa.Connection) -> dict[str, datetime]:
    table = sources.batch
    query = sa.select(table.c.tool, sa.func.max(table.c.started_at).label("last")).group_by(table.c.tool)
    return {row.tool: row.last for row in conn.execute(query.order_by(table.c.tool))}


def _agents(
    conn: sa.Connection, batches: Mapping[str, datetime], folders: Mapping[str, Sequence[str]]
) -> dict[str, AgentCount]:
    """Count by format; what is of none that is known counts for the agent in whose folders it is."""
    entries = sources.source
    formats = FORMATS.keys() - {neutral.name}
    of_agents = {name: sa.and_(entries.c.kind == "transcript", entries.c.format == name) for name in formats}
    of_agents |= {
        name: sa.and_(entries.c.state == "captured", _is_below(places))
        for name, places in folders.items()
        if name not in formats
    }
    found = {name: count for name, which in of_agents.items() if (count := _count(conn, which)).sources}
    for tool, last in batches.items():
        if tool.startswith(HOOK):
            name = tool.removeprefix(HOOK)
            found[name] = replace(found.get(name, AgentCount()), last_hook=last)
    return dict(sorted(found.items()))


def _is_below(folders: Sequence[str]) -> sa.ColumnElement[bool]:
    """Tell of a source whether one of its files is below the folders."""
    path = sources.file.c.path
    below = [f"{folder.rstrip(os.sep)}{os.sep}" for folder in folders]
    begins = [
        sa.func.substr(path, 1, len(encoded(prefix)), type_=Verbatim) == sa.literal(prefix, Verbatim)
        for prefix in below
    ]
    return sources.source.c.id.in_(sa.select(sources.file.c.source).where(sa.or_(sa.false(), *begins)))


def _count(conn: sa.Connection, which: sa.ColumnElement[bool]) -> AgentCount:
    entries = sources.source
    captured_at = sa.func.max(entries.c.captured_at)
    query = sa.select(sa.func.count(), sa.func.sum(entries.c.bytes), captured_at).where(which)
    count, size, last = conn.execute(query).one()
    return AgentCount(int(count), int(size or 0), last, _last_event_time(conn, which))


def _last_event_time(conn: sa.Connection, which: sa.ColumnElement[bool]) -> str | None:
    entries = sources.source
    latest = (
        sa.select(entries.c.id)
        .where(which)
        .order_by(entries.c.captured_at.desc().nulls_last())
        .limit(LATEST_SOURCES_MAX)
    )
    query = (
        sa.select(passage.c.event_time)
        .where(
            passage.c.source.in_(latest), passage.c.recorded_to == FOREVER, passage.c.event_at.is_not(None)
        )
        .order_by(passage.c.event_at.desc())
        .limit(1)
    )
    return conn.execute(query).scalar()
