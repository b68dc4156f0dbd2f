"""Logs: structlog on top of the standard library's logging, on standard error, warnings only unless asked for more."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping, Sequence
from typing import Any, Literal, TextIO

import structlog

LogFormat = Literal["console", "json"]
LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
"""By how often `-v` is given."""

PACKAGE = "chronofile"

_Fields = MutableMapping[str, Any]


def configure(verbosity: int = 0, log_format: LogFormat = "console", stream: TextIO | None = None) -> None:
    """Set up the logs of a process that is ours: everything that is logged in it goes to `stream`, standard error.

    `verbosity` 0 shows warnings, 1 what happens, 2 every step. It is about our own loggers: those of the
    libraries stay at warnings, since SQLAlchemy and psycopg would write people's texts. What a library warns its
    programmers of, through `warnings`, is a step. Configuring again replaces what was before.
    """
    target = stream or sys.stderr
    handler = logging.StreamHandler(target)
    handler.setFormatter(_formatter(log_format, colours=target.isatty()))
    root = logging.getLogger()
    for former in root.handlers[:]:
        root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    level = LEVELS[min(verbosity, len(LEVELS) - 1)]
    logging.getLogger(PACKAGE).setLevel(level)
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").setLevel(logging.WARNING if level == logging.DEBUG else logging.ERROR)
    _to_standard_logging([*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter])


def adopt() -> None:
    """Send our logs to the standard library's logging, where the program that uses us decides about them.

    A program that has set up structlog keeps what it set up. Without this structlog would print debug
    lines to standard output; with it a program that sets up nothing sees warnings alone, on standard error.
    """
    if not structlog.is_configured():
        _to_standard_logging([structlog.processors.format_exc_info, _as_sentence])


def _to_standard_logging(processors: Sequence[Any]) -> None:
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *processors],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _shared() -> list[Any]:
    return [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _formatter(log_format: LogFormat, *, colours: bool) -> logging.Formatter:
    renderers: list[Any] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if log_format == "json":
        renderers += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # The other formatters of tracebacks show local variables, and those hold people's texts.
        plain = structlog.dev.plain_traceback
        renderers += [structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain)]
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=_shared(), processors=renderers)


def _as_sentence(_logger: Any, _method: str, fields: _Fields) -> str:
    event = fields.pop("event", "")
    trace = fields.pop("exception", None)
    line = " ".join([str(event), *(f"{name}={value!r}" for name, value in fields.items())])
    return f"{line}\n{trace}" if trace else line
