"""The record of searches: what was asked and what went out, in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from chronofile.domain import streams
from chronofile.domain.envelope import Addition
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.domain.events import SearchServed
from chronofile.domain.times import iso
from chronofile.infra.capturing import without_secrets
from chronofile.ingest.gathered import Gathered
from chronofile.query.answer import Answer

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

log = structlog.get_logger(__name__)


def record(parts: Parts, caller: str, answer: Answer) -> None:
    """Write down in the ledger what was asked and what went out; a search does not fail over it."""
    gathered = Gathered(parts.contents.key)
    served = SearchServed(
        question=gathered.text(without_secrets(parts, answer.query)[0]),
        caller=caller,
        scopes=answer.scopes,
        mode=answer.mode,
        position=answer.position,
        as_of=answer.as_of,
        matched=answer.matched,
        passages=tuple(hit.id for hit in answer.hits),
        took_ms=answer.took_ms,
        observed_at=iso(parts.clock()),
    )
    try:
        stream = streams.search(parts.new_id())
        parts.ledger.append([Addition(stream, 0, [served])], contents=gathered.contents)
    except WrongExpectedVersion:
        # The stream is new, so this is a question that was erased, and is not to be written down again.
        log.debug("search not recorded", reason="erased")
    except Exception as error:  # noqa: BLE001  # The answer is there; that it is not in the ledger is said.
        log.warning("search not recorded", error=type(error).__name__)
