"""Calls: the flags that every command takes, before or after its name, and what every command does around its own."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofile.infra.cli.failures import (
    DONE,
    complain,
    interrupted,
    status_of,
)
from chronofile.infra.failures import is_expected, sentence_of

if TYPE_CHECKING:
    from typer.core import TyperCommand

    from chronofile.infra.config import Config
    from chronofile.infra.memory import Memory

CALLER = "cli"
DRAIN_S = 1.0
"""A command that opens the memory captures what hooks noted, unless it would take long: `watch` and `mcp` have time."""
_PANEL = "Everywhere"


class LogFormat(StrEnum):
    """How log lines look."""

    console = "console"
    json = "json"


Home = Annotated[
    str | None,
    typer.Option("--home", metavar="FOLDER", help="Where everything is kept.", rich_help_panel=_PANEL),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        metavar="URL",
        help="A PostgreSQL with pgvector of your own.",
        rich_help_panel=_PANEL,
    ),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder", metavar="NAME", help="What computes the vectors: provider:name.", rich_help_panel=_PANEL
    ),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        show_default=False,
        help="Log what happens; -vv every step.",
        rich_help_panel=_PANEL,
    ),
]
Logs = Annotated[
    LogFormat | None,
    typer.Option("--log-format", help="How log lines look.", show_default=False, rich_help_panel=_PANEL),
]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the program: the flags that every command takes, with those after the command's name first."""

    home: str | None = None
    database_url: str | None = None
    embedder: str | None = None
    verbose: int = 0
    log_format: LogFormat | None = None

    def within(self, outer: Call) -> Call:
        """Return these flags with those from before the command's name where these say nothing."""
        given = {name: getattr(self, name) or getattr(outer, name) for name in _NAMES}
        return Call(**{**given, "verbose": self.verbose + outer.verbose})

    @property
    def flags(self) -> Mapping[str, str | None]:
        """The settings among the flags, as configuration takes them."""
        return {"home": self.home, "database_url": self.database_url, "embedder": self.embedder}

    def config(self) -> Config:
        """Return the effective configuration; raises UnknownSetting, BadSetting."""
        from chronofile.infra.config import from_environment

        return from_environment(self.flags)

    def configure_logs(self) -> None:
        """Set up the logs; everything that may log comes after."""
        from chronofile.infra import logs

        logs.configure(self.verbose, "json" if self.log_format is LogFormat.json else "console")

    def memory(self) -> Memory:
        """Open the memory; raises what configuration, the database and the models raise."""
        from chronofile.infra.wiring import open_memory

        self.configure_logs()
        memory = open_memory(self.flags, caller=CALLER)
        try:
            _drain(memory)
        except BaseException:
            memory.close()
            raise
        return memory


def _drain(memory: Memory) -> None:
    """Capture what agents' hooks noted, as far as that is quick; what prevents it is no error of the command."""
    from chronofile.ingest.spool import LARGE_BYTES_MIN

    try:
        memory.drain(seconds=DRAIN_S, bytes_max=LARGE_BYTES_MIN)
    except Exception as error:  # noqa: BLE001  # Whatever it is, the command can do without.
        _log(error)
        complain(f"What hooks noted is not captured yet: {sentence_of(error)}")


_NAMES = tuple(field.name for field in fields(Call))
_SHARED: tuple[tuple[str, Any, Any], ...] = (
    ("home", Home, None),
    ("database_url", DatabaseUrl, None),
    ("embedder", Embedder, None),
    ("verbose", Verbose, 0),
    ("log_format", Logs, None),
)

Command = Callable[..., int | None]


def add(
    app: typer.Typer, name: str, command: Command, *, examples: str, cls: type[TyperCommand] | None = None
) -> None:
    """Add a command. Its first parameter is the Call, and what it returns is the exit status, None for done.

    `examples` stand below its help as they are. The flags that every command takes are added, and its errors
    become one sentence on standard error.
    """

    @functools.wraps(command)
    def around(*args: Any, invocation: typer.Context, **arguments: Any) -> None:
        call = Call(**{shared: arguments.pop(shared) for shared in _NAMES}).within(invocation.obj or Call())
        raise typer.Exit(_told(call, functools.partial(command, call, *args, **arguments)))

    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    parameters = [*own, _keyword("invocation", typer.Context, inspect.Parameter.empty), *_shared_parameters()]
    around.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    around.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del around.__wrapped__  # Whoever looked through it would miss the shared flags.
    summary = (command.__doc__ or "").split("\n", 1)[0]
    epilog = "\b\nExamples:\n" + inspect.cleandoc(examples)
    app.command(name, cls=cls, epilog=epilog, short_help=summary)(around)


def _shared_parameters() -> Iterator[inspect.Parameter]:
    return (_keyword(name, kind, default) for name, kind, default in _SHARED)


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _told(call: Call, command: Callable[[], int | None]) -> int:
    """Run a command and return its exit status; whatever ends it early is told in one sentence."""
    try:
        with _ends_like_an_interrupt(signal.SIGTERM, signal.SIGHUP):
            status = command()
            sys.stdout.flush()
        return status or DONE
    except KeyboardInterrupt:
        return interrupted()
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does.
        _drop_output()
        return DONE
    except Exception as error:  # noqa: BLE001  # The outermost loop: nobody else would tell.
        if not is_expected(error):
            call.configure_logs()
            _log(error)
        if isinstance(error, OSError):
            _drop_output()
        complain(sentence_of(error))
        return status_of(error)


def _drop_output() -> None:
    """Let what could not be written go nowhere: the interpreter would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log(error: Exception) -> None:
    import structlog

    structlog.get_logger(__name__).debug("command failed", exc_info=error)


@contextmanager
def _ends_like_an_interrupt(*signals: signal.Signals) -> Iterator[None]:
    """Let these signals end the command as Ctrl-C does: cleanly, with the database let go of."""

    def interrupt(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    former = {number: signal.getsignal(number) for number in signals}
    for number, handling in former.items():
        if handling is signal.SIG_DFL:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handling in former.items():
            signal.signal(number, handling)
