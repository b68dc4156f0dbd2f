"""The command line: `chronofile COMMAND`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the arguments name, and end the process with its status."""
    from chronofile.infra.cli.failures import interrupted

    try:
        # Importing takes a moment too, and an interrupt in it deserves the same sentence.
        from chronofile.infra.cli.app import app

        app(prog_name="chronofile")
    except KeyboardInterrupt:
        sys.exit(interrupted())
