"""Reasons: the words that are kept with an erasure, which must not tell of what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chronofile.domain.erasure import SHORT_CHARS, without_texts
from chronofile.domain.errors import BadRequest
from chronofile.infra.capturing import without_secrets
from chronofile.infra.erasing.plan import Plan
from chronofile.infra.erasing.questions import BEGINNING_CHARS, texts_of
from chronofile.infra.erasing.surveys import Survey
from chronofile.ingest import erased

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

REASON_CHARS_MAX = 10_000


def kept(parts: Parts, reason: str | None) -> str | None:
    """Return a reason as it may be stored. Raises BadRequest for one that is empty or too long."""
    if reason is None:
        return None
    if not 0 < len(reason.strip()) <= REASON_CHARS_MAX:
        raise BadRequest(f"--reason is a text of up to {REASON_CHARS_MAX} characters.")
    return without_secrets(parts, reason)[0]


def require_silent(parts: Parts, reason: str | None, found: Survey, plan: Plan) -> None:
    """Raise BadRequest where a reason tells of what is erased, now or before."""
    if reason is not None and (_is_gone(parts, reason, found, plan) or _tells(parts, reason, found, plan)):
        raise BadRequest(
            "--reason quotes what is erased, and is kept for good. Nothing was erased: say it otherwise."
        )


def _is_gone(parts: Parts, reason: str, found: Survey, plan: Plan) -> bool:
    """Tell whether a reason is just what one of the contents says that go, or that were erased before."""
    key = parts.contents.text_key(reason)
    if key in plan.deleted or key in found.questions:
        return True
    with parts.store.cursor() as cursor:
        return bool(erased.contents(cursor, [key]))


def _tells(parts: Parts, reason: str, found: Survey, plan: Plan) -> bool:
    """Tell whether a reason holds a text or a name that goes, or is a longer piece of a text."""
    everything = found.told.all if len(reason.strip()) >= SHORT_CHARS else ""
    if without_texts(reason, found.found.texts)[1] or found.told.is_in(reason, everything):
        return True
    names = {key for loss in plan.losses for key in loss.keys - loss.texts} & plan.deleted
    return any(len(name) >= BEGINNING_CHARS and name in reason for _, name in texts_of(parts, names))
