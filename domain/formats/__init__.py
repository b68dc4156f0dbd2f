"""Transcript formats: each a module of pure functions that folds records into turns.

A format is added as a module with what `turns.Format` asks for, and a line in FORMATS. CONTRIBUTING has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from chronofile.domain.formats import claude_code, neutral
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Format, Layout, PartedFormat

CONFIDENCE_MIN = 0.5

PARTED: Mapping[str, PartedFormat] = MappingProxyType({neutral.name: neutral})
"""The formats whose files hold several conversations' lines."""

FORMATS: Mapping[str, Format] = MappingProxyType({claude_code.name: claude_code, **PARTED})


def recognise(head: Head) -> tuple[Format, Layout] | None:
    """Return the format that a file's beginning is surest of, and how its records lie; None when it is no transcript."""
    found = {key: form.recognise(head) for key, form in FORMATS.items()}
    best = max(found, key=lambda key: found[key].confidence)
    return (FORMATS[best], found[best].layout) if found[best].confidence >= CONFIDENCE_MIN else None


def holds_json(format_name: str) -> bool:
    """Tell whether what is stored of a format is a JSON object a line: of transcripts most, of files none."""
    return format_name in FORMATS and FORMATS[format_name].is_json
