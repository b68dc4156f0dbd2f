"""Completing an erasure that is in the log: what was derived goes, the room is given back, and it is looked for."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from chronofile.infra.erasing.aftermath import bring_past, drop_idle, forget_vectors
from chronofile.infra.erasing.carrying import Words, carry_out
from chronofile.infra.erasing.finishing import begun, closed
from chronofile.infra.erasing.losses import Occasion
from chronofile.infra.erasing.plan import Plan, plan_erasure
from chronofile.infra.erasing.pursuing import carried_out
from chronofile.infra.erasing.questions import asked_since, telling
from chronofile.infra.erasing.receipts import BEGUN, FINISHED, Receipts
from chronofile.infra.erasing.reclaiming import reclaim
from chronofile.infra.erasing.remains import remains
from chronofile.infra.erasing.report import ErasureReport
from chronofile.infra.erasing.seeking import sought_again
from chronofile.infra.erasing.surveys import ErasedAlready, Survey, deleted
from chronofile.infra.erasing.tables import counts
from chronofile.infra.erasing.wanted import Found, holders_of, reading
from chronofile.infra.progress import Progress

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


def completed(
    parts: Parts,
    found: Survey,
    report: ErasureReport,
    planned: Collection[str],
    words: Words,
    now: Occasion,
    progress: Progress,
) -> ErasureReport:
    """Remove what was derived, give the room back, look whether anything is left, and write the receipt.

    `planned` are the keys of the plan, by which a content is told from a question that says the same.
    """
    drop_idle(parts)
    bring_past(parts, report.position, progress)
    since, asked_before = parts.store.position(), parts.ledger.position()
    position, late = _late(parts, found, words, now, progress)
    position = max(position, report.position)
    bring_past(parts, position, progress)
    forget_vectors(parts)
    reclaimed = reclaim(parts)
    gone = deleted(parts, now.erasure)
    asked = asked_since(parts, asked_before)
    found_in = remains(parts, found, gone - asked, since, asked)
    others = [erasure for erasure in begun(parts) if erasure != now.erasure]
    report = replace(
        report,
        position=position,
        contents=len(gone - ((found.questions | late) - {*planned})),
        tables_after=counts(parts, found.found),
        questions=report.questions + len(late),
        verified=not found_in,
        found_in=found_in,
        reclaimed_bytes=reclaimed.bytes,
        left=tuple(reclaimed.left),
        impossible=tuple(reclaimed.impossible),
        state=BEGUN if reclaimed.left else FINISHED,
        finished=tuple(erasure for erasure in others if closed(parts, erasure, reclaimed)),
    )
    Receipts(parts.config.home).write(now.erasure, asdict(report))
    return report


def _late(
    parts: Parts, found: Survey, words: Words, now: Occasion, progress: Progress
) -> tuple[int, set[str]]:
    """Erase what came in the very moment: the position after that, and the questions that there were.

    Whoever asks from now on is told nothing of it, and a capture leaves it out.
    """
    position = 0
    with reading(parts.engine) as conn:
        holders = tuple(holders_of(conn, found.found.texts))
    quoting = {s: count for s, count in sought_again(parts, found.found).items() if s not in holders}
    if holders or quoting:
        late_found = replace(found.found, holders=holders, quoting=quoting)
        again = replace(found, questions=frozenset(), decide=partial(_planned, parts, late_found))
        with suppress(ErasedAlready):
            position = carried_out(parts, again, again.decide(now), words, now, progress=progress)
    late = telling(parts, found.told) - found.questions if found.told.passages else set()
    if late:
        nothing = Plan((), {}, {}, parts.store.position())
        position = carry_out(parts, nothing, late, words, now)
    return position, late


def _planned(parts: Parts, found: Found, now: Occasion, only: Collection[str] | None = None) -> Plan:
    plan = plan_erasure(parts, found.only(only), now)
    if not plan.losses and only is None:
        raise ErasedAlready
    return plan
