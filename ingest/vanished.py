"""Vanished files: what was captured below some folders and is there no more, but for disks that are only away."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from chronofile.ingest import known
from chronofile.ingest.known import Cursor, KnownFile, is_gone


def vanished(
    cursor: Cursor, folders: Sequence[Path], only: Collection[Path] | None, seen: Collection[Path]
) -> tuple[list[KnownFile], list[KnownFile]]:
    """Return the known files below the folders that are gone, and those that may be on a disk that is away.

    With `only`, no other paths and what is below these are looked at; what was `seen` is there. A disk that is
    not mounted leaves an empty folder behind, which is on another device than the files were.
    """
    if only is None:
        files = known.files_below(cursor, folders)
    else:
        files = known.files_at_or_below(cursor, _within(only, folders))
    device_of_empty = cache(_device_of_empty)
    gone: list[KnownFile] = []
    away: list[KnownFile] = []
    for file in dict.fromkeys(files):
        if file.path not in seen and is_gone(file.path):
            device = device_of_empty(_standing(file.path.parent))
            (gone if device in (None, file.fingerprint.device) else away).append(file)
    return gone, away


def _within(paths: Iterable[Path], folders: Sequence[Path]) -> list[Path]:
    """Return the paths that are below one of the folders and no longer there, or folders themselves."""
    here = sorted(path for path in paths if any(path.is_relative_to(folder) for folder in folders))
    return [path for path in here if is_gone(path) or path.is_dir()]


def _standing(folder: Path) -> Path:
    """Return the nearest folder at or above that is there."""
    return next((above for above in (folder, *folder.parents) if not is_gone(above)), folder)


def _device_of_empty(folder: Path) -> int | None:
    """Return which device a folder is on if nothing is in it, None if there is something or it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return None if next(entries, None) is not None else os.lstat(folder).st_dev
    except OSError:
        return None
