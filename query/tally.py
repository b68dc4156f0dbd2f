"""The tally: how much was captured and became passages, what failed and why, and when each agent was captured last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa

from chronofile.domain.formats import FORMATS, neutral
from chronofile.projections import control, passages, sources
from chronofile.projections.passages import failure, passage
from chronofile.projections.projection import FOREVER

HOOK = "hook:"
"""What the tool of a batch begins with that an agent's hook asked for; the agent's name follows."""
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
    """What was captured of an agent's transcripts and when last, and when its hook last brought something."""

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


def tally(engine: sa.Engine) -> Tally:
    """Count what there is now, as one moment has it."""
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as plain, plain.begin():
        conn = control.translated(plain, control.read_active(plain))
        batches = _batches(conn)
        return Tally(
            captured=_captured(conn),
            parsed=_parsed(conn),
            failed=_by(conn, failure.c.reason),
            rejections=_by(conn, sources.source.c.rejection),
            batches=batches,
            agents=_agents(conn, batches),
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


def _agents(conn: sa.Connection, batches: Mapping[str, datetime]) -> dict[str, AgentCount]:
    entries = sources.source
    query = (
        sa.select(
            entries.c.format,
            sa.func.count(),
            sa.func.sum(entries.c.bytes),
            sa.func.max(entries.c.captured_at),
        )
        .where(entries.c.kind == "transcript", entries.c.format.in_(FORMATS.keys() - {neutral.name}))
        .group_by(entries.c.format)
    )
    found = {
        name: AgentCount(
            int(count), int(size or 0), last, _last_event_time(conn, name), batches.get(HOOK + name)
        )
        for name, count, size, last in conn.execute(query)
    }
    hooked = {tool.removeprefix(HOOK): last for tool, last in batches.items() if tool.startswith(HOOK)}
    only_hooked = {name: AgentCount(last_hook=last) for name, last in hooked.items() if name not in found}
    return dict(sorted((found | only_hooked).items()))


def _last_event_time(conn: sa.Connection, format_name: str) -> str | None:
    entries = sources.source
    latest = (
        sa.select(entries.c.id)
        .where(entries.c.format == format_name)
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
