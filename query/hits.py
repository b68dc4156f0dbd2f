"""Hits: passages with all that is told of them, loaded by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from chronofile.domain.times import parse
from chronofile.projections import passages, sources
from chronofile.projections.passages import occurrence, passage, scope, turn
from chronofile.projections.projection import alive
from chronofile.query.answer import Hit, HitSource, Stage
from chronofile.query.question import one_of


def hits(
    conn: sa.Connection,
    numbers: Sequence[int],
    *,
    position: int,
    at: datetime,
    scores: Mapping[int, float] | None = None,
    stages: Mapping[int, Mapping[str, Stage]] | None = None,
) -> list[Hit]:
    """Load passages as of a position, in the order given; `at` is the moment by which ages count."""
    rows = {row.no: row for row in conn.execute(_loaded(numbers, position)).all()} if numbers else {}
    return [
        _hit(rows[number], at, (scores or {}).get(number, 0.0), (stages or {}).get(number))
        for number in numbers
        if number in rows
    ]


def _loaded(numbers: Sequence[int], position: int) -> sa.Select[Any]:
    here = sa.and_(occurrence.c.passage_no == passage.c.no, alive(occurrence, position))
    key_hash = sa.func.sha256(sa.type_coerce(passage.c.turn, sa.LargeBinary))
    said = sa.and_(turn.c.source == passage.c.source, turn.c.key_hash == key_hash, alive(turn, position))
    joined = (
        passage.join(occurrence, here)
        .join(scope, scope.c.no == passage.c.scope_no)
        .outerjoin(turn, said)
        .outerjoin(sources.source, sources.source.c.id == passage.c.source)
        .outerjoin(passages.source, passages.source.c.id == passage.c.source)
    )
    columns = [c for c in passage.c if c.name not in ("source", "title_embedded", "recorded_to")]
    return (
        sa.select(
            *columns,
            passage.c.source.label("source_id"),
            occurrence.c.revision,
            occurrence.c.span_start,
            occurrence.c.span_end,
            occurrence.c.line_first,
            occurrence.c.line_last,
            scope.c.name.label("scope"),
            turn.c.native_ids,
            turn.c.superseded,
            passages.source.c.title.label("source_title"),
            sources.source.c.uri,
            sources.source.c.format,
        )
        .select_from(joined)
        .where(one_of(passage.c.no, numbers))
    )


def _hit(row: Any, at: datetime, score: float, stages: Mapping[str, Stage] | None) -> Hit:
    happened = parse(row.event_time)
    return Hit(
        id=row.id,
        text=row.text,
        score=round(score, 4),
        scope=row.scope,
        topic=row.topic,
        kind=row.kind,
        source=HitSource(row.source_id, row.uri or "", row.format, row.revision),
        session=row.session,
        turns=tuple(row.native_ids or ()),
        role=row.role,
        speaker=row.speaker,
        part=row.part,
        title=row.title or row.source_title,
        span=(row.span_start, row.span_end),
        lines=None if row.line_first is None else (row.line_first, row.line_last),
        event_time=row.event_time,
        recorded_at=row.recorded_at,
        position=row.recorded_from,
        superseded=bool(row.superseded),
        age_s=max(0, int((at - happened).total_seconds())) if happened else None,
        stages=stages,
    )
