"""The command line: `chronofile COMMAND`."""

from __future__ import annotations

import os
import sys

_INTERRUPTED = 128 + 2
_WITH_VALUE = {"--home", "--database-url", "--embedder", "--log-format"}


def main() -> None:
    """Run the command that the arguments name, and end the process with its status."""
    if (words := _hook_words(sys.argv[1:])) is not None:
        # An agent waits for it: it imports nothing else.
        from chronofile.infra.hook import main as hook

        hook(words)
    from chronofile.infra.cli.failures import interrupted

    _open_standard_streams()
    # The matrices of a search are small: on a busy machine several threads wait for one another 40 times as
    # long as one of them would compute.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Importing takes a moment too, and an interrupt in it deserves the same sentence.
        from chronofile.infra.cli.app import app

        app(prog_name="chronofile")
    except KeyboardInterrupt:
        sys.exit(interrupted())
    except SystemExit as end:
        # Typer ends with this where Ctrl-C comes between reading the arguments and running the command.
        sys.exit(interrupted() if end.code == _INTERRUPTED else end.code)


def _hook_words(arguments: list[str]) -> list[str] | None:
    """Return the arguments of the command `hook`, with a home that is named before it; None for any other."""
    home: list[str] = []
    left = iter(arguments)
    for word in left:
        name, equals, value = word.partition("=")
        if word == "hook":
            own = [*left]
            return None if {"-h", "--help"} & {*own} else [*home, *own]
        if name in _WITH_VALUE:
            value = value if equals else next(left, "")
            home = ["--home", value] if name == "--home" else home
        elif not word.startswith("-"):
            return None
    return None


def _open_standard_streams() -> None:
    """A stream that whoever started us has closed is None; what is written there goes nowhere."""
    from pathlib import Path

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # Open to the end.
