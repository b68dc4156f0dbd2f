"""Scanning: which files below the given paths are to be captured, and what is left out and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from chronofile.domain.rejection import NotRead, OmissionReason, Omitted, Rejected
from chronofile.ingest import rules
from chronofile.ingest.aims import Aims
from chronofile.ingest.archives.companions import PARTS, Companions
from chronofile.ingest.reading import not_read, read_range
from chronofile.ingest.selections import Selected, Within
from chronofile.ingest.walked import GIT_RULES, OWN_RULES, Allowance, Folder, with_rules

TRANSCRIPT_SUFFIXES = (".jsonl", ".ndjson")
"""Names that a transcript may have where only transcripts are taken; the content decides."""
TRANSCRIPT_NAMES = frozenset({".aider.chat.history.md"})
"""Hidden files in a project that are transcripts; their tool writes them into `.gitignore` by itself."""

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
    around: Path | None = None
    """The outermost repository that the walk came through, where that is another one: it holds a submodule."""


Scanned = Found | Omitted | Rejected


def scan(
    paths: Sequence[Path],
    *,
    home: Path,
    only: Collection[Path] | None = None,
    selected: Selected = MappingProxyType({}),
) -> Iterator[Scanned]:
    """Walk the given files and folders, each once, in the order of their names.

    Paths come out absolute and without links: a link that is given is resolved, one that is met is omitted.
    Nothing is opened but ignore files. A folder that cannot be listed is rejected and the walk goes on.

    With `only`, absolute paths without links, the walk goes from each given path down to these and to all that
    is below them, and judges what it meets as it always does; what is not there yields nothing. Only the
    allowance of a dot-folder may reach further than that of a whole walk, since less of it is looked at.

    Of a folder that is `selected`, only the selected files are taken, whatever they are called; of the rules only our
    own hold there.
    """
    parts = Companions()
    given = {_resolved(path): path for path in parts.leading(reversed(paths))}
    within = {_resolved(path): Within(_resolved(path), selection) for path, selection in selected.items()}
    wanted = None if only is None else frozenset(parts.leading(only))
    excludes = rules.excluded_by_user(os.environ)
    walk = _Walk(
        frozenset(given), _identity(os.fspath(home)), set(), Aims.of(wanted), within, parts, excludes
    )
    for path in sorted(given, key=lambda path: Path(path).parts):
        if path not in walk.seen and walk.aims.leads_to(path):
            yield from walk.from_name(path, given[path])


def repository_root(folder: Path) -> Path | None:
    """Return the nearest folder at or above that holds a repository, None where there is none."""
    return next((above for above in (folder, *folder.parents) if os.path.lexists(above / ".git")), None)


@dataclass(frozen=True, slots=True)
class _Walk:
    named: frozenset[str]
    home: tuple[int, int] | None
    seen: set[str]
    """The folders that were listed and the named files that were found."""
    aims: Aims
    within: Mapping[str, Within]
    parts: Companions
    excludes: bytes
    """What the user has git ignore everywhere."""

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
            whole, within = self.aims.hold_above(path), self.within.get(path)
            yield from self._below(replace(folder, whole=whole, within=within))
        elif not self.aims.hold_above(path):
            return  # What is wanted was below it when it was a folder.
        elif stat.S_ISREG(mode):
            yield Found(Path(path), named=True, root=repository_root(Path(path).parent))
        else:
            yield Rejected(given, "not-regular")

    def _below(self, folder: Folder) -> Iterator[Scanned]:
        """Walk depth first, on a stack of our own: folders may be nested deeper than Python calls."""
        stack = [self._entries(folder)]
        while stack:
            item = next(stack[-1], None)
            if item is None:
                stack.pop()
            elif isinstance(item, Folder):
                stack.append(self._entries(item))
            else:
                yield item

    def _entries(self, folder: Folder) -> Iterator[Scanned | Folder]:
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
        folder, failures = with_rules(folder, names)
        yield from failures
        for entry in entries:
            whole = folder.whole or self.aims.holds(entry.path)
            try:
                if not whole and not (entry.path in self.aims.ways and entry.is_dir(follow_symlinks=False)):
                    continue
                item = self._named(folder, entry) if entry.path in self.named else self._met(folder, entry)
            except OSError as failure:
                item = not_read(Path(entry.path), failure).rejected
            if isinstance(item, Folder):
                yield replace(item, whole=whole)
            elif item is not None:
                yield item

    def _named(self, folder: Folder, entry: os.DirEntry[str]) -> Scanned | Folder:
        """Take what was met on the walk and was also given by name."""
        if not entry.is_dir(follow_symlinks=False):
            self.seen.add(entry.path)
            regular = entry.is_file(follow_symlinks=False)
            path = Path(entry.path)
            return Found(path, named=True, root=folder.root) if regular else Rejected(path, "not-regular")
        if self._is_home(entry):
            return Omitted(Path(entry.path), "home")
        return replace(
            folder.unless_ignored(entry.path + os.sep),
            path=entry.path,
            wanted=True,
            dotted=None,
            within=self.within.get(entry.path),
        )

    def _met(self, folder: Folder, entry: os.DirEntry[str]) -> Scanned | Folder | None:
        """Judge an entry by the rules; None for what an omitted dot-folder stands for."""
        if folder.within is not None:
            return self._selected(folder, folder.within, entry)
        is_folder = entry.is_dir(follow_symlinks=False)
        ignored, own = folder.verdicts(entry.path + os.sep if is_folder else entry.path)
        wanted = own is False
        reason = None if wanted else rules.default_omission(entry.name, is_folder=is_folder)
        if is_folder and self._is_home(entry):
            return Omitted(Path(entry.path), "home")
        if entry.is_symlink():
            reason = "symlink"
        elif ignored and not (own is None and entry.name in TRANSCRIPT_NAMES):
            reason = "ignored"
        elif is_folder and reason != "tool-folder":
            dotted = Allowance(entry.path) if reason and not folder.dotted else folder.dotted
            return replace(folder, path=entry.path, wanted=wanted, dotted=None if wanted else dotted)
        elif not is_folder and not entry.is_file(follow_symlinks=False):
            return Rejected(Path(entry.path), "not-regular")
        else:
            reason = reason or ("dotfile" if folder.dotted and not wanted else None)
            if reason is None and entry.name.endswith(PARTS) and self.parts.leader(Path(entry.path)):
                reason = "part-of-conversation"
            if reason is None or (not is_folder and _may_be_transcript(entry.name)):
                return _found(folder, entry.path, reason)
        return None if folder.dotted else Omitted(Path(entry.path), reason)

    def _selected(self, folder: Folder, within: Within, entry: os.DirEntry[str]) -> Scanned | Folder:
        """Judge an entry of a folder of which only selected files are wanted."""
        is_folder = entry.is_dir(follow_symlinks=False)
        if not within.wants(entry.path, is_folder=is_folder or entry.is_symlink()):
            return Omitted(Path(entry.path), "beside-conversations")
        if is_folder and self._is_home(entry):
            return Omitted(Path(entry.path), "home")
        if entry.is_symlink():
            return Omitted(Path(entry.path), "symlink")
        if rules.verdict(folder.own, entry.path + os.sep if is_folder else entry.path):
            return Omitted(Path(entry.path), "ignored")
        if is_folder:
            return replace(folder, path=entry.path, wanted=True)
        if not entry.is_file(follow_symlinks=False):
            return Rejected(Path(entry.path), "not-regular")
        return _found(folder, entry.path)

    def _is_home(self, entry: os.DirEntry[str]) -> bool:
        return self.home is not None and _identity(entry.path) == self.home

    def _context(self, path: str) -> tuple[Folder, list[Rejected]]:
        """Collect what the ignore files from the repository's root down say about a folder given by name."""
        root = repository_root(Path(path))
        start = path if root is None else str(root)
        folder = Folder(start, root, wanted=True, excludes=self.excludes)
        failures: list[Rejected] = []
        while folder.path != path:
            folder, met = with_rules(folder, (".git", GIT_RULES, OWN_RULES))
            failures += met
            below = path[len(folder.prefix) :].split(os.sep, 1)[0]
            next_path = folder.prefix + below
            folder = replace(folder.unless_ignored(next_path + os.sep), path=next_path)
        return folder, failures


def _found(folder: Folder, path: str, otherwise: OmissionReason | None = None) -> Found:
    """Return a file that was met in a folder."""
    around = None if folder.around == folder.root else folder.around
    return Found(Path(path), named=False, root=folder.root, otherwise=otherwise, around=around)


def _spend(allowance: Allowance, path: str, entries: int) -> Generator[Omitted, None, bool]:
    """Count a listed folder below a dot-folder; the value is whether it is one too many."""
    if path == allowance.folder:
        yield Omitted(Path(path), "dotfile")
    was_spent = allowance.entries < 0
    allowance.entries -= entries
    if allowance.entries < 0 and not was_spent:
        yield Omitted(Path(allowance.folder), "too-many-entries")
    return allowance.entries < 0


def _may_be_transcript(name: str) -> bool:
    return name.endswith(TRANSCRIPT_SUFFIXES) or name in TRANSCRIPT_NAMES


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
