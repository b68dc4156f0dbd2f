"""The plan: which events a group of sightings comes to, decided against what the log holds now."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from chronofile.domain import sources, streams
from chronofile.domain.envelope import Addition
from chronofile.domain.events import Event, RevisionCaptured, SourceMoved
from chronofile.domain.identity import source_id
from chronofile.domain.ports import Log
from chronofile.domain.sources import MOVE_BYTES_MIN, Occasion, Registration, Seen, Source
from chronofile.ingest import known
from chronofile.ingest.gathered import Gathered, KeyOf
from chronofile.ingest.known import CAPTURED, KnownFile, Name
from chronofile.ingest.sighting import HEAD_BYTES, TAIL_BYTES, Bytes, Looked, Sighting


@dataclass(frozen=True, slots=True)
class Item:
    """One sighting of a group, and how far it is: `source` once it is known, `open` while ranges are left."""

    sighting: Sighting
    scope: str
    rejected: tuple[str, str] | None
    source: str | None = None
    content: str | None = None
    open: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """A group of files, the sightings in them, and the paths that sources left behind."""

    group: Sequence[Looked]
    items: Sequence[Item]
    before: Mapping[Path, KnownFile]
    left_behind: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        group: Sequence[Looked],
        sightings: Sequence[Sighting],
        scopes: Sequence[str],
        before: Mapping[Path, KnownFile],
    ) -> Plan:
        rejections = {
            looked.found.path: (looked.rejected.reason, looked.rejected_state)
            for looked in group
            if looked.rejected is not None and looked.rejected_state is not None
        }
        items = [
            Item(sighting, scope, rejections.get(sighting.path))
            for sighting, scope in zip(sightings, scopes, strict=True)
        ]
        return cls(group, items, before)

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
            if found := by_path.get(looked.found.path):
                one = found[0] if len(found) == 1 else None
                yield KnownFile(
                    path=looked.found.path,
                    root=looked.found.root,
                    scope=found[0].scope,
                    source=one.source if one else None,
                    sources=len(found),
                    content=one.content if one else None,
                    fingerprint=looked.fingerprint,
                    outcome=_outcome(looked),
                )


@dataclass(slots=True)
class Planned:
    """What one append is to bring, and what is left of the plan after it."""

    rest: Plan
    additions: list[Addition] = field(default_factory=list)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    names: list[Name] = field(default_factory=list)
    revised: set[str] = field(default_factory=set)
    revisions: int = 0
    unchanged: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True)
class Planner:
    """Decides with the log's state as it is when it is asked; a conflict asks again."""

    log: Log
    key_of: KeyOf
    store_key: bytes
    now: Occasion

    def plan(self, plan: Plan) -> Planned:
        """Decide the next range of every open item."""
        draft = self._draft(plan)
        items = [draft.decide(item) if item.open else item for item in plan.items]
        draft.remove_replaced(items)
        planned = draft.planned(replace(plan, items=items))
        planned.rest = replace(planned.rest, left_behind=plan.left_behind + tuple(draft.left_behind))
        return planned

    def plan_removal(self, gone: Sequence[KnownFile]) -> Planned:
        """Decide what it means that files are gone."""
        draft = self._draft(Plan((), (), {}), [file.source for file in gone if file.source])
        for identifier in draft.standing:
            draft.remove(identifier)
        return draft.planned(Plan((), (), {}))

    def _draft(self, plan: Plan, others: Iterable[str] = ()) -> _Draft:
        wanted = [self.text_key(name) for item in plan.open for name in _names(item.sighting)]
        contents = [
            self.key_of(item.sighting.content.range(0, item.sighting.content.size))
            for item in plan.open
            if item.sighting.kind == "file" and item.sighting.content.size >= MOVE_BYTES_MIN
        ]
        with self.log.cursor() as cursor:
            names = known.names(cursor, wanted)
            twins = known.files_with_content(cursor, contents)
            ids = {name.source for found in names.values() for name in found}
            ids |= {file.source for file in twins if file.source} | set(others)
            ids |= {file.source for file in plan.before.values() if file.source}
            files = known.files_of(cursor, ids)
        stored = self.log.read_many([streams.source(identifier) for identifier in sorted(ids)])
        standing = {
            streams.id_of(stream): sources.source_of(recorded.event for recorded in events)
            for stream, events in stored.items()
        }
        return _Draft(self, plan, names, twins, files, standing, Counter(contents))

    def text_key(self, text: str) -> str:
        return self.key_of(text.encode("utf-8", "surrogatepass"))


def _names(sighting: Sighting) -> tuple[str, ...]:
    """Return a source's name in its scope, and the one it gets when another file has the first."""
    return (sighting.key, f"{sighting.key}@{sighting.uri}") if sighting.growing else (sighting.key,)


class _Draft:
    """One append in the making."""

    def __init__(
        self,
        planner: Planner,
        plan: Plan,
        names: dict[tuple[str, str], list[Name]],
        twins: Sequence[KnownFile],
        files: Mapping[str, Sequence[KnownFile]],
        standing: dict[str, Source],
        new_contents: Counter[str],
    ) -> None:
        self._planner, self._plan, self._names = planner, plan, names
        self._twins, self._new_contents = twins, new_contents
        self.standing = standing
        self.left_behind: list[Path] = []
        self._versions = {identifier: source.version for identifier, source in standing.items()}
        self._ordinals: dict[str, int] = {}
        self._events: dict[str, list[Event]] = {}
        self._given: list[Name] = []
        self._gathered = Gathered(planner.key_of)
        self._read_from: dict[str, list[Path]] = {i: [f.path for f in found] for i, found in files.items()}
        self._unchanged = 0

    def decide(self, item: Item) -> Item:
        """Add what the item's next range means, and return the item as it is after that."""
        if item.rejected is not None:
            return self._reject(item, item.rejected)
        return self._grow(item) if item.sighting.growing else self._whole(item)

    def remove(self, identifier: str) -> None:
        self._add(identifier, sources.remove(self.standing[identifier], self._planner.now))

    def remove_replaced(self, items: Sequence[Item]) -> None:
        """Remove the source that a file was before it turned out to be a transcript."""
        now = {item.source for item in items}
        transcripts = {item.sighting.path for item in items if item.sighting.kind != "file"}
        for path, file in self._plan.before.items():
            if path not in transcripts or file.source is None or file.source in now:
                continue
            if self.standing[file.source].kind == "file":
                self.remove(file.source)

    def planned(self, rest: Plan) -> Planned:
        events = [event for found in self._events.values() for event in found]
        return Planned(
            rest=rest,
            additions=[
                Addition(streams.source(identifier), self._versions.get(identifier, 0), found)
                for identifier, found in self._events.items()
            ],
            contents=self._gathered.contents,
            names=self._given,
            revised={i for i, found in self._events.items() if any(map(_is_revision, found))},
            revisions=sum(map(_is_revision, events)),
            unchanged=self._unchanged,
            moved=sum(isinstance(event, SourceMoved) for event in events),
        )

    def _whole(self, item: Item) -> Item:
        sighting = item.sighting
        content = self._planner.key_of(sighting.content.range(0, sighting.content.size))
        identifier = self._file_source(item, content)
        self._take(identifier, item, (0, sighting.content.size))
        return replace(item, source=identifier, content=content, open=False)

    def _grow(self, item: Item) -> Item:
        content = item.sighting.content
        identifier, start = self._growing_source(item)
        found = next(content.ranges(start), (start, start))
        self._take(identifier, item, found, here=not self._is_elsewhere(identifier, item.sighting))
        return replace(item, source=identifier, open=found[1] < content.size)

    def _reject(self, item: Item, rejected: tuple[str, str]) -> Item:
        sighting, text_key = item.sighting, self._planner.text_key
        identifier = self._named(item, sighting.key)
        events = sources.reject(
            self.standing[identifier],
            self._registration(identifier, item),
            (rejected[0], text_key(rejected[1])),
            text_key(str(sighting.path)),
            self._planner.now,
        )
        self._add(identifier, events, sighting)
        return replace(item, source=identifier, open=False)

    def _take(self, identifier: str, item: Item, span: tuple[int, int], *, here: bool = True) -> None:
        """Decide what the bytes of a span mean; unless `here`, the source stays where it was said to be."""
        sighting, source = item.sighting, self.standing[identifier]
        content = sighting.content.range(*span)
        seen = Seen(
            content=self._planner.key_of(content),
            start=span[0],
            end=span[1],
            format=sighting.format,
            encoding=sighting.encoding,
            uri=self._planner.text_key(sighting.uri) if here else source.uri,
            key=self._planner.text_key(sighting.key),
            file=self._planner.text_key(str(sighting.path)),
            probe=self._probe(sighting.content, span[1]),
            event_time=sighting.event_time,
        )
        events = sources.capture(source, self._registration(identifier, item), seen, self._planner.now)
        self._read_from.setdefault(identifier, []).append(sighting.path)
        if any(map(_is_revision, events)):
            self._gathered.add(content)
        elif not events:
            self._unchanged += 1
        self._add(identifier, events, sighting)

    def _add(self, identifier: str, events: Sequence[Event], sighting: Sighting | None = None) -> None:
        if not events:
            return
        self._events.setdefault(identifier, []).extend(events)
        self.standing[identifier] = sources.evolve(self.standing[identifier], events)
        if sighting is not None:
            for text in (sighting.uri, sighting.key, str(sighting.path)):
                self._gathered.text(text)

    def _registration(self, identifier: str, item: Item) -> Registration:
        sighting, text_key = item.sighting, self._planner.text_key
        return Registration(
            kind=sighting.kind,
            scope=item.scope,
            key=text_key(sighting.key),
            uri=text_key(sighting.uri),
            ordinal=self._ordinals.get(identifier, 0),
            session=sighting.session,
        )

    def _file_source(self, item: Item, content: str) -> str:
        """Return the source that a file is: the one of its name, one that moved here, or a new one."""
        if self._current(item) is None and (moved := self._moved_here(item, content)) is not None:
            self.left_behind.append(moved.path)
            self._give(item.scope, self._planner.text_key(item.sighting.key), moved.source or "")
            return moved.source or ""
        return self._named(item, item.sighting.key)

    def _growing_source(self, item: Item) -> tuple[str, int]:
        """Return the source that a transcript is, and the offset after which its bytes are new."""
        first, own = _names(item.sighting)
        identifier = self._named(item, first)
        start = self._start(identifier, item.sighting.content)
        if start is None and self._is_elsewhere(identifier, item.sighting):
            # Another file has this session's name and other words: both are kept.
            identifier = self._named(item, own)
            start = self._start(identifier, item.sighting.content)
        return identifier, start or 0

    def _start(self, identifier: str, content: Bytes) -> int | None:
        """Return where the source's captured bytes end in the content; None when it does not hold them."""
        source = self.standing[identifier]
        if not source.revision or source.removed:
            return 0
        if content.size < source.end or self._probe(content, source.end) != source.probe:
            return None
        return source.end

    def _is_elsewhere(self, identifier: str, sighting: Sighting) -> bool:
        """Tell whether the source was read from another file that is still there."""
        source = self.standing[identifier]
        if not source.version or source.uri == self._planner.text_key(sighting.uri):
            return False
        others = [path for path in self._read_from.get(identifier, ()) if path != sighting.path]
        return any(map(os.path.lexists, others))

    def _moved_here(self, item: Item, content: str) -> KnownFile | None:
        """Return the one captured file of the same root, scope and bytes that is gone from where it was."""
        if item.sighting.content.size < MOVE_BYTES_MIN or self._new_contents[content] != 1:
            return None
        gone = [
            file
            for file in self._twins
            if file.content == content
            and (file.scope, file.root) == (item.scope, item.sighting.root)
            and file.source is not None
            and not os.path.lexists(file.path)
        ]
        return gone[0] if len(gone) == 1 else None

    def _current(self, item: Item) -> str | None:
        """Return the source that has the sighting's name and, for a file, has not moved away from it."""
        found = self._names.get((item.scope, self._planner.text_key(item.sighting.key)))
        if not found:
            return None
        source = self.standing[found[-1].source]
        moved_away = item.sighting.kind == "file" and source.uri != self._planner.text_key(item.sighting.uri)
        return None if moved_away else found[-1].source

    def _named(self, item: Item, name: str) -> str:
        """Return the source of a name in the item's scope; a new one when there is none."""
        key = self._planner.text_key(name)
        current = self._names.get((item.scope, key))
        if current and (item.sighting.kind != "file" or self._current(item) is not None):
            return current[-1].source
        ordinal = len(current or ())
        identifier = source_id(item.sighting.kind, item.scope, name, ordinal, self._planner.store_key)
        self.standing.setdefault(identifier, Source())
        self._ordinals[identifier] = ordinal
        self._give(item.scope, key, identifier)
        return identifier

    def _give(self, scope: str, key: str, identifier: str) -> None:
        given = self._names.setdefault((scope, key), [])
        given.append(Name(scope, key, len(given), identifier))
        self._given.append(given[-1])

    def _probe(self, content: Bytes, end: int) -> str:
        """Return the keyed hash by which a later look sees whether what stood before `end` still does."""
        head = content.range(0, min(HEAD_BYTES, end))
        return self._planner.key_of(b"probe" + head + content.range(max(0, end - TAIL_BYTES), end))


def _is_revision(event: Event) -> bool:
    return isinstance(event, RevisionCaptured)


def _outcome(looked: Looked) -> str:
    if looked.rejected is not None and looked.rejected_state is not None:
        return looked.rejected.reason
    return CAPTURED
