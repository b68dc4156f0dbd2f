"""MCP over standard input and output: `chronofile mcp`, one process for each agent client."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from chronofile.infra.mcp.lending import Lender
    from chronofile.infra.memory import Memory

PRESETS = ("core", "memory", "code", "all")
"""What `--tools` takes: see `tools.SETS`."""

CALLER = "mcp"


def serve(flags: Mapping[str, str | None], *, scope: str | None, tools: str) -> None:
    """Serve until standard input ends or a signal says so; then end the process, which is status 0.

    `flags` are the settings given as flags; `scope` is the default of calls that name none; `tools` is one
    of PRESETS. The memory is opened once the tools are listed, and a failure to open it is told by the
    calls. Raises BadRequest for an unknown preset.
    """
    _require_preset(tools)
    # The SDK makes a million objects that all stay: looking through them for garbage is a fifth of the start.
    gc.disable()
    from chronofile.infra.mcp.wire import claim

    wire = claim()
    from chronofile.infra.mcp.lending import Lender
    from chronofile.infra.mcp.server import run

    lender = Lender(partial(_open, flags))
    _leave_on_signals(lender)
    status = 1
    try:
        run(wire, lender, scope, tools)
        status = 0
    except Exception:  # noqa: BLE001  # The process ends here: nobody else would tell.
        traceback.print_exc()
    finally:
        _leave(lender, status)


def _require_preset(tools: str) -> None:
    if tools not in PRESETS:
        from chronofile.domain.errors import BadRequest

        raise BadRequest(f"--tools is one of {', '.join(PRESETS)}, not {tools!r}.")


def _open(flags: Mapping[str, str | None]) -> Memory:
    from chronofile.infra import logs
    from chronofile.infra.wiring import open_memory

    logs.adopt()
    return open_memory(flags, caller=CALLER)


def _leave_on_signals(lender: Lender) -> None:
    def leave(_number: int, _frame: Any) -> None:
        # The main thread may be anywhere, also in the middle of letting the database go.
        Thread(target=_leave, args=(lender, 0), name="leave").start()

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), leave)


def _leave(lender: Lender, status: int) -> NoReturn:
    """Let the database go and end the process, whatever its threads are at.

    One of them may wait for standard input for ever, others for a model; what they would lose is a batch of
    vectors that the next process computes.
    """
    try:
        lender.close()
        sys.stderr.flush()
    finally:
        os._exit(status)
