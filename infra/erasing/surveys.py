"""Surveys: what an erasure concerns, found out before it is planned, and what was erased before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from chronofile.domain import streams
from chronofile.domain.errors import ChronofileError, UnknownPassage
from chronofile.domain.events import ContentErased
from chronofile.domain.identity import decoded
from chronofile.infra.erasing.losses import Occasion
from chronofile.infra.erasing.plan import Namers, Plan, plan_erasure, plan_redaction
from chronofile.infra.erasing.questions import Told, asked, telling, texts_of, told_of
from chronofile.infra.erasing.seeking import sought
from chronofile.infra.erasing.tables import counts
from chronofile.infra.erasing.wanted import Found, Wanted, every, find, reading
from chronofile.infra.progress import Progress
from chronofile.ingest.redaction import redact_text

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


class ErasedAlready(ChronofileError):
    """It was erased already, and nothing is left of it:"""

    def __init__(self, erasures: Collection[str] = ()) -> None:
        self.erasures = tuple(dict.fromkeys(erasures))
        super().__init__(f"by {', '.join(self.erasures)}." if erasures else "")


class PlanChanged(ChronofileError):
    """The token does not belong to what would be erased now; look at it again, and nothing was erased."""


class NothingToRedact(ChronofileError):
    """No secret was found in what is stored there."""


class Deciding(Protocol):
    """Plans from the log as it stands: a conflict asks again."""

    def __call__(self, now: Occasion, only: Collection[str] | None = None) -> Plan:
        """Return the plan, or the part of it that concerns some streams, where any of these is concerned."""
        ...


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of an erasure before it is done: what is meant, what it tells of, and how to plan it."""

    found: Found
    told: Told
    questions: frozenset[str]
    tables: dict[str, int]
    decide: Deciding


Surveying = Callable[["Parts", Progress], Survey]


def surveying(wanted: Wanted) -> Surveying:
    def survey(parts: Parts, progress: Progress) -> Survey:
        try:
            found = find(parts, wanted)
        except UnknownPassage:
            if erasures := _named_before(parts, wanted.passages):
                raise ErasedAlready(erasures) from None
            raise
        with reading(parts.engine) as conn:
            told = told_of(conn, found)
        found = sought(parts, found, frozenset(told.names), told.lines, progress)
        namers, namers_of_part = Namers(), Namers()

        def decide(now: Occasion, only: Collection[str] | None = None) -> Plan:
            plan = plan_erasure(parts, found.only(only), now, namers if only is None else namers_of_part)
            if not plan.losses and only is None:
                raise ErasedAlready(_erasures_of(parts, found))
            return plan

        return Survey(found, told, frozenset(telling(parts, told)), counts(parts, found), decide)

    return survey


def surveying_secrets(wanted: Wanted | None) -> Surveying:
    def survey(parts: Parts, progress: Progress) -> Survey:
        found = Found(every(parts)) if wanted is None else find(parts, wanted)
        questions = asked(parts) if wanted is None else set()
        leaking = {key for key, text in texts_of(parts, questions) if redact_text(text)[1]}

        namers, namers_of_part = Namers(), Namers()

        def decide(now: Occasion, only: Collection[str] | None = None) -> Plan:
            used = namers if only is None else namers_of_part
            plan = plan_redaction(parts, found.only(only).whole, now, used)
            if not (plan.losses or leaking or only):
                raise NothingToRedact
            return plan

        return Survey(Found(), Told(), frozenset(leaking), {}, decide)

    return survey


def stands(parts: Parts, erasure: str) -> bool:
    """Tell whether an erasure is in the log."""
    return bool(parts.store.read(streams.erasure(erasure)))


def deleted(parts: Parts, erasure: str) -> set[str]:
    """Return the keys of everything that an erasure deleted."""
    stored = parts.store.read(streams.erasure(erasure))
    return {key for one in stored if isinstance(one.event, ContentErased) for key in one.event.contents}


def are_there(parts: Parts, keys: Collection[str]) -> bool:
    """Tell whether one of the contents is still there."""
    with parts.store.cursor() as cursor:
        cursor.execute("SELECT 1 AS found FROM log.content WHERE key = ANY(%s) LIMIT 1", (sorted(keys),))
        return cursor.fetchone() is not None


def _erasures_of(parts: Parts, found: Found) -> list[str]:
    """Return the erasures that concerned streams."""
    wanted = {*found.whole, *found.holders}
    return [
        streams.id_of(stream) for stream, event in _erasures(parts) if not wanted.isdisjoint(event.streams)
    ]


def _named_before(parts: Parts, passages: Collection[str]) -> list[str]:
    """Return the erasures whose receipts name one of the passages."""
    found = []
    for stream, event in _erasures(parts):
        with parts.engine.connect() as conn:
            receipt = decoded(parts.contents.read(conn, [event.receipt]).get(event.receipt, b""))
        if any(f'"{passage}"' in receipt for passage in passages):
            found.append(streams.id_of(stream))
    return found


def _erasures(parts: Parts) -> Iterator[tuple[str, ContentErased]]:
    with parts.store.cursor() as cursor:
        cursor.execute("SELECT DISTINCT originator_id FROM log.events WHERE originator_id LIKE 'erasure-%%'")
        names = sorted(row["originator_id"] for row in cursor)
    for stream, recorded in parts.store.read_many(names).items():
        for one in recorded:
            if isinstance(one.event, ContentErased):
                yield stream, one.event
