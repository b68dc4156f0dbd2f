"""Transcript formats: each a module of pure functions that folds records into turns.

A format is added as a module with `name`, `version`, `recognise`, `identify` and `fold`, and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from chronofile.domain.formats import claude_code, neutral
from chronofile.domain.turns import Format

CONFIDENCE_MIN = 0.5

FORMATS: Mapping[str, Format] = MappingProxyType({claude_code.name: claude_code, neutral.name: neutral})


def recognise(head_lines: Sequence[str], path_name: str) -> Format | None:
    """Return the format that the first complete lines of a file are surest of; None when it is no transcript."""
    confidences = {key: form.recognise(head_lines, path_name) for key, form in FORMATS.items()}
    best = max(confidences, key=confidences.__getitem__)
    return FORMATS[best] if confidences[best] >= CONFIDENCE_MIN else None
