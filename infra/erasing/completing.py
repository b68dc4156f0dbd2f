"""Completing an erasure that is in the log: what was derived goes, the room is given back, and it is looked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from chronofile.domain.errors import WrongExpectedVersion
from chronofile.infra.erasing.aftermath import bring_past, drop_idle, forget_vectors, require_ours
from chronofile.infra.erasing.carrying import Words, carry_out
from chronofile.infra.erasing.losses import Occasion
from chronofile.infra.erasing.plan import Plan, plan_erasure
from chronofile.infra.erasing.questions import telling
from chronofile.infra.erasing.receipts import BEGUN, FINISHED, Receipts
from chronofile.infra.erasing.reclaiming import reclaim
from chronofile.infra.erasing.report import ErasureReport
from chronofile.infra.erasing.surveys import ErasedAlready, PlanChanged, Survey, deleted, stands
from chronofile.infra.erasing.tables import CONTENT, PASSAGES, counts, holding
from chronofile.infra.erasing.wanted import holders_of, reading
from chronofile.infra.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

TRIES_MAX = 100


def carried_out(
    parts: Parts, found: Survey, plan: Plan, words: Words, now: Occasion, token: str | None = None
) -> int:
    """Carry out a plan and return the position after it; where somebody else was first, plan anew.

    With a token only what it was given for is begun. Raises PlanChanged where that stands no more.
    """
    position, questions = 0, found.questions
    for tries_left in reversed(range(TRIES_MAX)):
        try:
            position = carry_out(parts, plan, questions, words, now)
            questions = frozenset()
        except WrongExpectedVersion:
            if not tries_left:
                raise
        else:
            if not any(loss.closes for loss in plan.losses):
                return position
        # After a plan was carried out, what a session said meanwhile is left, and goes now that it is closed.
        begun = stands(parts, now.erasure)
        try:
            plan = found.decide(now)
        except ErasedAlready:
            if not begun:
                raise
            return parts.store.position()
        if position and not any(loss.closes for loss in plan.losses):
            return position
        if token is not None and not begun and plan.token(parts.store_key) != token:
            raise PlanChanged
    return position


def completed(
    parts: Parts,
    found: Survey,
    report: ErasureReport,
    words: Words,
    now: Occasion,
    progress: Progress,
) -> ErasureReport:
    """Remove what was derived, give the room back, look whether anything is left, and write the receipt."""
    receipts = Receipts(parts.config.home)
    drop_idle(parts)
    bring_past(parts, report.position, progress)
    position, late = _late(parts, found, words, now)
    position = max(position, report.position)
    bring_past(parts, position, progress)
    forget_vectors(parts)
    reclaimed = reclaim(parts)
    gone = deleted(parts, now.erasure)
    found_in = _left(parts, found, gone)
    report = replace(
        report,
        position=position,
        contents=len(gone - found.questions - late),
        tables_after=counts(parts, found.found),
        questions=report.questions + len(late),
        verified=not found_in,
        found_in=found_in,
        reclaimed_bytes=reclaimed.bytes,
        left=tuple(reclaimed.left),
        impossible=tuple(reclaimed.impossible),
        state=BEGUN if reclaimed.left else FINISHED,
    )
    receipts.write(now.erasure, asdict(report))
    if not reclaimed.left:
        for erasure in receipts.unfinished():
            receipts.write(erasure, {**receipts.read(erasure), "state": FINISHED})
    return report


def _late(parts: Parts, found: Survey, words: Words, now: Occasion) -> tuple[int, set[str]]:
    """Erase what came in the very moment: the position after that, and the questions that there were.

    Whoever asks from now on is told nothing of it, and a capture leaves it out.
    """
    position = 0
    with reading(parts.engine) as conn:
        holders = tuple(holders_of(conn, found.found.texts))
    if holders:
        again = replace(
            found, decide=lambda now: plan_erasure(parts, replace(found.found, holders=holders), now)
        )
        plan = again.decide(now)
        if plan.losses:
            position = carried_out(parts, again, plan, words, now)
    late = telling(parts, found.told) - found.questions if found.told.passages else set()
    if late:
        nothing = Plan((), {}, {}, parts.store.position())
        position = carry_out(parts, nothing, late, words, now)
    return position, late


def finish(parts: Parts, progress: Progress = UNWATCHED) -> list[str]:
    """Finish the erasures that were begun in this home, and return their ids."""
    receipts = Receipts(parts.config.home)
    found = []
    for erasure in receipts.unfinished():
        if stands(parts, erasure):
            found.append(erasure)
        else:
            receipts.forget(erasure)  # It never came to the log.
    if not found:
        return []
    require_ours(parts)
    drop_idle(parts)
    bring_past(parts, parts.store.position(), progress)
    forget_vectors(parts)
    reclaimed = reclaim(parts)
    for erasure in found:
        state = BEGUN if reclaimed.left else FINISHED
        # Its texts are gone by now, and with them what could be looked for.
        gone = not _are_there(parts, deleted(parts, erasure))
        done = {"left": reclaimed.left, "impossible": reclaimed.impossible, "state": state, "verified": gone}
        receipts.write(erasure, {**receipts.read(erasure), **done})
    return found


def _left(parts: Parts, found: Survey, gone: Collection[str]) -> tuple[str, ...]:
    """Return the tables in which something of what was erased still is, but for what other sources hold too."""
    left = {CONTENT} if _are_there(parts, gone) else set[str]()
    needles = {*found.found.texts, *found.told.lines}
    held = holding(parts, needles)
    others = {text for table, texts in held.items() if _is_of_passages(table) for text in texts}
    left |= {table for table, texts in held.items() if texts - others}
    return tuple(sorted(left))


def _are_there(parts: Parts, keys: Collection[str]) -> bool:
    with parts.store.cursor() as cursor:
        cursor.execute("SELECT 1 AS found FROM log.content WHERE key = ANY(%s) LIMIT 1", (sorted(keys),))
        return cursor.fetchone() is not None


def _is_of_passages(table: str) -> bool:
    schema, _, name = table.partition(".")
    return f"{schema.rpartition('_')[0]}.{name}" == PASSAGES
