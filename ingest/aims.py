"""Aims: the paths that a walk is for where it is not for everything, and the folders on the way to them."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Aims:
    """The paths that a walk is for, and the folders on the way to them; None where it is for everything."""

    paths: frozenset[str] | None = None
    ways: frozenset[str] = frozenset()

    @classmethod
    def of(cls, only: Collection[Path] | None) -> Aims:
        if only is None:
            return cls()
        ways: set[str] = set()
        for path in only:
            for above in map(os.fspath, path.parents):
                if above in ways:
                    break  # And so are those above it.
                ways.add(above)
        return cls(frozenset(map(os.fspath, only)), frozenset(ways))

    def holds(self, path: str) -> bool:
        """Tell whether all of a path is wanted, without a look at the folders above it."""
        return self.paths is None or path in self.paths

    def hold_above(self, path: str) -> bool:
        """Tell whether all of a path is wanted, or all of a folder above it."""
        return any(self.holds(str(above)) for above in (Path(path), *Path(path).parents))

    def leads_to(self, path: str) -> bool:
        """Tell whether something of what was given by name may be wanted."""
        return path in self.ways or self.hold_above(path)
