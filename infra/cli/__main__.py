"""The command line as a module: `python -m chronofile.infra.cli`."""

from chronofile.infra.cli import main

main()
