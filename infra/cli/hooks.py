"""Hooks from the command line: `hook`, which agents run, and `hooks`, which sets them up."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from chronofile.domain.errors import BadRequest
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE
from chronofile.infra.cli.rendering import note, values_of, write_json, write_lines


class Action(StrEnum):
    """What to do with an agent's settings."""

    install = "install"
    uninstall = "uninstall"


class Agent(StrEnum):
    """The agents whose settings are known."""

    claude_code = "claude-code"
    codex = "codex"


class HelpAlone(TyperCommand):
    """A command that shows its help when nothing is said to it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args:
            write_lines(ctx.get_help().splitlines())
            ctx.exit()
        return super().parse_args(ctx, args)


HOOK_EXAMPLES = """
    chronofile hook SessionEnd --agent claude-code < event.json
"""
HOOKS_EXAMPLES = """
    chronofile hooks install --for claude-code
    chronofile hooks install --for codex --write
"""

EVENT_HELP = "SessionStart, UserPromptSubmit, Stop, SubagentStop, PreCompact or SessionEnd, in any spelling."
ACTION_HELP = "install shows what to add to the agent's settings, uninstall what would be taken out."


def hook(
    call: Call,
    event: Annotated[str, typer.Argument(metavar="EVENT", help=EVENT_HELP)],
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="The agent whose event it is.")] = None,
) -> int:
    """Note an agent's event in the spool: the hook's JSON from standard input, and the transcript's path and size.

    At PreCompact and SessionEnd what was not captured yet is copied, up to 16 MB. Agents run it, best as
    chronofile-hook, which does the same. It always exits with 0 and never holds up the agent.
    """
    from chronofile.infra.hook import main

    words = [event, *(["--agent", agent] if agent else []), *(["--home", call.home] if call.home else [])]
    main(words)
    return DONE


def hooks(
    call: Call,
    action: Annotated[Action | None, typer.Argument(help=ACTION_HELP)] = None,
    agent: Annotated[Agent | None, typer.Option("--for", help="The agent.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Change the agent's settings.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Set up agents' hooks, so that what is said is captured in time.

    Without --write nothing is changed. With it the hooks are merged into the user's settings of the agent; other
    settings and others' hooks stay as they are, and doing it again changes nothing.
    """
    from chronofile.infra.agents.hooks import CLIENTS, install, uninstall
    from chronofile.ingest import spool

    if action is None or agent is None:
        raise BadRequest(f"say install or uninstall, and name the agent: --for {' or --for '.join(Agent)}.")
    config = call.config()
    home = None if config.home_origin == "default" else config.home
    client = CLIENTS[agent.value]
    if action is Action.install:
        found = install(client, home, spool=spool.folder(config.home), write=write)
    else:
        found = uninstall(client, home, write=write)
    if as_json:
        write_json(values_of(found))
        return DONE
    if found.hooks and not found.written:
        write_lines(json.dumps({"hooks": found.hooks}, indent=2, ensure_ascii=False).splitlines())
    note(_told(action, Path(found.file), changed=found.changed, written=found.written))
    for sentence in found.notes:
        note(sentence)
    return DONE


def _told(action: Action, file: Path, *, changed: bool, written: bool) -> str:
    if not changed:
        return f"{file} has it already." if action is Action.install else f"{file} has no such hooks."
    if written:
        return f"Written to {file}." if action is Action.install else f"Taken out of {file}."
    what = "Add this to" if action is Action.install else "They would be taken out of"
    return f"{what} {file}; --write does it."
