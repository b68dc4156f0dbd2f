"""Scopes: which boundary of memory a path belongs to, decided by its directory alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

GLOBAL = "global"
ALL = "all"

_UNSUITABLE = re.compile(r"[^\w.-]+")


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
    candidate, number = f"project:{name}", 1
    while candidate in taken:
        number += 1
        candidate = f"project:{name}-{number}"
    return candidate
