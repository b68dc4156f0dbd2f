"""Pursuing: a plan is carried out to its end, also where others go on writing to what is erased."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from chronofile.domain.errors import ChronofileError, LogBusy, WrongExpectedVersion
from chronofile.infra.erasing.carrying import Words, carry_out
from chronofile.infra.erasing.exclusive import locked
from chronofile.infra.erasing.losses import Occasion
from chronofile.infra.erasing.plan import Plan
from chronofile.infra.erasing.surveys import ErasedAlready, PlanChanged, Survey, stands
from chronofile.infra.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

UNLOCKED_TRIES_MAX = 3
"""After so many tries that somebody else came before, the others have to wait."""
TRIES_MAX = 10
LOG = "log.events"


class ErasureOutrun(ChronofileError):
    """Others wrote all the while to what is erased, and something is left of it; try again when they are at rest."""


def carried_out(
    parts: Parts,
    found: Survey,
    plan: Plan,
    words: Words,
    now: Occasion,
    token: str | None = None,
    progress: Progress = UNWATCHED,
) -> int:
    """Carry out a plan and return the position after it; where somebody else was first, plan anew.

    Whoever loses too often plans what moved, and appends it, while the log waits. With a token only what it was given
    for is begun. Raises PlanChanged where that stands no more, and ErasureOutrun.
    """

    def tick(position: int) -> None:
        progress.applied(LOG, position)

    position, questions, lost = 0, found.questions, 0
    while True:
        try:
            position = carry_out(parts, plan, questions, words, now, tick)
            questions = frozenset()
        except WrongExpectedVersion as error:
            lost += 1
            if lost >= TRIES_MAX:
                raise ErasureOutrun from error
            if lost >= UNLOCKED_TRIES_MAX and (token is None or stands(parts, now.erasure)):
                _while_others_wait(parts, found, error, words, now, tick)
        else:
            if not any(loss.closes for loss in plan.losses):
                return position
        # After a plan was carried out, what a session said meanwhile is left, and goes now that it is closed.
        is_begun = stands(parts, now.erasure)
        try:
            plan = found.decide(now)
        except ErasedAlready:
            if not is_begun:
                raise
            plan = Plan((), {}, {}, parts.store.position())
            return carry_out(parts, plan, questions, words, now, tick) if questions else plan.position
        if position and not any(loss.closes for loss in plan.losses):
            return position
        if token is not None and not is_begun and plan.token(parts.store_key) != token:
            raise PlanChanged


def _while_others_wait(
    parts: Parts,
    found: Survey,
    error: WrongExpectedVersion,
    words: Words,
    now: Occasion,
    tick: Callable[[int], None],
) -> None:
    """Carry out what concerns the streams that moved; whether it could be is told by the next try.

    Nobody appends until it is in the log: so all else is left to the next try, and what of the log can be looked
    through beforehand is.
    """
    with suppress(ErasedAlready, WrongExpectedVersion, LogBusy):
        found.decide(now, error.streams)
        with locked(parts) as alone:
            plan = found.decide(now, error.streams)
            if plan.losses:
                carry_out(alone, plan, (), words, now, tick)
