"""Chronofile: local-first, event-sourced memory for AI agents.

For example:

    from chronofile import connect

    with connect() as memory:
        memory.ingest(["notes/", "~/.claude/projects"])
        for hit in memory.search("which port does the staging server use?").hits:
            print(hit.text, hit.source.uri)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from chronofile.infra.memory import Memory

__version__ = "0.1.0"
__all__ = ["__version__", "connect"]


def connect(home: str | PathLike[str] | None = None, url: str | None = None) -> Memory:
    """Open a memory: `home` is its folder (default: the user's data folder), `url` an external PostgreSQL.

    Settings that are not given come from the environment and from `config.toml` in the home. Use it as a
    context manager, or call `close()`.
    """
    from chronofile.infra.wiring import open_memory

    flags = {"home": None if home is None else str(home), "database_url": url}
    return open_memory(flags, caller="python")
