"""Capturing: a run of capture, made of a memory's parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chronofile.infra.config import ON
from chronofile.infra.progress import UNWATCHED, Progress
from chronofile.ingest.capture import Capture
from chronofile.ingest.cleaning import cleaning

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


def capture_of(parts: Parts, progress: Progress = UNWATCHED) -> Capture:
    """Return a run that has not begun; a run is one batch."""
    key_of = parts.contents.key
    return Capture(
        parts.store,
        key_of,
        home=parts.config.home,
        store_key=parts.store_key,
        now=parts.clock(),
        new_id=parts.new_id,
        clean=cleaning(key_of, redacting=parts.config["redaction"] == ON),
        tick=progress.captured,
    )
