"""Cleaning: what is left of a range's bytes when secrets and erased passages are taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chronofile.domain.erasure import Span
from chronofile.ingest.gathered import KeyOf
from chronofile.ingest.redaction import Redacted, redact
from chronofile.ingest.sighting import Sighting

Clean = Callable[[bytes, Sighting, Sequence[Span]], Redacted]


def cleaning(key_of: KeyOf, *, redacting: bool) -> Clean:
    """Return what cleans the ranges of a store; `redacting` is whether secrets are taken out."""

    def clean(content: bytes, sighting: Sighting, spans: Sequence[Span]) -> Redacted:
        del spans
        if not redacting:
            return Redacted(content, {})
        return redact(
            content, encoding=sighting.encoding, records=sighting.growing, name=sighting.path.name
        )

    return clean
