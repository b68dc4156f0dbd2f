"""What an erasure shows before, and tells after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Concerned:
    """A source or memory that goes as a whole (`places` 0), or that loses something at so many places.

    `quoted` is how many passages of what is erased Chronofile quoted in it, and `turns` how many turns of a transcript
    lose something: no other turn does.
    """

    id: str
    uri: str
    places: int
    quoted: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Shared:
    """A content that stays, since other sources hold it too, named by their URIs."""

    content: str
    uris: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """What an erasure would do. `token` confirms exactly this."""

    token: str
    sources: tuple[Concerned, ...]
    contents: int
    tables: Mapping[str, int]
    """Rows that are derived from what goes, by table."""
    shared: tuple[Shared, ...]
    repeated: tuple[str, ...]
    """Sources, by their URIs, that say some of it in words of their own, and keep them."""
    files: tuple[str, ...]
    """Files on disk that the sources were read from; nothing touches them."""
    questions: int
    stays: tuple[str, ...]
    """What is left by intent, as sentences."""


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """The receipt of an erasure. It names what was erased by ids and keys alone.

    `verified`: a scan of every table found none of the erased texts and contents. `left` can be made up for by
    `chronofile erase --finish`, `impossible` cannot. `backups` are those that are known to hold it.
    """

    id: str
    time: str
    actor: str
    reason: str | None
    named: Mapping[str, tuple[str, ...]]
    sources: tuple[str, ...]
    whole: tuple[str, ...]
    """Those of the sources that go as a whole, by which an erasure that was stopped in the middle is carried on."""
    contents: int
    tables_before: Mapping[str, int]
    tables_after: Mapping[str, int]
    questions: int
    verified: bool
    found_in: tuple[str, ...]
    reclaimed_bytes: int
    left: tuple[str, ...]
    impossible: tuple[str, ...]
    backups: tuple[str, ...]
    repeated: tuple[str, ...]
    """Streams that say some of what went as a whole in words of their own, and keep them."""
    position: int
    state: str
    """`finished`, or `begun` where something is left to do."""
    finished: tuple[str, ...] = ()
    """Erasures that had been stopped in the middle before, and came to their end with this."""
