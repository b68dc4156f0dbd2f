"""The plan: which events a group of sightings comes to, decided against what the log holds now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from chronofile.domain.envelope import Addition
from chronofile.domain.rejection import Rejected, RejectionReason
from chronofile.domain.scopes import GLOBAL
from chronofile.domain.sources import Source
from chronofile.ingest.former import Rewritten
from chronofile.ingest.known import ERASED, KnownFile, Name, captured_but, unsettled
from chronofile.ingest.repositories import Facts
from chronofile.ingest.sighting import Bytes, HeldBytes, Looked, Sighting, uri_of

Ranges = Sequence[tuple[int, int, str]]
"""The ranges that make up what a source holds now: start, end and content key of each."""


@dataclass(frozen=True, slots=True)
class Item:
    """One sighting of a group, and how far it is: `source` once it is known, `open` while ranges are left.

    `named`: its file was given by name and holds nothing else. `is_lost`: its file changed under our hands, so that nothing can be said
    of it now. `is_erased`: it was erased and is not captured again. `refused`: why a document was not captured.
    """

    sighting: Sighting
    scope: str
    rejected: tuple[str, str] | None
    source: str | None = None
    content: str | None = None
    open: bool = True
    named: bool = False
    is_lost: bool = False
    is_erased: bool = False
    is_older: bool = False
    """Whether it is captured already in a later state."""
    refused: RejectionReason | None = None
    facts: Facts | None = None
    """What the repository said of a file in it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A group of files, the sightings in them, and the paths that sources left behind.

    `wanted` is the scope that was asked for.
    """

    group: Sequence[Looked]
    items: Sequence[Item]
    before: Mapping[Path, KnownFile]
    wanted: str | None = None
    left_behind: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        group: Sequence[Looked],
        sightings: Sequence[Sighting],
        scopes: Sequence[str],
        before: Mapping[Path, KnownFile],
        wanted: str | None,
        facts: Mapping[Path, Facts],
    ) -> Plan:
        rejections = {
            looked.found.path: (looked.rejected.reason, looked.rejected_state)
            for looked in group
            if looked.rejected is not None and looked.rejected_state is not None
        }
        named = {looked.found.path for looked in group if looked.found.named and _is_alone(looked)}
        items = [
            Item(
                sighting,
                scope,
                rejections.get(sighting.path),
                named=sighting.path in named,
                facts=facts.get(sighting.path) if sighting.kind == "file" else None,
            )
            for sighting, scope in zip(sightings, scopes, strict=True)
        ]
        return cls(group, _merged(items), before, wanted)

    @property
    def open(self) -> list[Item]:
        return [item for item in self.items if item.open]

    @property
    def files(self) -> Iterator[KnownFile]:
        """Yield the group's files as they are to be remembered."""
        by_path: dict[Path, list[Item]] = {}
        for item in self.items:
            by_path.setdefault(item.sighting.path, []).append(item)
        for looked in self.group:
            found = by_path.get(looked.found.path, [])
            count = looked.sources_before + len(found) - self._counted_before(looked)
            is_anything = count or looked.left_out
            if looked.is_last and is_anything and not any(item.is_lost for item in found):
                one = found[0] if count == 1 else None
                all_are_erased = count == sum(item.is_erased for item in found)
                yield KnownFile(
                    path=looked.found.path,
                    root=looked.found.root,
                    scope=self._scope(looked, one),
                    source=one.source if one else None,
                    sources=count,
                    content=one.content if one else None,
                    fingerprint=looked.fingerprint if looked.is_told else unsettled(looked.fingerprint),
                    outcome=ERASED if found and all_are_erased else _outcome(looked, found),
                )

    def _scope(self, looked: Looked, one: Item | None) -> str:
        """Return the scope to be remembered of a file: that of the source that it is, else the one that was named.

        It is empty where the conversations in a file have scopes of their own.
        """
        if one is not None and looked.rejected is None and one.sighting.uri == uri_of(looked.found.path):
            return one.scope if not one.sighting.scope else self.wanted or GLOBAL
        before = self.before.get(looked.found.path)
        return self.wanted or (before.scope if before is not None else "")

    @property
    def older(self) -> Counter[Path]:
        """Return how many conversations of each file are captured already in a later state."""
        return Counter(item.sighting.path for item in self.items if item.is_older)

    def _counted_before(self, last: Looked) -> int:
        """Return how many of the sources before a file's last part are in parts of this very group."""
        earlier = [one for one in self.group if one.found.path == last.found.path and not one.is_last]
        return sum(len(one.sightings) for one in earlier)

    @property
    def captured(self) -> dict[Path, Bytes]:
        """Return what is captured by now of each transcript that has its file for itself."""
        return {
            item.sighting.path: item.sighting.content
            for item in self.items
            if item.sighting.growing
            and item.sighting.uri == uri_of(item.sighting.path)
            and not (item.open or item.is_lost or item.is_erased)
        }


@dataclass(slots=True)
class Planned:
    """What one append is to bring, and what is left of the plan after it."""

    rest: Plan
    additions: list[Addition] = field(default_factory=list)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    names: list[Name] = field(default_factory=list)
    standing: Mapping[str, tuple[Source, Ranges]] = field(default_factory=dict)
    """The sources that the append changes, as they stand after it."""
    rejected: list[Rejected] = field(default_factory=list)
    revised: set[str] = field(default_factory=set)
    revisions: int = 0
    unchanged: int = 0
    older: int = 0
    """Conversations that are captured already in a later state."""
    moved: int = 0
    redactions: Counter[str] = field(default_factory=Counter)
    originals: frozenset[str] = frozenset()
    """Keys of the ranges that are new, as they stand in their files."""
    rewritten: Sequence[Rewritten] = ()
    taken_back: frozenset[str] = frozenset()
    """Sources, and contents by their keys, that were erased and asked for by name."""


def _is_alone(looked: Looked) -> bool:
    """Tell whether a file holds one source and nothing else."""
    is_all = looked.is_last and not looked.sources_before
    return is_all and len({sighting.key for sighting in looked.sightings}) == 1


def _merged(items: Sequence[Item]) -> list[Item]:
    """Make one of a file's items that are the same source: lines that name a scope, and lines that do not."""

    def name(item: Item) -> tuple[Path, str, str]:
        return item.sighting.path, item.scope, item.sighting.key

    found: dict[tuple[Path, str, str], list[Item]] = {}
    for item in items:
        found.setdefault(name(item), []).append(item)
    return [same[0] if len(same) == 1 else _joined(same) for same in found.values()]


def _joined(items: Sequence[Item]) -> Item:
    contents = [item.sighting.content for item in items]
    joined = HeldBytes(b"".join(content.range(0, content.size) for content in contents))
    return replace(items[0], sighting=replace(items[0].sighting, content=joined))


def _outcome(looked: Looked, items: Sequence[Item]) -> str:
    if (refused := next((item.refused for item in items if item.refused), None)) is not None:
        return refused
    if looked.rejected is not None and looked.rejected_state is not None:
        return looked.rejected.reason
    return captured_but(Counter(one.reason for one in looked.left_out) if looked.is_archive else {})
