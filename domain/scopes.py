"""Scopes: what a boundary of memory may be called, and which one a path belongs to by its directory alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

GLOBAL = "global"
ALL = "all"
"""Not a scope: it asks for every one."""
NAME_CHARS_MAX = 200
"""A name is part of a stream's id and of other keys, which have to fit into an index."""

_PROJECT = "project:"
_NUMBER_CHARS_MAX = 12
_UNSUITABLE = re.compile(r"[^\w.-]+")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_scope_name(name: str) -> bool:
    """Tell whether a scope can be called so: one line of at most 200 characters, not blank and not `all`."""
    is_said = bool(name.strip()) and name.strip() != ALL
    return is_said and len(name) <= NAME_CHARS_MAX and not _UNPRINTABLE.search(name)


def scope_of(directory: str, mapped: Mapping[str, str]) -> str | None:
    """Return the scope of the longest mapped directory at or above `directory`, None when there is none."""
    while True:
        if directory in mapped:
            return mapped[directory]
        parent = directory.rpartition("/")[0]
        if not parent or parent == directory:
            return mapped.get("/")
        directory = parent


def project_scope(root: str, taken: Collection[str]) -> str:
    """Return a new scope's name for a repository's root: its folder's name, numbered where that is taken."""
    name = _UNSUITABLE.sub("-", root.rstrip("/").rpartition("/")[2]).strip("-.") or "root"
    name = name[: NAME_CHARS_MAX - len(_PROJECT) - _NUMBER_CHARS_MAX]
    candidate, number = f"{_PROJECT}{name}", 1
    while candidate in taken:
        number += 1
        candidate = f"{_PROJECT}{name}-{number}"
    return candidate
