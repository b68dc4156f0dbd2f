"""Kept contents: whether each content that an event names is in the store and is what its key says."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import sqlalchemy as sa
import zstandard

from chronofile.domain.events import (
    CaptureRejected,
    ContentKey,
    DirectoryMapped,
    Event,
    MemoryCorrected,
    MemoryForgotten,
    MemoryRemembered,
    RevisionCaptured,
    SourceMoved,
    SourceRegistered,
)
from chronofile.infra.contents import ContentStore

Fault = Literal["content-missing", "content-changed"]


@dataclass(slots=True)
class KeptContents:
    """Reads contents and looks at each; `erased` are the keys of those that are rightly gone.

    `faults` hold what is wrong with each that is not as it should be. `read` and `read_bytes` count what was.
    """

    conn: sa.Connection
    contents: ContentStore
    erased: Collection[ContentKey]
    faults: dict[ContentKey, Fault] = field(default_factory=dict)
    read: int = 0
    read_bytes: int = 0

    def one(self, key: ContentKey) -> bytes | None:
        """Return a content, None where there is none or it cannot be read."""
        return self.several([key]).get(key)

    def several(self, keys: Collection[ContentKey]) -> dict[ContentKey, bytes]:
        """Return the contents that are there and can be read, by key."""
        wanted = list(dict.fromkeys(keys))
        found = dict(self._readable(wanted))
        for key in wanted:
            if key in found and self.contents.key(found[key]) != key:
                self.faults[key] = "content-changed"
            elif key not in found and key not in self.erased:
                self.faults.setdefault(key, "content-missing")
        self.read += len(found)
        self.read_bytes += sum(map(len, found.values()))
        return found

    def _readable(self, keys: Collection[ContentKey]) -> Iterator[tuple[ContentKey, bytes]]:
        try:
            yield from self.contents.read(self.conn, list(keys)).items()
        except (zstandard.ZstdError, MemoryError):
            # One of them cannot be unpacked: each is read by itself, to see which.
            if len(keys) == 1:
                self.faults[next(iter(keys))] = "content-changed"
                return
            for key in keys:
                yield from self._readable([key])


def texts_of(events: Iterable[Event]) -> set[ContentKey]:
    """Return the keys of the texts that events name: all contents but those of revisions."""
    found: set[ContentKey | None] = set()
    for event in events:
        match event:
            case SourceRegistered(key=key, uri=uri):
                found |= {key, uri}
            case SourceMoved(key=key, uri=uri, file=file):
                found |= {key, uri, file}
            case RevisionCaptured(file=file) | CaptureRejected(file=file):
                found.add(file)
            case MemoryRemembered(text=text) | MemoryCorrected(text=text):
                found.add(text)
            case MemoryForgotten(reason=reason):
                found.add(reason)
            case DirectoryMapped(directory=directory):
                found.add(directory)
            case _:
                pass
    return {key for key in found if key is not None}


def named(faults: Mapping[ContentKey, Fault], keys: Collection[ContentKey]) -> dict[Fault, list[ContentKey]]:
    """Return those of the keys that have a fault, by fault."""
    found: dict[Fault, list[ContentKey]] = {}
    for key in sorted(keys):
        if key in faults:
            found.setdefault(faults[key], []).append(key)
    return found
