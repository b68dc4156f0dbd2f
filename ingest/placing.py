"""Placing: which scope what is seen belongs to, and the scopes and directories that this makes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from chronofile.domain import streams
from chronofile.domain.envelope import Addition
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.domain.events import DirectoryMapped, Event, RevisionCaptured, ScopeCreated, SourceMoved
from chronofile.domain.ports import Log
from chronofile.domain.scopes import GLOBAL, project_scope, scope_of
from chronofile.ingest import known
from chronofile.ingest.appending import Appending
from chronofile.ingest.decisions import names_of
from chronofile.ingest.gathered import Gathered, KeyOf, text_key
from chronofile.ingest.known import Name
from chronofile.ingest.scan import repository_root
from chronofile.ingest.sighting import Sighting, uri_of

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

        A line's own scope comes first, then the one that was asked for, then the one that all of the file was
        captured into `before`, then the one in which a conversation stands that was read from this file, then that of
        the directory. `around` are the repositories through which files in submodules were come to: these belong to them.
        """
        with self.log.cursor() as cursor:
            mapped = known.directories(cursor)
        named = [sighting.scope or self.wanted or before.get(sighting.path) for sighting in sightings]
        unnamed = [sighting for sighting, scope in zip(sightings, named, strict=True) if scope is None]
        standing = self._standing(unnamed, mapped)
        placed: list[str] = []
        for sighting, name in zip(sightings, named, strict=True):
            scope = name or standing.get((sighting.path, sighting.key))
            placed.append(scope or self._of_directory(sighting, mapped, around.get(sighting.path)))
        if not self.dry_run:
            self._create(set(placed) - {GLOBAL})
        return placed

    def _standing(
        self, sightings: Sequence[Sighting], mapped: Mapping[str, str]
    ) -> dict[tuple[Path, str], str]:
        """Return the scope in which each conversation stands that was read from its file before, by path and key.

        Those of which it is their directory's anyway are left out.
        """
        parts = {(one.path, one.key): one for one in sightings if one.uri != uri_of(one.path)}
        here = {at: _mapped(one, mapped) for at, one in parts.items()}
        given = self._given(parts.values())
        others = {at: given[one.key] for at, one in parts.items() if _scopes(given[one.key]) - {here[at]}}
        files = self._files({name.source for names in others.values() for name in names})
        standing: dict[tuple[Path, str], str] = {}
        for at, names in others.items():
            file = self._text_key(str(at[0]))
            scopes = _scopes(name for name in names if file in files[name.source])
            if scopes and here[at] not in scopes:
                standing[at] = min(scopes)
        return standing

    def _given(self, sightings: Collection[Sighting]) -> dict[str, list[Name]]:
        """Return the names that were given out in any scope for what each sighting is called, by its key."""
        names = {one.key: [self._text_key(name) for name in names_of(one)] for one in sightings}
        with self.log.cursor() as cursor:
            given = known.names(cursor, {key for keys in names.values() for key in keys})
        by_key: dict[str, list[Name]] = {}
        for found in given.values():
            by_key.setdefault(found[0].key, []).extend(found)
        return {key: [name for one in keys for name in by_key.get(one, ())] for key, keys in names.items()}

    def _files(self, sources: Collection[str]) -> dict[str, set[str]]:
        """Return the files that each source was read from, as keys of their paths."""
        stored = self.log.read_many([streams.source(identifier) for identifier in sorted(sources)])
        return {
            streams.id_of(stream): {
                one.event.file for one in found if isinstance(one.event, RevisionCaptured | SourceMoved)
            }
            for stream, found in stored.items()
        }

    def _text_key(self, text: str) -> str:
        return text_key(self.key_of, text)

    def _of_directory(self, sighting: Sighting, mapped: dict[str, str], around: Path | None) -> str:
        """Return the scope of the file's folder, or of the session's own working directory."""
        directory = _directory(sighting)
        if directory is None:
            return GLOBAL
        is_file = sighting.kind == "file"
        root = around or sighting.root if is_file else repository_root(Path(directory))
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


def _scopes(names: Iterable[Name]) -> set[str]:
    return {name.scope for name in names}


def _mapped(sighting: Sighting, mapped: Mapping[str, str]) -> str | None:
    """Return the scope of a sighting's directory, None where that has none yet."""
    directory = _directory(sighting)
    return GLOBAL if directory is None else scope_of(directory, mapped)


def _directory(sighting: Sighting) -> str | None:
    """Return the file's folder, or the session's own working directory, if it says one."""
    if sighting.kind == "file":
        return str(sighting.path.parent)
    if sighting.cwd is None or not _is_absolute(sighting.cwd):
        return None
    # As the files below it come out of the scan, without links.
    return os.path.realpath(sighting.cwd)


def _is_absolute(directory: str) -> bool:
    """Tell whether a directory that a transcript names can be one of this machine."""
    try:
        return b"\0" not in os.fsencode(directory) and directory.startswith("/")
    except UnicodeEncodeError:
        return False
