"""`--agents`: which agents' transcripts a command is about, by name; alone it means all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from chronofile.ingest import agents

FLAG = "--agents"
AIDER = "aider"


class BareAgents(TyperCommand):
    """A command whose `--agents` may stand alone: a path that follows it is not its value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_value(args))


def nothing_kept(wanted: str | None) -> str:
    """Return what is said where none of the agents has kept anything here; `wanted` is as `--agents` has it."""
    if AIDER in (agents.named(wanted) or ()):
        return "Aider writes into each project: ingest or watch the project's folder."
    return "No known agent has kept anything here."


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
