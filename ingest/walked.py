"""Walked folders: what holds for the entries of a folder that a walk has come to."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from chronofile.domain.rejection import NotRead, Rejected
from chronofile.ingest import rules
from chronofile.ingest.rules import Rules
from chronofile.ingest.selections import Within

GIT_RULES = ".gitignore"
OWN_RULES = ".chronofileignore"
DOT_FOLDER_ENTRIES_MAX = 20_000


@dataclass(slots=True)
class Allowance:
    """How many more entries are looked at below a dot-folder."""

    folder: str
    entries: int = DOT_FOLDER_ENTRIES_MAX


@dataclass(frozen=True, slots=True)
class Folder:
    """What holds for the entries of a folder: its repository and the ignore files, outermost first.

    `wanted`: it was given by name or taken in by our own rules, so no default leaves it out. `dotted` is set
    in and below a dot-folder that is not wanted: only transcripts are taken from there. Unless `whole`, only
    what the walk is for is looked at. `within` is set in and below a folder of which only selected files are wanted.
    """

    path: str
    root: Path | None = None
    git: tuple[Rules, ...] = ()
    own: tuple[Rules, ...] = ()
    wanted: bool = False
    dotted: Allowance | None = None
    whole: bool = True
    within: Within | None = None
    excludes: bytes = b""
    around: Path | None = None

    def verdicts(self, path: str) -> tuple[bool | None, bool | None]:
        """Return what all rules say about an entry, and what our own say, which win."""
        own = rules.verdict(self.own, path)
        return rules.verdict(self.git, path) if own is None else own, own

    def unless_ignored(self, path: str) -> Folder:
        """Return the same without its rules if they ignore a folder that has to be entered to come to a name.

        Who names what is ignored has overruled these rules; only those further down still hold.
        """
        return replace(self, git=(), own=()) if self.verdicts(path)[0] else self

    @property
    def prefix(self) -> str:
        return self.path.rstrip(os.sep) + os.sep


def with_rules(folder: Folder, names: Collection[str]) -> tuple[Folder, list[Rejected]]:
    """Add the ignore files among the names to what holds in the folder. A repository's own rules begin with it."""
    failures: list[Rejected] = []

    def added(chain: tuple[Rules, ...], rules_of: Callable[[], Rules | None]) -> tuple[Rules, ...]:
        try:
            found = rules_of()
        except NotRead as failure:
            failures.append(failure.rejected)
            return chain
        return chain if found is None else (*chain, found)

    git, own, root, path = folder.git, folder.own, folder.root, folder.path
    if ".git" in names and os.path.lexists(folder.prefix + ".git"):
        root = Path(path)
        everywhere = rules.parse(folder.excludes, folder.prefix)
        git = added(() if everywhere is None else (everywhere,), lambda: rules.excluded_by_git(path))
    if GIT_RULES in names:
        git = added(git, lambda: rules.rules_in(path, GIT_RULES))
    if OWN_RULES in names:
        own = added(own, lambda: rules.rules_in(path, OWN_RULES))
    return replace(folder, root=root, git=git, own=own, around=folder.around or root), failures
