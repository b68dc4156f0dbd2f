"""Storages: the folders in which OpenCode keeps a session, its messages and their parts, each a small file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chronofile.domain.rejection import NotRead
from chronofile.ingest.reading import read

SUFFIX = ".json"
_RECORD_BYTES_MAX = 16 << 20
_SESSION, _MESSAGE, _PART, _INFO = "session", "message", "part", "info"


@dataclass(slots=True)
class Storage:
    """One storage: `sessions`, `messages` and `parts` are its folders.

    A session's file is `sessions/<project>/<id>.json`, a message's `messages/<session>/<id>.json` and a part's
    `parts/<message>/<id>.json`. In an `older` one the three are within `sessions`, which has `info` for a project,
    and the parts are in a folder for their session. What was found by reading is remembered, for one run.
    """

    base: Path
    prefix: str = ""
    older: bool = False
    _sessions: dict[str, Path] | None = None
    _messages: dict[str, str] | None = None
    _session_ids: dict[str, Path] | None = None
    _message_ids: dict[str, str] | None = None

    @classmethod
    def of_session(cls, path: Path) -> Storage | None:
        """Return the storage that a session's file is in, None where its folders are not called so."""
        above = path.parent.parent
        if path.suffix != SUFFIX or not above.name.endswith(_SESSION):
            return None
        older = path.parent.name == _INFO and (above / _MESSAGE).is_dir()
        return cls(above if older else above.parent, above.name[: -len(_SESSION)], older)

    @classmethod
    def of_part(cls, path: Path) -> Storage | None:
        """Return the storage that a message's or a part's file may be in."""
        for level, kind in ((1, _MESSAGE), (1, _PART), (2, _PART)):
            if len(path.parents) <= level + 1:
                continue
            folder = path.parents[level]
            if not folder.name.endswith(kind):
                continue
            above, prefix = folder.parent, folder.name[: -len(kind)]
            if level == 1 and (above / f"{prefix}{_SESSION}").is_dir():
                return cls(above, prefix)
            if above.name == _SESSION and (above / _INFO).is_dir():
                return cls(above, "", older=True)
        return None

    def messages(self, session: str, stem: str) -> list[Path]:
        """Return the files of a session's messages, which are in a folder with its id or its file's name."""
        return _first_files(self._folder(_MESSAGE), session, stem)

    def parts(self, message: Path, own: str) -> list[Path]:
        """Return the files of a message's parts."""
        folder = self._folder(_PART)
        return _first_files(folder / message.parent.name if self.older else folder, own, message.stem)

    def companions(self, session: Path) -> Iterator[os.stat_result]:
        """Yield how each file of a session's messages and parts looks, and the folders that they are in."""
        folder = _called(self._folder(_MESSAGE), session)
        parts = self._folder(_PART) / folder.name if self.older else self._folder(_PART)
        for name, status in _entries(folder):
            yield status
            yield from (status for _, status in _entries(_called(parts, folder / name)))

    def leader(self, path: Path) -> Path | None:
        """Return the file of the session that a message's or a part's file belongs to."""
        folder = path.parent.name
        if path.parents[1].name.endswith(_MESSAGE):
            return self._session(folder)
        if self.older:
            return self._session(path.parents[1].name)
        session = self._session_of(folder)
        return None if session is None else self._session(session)

    def _folder(self, kind: str) -> Path:
        return self.base / f"{self.prefix}{kind}"

    def _session(self, identifier: str) -> Path | None:
        if self._sessions is None:
            folder = self.base / _INFO if self.older else self._folder(_SESSION)
            found = folder.glob(f"*{SUFFIX}" if self.older else f"*/*{SUFFIX}")
            self._sessions = {path.stem: path for path in found}
        if identifier in self._sessions:
            return self._sessions[identifier]
        if self._session_ids is None:
            self._session_ids = {own: path for path in self._sessions.values() if (own := _id_in(path))}
        return self._session_ids.get(identifier)

    def _session_of(self, message: str) -> str | None:
        """Return the folder of the session that a message is in."""
        if self._messages is None:
            found = self._folder(_MESSAGE).glob(f"*/*{SUFFIX}")
            self._messages = {path.stem: path.parent.name for path in found}
        if message in self._messages:
            return self._messages[message]
        if self._message_ids is None:
            found = self._folder(_MESSAGE).glob(f"*/*{SUFFIX}")
            self._message_ids = {own: path.parent.name for path in found if (own := _id_in(path))}
        return self._message_ids.get(message)


@dataclass(slots=True)
class Storages:
    """The storages that were met in one run, so that each is listed once."""

    found: dict[tuple[Path, str], Storage] = field(default_factory=dict)

    def leader(self, path: Path) -> Path | None:
        """Return the session's file for that of a message or a part, None for every other file."""
        if path.suffix != SUFFIX:
            return None
        storage = Storage.of_part(path)
        if storage is None:
            return None
        return self.found.setdefault((storage.base, storage.prefix), storage).leader(path)


def _called(folder: Path, record: Path) -> Path:
    """Return the folder that is called as a record's file, which is mostly so; else the one called as its id."""
    there = folder / record.stem
    if there.is_dir() or (own := _id_in(record)) is None or not _is_name(own):
        return there
    return folder / own


def _first_files(folder: Path, *names: str) -> list[Path]:
    for name in filter(_is_name, names):
        if found := [folder / name / one for one, _ in _entries(folder / name) if one.endswith(SUFFIX)]:
            return found
    return []


def _is_name(text: str) -> bool:
    """Tell whether a text names something within a folder, and nothing elsewhere."""
    return text not in ("", ".", "..") and not set(text) & set("/\\\0")


def _entries(folder: Path) -> list[tuple[str, os.stat_result]]:
    """Return the regular files of a folder by name, and how they look; none where it cannot be listed."""
    found: list[tuple[str, os.stat_result]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    found.append((entry.name, entry.stat(follow_symlinks=False)))
    except OSError:
        return sorted(found, key=lambda one: one[0])
    return sorted(found, key=lambda one: one[0])


def _id_in(path: Path) -> str | None:
    """Return the id that a small file says it has."""
    try:
        record = json.loads(read(path, limit_bytes=_RECORD_BYTES_MAX).content)
    except (NotRead, ValueError, RecursionError):
        return None
    found = record.get("id") if isinstance(record, dict) else None
    return found if isinstance(found, str) and found else None
