"""The hook as a module, for where its script is not installed: `python -m chronofile.infra.hook EVENT`."""

from chronofile.infra.hook import main

main()
