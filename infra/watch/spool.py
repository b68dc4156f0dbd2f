"""The hooks' spool, as a watch sees it: when to drain it, and what is said of that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from chronofile.domain.wording import counted
from chronofile.ingest import spool

if TYPE_CHECKING:
    from chronofile.infra.memory import Memory

AGAIN_S = 30.0
"""When to try again what a drain has left, as where another process was at it."""


class Spool:
    """Remembers what the last drain has left, so that entries which nobody can read cost nothing."""

    def __init__(self, home: Path) -> None:
        self.folder = spool.folder(home)
        self._home = home
        self._left: tuple[Path, ...] = ()
        self._again_s = 0.0

    def is_due(self, now_s: float) -> bool:
        """Tell whether there are entries that no drain has seen, or for long."""
        entries = tuple(spool.waiting(self._home))
        if not entries or (entries == self._left and now_s < self._again_s):
            return False
        self._again_s = now_s + AGAIN_S
        return True

    def drain(self, memory: Memory, stopping: Callable[[], bool]) -> str | None:
        """Capture what the hooks noted, make it searchable, and say what came of it."""
        drained = memory.drain(stopping=stopping)
        if drained.captured:
            memory.catch_up()
        self._left = () if drained.entries else tuple(spool.waiting(self._home))
        if not (drained.captured or drained.set_aside):
            return None
        aside = f", {drained.set_aside:,} set aside" if drained.set_aside else ""
        return f"{counted(drained.captured, 'revision')} captured of what hooks noted{aside}"
