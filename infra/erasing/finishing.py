"""Finishing: what a process that was stopped in the middle left of its erasure is erased too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from chronofile.domain import streams
from chronofile.domain.events import ContentErased
from chronofile.domain.identity import decoded
from chronofile.domain.times import iso
from chronofile.domain.wording import counted
from chronofile.infra.erasing.aftermath import bring_past, drop_idle, forget_vectors, require_ours
from chronofile.infra.erasing.carrying import Words
from chronofile.infra.erasing.cutting import NotCutOut
from chronofile.infra.erasing.exclusive import alone
from chronofile.infra.erasing.losses import Occasion
from chronofile.infra.erasing.pursuing import carried_out
from chronofile.infra.erasing.receipts import BEGUN, FINISHED, Receipts, known_before
from chronofile.infra.erasing.reclaiming import Reclaimed, reclaim
from chronofile.infra.erasing.surveys import (
    ErasedAlready,
    NothingToRedact,
    Surveying,
    are_there,
    deleted,
    stands,
    surveying,
    surveying_secrets,
)
from chronofile.infra.erasing.tables import CONTENT
from chronofile.infra.erasing.wanted import Wanted, reading
from chronofile.infra.progress import UNWATCHED, Progress
from chronofile.ingest import erased
from chronofile.projections.bulk import among
from chronofile.projections.passages import passage

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

Receipt = Mapping[str, Any]
SOURCE = "source-"
SHOWN_MAX = 20


def finish(parts: Parts, progress: Progress = UNWATCHED) -> list[str]:
    """Finish the erasures that were begun in this home, and return the ids of those of which nothing is left.

    Raises ErasureGoesOn, ProjectionsNotOurs, and ProjectionStopped where a projection cannot be brought past one.
    """
    with alone(parts):
        return finished(parts, progress)


def finished(parts: Parts, progress: Progress) -> list[str]:
    """Do the same for somebody who is alone already."""
    found = begun(parts)
    if not found:
        return []
    require_ours(parts)
    bring_past(parts, parts.store.position(), progress)
    carry_on(parts, progress)
    drop_idle(parts)
    bring_past(parts, parts.store.position(), progress)
    forget_vectors(parts)
    reclaimed = reclaim(parts)
    return [erasure for erasure in found if closed(parts, erasure, reclaimed)]


def begun(parts: Parts) -> list[str]:
    """Return the erasures that were begun in this home; of one that never came to the log the receipt is deleted."""
    receipts = Receipts(parts.config.home)
    found = []
    for erasure in receipts.unfinished():
        if stands(parts, erasure):
            found.append(erasure)
        else:
            receipts.forget(erasure)
    return found


def carry_on(parts: Parts, progress: Progress) -> bool:
    """Erase what is still there of what was to be erased, and tell whether there was anything to try."""
    receipts = Receipts(parts.config.home)
    is_any = False
    for erasure in begun(parts):
        receipt = receipts.read(erasure)
        if not (missing := _missing(parts, receipt)):
            continue
        is_any = True
        if _is_carried_out(parts, receipt, missing, progress):
            # Streams that lost nothing came to be without it in another way.
            sources = sorted({*receipt["sources"]} - {*_missing(parts, receipt)})
            receipts.write(erasure, {**receipt, "sources": sources})
    return is_any


def is_redaction(receipt: Receipt) -> bool:
    """Tell whether a receipt is of a redaction, by which nothing goes that was named, and nothing as a whole."""
    return "whole" in receipt and not receipt["whole"] and not receipt["named"]


def closed(parts: Parts, erasure: str, reclaimed: Reclaimed) -> bool:
    """Write down how a begun erasure stands after the room was given back, and tell whether it is finished."""
    receipts = Receipts(parts.config.home)
    receipt = receipts.read(erasure)
    missing = _missing(parts, receipt)
    # Its texts are gone by now, and with them what could be looked for.
    found_in = {*receipt["found_in"], *([CONTENT] if are_there(parts, deleted(parts, erasure)) else ())}
    left = [*_sentences(missing), *reclaimed.left]
    done = {
        "left": left,
        "impossible": reclaimed.impossible,
        "state": BEGUN if left else FINISHED,
        "verified": not (found_in or missing),
        "found_in": sorted(found_in),
        "position": parts.store.read(streams.erasure(erasure))[-1].position,
    }
    receipts.write(erasure, {**receipt, **done})
    return not left


def _missing(parts: Parts, receipt: Receipt) -> list[str]:
    """Return the streams of an erasure of which no event of it tells, and that were not erased as a whole otherwise."""
    stored = parts.store.read(streams.erasure(receipt["id"]))
    named = {stream for one in stored if isinstance(one.event, ContentErased) for stream in one.event.streams}
    left = [stream for stream in receipt["sources"] if stream not in named]
    with parts.store.cursor() as cursor:
        gone = erased.of_sources(cursor, [streams.id_of(stream) for stream in left]).sources
    return [stream for stream in left if streams.id_of(stream) not in gone]


def _is_carried_out(parts: Parts, receipt: Receipt, missing: Collection[str], progress: Progress) -> bool:
    """Carry out what is left of an erasure; tell whether all of what was meant by it is still known."""
    survey, is_known = _meant(parts, receipt, missing)
    if survey is None:
        return is_known
    now = Occasion(receipt["id"], receipt["actor"], iso(parts.clock()))
    words = Words(_reason(parts, receipt), known_before(receipt))
    try:
        found = survey(parts, progress)
        carried_out(parts, found, found.decide(now), words, now, progress=progress)
    except (ErasedAlready, NothingToRedact):
        return is_known
    except NotCutOut:
        return False
    return is_known


def _meant(parts: Parts, receipt: Receipt, missing: Collection[str]) -> tuple[Surveying | None, bool]:
    """Return what surveys what is left, None where that is nothing known, and whether all of it is known."""
    if "whole" not in receipt:
        return None, False
    passages = receipt["named"].get("passages", ())
    known = _standing(parts, passages)
    if is_redaction(receipt):
        return surveying_secrets(_wanted(missing, ())), True
    wanted = _wanted([stream for stream in missing if stream in receipt["whole"]], known)
    return surveying(wanted) if wanted else None, len(known) == len(passages)


def _wanted(found: Sequence[str] | Collection[str], passages: Sequence[str]) -> Wanted:
    return Wanted(
        sources=[streams.id_of(stream) for stream in found if stream.startswith(SOURCE)],
        memories=[streams.id_of(stream) for stream in found if not stream.startswith(SOURCE)],
        passages=passages,
    )


def _standing(parts: Parts, passages: Sequence[str]) -> list[str]:
    """Return those of the passages that still say something, each once."""
    query = sa.select(passage.c.id, passage.c.text).where(among(passage.c.id, list(passages)))
    with reading(parts.engine) as conn:
        return sorted({row.id for row in conn.execute(query) if row.text.strip()})


def _reason(parts: Parts, receipt: Receipt) -> str | None:
    if (key := receipt["reason"]) is None:
        return None
    content = parts.read([key]).get(key)
    return None if content is None else decoded(content)


def _sentences(missing: Sequence[str]) -> list[str]:
    """Return a sentence with the command that erases what cannot be told any more."""
    if not missing:
        return []
    names = [
        f"--{'source' if stream.startswith(SOURCE) else 'memory'} {streams.id_of(stream)}"
        for stream in missing[:SHOWN_MAX]
    ]
    more = (
        f" and {len(missing) - SHOWN_MAX:,} more, which the receipt names" if len(missing) > SHOWN_MAX else ""
    )
    sentence = (
        f"It was stopped before {counted(len(missing), 'source')}, of which nobody knows any more what was to go;"
        f" to erase all of them: chronofile erase {' '.join(names)}{more}"
    )
    return [sentence]
