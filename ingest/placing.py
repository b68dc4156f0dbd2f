"""Placing: which scope what is seen belongs to, and the scopes and directories that this makes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from chronofile.domain import streams
from chronofile.domain.envelope import Addition
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.domain.events import DirectoryMapped, Event, ScopeCreated
from chronofile.domain.ports import Log
from chronofile.domain.scopes import GLOBAL, project_scope, scope_of
from chronofile.ingest import known
from chronofile.ingest.appending import Appending
from chronofile.ingest.gathered import Gathered, KeyOf
from chronofile.ingest.scan import repository_root
from chronofile.ingest.sighting import Sighting

TRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class Placing:
    """Decides scopes for one run; `wanted` is the scope that the user asked for."""

    log: Log
    appending: Appending
    key_of: KeyOf
    observed_at: str
    wanted: str | None
    dry_run: bool = False

    def scopes(
        self,
        sightings: Sequence[Sighting],
        before: Mapping[Path, str],
        around: Mapping[Path, Path] = MappingProxyType({}),
    ) -> list[str]:
        """Return the scope of each sighting, in order; a repository that is seen for the first time gets one.

        A line's own scope comes first, then the one that was asked for, then the one that the file was
        captured into `before`, then that of its directory. `around` are the repositories through which files in
        submodules were come to: these belong to them.
        """
        with self.log.cursor() as cursor:
            mapped = known.directories(cursor)
        placed: list[str] = []
        for sighting in sightings:
            named = sighting.scope or self.wanted or before.get(sighting.path)
            placed.append(named or self._of_directory(sighting, mapped, around.get(sighting.path)))
        if not self.dry_run:
            self._create(set(placed) - {GLOBAL})
        return placed

    def _of_directory(self, sighting: Sighting, mapped: dict[str, str], around: Path | None) -> str:
        """Return the scope of the file's folder, or of the session's own working directory."""
        if sighting.kind == "file":
            directory, root = str(sighting.path.parent), around or sighting.root
        elif sighting.cwd is None or not _is_absolute(sighting.cwd):
            return GLOBAL
        else:
            # As the files below it come out of the scan, without links.
            directory = os.path.realpath(sighting.cwd)
            root = repository_root(Path(directory))
        found = scope_of(directory, mapped)
        if found is not None or root is None:
            return found or GLOBAL
        return self._map(str(root), mapped)

    def _map(self, root: str, mapped: dict[str, str]) -> str:
        """Map a repository's root to a scope of its own; `mapped` is brought up to date."""
        taken = set(mapped.values())
        for _ in range(TRIES_MAX):
            scope = project_scope(root, taken)
            if self.dry_run:
                mapped[root] = scope
                return scope
            try:
                self._append_mapping(root, scope)
            except WrongExpectedVersion:
                # Somebody else made this scope, or mapped this very directory.
                with self.log.cursor() as cursor:
                    mapped |= known.directories(cursor)
                if root in mapped:
                    return mapped[root]
                taken |= {scope, *mapped.values()}
            else:
                mapped[root] = scope
                return scope
        raise WrongExpectedVersion((streams.scope(project_scope(root, taken)),))

    def _append_mapping(self, root: str, scope: str) -> None:
        gathered = Gathered(self.key_of)
        events: list[Event] = [
            ScopeCreated(self.observed_at),
            DirectoryMapped(gathered.text(root), self.observed_at),
        ]
        self.appending.append(
            [Addition(streams.scope(scope), 0, events)],
            contents=gathered.contents,
            alongside=lambda cursor: known.write_directory(cursor, root, scope),
        )

    def _create(self, scopes: Collection[str]) -> None:
        """Create the scopes that were named and do not exist yet."""
        for _ in range(TRIES_MAX):
            standing = self.log.read_many([streams.scope(scope) for scope in sorted(scopes)])
            created = [ScopeCreated(self.observed_at)]
            additions = [Addition(stream, 0, created) for stream, events in standing.items() if not events]
            try:
                self.appending.append(additions)
            except WrongExpectedVersion:
                continue
            return


def _is_absolute(directory: str) -> bool:
    """Tell whether a directory that a transcript names can be one of this machine."""
    try:
        return b"\0" not in os.fsencode(directory) and directory.startswith("/")
    except UnicodeEncodeError:
        return False
