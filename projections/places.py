"""Places: what the projection of passages knows of a source, and where a file stands within its scope."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa

from chronofile.domain.codec import dumps
from chronofile.domain.identity import storable
from chronofile.domain.turns import State
from chronofile.projections import passages
from chronofile.projections.bulk import among

TOPIC_FOLDERS_MAX = 2
FILE = "file"


@dataclass(frozen=True, slots=True)
class Known:
    """A source; `turns` counts the ordinals given out, `hidden` says that what it captured last was undone.

    `uri_key` is the content that its URI is, which may be gone. `memory_kind` is what kind a memory is.
    """

    id: str
    kind: str
    scope: str
    uri_key: str
    uri: str
    session: str | None = None
    title: str | None = None
    memory_kind: str | None = None
    revision: int = 0
    fold_state: State | None = None
    turns: int = 0
    name: str = ""
    topic: str | None = None
    hidden: bool = False
    language: str | None = None
    kind_of_file: str | None = None

    @property
    def place(self) -> tuple[str, str, str | None]:
        return self.scope, self.name, self.topic

    def row(self) -> dict[str, Any]:
        fold_state = None if self.fold_state is None else dumps(dict(self.fold_state))
        return {name: getattr(self, name) for name in self.__slots__} | {"fold_state": fold_state}


def load(conn: sa.Connection, identifiers: Iterable[str]) -> dict[str, Known]:
    """Return what is known of sources, by id."""
    wanted = sorted(set(identifiers))
    rows = conn.execute(sa.select(passages.source).where(among(passages.source.c.id, wanted))).all()
    return {
        row.id: Known(**{**row._mapping, "fold_state": passages.state_of(row.fold_state)}) for row in rows
    }


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory belongs to a scope from a position on."""

    path: str
    scope: str
    recorded_from: int


class Directories:
    """The mapped directories, as of every position."""

    def __init__(self, found: Iterable[Directory] = ()) -> None:
        self._found = list(found)

    @classmethod
    def load(cls, conn: sa.Connection) -> Directories:
        columns = [passages.directory.c[name] for name in ("path", "scope", "recorded_from")]
        rows = conn.execute(sa.select(*columns).order_by(passages.directory.c.recorded_from))
        return cls(Directory(*row) for row in rows)

    def add(self, mapped: Directory) -> None:
        self._found.append(mapped)

    def placed(self, found: Known, position: int) -> Known:
        """Return a file with its name within its scope and its topic, the first folders of that name."""
        if found.kind != FILE:
            return found
        path = unquote(urlsplit(found.uri).path, errors="surrogateescape")
        roots = self._roots(found.scope, position)
        inside = [root for root in roots if path.startswith(root.rstrip("/") + "/")]
        name = path[len(max(inside, key=len).rstrip("/")) + 1 :] if inside else path.rpartition("/")[2]
        folders = name.split("/")[:-1] if inside else path.split("/")[-2:-1]
        topic = storable("/".join(folders[:TOPIC_FOLDERS_MAX])) or None
        return replace(found, name=storable(name) or "", topic=topic)

    def _roots(self, scope: str, position: int) -> Sequence[str]:
        scopes = {item.path: item.scope for item in self._found if item.recorded_from <= position}
        return [path for path, mapped in scopes.items() if mapped == scope]
