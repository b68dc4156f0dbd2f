"""Progress: how a run that takes long is watched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chronofile.ingest.capture import Captured


@dataclass(frozen=True, slots=True)
class Progress:
    """Hears of a run as it goes: files read, pages applied, passages embedded out of those that wait."""

    captured: Callable[[Path, Captured], None] = lambda path, captured: None
    applied: Callable[[str, int], None] = lambda projection, position: None
    embedded: Callable[[int, int], None] = lambda done, of: None


UNWATCHED = Progress()
"""For a run that nobody watches."""
