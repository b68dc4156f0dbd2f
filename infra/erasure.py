"""Erasure: bytes and all that was derived from them are removed for good, also as of before."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
import structlog

from chronofile.domain import streams
from chronofile.domain.errors import ChronofileError
from chronofile.domain.times import iso
from chronofile.infra.erasing.aftermath import bring_past, require_ours
from chronofile.infra.erasing.carrying import Words
from chronofile.infra.erasing.completing import completed
from chronofile.infra.erasing.exclusive import ErasureGoesOn, alone
from chronofile.infra.erasing.finishing import begun, carry_on, finish, finished, is_redaction
from chronofile.infra.erasing.losses import Occasion
from chronofile.infra.erasing.plan import Plan
from chronofile.infra.erasing.pursuing import ErasureOutrun, carried_out
from chronofile.infra.erasing.reasons import kept, require_silent
from chronofile.infra.erasing.receipts import BEGUN, Receipts, known_before, unfinished
from chronofile.infra.erasing.report import Concerned, ErasurePreview, ErasureReport, Shared
from chronofile.infra.erasing.surveys import (
    ErasedAlready,
    NothingToRedact,
    PlanChanged,
    Survey,
    Surveying,
    stands,
    surveying,
    surveying_secrets,
)
from chronofile.infra.erasing.wanted import Wanted, reading, uris
from chronofile.infra.progress import UNWATCHED, Progress
from chronofile.infra.requests import file_of
from chronofile.ingest import known
from chronofile.ingest.known import is_gone
from chronofile.projections import sources
from chronofile.projections.bulk import among

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

__all__ = [
    "ErasedAlready",
    "ErasureGoesOn",
    "ErasureOutrun",
    "ErasureStopped",
    "NothingToRedact",
    "PlanChanged",
    "erase",
    "finish",
    "preview",
    "preview_redaction",
    "redact",
]

STAYS = "The names of scopes, sessions' ids and the ids of sources stay in the log."
COPIES = "An export is listed where something was captured from it; other copies of it, that held nothing new, are not."

log = structlog.get_logger(__name__)


class ErasureStopped(ChronofileError):
    """It was erased by an erasure that was stopped in the middle, and something is left of it:"""


def preview(parts: Parts, wanted: Wanted, *, actor: str) -> ErasurePreview:
    """Return what an erasure would do. Raises what `erase` raises."""
    return _previewed(parts, surveying(wanted), actor)


def preview_redaction(parts: Parts, wanted: Wanted | None, *, actor: str) -> ErasurePreview:
    """Return what a redaction would do; None stands for everything."""
    return _previewed(parts, surveying_secrets(wanted), actor)


def erase(
    parts: Parts,
    wanted: Wanted,
    *,
    actor: str,
    reason: str | None = None,
    token: str | None = None,
    progress: Progress = UNWATCHED,
) -> ErasureReport:
    """Erase what is wanted; with a token only if it is exactly what the token was given for.

    Where it is what an erasure was about that was stopped in the middle, that one is finished, and its report returned.
    Raises BadRequest, UnknownSource, UnknownPassage, UnknownMemory, UnknownScope, ErasedAlready, ErasureStopped,
    ErasureGoesOn, ErasureOutrun, PlanChanged, NotCutOut, ProjectionsNotOurs, and ProjectionStopped where a projection
    cannot be brought past it.
    """
    named = {name: tuple(found) for name, found in asdict(wanted).items() if found and name != "sources"}
    return _erased(parts, surveying(wanted), named, actor, reason, token, progress)


def redact(
    parts: Parts,
    wanted: Wanted | None,
    *,
    actor: str,
    token: str | None = None,
    progress: Progress = UNWATCHED,
) -> ErasureReport:
    """Capture what is wanted without its secrets, and erase what held them; None stands for everything."""
    return _erased(parts, surveying_secrets(wanted), {}, actor, None, token, progress)


def _previewed(parts: Parts, survey: Surveying, actor: str) -> ErasurePreview:
    require_ours(parts)
    bring_past(parts, parts.store.position(), UNWATCHED)
    try:
        found = survey(parts, UNWATCHED)
        plan = found.decide(Occasion("", actor, ""))
    except ErasedAlready as error:
        _require_finished(parts, error)
        raise
    repeated = plan.repeated(found.found.repeating, found.told.lines)
    with reading(parts.engine) as conn:
        named = uris(conn, {*plan.streams, *repeated, *(s for kept in plan.kept.values() for s in kept)})
    texts = {key for loss in plan.losses for key in loss.texts}
    return ErasurePreview(
        token=plan.token(parts.store_key),
        sources=tuple(
            Concerned(
                streams.id_of(loss.stream),
                named.get(loss.stream, ""),
                loss.places,
                found.found.quoting.get(loss.stream, 0),
                loss.turns,
            )
            for loss in plan.losses
        ),
        contents=len(plan.deleted),
        tables=found.tables,
        shared=tuple(
            Shared(key, tuple(named.get(stream) or stream for stream in kept))
            for key, kept in sorted(plan.kept.items())
            if key in texts
        ),
        repeated=tuple(named.get(stream) or stream for stream in repeated),
        files=_files(parts, plan),
        questions=len(found.questions),
        stays=(STAYS, *([COPIES] if any("#" in named.get(stream, "") for stream in plan.streams) else [])),
    )


def _erased(
    parts: Parts,
    survey: Surveying,
    named: dict[str, tuple[str, ...]],
    actor: str,
    reason: str | None,
    token: str | None,
    progress: Progress,
) -> ErasureReport:
    reason = kept(parts, reason)
    require_ours(parts)
    with alone(parts):
        bring_past(parts, parts.store.position(), progress)
        if carry_on(parts, progress):
            bring_past(parts, parts.store.position(), progress)
        now = Occasion(parts.new_id(), actor, iso(parts.clock()))
        try:
            found = survey(parts, progress)
            plan = found.decide(now)
        except (ErasedAlready, NothingToRedact) as error:
            return _erased_before(parts, error, progress)
        require_silent(parts, reason, found, plan)
        if token is not None and plan.token(parts.store_key) != token:
            raise PlanChanged
        report = _begun(parts, plan, found, named, now, reason)
        return _carried_out(
            parts, found, plan, report, Words(reason, known_before(asdict(report))), now, token, progress
        )


def _carried_out(
    parts: Parts,
    found: Survey,
    plan: Plan,
    report: ErasureReport,
    words: Words,
    now: Occasion,
    token: str | None,
    progress: Progress,
) -> ErasureReport:
    receipts = Receipts(parts.config.home)
    receipts.write(now.erasure, asdict(report))
    try:
        position = carried_out(parts, found, plan, words, now, token, progress)
    except ChronofileError:
        if not stands(parts, now.erasure):
            receipts.forget(now.erasure)
        raise
    log.info("erased", erasure=now.erasure, position=position)
    report = replace(report, position=position)
    return completed(parts, found, report, plan.deleted, words, now, progress)


def _erased_before(parts: Parts, error: ErasedAlready | NothingToRedact, progress: Progress) -> ErasureReport:
    """Finish what was begun, and return the report of what was asked for now if it is among that; else raise the error."""
    receipts = Receipts(parts.config.home)
    found = finished(parts, progress)
    if isinstance(error, ErasedAlready):
        _require_finished(parts, error)
        found = [erasure for erasure in found if erasure in error.erasures]
    else:
        found = [erasure for erasure in found if is_redaction(receipts.read(erasure))]
    if not found:
        raise error
    return replace(receipts.report(found[-1]), finished=tuple(found))


def _require_finished(parts: Parts, error: ErasedAlready) -> None:
    if not set(begun(parts)).isdisjoint(error.erasures):
        raise ErasureStopped(" ".join(unfinished(parts.config.home))) from error


def _begun(
    parts: Parts,
    plan: Plan,
    found: Survey,
    named: dict[str, tuple[str, ...]],
    now: Occasion,
    reason: str | None,
) -> ErasureReport:
    return ErasureReport(
        id=now.erasure,
        time=now.observed_at,
        actor=now.actor,
        reason=None if reason is None else parts.contents.text_key(reason),
        named=named,
        sources=tuple(plan.streams),
        whole=tuple(loss.stream for loss in plan.losses if loss.closes),
        contents=len(plan.deleted),
        tables_before=found.tables,
        tables_after={},
        questions=len(found.questions),
        verified=False,
        found_in=(),
        reclaimed_bytes=0,
        left=(),
        impossible=(),
        backups=(),
        repeated=tuple(plan.repeated(found.found.repeating, found.told.lines)),
        position=plan.position,
        state=BEGUN,
    )


def _files(parts: Parts, plan: Plan) -> tuple[str, ...]:
    """Return the files that are still there of those that the plan's sources were read from."""
    ids = [streams.id_of(stream) for stream in plan.streams]
    with parts.store.cursor() as cursor:
        files = known.files_of(cursor, ids)
    found = {file.path for of_source in files.values() for file in of_source}
    with reading(parts.engine) as conn:
        # A file that holds several sources is known there as none's.
        query = sa.select(sources.file.c.path).where(among(sources.file.c.source, ids))
        found |= set(map(Path, conn.scalars(query)))
        found |= {file for uri in uris(conn, plan.streams).values() if (file := file_of(uri)) is not None}
    return tuple(sorted(str(path) for path in found if not is_gone(path)))
