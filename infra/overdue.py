"""Overdue: agents whose transcripts on disk are newer than what was captured of them, as when a hook is broken."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from chronofile.domain.wording import counted
from chronofile.query.tally import AgentCount

OVERDUE = timedelta(days=1)
FILES_MAX = 5_000
"""How many files of an agent are looked at; where there are more, the rest is taken to be no newer."""
SUFFIXES = (".jsonl", ".json")


def overdue(agents: Mapping[str, AgentCount], folders: Mapping[str, list[Path]]) -> Iterator[str]:
    """Yield a sentence for each agent that was captured before and has a transcript a day newer than that.

    `folders` are where the agents keep their transcripts. Only the times of files are looked at.
    """
    for name, count in agents.items():
        if count.last_capture is None or name not in folders:
            continue
        newest = max((moment for folder in folders[name] for moment in _changed(folder)), default=None)
        if newest is not None and newest - count.last_capture > OVERDUE:
            days = counted((newest - count.last_capture).days, "day")
            yield (
                f"{name}: a transcript is {days} newer than the last capture. Is its hook installed, or"
                " chronofile watch running? chronofile ingest --agents captures what there is."
            )


def _changed(folder: Path) -> Iterator[datetime]:
    """Yield when each transcript below a folder was changed; what cannot be read is passed over."""
    left = FILES_MAX
    for where, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(SUFFIXES):
                continue
            try:
                changed_s = (Path(where) / name).lstat().st_mtime
            except OSError:
                continue
            yield datetime.fromtimestamp(changed_s, UTC)
            left -= 1
            if not left:
                return
