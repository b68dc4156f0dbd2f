"""Hooked: when each agent's hook last noted something, left in a file of the home by whoever drains the spool.

That a hook works shows here also where everything that it tells of was captured before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from chronofile.ingest.offsets import FOLDER
from chronofile.ingest.small_files import replace_file
from chronofile.ingest.spool import AGENT, Entry

FILE_NAME = "hooks.json"
FILE_BYTES_MAX = 64 << 10
AGENTS_MAX = 100


def note(home: Path, entries: Iterable[Entry]) -> None:
    """Leave the time of each agent's newest entry. Where that cannot be written, nobody hears of it, and that is all."""
    latest = _read(home)
    before = dict(latest)
    for entry in entries:
        latest[entry.agent] = max(entry.at_ns, latest.get(entry.agent, 0))
    if latest == before or len(latest) > AGENTS_MAX:
        return
    with suppress(OSError):
        file = home / FOLDER / FILE_NAME
        file.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(file, json.dumps(latest).encode("ascii"))


def last(home: Path) -> dict[str, datetime]:
    """Return when each agent's hook last noted something, as far as that was drained."""
    return {agent: datetime.fromtimestamp(at_ns / 1e9, UTC) for agent, at_ns in _read(home).items()}


def _read(home: Path) -> dict[str, int]:
    """Return the times in nanoseconds, by agent; what is no such thing is left out."""
    try:
        with (home / FOLDER / FILE_NAME).open("rb") as file:
            found = json.loads(file.read(FILE_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    named = found.items() if isinstance(found, dict) else ()
    return {
        agent: at_ns
        for agent, at_ns in named
        if AGENT.fullmatch(agent) and type(at_ns) is int and 0 <= at_ns < 1 << 63
    }
