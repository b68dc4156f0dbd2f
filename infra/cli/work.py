"""What runs for long: `worker`, and `mcp` for agents."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from chronofile.domain.wording import counted
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE, FAILED, complain
from chronofile.infra.cli.progress import watched
from chronofile.infra.cli.rendering import write_json, write_lines


class Tools(StrEnum):
    """Which tools agents see."""

    core = "core"
    memory = "memory"
    code = "code"
    all = "all"


WORKER_EXAMPLES = """
    chronofile worker --drain
"""
MCP_EXAMPLES = """
    chronofile mcp --scope project:api
"""


def worker(
    call: Call,
    drain: Annotated[bool, typer.Option("--drain", help="Stop as soon as nothing is left to do.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Keep what is searched up to date and compute the vectors that are missing, until it is stopped.

    SIGTERM and Ctrl-C stop it after the batch that it is at, about a second; nothing is lost.
    """
    with _until_told_to_stop() as stopping, call.memory() as memory, watched() as progress:
        embedded = memory.work(drain=drain, progress=progress, stopping=stopping)
        found = memory.status()
    stopped = {name: at.error for name, at in found.projections.items() if at.error}
    if as_json:
        left = found.pending_vectors
        write_json(
            {"embedded": embedded, "pending_vectors": left, "position": found.position, "stopped": stopped}
        )
    else:
        left_over = f", {found.pending_vectors:,} are left" if found.pending_vectors else ""
        write_lines([f"{counted(embedded, 'vector')} computed{left_over}; position {found.position:,}"])
    for name, error in stopped.items():
        complain(f"The projection {name} cannot go on: {error}. `chronofile status` shows where it stands.")
    return FAILED if stopped else DONE


def mcp(
    call: Call,
    scope: Annotated[
        str | None, typer.Option(metavar="S", help="The scope that is searched where a call names none.")
    ] = None,
    tools: Annotated[Tools, typer.Option(help="Which tools are offered.")] = Tools.core,
) -> int:
    """Serve agents over MCP on standard input and output."""
    from chronofile.infra.mcp import serve

    if call.verbose or call.log_format:
        # A client waits for the list of tools; the logs that nobody asked for set themselves up later.
        call.configure_logs()
    try:
        serve(call.flags, scope=scope, tools=tools.value)
    except KeyboardInterrupt:
        # Clients end their servers with a signal: that is how it is meant to stop.
        return DONE
    return DONE


@contextmanager
def _until_told_to_stop() -> Iterator[Callable[[], bool]]:
    """Yield whether SIGTERM or Ctrl-C has come; a second one stops at once."""
    told = threading.Event()

    def stop(_number: int, _frame: Any) -> None:
        if told.is_set():
            raise KeyboardInterrupt
        told.set()

    former = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield told.is_set
    finally:
        for number, handling in former.items():
            signal.signal(number, handling)
