"""Capturing: a run of capture, made of a memory's parts, and what of a text may be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chronofile.infra.config import ON
from chronofile.infra.progress import UNWATCHED, Progress
from chronofile.infra.unread import unread_documents
from chronofile.ingest.capture import Capture
from chronofile.ingest.cleaning import Clean, cleaning
from chronofile.ingest.redaction import redact_text

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts


def without_secrets(parts: Parts, text: str) -> tuple[str, Mapping[str, int]]:
    """Return a text as it may be stored, and how many secrets each rule took out of it."""
    return redact_text(text) if parts.config["redaction"] == ON else (text, {})


def clean_of(parts: Parts) -> Clean:
    """Return what takes out of a range's bytes what is not to be stored."""
    redacting = parts.config["redaction"] == ON
    return cleaning(parts.contents.key, redacting=redacting, extractor=parts.extractor)


def capture_of(parts: Parts, progress: Progress = UNWATCHED) -> Capture:
    """Return a run that has not begun; a run is one batch."""
    return Capture(
        parts.store,
        parts.contents.key,
        home=parts.config.home,
        store_key=parts.store_key,
        now=parts.clock(),
        new_id=parts.new_id,
        clean=clean_of(parts),
        read=parts.read,
        extractor=parts.extractor,
        unread=lambda: unread_documents(parts.engine),
        tick=progress.captured,
    )
