"""Found: how much of an agent's conversations there is on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chronofile.ingest import scan
from chronofile.ingest.agents import Kept, paths, selections


@dataclass(frozen=True, slots=True)
class Found:
    """The files that hold an agent's conversations, their bytes, and the folders that they were found in."""

    files: int
    bytes: int
    folders: tuple[str, ...]


def found_in(places: Sequence[Kept], home: Path) -> Found:
    """Look at what is in an agent's places, without opening a file; nothing below `home` is."""
    folders, selected = paths(places), selections(places)
    entries = scan.scan(folders, home=home, selected=selected)
    named = [entry.path for entry in entries if isinstance(entry, scan.Found)]
    size = 0
    for path in named:
        with suppress(OSError):
            size += os.lstat(path).st_size
    return Found(len(named), size, tuple(map(str, folders)))
