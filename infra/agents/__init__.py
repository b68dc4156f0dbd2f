"""Agents on this machine: where the user who runs us has their transcripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from chronofile.ingest import agents
from chronofile.ingest.agents import Kept


def agents_places(wanted: str | None) -> dict[str, list[Kept]]:
    """Return where this user's agents keep conversations; raises BadRequest. `wanted` is as `--agents` has it."""
    return agents.kept(agents.named(wanted), os.environ, sys.platform, user_folder(), _is_there)


def agents_folders(wanted: str | None) -> dict[str, list[Path]]:
    """Return the same as paths alone."""
    return {name: agents.paths(places) for name, places in agents_places(wanted).items()}


def user_folder() -> Path:
    """Return the user's own folder: what HOME names, or else what the system's list of users says.

    Whoever is in neither has none, and nothing is found below the root folder.
    """
    if os.name != "posix":
        return Path.home()
    if named := os.environ.get("HOME"):
        return Path(named)
    from pwd import getpwuid

    try:
        return Path(getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path("/")


def _is_there(path: Path) -> bool:
    """Tell whether something is at a path; what we may not look at is not there for us."""
    try:
        return path.exists()
    except OSError:
        return False
