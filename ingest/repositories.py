"""Repositories: at which commit and on which branch a file is captured, and whether it differs from that commit.

The commit and the branch are read from git's own files. Git itself is only asked what the commit holds, which never looks
at the working tree: no filter, hook or monitor that a repository's settings name is run, and nothing is locked or fetched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1, sha256
from pathlib import Path

from chronofile.domain.rejection import NotRead
from chronofile.ingest.reading import read

LIMIT_S = 1.0
"""A git that takes longer is not waited for, and is not asked about the same repository again in the run."""
ASKED_BYTES_MAX = 100_000
"""The names that one call of git is given."""
SMALL_BYTES_MAX, PACKED_BYTES_MAX = 4_096, 32 << 20
REFS_MAX = 5
"""So often a reference may name another one."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCHES = "refs/heads/"
_SETTINGS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "protocol.allow=never")
_REGULAR = (b"100644", b"100755", b"100664")
_ALTERING = ("filter", "working-tree-encoding", "ident")
"""Attributes by which a file differs from what the repository holds of it although git calls it unchanged."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Where a repository stood when one of its files was captured.

    `commit` is None before the first one, and where it cannot be read; `branch` is None too while none is checked out.
    `dirty`: the file differs from the commit, or is not in it; None where nobody could tell.
    """

    commit: str | None
    branch: str | None
    dirty: bool | None


@dataclass(frozen=True, slots=True)
class Head:
    """What is checked out. Without a commit, `is_unborn` says that there is none yet."""

    commit: str | None
    branch: str | None
    is_unborn: bool = False


class Repositories:
    """Gives facts for the files of one run; `git` is the program's path, None where it is not installed."""

    def __init__(self, git: str | None = None, limit_s: float = LIMIT_S) -> None:
        self._git, self._limit_s = git, limit_s
        self._silent: set[Path] = set()

    @classmethod
    def with_installed_git(cls) -> Repositories:
        return cls(shutil.which("git"))

    def facts(self, root: Path, files: Mapping[Path, bytes]) -> dict[Path, Facts]:
        """Return the facts for files of the repository at `root`, given with the bytes that are captured of them.

        Nothing where there is no repository after all. Nothing raises.
        """
        head = self._head(root)
        if head is None:
            return {}
        if head.commit is None:
            dirty = True if head.is_unborn else None
            return dict.fromkeys(files, Facts(None, head.branch, dirty))
        dirty_files = self._dirty(root, head.commit, files)
        return {path: Facts(head.commit, head.branch, dirty_files.get(path)) for path in files}

    def _head(self, root: Path) -> Head | None:
        try:
            own, common = git_folders(root)
            if (common / "reftable").is_dir():
                return self._asked_head(root)
            return head_of(own, common)
        except (NotRead, OSError, ValueError):
            return None

    def _asked_head(self, root: Path) -> Head | None:
        told = self._ask(root, "rev-parse", "--verify", "--quiet", "HEAD", "--symbolic-full-name", "HEAD")
        lines = os.fsdecode(told or b"").split("\n")
        if len(lines) < 2 or not _COMMIT.fullmatch(lines[0]):
            return None
        return Head(lines[0], None if lines[1] == "HEAD" else _short(lines[1]))

    def _dirty(self, root: Path, commit: str, files: Mapping[Path, bytes]) -> dict[Path, bool | None]:
        """Tell of each file whether it is other than in the commit, as far as git can be asked."""
        names = {os.fsencode(path.relative_to(root)): path for path in files if path.is_relative_to(root)}
        held: dict[bytes, tuple[bytes, str]] = {}
        for some in _chunks(list(names)):
            told = self._ask(root, "ls-tree", "-z", "--full-tree", commit, "--", *some)
            if told is None:
                return {}
            held.update(_entries(told))
        found: dict[Path, bool | None] = {
            path: name not in held or not _is_held(files[path], *held[name]) for name, path in names.items()
        }
        changed = [name for name, path in names.items() if found[path] and name in held]
        for name in self._altered(root, changed):
            found[names[name]] = None
        return found

    def _altered(self, root: Path, changed: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the files that git alters on their way into the repository, so that nobody else can compare them."""
        for some in _chunks(changed):
            told = self._ask(root, "check-attr", "-z", *_ALTERING, "--", *some) or b""
            fields = told.split(b"\0")
            for name, said in zip(fields[::3], fields[2::3], strict=False):
                if name in some and said not in (b"unspecified", b"unset"):
                    yield name

    def _ask(self, root: Path, *words: str | bytes) -> bytes | None:
        """Return what git says; None where it is not there, refuses, fails or takes too long."""
        if self._git is None or root in self._silent:
            return None
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        try:
            done = subprocess.run(
                [self._git, "--literal-pathspecs", *settings, "-C", root, *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(root),
                timeout=self._limit_s,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            self._silent.add(root)
            return None
        if done.returncode:
            self._silent.add(root)
            return None
        return done.stdout


def git_folders(root: Path) -> tuple[Path, Path]:
    """Return a repository's own folder of git, and the one that it shares with its worktrees.

    In a worktree or a submodule `.git` is a file that names the first, and `commondir` in it the second. Raises NotRead.
    """
    git = root / ".git"
    if not git.is_file():
        return git, git
    own = root / _first_line(git).removeprefix("gitdir:").strip()
    common = own / "commondir"
    return own, own / _first_line(common) if common.is_file() else own


def head_of(own: Path, common: Path) -> Head | None:
    """Return what is checked out as git's own files say; None where there is no repository. Raises NotRead, OSError."""
    head = own / "HEAD"
    if head.is_symlink():  # As very old versions of git wrote it.
        named = f"ref: {head.readlink()}"
    elif head.is_file():
        named = _first_line(head)
    else:
        return None
    if _COMMIT.fullmatch(named):
        return Head(named, None)
    ref = named.removeprefix("ref:").strip()
    if ref == named or not _is_ref(ref):
        return None
    branch = _short(ref)
    for _ in range(REFS_MAX):
        said = _resolved(ref, own, common)
        if said is None:
            return Head(None, branch, is_unborn=True)
        if _COMMIT.fullmatch(said):
            return Head(said, branch)
        ref = said.removeprefix("ref:").strip()
        if ref == said or not _is_ref(ref):
            break
    return Head(None, branch)


def _resolved(ref: str, own: Path, common: Path) -> str | None:
    """Return what a reference says, None where there is no such one."""
    for folder in dict.fromkeys((own, common)):
        if (folder / ref).is_file():
            return _first_line(folder / ref)
    packed = common / "packed-refs"
    if not packed.is_file():
        return None
    content = read(packed, limit_bytes=PACKED_BYTES_MAX).content
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(os.fsencode(ref)) + rb"\r?$", content, re.MULTILINE)
    return None if found is None else found[1].decode("ascii")


def _is_ref(ref: str) -> bool:
    return ref.startswith("refs/") and ".." not in ref and "\0" not in ref


def _short(ref: str) -> str:
    return ref.removeprefix(_BRANCHES)


def _first_line(path: Path) -> str:
    content = read(path, limit_bytes=SMALL_BYTES_MAX).content
    return os.fsdecode(content.split(b"\n", 1)[0]).strip()


def _entries(told: bytes) -> Iterator[tuple[bytes, tuple[bytes, str]]]:
    """Yield what `ls-tree -z` lists: each name with its mode and the id of what it holds."""
    for entry in told.split(b"\0"):
        what, _, name = entry.partition(b"\t")
        words = what.split(b" ")
        if len(words) >= 3:
            yield name, (words[0], words[2].decode("ascii", "replace"))


def _is_held(content: bytes, mode: bytes, identifier: str) -> bool:
    """Tell whether a blob is these bytes, also where git turned its line ends into those of Windows."""
    if mode not in _REGULAR:
        return False
    return identifier in (_blob(content, identifier), _blob(content.replace(b"\r\n", b"\n"), identifier))


def _blob(content: bytes, like: str) -> str:
    """Return the id that bytes have in a repository, which counts by SHA-1 or by SHA-256."""
    hashed = sha1 if len(like) == 40 else sha256
    return hashed(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _chunks(names: Sequence[bytes]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    size = 0
    for name in names:
        if some and size + len(name) > ASKED_BYTES_MAX:
            yield some
            some, size = [], 0
        some.append(name)
        size += len(name) + 1
    if some:
        yield some


def _environment(root: Path) -> dict[str, str]:
    """Return our environment without what would tell git of another repository; it may not ask, lock or fetch.

    A repository that is broken is not looked for further up.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CEILING_DIRECTORIES": os.fspath(root.parent),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
    }
