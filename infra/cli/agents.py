"""`--agents`: which agents' transcripts a command is about, by name; alone it means all."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from chronofile.ingest import agents

FLAG = "--agents"


class BareAgents(TyperCommand):
    """A command whose `--agents` may stand alone: a path that follows it is not its value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_value(args))


def agents_folders(wanted: str | None) -> dict[str, list[Path]]:
    """Return the folders of this user's agents; raises BadRequest. `wanted` is as `--agents` has it."""
    return agents.folders(
        agents.named(wanted), os.environ, sys.platform, user_folder(), lambda path: path.exists()
    )


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


def _with_value(args: Sequence[str]) -> list[str]:
    given = []
    for place, arg in enumerate(args):
        following = args[place + 1] if place + 1 < len(args) else ""
        given.append(f"{FLAG}={agents.ALL}" if arg == FLAG and not _is_value(following) else arg)
        if arg == "--":
            return [*given, *args[place + 1 :]]
    return given


def _is_value(arg: str) -> bool:
    if not arg or arg.startswith("-"):
        return False
    names = {*agents.NAMES, agents.ALL, agents.NONE}
    # What is neither known nor a path is a name with a mistake in it, and is told as such.
    return all(name.strip() in names for name in arg.split(",")) or not os.path.lexists(arg)
