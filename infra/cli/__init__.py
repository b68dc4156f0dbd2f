"""The command line: `chronofile COMMAND`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_INTERRUPTED = 128 + 2


def main() -> None:
    """Run the command that the arguments name, and end the process with its status."""
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


def _open_standard_streams() -> None:
    """A stream that whoever started us has closed is None; what is written there goes nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # Open to the end.
