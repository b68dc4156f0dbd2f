"""Ignore rules: what `.gitignore`, git's `info/exclude` and `.chronofileignore` say about a path.

A folder's verdict has to be asked before its entries': what git calls "not possible to re-include a file
if a parent directory of it is excluded" follows from not going into folders that are ignored.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from chronofile.domain.rejection import NotRead, OmissionReason
from chronofile.ingest.reading import read
from chronofile.ingest.repositories import git_folders

RULES_BYTES_MAX = 1 << 20

# fmt: off
LOCK_FILES = frozenset([
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb",
    "deno.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "uv.lock", "pixi.lock", "pylock.toml",
    "conda-lock.yml", "Cargo.lock", "Gemfile.lock", "gems.locked", "composer.lock", "go.sum", "go.work.sum",
    "flake.lock", "mix.lock", "rebar.lock", "pubspec.lock", "Podfile.lock", "Package.resolved",
    "Cartfile.resolved", "packages.lock.json", "paket.lock", "gradle.lockfile", "buildscript-gradle.lockfile",
    "Chart.lock", "MODULE.bazel.lock", "stack.yaml.lock", "renv.lock", "shard.lock",
])
TOOL_FOLDERS = frozenset([
    ".git", ".hg", ".svn", ".bzr", ".jj", "CVS", "node_modules", "bower_components", "__pycache__",
    "__pypackages__", ".venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    ".hypothesis", ".ipynb_checkpoints", ".cache", ".npm", ".yarn", ".pnpm-store", ".parcel-cache", ".turbo",
    ".next", ".nuxt", ".svelte-kit", ".angular", ".gradle", ".m2", ".cargo", ".rustup", ".terraform",
    ".direnv", ".bundle", ".Trash",
])
# fmt: on

_ITSELF_OR_BELOW = "(?:(?P<ps_d>/)|$)"
_ITSELF = r"/?\Z"
_A_FOLDER = r"(?=(?s:.*)/\Z)"


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one ignore file. `prefix` is its folder with a slash at the end.

    All patterns are one regular expression, the last first, so that the first that matches decides;
    `ignores` tells for each of its groups what the pattern means.
    """

    prefix: str
    pattern: re.Pattern[str]
    ignores: tuple[bool, ...]

    def verdict(self, path: str) -> bool | None:
        """Return True where the path is ignored, False where it is taken in again, None where nothing is said.

        `path` is absolute, below the prefix, and ends with a slash if it is a folder. Only the path itself
        is judged, not the folders that lead to it.
        """
        match = self.pattern.match(path[len(self.prefix) :])
        return None if match is None else self.ignores[(match.lastindex or 1) - 1]


def verdict(chain: Sequence[Rules], path: str) -> bool | None:
    """Return what the deepest of the ignore files that speaks about the path says; outermost first."""
    for rules in reversed(chain):
        said = rules.verdict(path)
        if said is not None:
            return said
    return None


def default_omission(name: str, *, is_folder: bool) -> OmissionReason | None:
    """Return why something of this name is left out where no rule of our own takes it in."""
    if is_folder and name in TOOL_FOLDERS:
        return "tool-folder"
    if not is_folder and name in LOCK_FILES:
        return "lock-file"
    return "dotfile" if name.startswith(".") else None


def parse(content: bytes, prefix: str) -> Rules | None:
    """Return the rules of an ignore file's bytes, None where it has none. A pattern that git cannot read is void."""
    lines = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n")
    exact = [pattern for line in reversed(lines) if (pattern := _exact(line.removesuffix("\r")))]
    compiled = _alternatives([regex for regex, _ in exact])
    if compiled is None:
        exact = [pattern for pattern in exact if _alternatives([pattern[0]])]
        compiled = _alternatives([regex for regex, _ in exact])
    if not exact or compiled is None:
        return None
    return Rules(prefix, compiled, tuple(ignored for _, ignored in exact))


def rules_in(folder: str, name: str) -> Rules | None:
    """Return the rules of the ignore file in a folder, None where it is absent or empty.

    Raises NotRead where it is there and cannot be read.
    """
    path = Path(folder, name)
    try:
        content = read(path, limit_bytes=RULES_BYTES_MAX).content
    except NotRead as failure:
        if failure.reason == "vanished":
            return None
        raise
    return parse(content, folder.rstrip("/") + "/")


def excluded_by_git(root: str) -> Rules | None:
    """Return the rules of `info/exclude` of the repository at `root`; raises NotRead as `rules_in` does."""
    _, common = git_folders(Path(root))
    rules = rules_in(str(common), "info/exclude")
    return None if rules is None else Rules(root.rstrip("/") + "/", rules.pattern, rules.ignores)


def excluded_by_user(environment: Mapping[str, str]) -> bytes:
    """Return what the user has git ignore in every repository, nothing where that cannot be read.

    It is in the file that `core.excludesFile` of the user's settings names, else in git's own place for it.
    """
    home = environment.get("HOME")
    settings = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)
    named = f"{settings}/git/ignore" if settings else None
    files = [f"{settings}/git/config" if settings else None, f"{home}/.gitconfig" if home else None]
    for path in [environment["GIT_CONFIG_GLOBAL"]] if "GIT_CONFIG_GLOBAL" in environment else files:
        said = _EXCLUDES_FILE.findall(_content(path))
        named = _expanded(os.fsdecode(said[-1]), home) if said else named
    return _content(named)


# Of the section `core`, which ends where another begins, the value of one setting.
_EXCLUDES_FILE = re.compile(
    rb'(?ims)^[ \t]*\[core\](?:(?!^[ \t]*\[).)*?^[ \t]*excludesfile[ \t]*=[ \t]*"?([^"\r\n]*?)"?[ \t]*$'
)


def _content(path: str | None) -> bytes:
    """Return what is in a file of the user's settings; one that cannot be read says nothing."""
    if path is None:
        return b""
    try:
        return read(Path(os.path.realpath(path)), limit_bytes=RULES_BYTES_MAX).content
    except NotRead:
        return b""


def _expanded(path: str, home: str | None) -> str | None:
    if not path.startswith("~/"):
        return path or None
    return f"{home}{path[1:]}" if home else None


def _exact(line: str) -> tuple[str, bool] | None:
    """Translate one line into an expression for the path itself, and whether it ignores.

    The library's expressions also match whatever lies below a path that matches. In a walk that asks for
    each folder on the way this would let a rule about a folder outvote another about a file in it.
    """
    line = line if line.endswith("\\ ") else line.rstrip()
    folders_only = len(line) > 1 and line.endswith("/")
    try:
        regex, ignored = GitIgnoreSpecPattern.pattern_to_regex(line[:-1] if folders_only else line)
    except ValueError:
        return None
    if regex is None or ignored is None:
        return None
    if regex.endswith(_ITSELF_OR_BELOW):
        regex = regex.removesuffix(_ITSELF_OR_BELOW) + _ITSELF
    elif regex == "/":
        regex = "(?s:.*/.)"
    elif regex.endswith("/"):
        regex += "(?s:.)"
    return (_A_FOLDER if folders_only else "") + regex, ignored


def _alternatives(regexes: Sequence[str]) -> re.Pattern[str] | None:
    """Return one expression whose last group that took part is the number of the first alternative that matches."""
    with warnings.catch_warnings():
        # A set such as [[:digit:]] is legal in git, and Python only warns of what it may mean one day.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return re.compile("|".join(f"(?:{regex})()" for regex in regexes))
        except re.error:
            return None
