"""Scanning: which files below the given paths are to be captured, and what is left out and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from chronofile.domain.rejection import NotRead, OmissionReason, Omitted, Rejected
from chronofile.ingest import rules
from chronofile.ingest.reading import not_read, read_range
from chronofile.ingest.rules import Rules

GIT_RULES = ".gitignore"
OWN_RULES = ".chronofileignore"
TRANSCRIPT_SUFFIXES = (".jsonl", ".ndjson")
"""Names that a transcript may have where only transcripts are taken; the content decides."""
DOT_FOLDER_ENTRIES_MAX = 20_000

_VENV_MARK = "pyvenv.cfg"
_CACHE_MARK = "CACHEDIR.TAG"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"  # https://bford.info/cachedir/


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file. `named`: it was given by name. `root` is its repository's folder, None outside of any.

    Where `otherwise` is set, the file is taken only if its content is recognised as a transcript, and is
    omitted for that reason if it is not.
    """

    path: Path
    named: bool
    root: Path | None
    otherwise: OmissionReason | None = None


Scanned = Found | Omitted | Rejected


def scan(paths: Sequence[Path], *, home: Path, only: Collection[Path] | None = None) -> Iterator[Scanned]:
    """Walk the given files and folders, each once, in the order of their names.

    Paths come out absolute and without links: a link that is given is resolved, one that is met is omitted.
    Nothing is opened but ignore files. A folder that cannot be listed is rejected and the walk goes on.

    With `only`, absolute paths without links, the walk goes from each given path down to these and to all that
    is below them, and judges what it meets as it always does; what is not there yields nothing. Only the
    allowance of a dot-folder may reach further than that of a whole walk, since less of it is looked at.
    """
    given = {_resolved(path): path for path in reversed(paths)}
    walk = _Walk(frozenset(given), _identity(os.fspath(home)), set(), _Aims.of(only))
    for path in sorted(given, key=lambda path: Path(path).parts):
        if path not in walk.seen and walk.aims.leads_to(path):
            yield from walk.from_name(path, given[path])


def repository_root(folder: Path) -> Path | None:
    """Return the nearest folder at or above that holds a repository, None where there is none."""
    return next((above for above in (folder, *folder.parents) if os.path.lexists(above / ".git")), None)


@dataclass(slots=True)
class _Allowance:
    """How many more entries are looked at below a dot-folder."""

    folder: str
    entries: int = DOT_FOLDER_ENTRIES_MAX


@dataclass(frozen=True, slots=True)
class _Aims:
    """The paths that a walk is for, and the folders on the way to them; None where it is for everything."""

    paths: frozenset[str] | None = None
    ways: frozenset[str] = frozenset()

    @classmethod
    def of(cls, only: Collection[Path] | None) -> _Aims:
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


@dataclass(frozen=True, slots=True)
class _Folder:
    """What holds for the entries of a folder: its repository and the ignore files, outermost first.

    `wanted`: it was given by name or taken in by our own rules, so no default leaves it out. `dotted` is set
    in and below a dot-folder that is not wanted: only transcripts are taken from there. Unless `whole`, only
    what the walk is for is looked at.
    """

    path: str
    root: Path | None = None
    git: tuple[Rules, ...] = ()
    own: tuple[Rules, ...] = ()
    wanted: bool = False
    dotted: _Allowance | None = None
    whole: bool = True

    def verdicts(self, path: str) -> tuple[bool | None, bool | None]:
        """Return what all rules say about an entry, and what our own say, which win."""
        own = rules.verdict(self.own, path)
        return rules.verdict(self.git, path) if own is None else own, own

    def unless_ignored(self, path: str) -> _Folder:
        """Return the same without its rules if they ignore a folder that has to be entered to come to a name.

        Who names what is ignored has overruled these rules; only those further down still hold.
        """
        return replace(self, git=(), own=()) if self.verdicts(path)[0] else self

    @property
    def prefix(self) -> str:
        return self.path.rstrip(os.sep) + os.sep


@dataclass(frozen=True, slots=True)
class _Walk:
    named: frozenset[str]
    home: tuple[int, int] | None
    seen: set[str]
    """The folders that were listed and the named files that were found."""
    aims: _Aims

    def from_name(self, path: str, given: Path) -> Iterator[Scanned]:
        """Walk one path that was given by name."""
        try:
            mode = os.lstat(path).st_mode
        except (OSError, ValueError) as failure:
            if self.aims.paths is None:
                yield _not_there(given, failure)
            return
        if any(
            _identity(str(above)) == self.home for above in (Path(path), *Path(path).parents) if self.home
        ):
            yield Omitted(Path(path), "home")
        elif stat.S_ISDIR(mode):
            folder, failures = self._context(path)
            yield from failures
            yield from self._below(replace(folder, whole=self.aims.hold_above(path)))
        elif not self.aims.hold_above(path):
            return  # What is wanted was below it when it was a folder.
        elif stat.S_ISREG(mode):
            yield Found(Path(path), named=True, root=repository_root(Path(path).parent))
        else:
            yield Rejected(given, "not-regular")

    def _below(self, folder: _Folder) -> Iterator[Scanned]:
        """Walk depth first, on a stack of our own: folders may be nested deeper than Python calls."""
        stack = [self._entries(folder)]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, _Folder):
                stack.append(self._entries(item))
            else:
                yield item

    def _entries(self, folder: _Folder) -> Iterator[Scanned | _Folder]:
        self.seen.add(folder.path)
        try:
            with os.scandir(folder.path) as listing:
                entries = sorted(listing, key=attrgetter("name"))
        except OSError as failure:
            yield _not_listed(folder.path, failure)
            return
        names = {entry.name for entry in entries}
        if not folder.wanted and _is_made_by_a_tool(folder.path, names):
            if not folder.dotted:
                yield Omitted(Path(folder.path), "tool-folder")
            return
        if folder.dotted and (yield from _spend(folder.dotted, folder.path, len(entries))):
            return
        folder, failures = _with_rules(folder, names)
        yield from failures
        for entry in entries:
            whole = folder.whole or self.aims.holds(entry.path)
            try:
                if not whole and not (entry.path in self.aims.ways and entry.is_dir(follow_symlinks=False)):
                    continue
                item = self._named(folder, entry) if entry.path in self.named else self._met(folder, entry)
            except OSError as failure:
                item = not_read(Path(entry.path), failure).rejected
            if isinstance(item, _Folder):
                yield replace(item, whole=whole)
            elif item is not None:
                yield item

    def _named(self, folder: _Folder, entry: os.DirEntry[str]) -> Scanned | _Folder:
        """Take what was met on the walk and was also given by name."""
        if not entry.is_dir(follow_symlinks=False):
            self.seen.add(entry.path)
            regular = entry.is_file(follow_symlinks=False)
            path = Path(entry.path)
            return Found(path, named=True, root=folder.root) if regular else Rejected(path, "not-regular")
        if self._is_home(entry):
            return Omitted(Path(entry.path), "home")
        return replace(folder.unless_ignored(entry.path + os.sep), path=entry.path, wanted=True, dotted=None)

    def _met(self, folder: _Folder, entry: os.DirEntry[str]) -> Scanned | _Folder | None:
        """Judge an entry by the rules; None for what an omitted dot-folder stands for."""
        is_folder = entry.is_dir(follow_symlinks=False)
        ignored, own = folder.verdicts(entry.path + os.sep if is_folder else entry.path)
        wanted = own is False
        reason = None if wanted else rules.default_omission(entry.name, is_folder=is_folder)
        if is_folder and self._is_home(entry):
            return Omitted(Path(entry.path), "home")
        if entry.is_symlink():
            reason = "symlink"
        elif ignored:
            reason = "ignored"
        elif is_folder and reason != "tool-folder":
            dotted = _Allowance(entry.path) if reason and not folder.dotted else folder.dotted
            return replace(folder, path=entry.path, wanted=wanted, dotted=None if wanted else dotted)
        elif not is_folder and not entry.is_file(follow_symlinks=False):
            return Rejected(Path(entry.path), "not-regular")
        else:
            reason = reason or ("dotfile" if folder.dotted and not wanted else None)
            if reason is None or (not is_folder and entry.name.endswith(TRANSCRIPT_SUFFIXES)):
                return Found(Path(entry.path), named=False, root=folder.root, otherwise=reason)
        return None if folder.dotted else Omitted(Path(entry.path), reason)

    def _is_home(self, entry: os.DirEntry[str]) -> bool:
        return self.home is not None and _identity(entry.path) == self.home

    def _context(self, path: str) -> tuple[_Folder, list[Rejected]]:
        """Collect what the ignore files from the repository's root down say about a folder given by name."""
        root = repository_root(Path(path))
        folder = _Folder(path if root is None else str(root), root, wanted=True)
        failures: list[Rejected] = []
        while folder.path != path:
            folder, met = _with_rules(folder, (".git", GIT_RULES, OWN_RULES))
            failures += met
            below = path[len(folder.prefix) :].split(os.sep, 1)[0]
            next_path = folder.prefix + below
            folder = replace(folder.unless_ignored(next_path + os.sep), path=next_path)
        return folder, failures


def _with_rules(folder: _Folder, names: Collection[str]) -> tuple[_Folder, list[Rejected]]:
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
        git = added((), lambda: rules.excluded_by_git(path))
    if GIT_RULES in names:
        git = added(git, lambda: rules.rules_in(path, GIT_RULES))
    if OWN_RULES in names:
        own = added(own, lambda: rules.rules_in(path, OWN_RULES))
    return replace(folder, root=root, git=git, own=own), failures


def _spend(allowance: _Allowance, path: str, entries: int) -> Generator[Omitted, None, bool]:
    """Count a listed folder below a dot-folder; the value is whether it is one too many."""
    if path == allowance.folder:
        yield Omitted(Path(path), "dotfile")
    was_spent = allowance.entries < 0
    allowance.entries -= entries
    if allowance.entries < 0 and not was_spent:
        yield Omitted(Path(allowance.folder), "too-many-entries")
    return allowance.entries < 0


def _is_made_by_a_tool(path: str, names: Collection[str]) -> bool:
    if _VENV_MARK in names:
        return True
    if _CACHE_MARK not in names:
        return False
    try:
        return read_range(Path(path, _CACHE_MARK), 0, len(_CACHE_SIGNATURE)) == _CACHE_SIGNATURE
    except NotRead:
        return False


def _resolved(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        # It cannot be; the walk says so when it comes to it.
        return os.fspath(path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _not_there(given: Path, failure: OSError | ValueError) -> Rejected:
    if isinstance(failure, ValueError):
        return Rejected(given, "missing", str(failure))
    rejected = not_read(given, failure).rejected
    return replace(rejected, reason="missing") if rejected.reason == "vanished" else rejected


def _not_listed(path: str, failure: OSError) -> Rejected:
    rejected = not_read(Path(path), failure).rejected
    return replace(rejected, reason="unreadable-folder") if rejected.reason == "unreadable" else rejected
