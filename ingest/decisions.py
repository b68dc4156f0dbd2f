"""Decisions: one append in the making, from sightings and from what stands in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from chronofile.domain import sources, streams
from chronofile.domain.envelope import Addition
from chronofile.domain.events import Event, RevisionCaptured, SourceMoved
from chronofile.domain.identity import digest, source_id
from chronofile.domain.rejection import NotRead, Rejected
from chronofile.domain.sources import MOVE_BYTES_MIN, Occasion, Registration, Seen, Source
from chronofile.domain.times import parse
from chronofile.ingest.cleaning import Clean
from chronofile.ingest.documents import is_document
from chronofile.ingest.erased import Erased
from chronofile.ingest.former import Rewritten, is_kept
from chronofile.ingest.gathered import Gathered, KeyOf, text_key
from chronofile.ingest.known import KnownFile, Name, is_gone
from chronofile.ingest.looking import is_part_of
from chronofile.ingest.plan import Item, Plan, Planned, Ranges
from chronofile.ingest.redaction import Redacted
from chronofile.ingest.sighting import HEAD_BYTES, TAIL_BYTES, TEXT, Bytes, HeldBytes, Sighting


@dataclass(slots=True)
class Standing:
    """What the log and the write side hold of all that a plan may touch.

    `twins` are files that held, when they were last read, what one of the plan's files holds now.
    `new_contents` counts how many of these hold each content, `shown` are the contents of the ranges that a source
    shows.
    """

    sources: dict[str, Source]
    ranges: dict[str, Ranges]
    names: dict[tuple[str, str], list[Name]]
    twins: Sequence[KnownFile] = ()
    new_contents: Counter[str] = field(default_factory=Counter)
    read_from: dict[str, list[Path]] = field(default_factory=dict)
    shown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reverted: frozenset[str] = frozenset()
    erased: Erased = field(default_factory=Erased)


def ranges_of(events: Iterable[Event], before: Ranges = ()) -> Ranges:
    """Return the ranges that a source holds after further events of its own."""
    ranges = [*before]
    for event in events:
        if isinstance(event, RevisionCaptured):
            if event.start == 0:
                ranges.clear()
            ranges.append((event.start, event.end, sources.original_of(event)))
    return ranges


def names_of(sighting: Sighting) -> tuple[str, ...]:
    """Return a source's name in its scope, and the one it gets when another file has the first."""
    return (sighting.key, f"{sighting.key}@{sighting.uri}") if sighting.growing else (sighting.key,)


class Decisions:
    """Takes in one sighting after the other; what stands is brought up to date with each."""

    def __init__(
        self, key_of: KeyOf, store_key: bytes, now: Occasion, standing: Standing, *, clean: Clean, whole: bool
    ) -> None:
        self._key_of, self._store_key, self._now, self._whole = key_of, store_key, now, whole
        self._clean = clean
        self._standing = standing
        self._sources, self._names = standing.sources, standing.names
        self._versions = {identifier: source.version for identifier, source in self._sources.items()}
        self._ordinals: dict[str, int] = {}
        self._events: dict[str, list[Event]] = {}
        self._given: list[Name] = []
        self._gathered = Gathered(key_of)
        self._text_key = partial(text_key, key_of)
        self._rejected: list[Rejected] = []
        self._originals: set[str] = set()
        self._taken_back: set[str] = set()
        self._rewritten: list[Rewritten] = []
        self._unchanged = self._older = 0
        self.left_behind: list[Path] = []

    def decide(self, item: Item, before: Mapping[Path, KnownFile]) -> Item:
        """Add what the item's next range means, and return the item as it is after that."""
        try:
            if item.rejected is not None:
                return self._reject(item, item.rejected, before.get(item.sighting.path))
            return self._grow(item) if item.sighting.growing else self._take_whole(item)
        except NotRead as error:
            if is_document(item.sighting.kind, item.sighting.format):
                return self._refuse(item, error.rejected, before.get(item.sighting.path))
            # It changed after it was looked at: what was decided so far holds, the rest is for the next run.
            self._rejected.append(error.rejected)
            return replace(item, open=False, is_lost=True)

    def remove(self, identifier: str) -> None:
        self._add(identifier, sources.remove(self._sources[identifier], self._now))

    def remove_replaced(self, items: Sequence[Item], before: Mapping[Path, KnownFile]) -> None:
        """Remove the source that a file was before it turned out to be a transcript."""
        now = {item.source for item in items}
        transcripts = {item.sighting.path for item in items if item.sighting.kind != "file"}
        for path in transcripts & before.keys():
            source = before[path].source
            if source is not None and source not in now and self._sources[source].kind == "file":
                self.remove(source)

    def planned(self, rest: Plan) -> Planned:
        events = [event for found in self._events.values() for event in found]
        return Planned(
            rest=rest,
            additions=[
                Addition(streams.source(identifier), self._versions.get(identifier, 0), found)
                for identifier, found in self._events.items()
            ],
            contents=self._gathered.contents,
            names=[name for name in self._given if self._sources[name.source].version],
            standing={i: (self._sources[i], self._standing.ranges[i]) for i in self._events},
            rejected=self._rejected,
            revised={i for i, found in self._events.items() if any(map(_is_revision, found))},
            revisions=sum(map(_is_revision, events)),
            unchanged=self._unchanged,
            older=self._older,
            moved=sum(isinstance(event, SourceMoved) for event in events),
            redactions=sum(
                (Counter(event.redactions) for event in events if isinstance(event, RevisionCaptured)),
                Counter(),
            ),
            originals=frozenset(self._originals),
            rewritten=self._rewritten,
            taken_back=frozenset(self._taken_back),
        )

    def _take_whole(self, item: Item) -> Item:
        content = self._key_of(item.sighting.content.range(0, item.sighting.content.size))
        is_file = item.sighting.kind == "file"
        identifier = self._file_source(item, content) if is_file else self._named(item, item.sighting.key)
        if self._is_erased(identifier, item, content):
            return self._left_out(identifier, item)
        if not is_file and self._is_older(identifier, item.sighting, content):
            self._older += 1
            return replace(item, source=identifier, open=False, is_older=True)
        span = (0, item.sighting.content.size)
        # A second copy of what is captured already leaves the source where it was found first.
        here = is_file or not (
            self._is_held(identifier, item, span) and self._is_elsewhere(identifier, item.sighting)
        )
        self._take(identifier, item, span, here=here)
        return replace(item, source=identifier, content=content, open=False)

    def _grow(self, item: Item) -> Item:
        content = item.sighting.content
        identifier, start = self._growing_source(item)
        found = (0, 0) if start is None else next(content.ranges(start), (start, start))
        if self._is_erased(identifier, item, self._key_of(content.range(*found))):
            return self._left_out(identifier, item)
        if start is None:
            self._unchanged += 1
            return replace(item, source=identifier, open=False)
        shown = self._standing.shown.get(identifier, ())
        if start == 0 and shown and is_kept(item.sighting) and not self._is_held(identifier, item, found):
            revision = self._sources[identifier].revision
            spans = self._standing.erased.spans.get(identifier, ())
            self._rewritten.append(Rewritten(item.sighting, item.scope, shown, revision, spans))
        here = not self._is_elsewhere(identifier, item.sighting)
        self._take(identifier, item, found, here=here)
        return replace(item, source=identifier, open=found[1] < content.size)

    def _is_older(self, identifier: str, sighting: Sighting, content: str) -> bool:
        """Tell whether a whole conversation is captured already in a later state.

        That is what the conversation says of itself; where it does not, a copy that is no longer than what was read
        from another file, which is still there, is taken for the older one.
        """
        source = self._sources[identifier]
        size = sighting.content.size
        if source.removed or source.shown is None or sources.holds(source, content, (0, size)):
            return False
        now, before = parse(sighting.event_time), parse(source.shown.event_time)
        if now is not None and before is not None and now != before:
            return now < before
        is_here = source.shown.file == self._text_key(str(sighting.path))
        return not is_here and bool(self._others(identifier, sighting)) and size <= source.shown.end

    def _is_held(self, identifier: str, item: Item, span: tuple[int, int]) -> bool:
        original = self._key_of(item.sighting.content.range(*span))
        goes_on = _goes_on(item.sighting, span)
        return sources.holds(self._sources[identifier], original, span, again=self._whole, goes_on=goes_on)

    def _is_erased(self, identifier: str, item: Item, original: str) -> bool:
        """Tell whether bytes are not to be captured again; with `again` and by name they are taken back.

        Who names a file that holds other conversations too does not ask for each of them.
        """
        erased = self._standing.erased
        gone = (erased.sources & {identifier}) | (erased.contents & {original})
        if gone and self._whole and item.named:
            self._taken_back |= gone
            return False
        # What the source holds already without the erased passage means nothing new.
        held = sources.holds(self._sources[identifier], original, (0, item.sighting.content.size))
        return bool(gone) and (identifier in erased.sources or not held)

    def _left_out(self, identifier: str, item: Item) -> Item:
        self._rejected.append(Rejected(item.sighting.path, "erased"))
        known = identifier if self._sources[identifier].version else None
        return replace(item, source=known, open=False, is_erased=True)

    def _reject(self, item: Item, rejected: tuple[str, str], before: KnownFile | None) -> Item:
        """Note a rejection with the source that the file was so far, so that one of a transcript stays its own."""
        sighting = item.sighting
        identifier = self._source_itself(sighting, before) or self._named(item, sighting.key)
        events = sources.reject(
            self._sources[identifier],
            self._registration(identifier, item),
            (rejected[0], self._text_key(rejected[1])),
            self._text_key(str(sighting.path)),
            self._now,
        )
        self._add(identifier, events, sighting)
        return replace(item, source=identifier, open=False)

    def _source_itself(self, sighting: Sighting, before: KnownFile | None) -> str | None:
        """Return the source that a file was so far; None where that is only a conversation in it, or another file's."""
        if before is None or before.source is None:
            return None
        is_it = self._sources[before.source].uri == self._text_key(sighting.uri)
        return before.source if is_it else None

    def _refuse(self, item: Item, refused: Rejected, before: KnownFile | None) -> Item:
        """Note that the bytes of a document are there and not captured already, and that its text cannot be had."""
        self._rejected.append(refused)
        content = item.sighting.content
        state = digest(content.range(0, content.size))
        return replace(self._reject(item, (refused.reason, state), before), refused=refused.reason)

    def _take(self, identifier: str, item: Item, span: tuple[int, int], *, here: bool = True) -> None:
        """Decide what the bytes of a span mean; unless `here`, the source stays where it was said to be."""
        sighting, source = item.sighting, self._sources[identifier]
        content = sighting.content.range(*span)
        original = self._key_of(content)
        goes_on = _goes_on(sighting, span)
        if sources.holds(source, original, span, again=self._whole, goes_on=goes_on):
            kept = Redacted(content, {})
        else:
            kept = self._clean(content, sighting, self._standing.erased.spans.get(identifier, ()))
            self._originals.add(original)
        branch = item.facts.branch if item.facts else None
        seen = Seen(
            original=original,
            content=self._key_of(kept.content) if kept.counts else original,
            redactions=kept.counts,
            start=span[0],
            end=span[1],
            format=TEXT if kept.is_text else sighting.format,
            encoding="utf-8" if kept.is_text else sighting.encoding,
            uri=self._text_key(sighting.uri) if here else source.uri,
            key=self._text_key(sighting.key),
            file=self._text_key(str(sighting.path)),
            probe=self._probe(sighting.content, span[1]),
            event_time=sighting.event_time,
            commit=item.facts.commit if item.facts else None,
            branch=self._text_key(branch) if branch else None,
            dirty=item.facts.dirty if item.facts else None,
        )
        registration = self._registration(identifier, item)
        events = sources.capture(source, registration, seen, self._now, again=self._whole, goes_on=goes_on)
        self._standing.read_from.setdefault(identifier, []).append(sighting.path)
        if any(map(_is_revision, events)):
            self._gathered.add(kept.content)
            if branch:
                self._gathered.text(branch)
        elif not events:
            self._unchanged += 1
        self._add(identifier, events, sighting)

    def _add(self, identifier: str, events: Sequence[Event], sighting: Sighting | None = None) -> None:
        if not events:
            return
        self._events.setdefault(identifier, []).extend(events)
        self._sources[identifier] = sources.evolve(self._sources[identifier], events)
        self._standing.ranges[identifier] = ranges_of(events, self._standing.ranges.get(identifier, ()))
        if sighting is not None:
            for text in (sighting.uri, sighting.key, str(sighting.path)):
                self._gathered.text(text)

    def _registration(self, identifier: str, item: Item) -> Registration:
        sighting = item.sighting
        return Registration(
            kind=sighting.kind,
            scope=item.scope,
            key=self._text_key(sighting.key),
            uri=self._text_key(sighting.uri),
            ordinal=self._ordinals.get(identifier, 0),
            session=sighting.session,
        )

    def _file_source(self, item: Item, content: str) -> str:
        """Return the source that a file is: the one of its name, one that moved here, or a new one."""
        if self._current(item, item.sighting.key) is None and (moved := self._moved_here(item, content)):
            self.left_behind.append(moved.path)
            self._give(item.scope, self._text_key(item.sighting.key), moved.source or "")
            return moved.source or ""
        return self._named(item, item.sighting.key)

    def _growing_source(self, item: Item) -> tuple[str, int | None]:
        """Return the source that a transcript is, and the offset after which its bytes are new; None if none are."""
        content = item.sighting.content
        first, own = names_of(item.sighting)
        if (given := self._current(item, own)) is not None:
            return given, self._start(given, content) or 0
        identifier = self._named(item, first)
        start = self._start(identifier, content)
        if start is None:
            if any(is_part_of(path, item.sighting) for path in self._others(identifier, item.sighting)):
                return identifier, None
            if self._is_elsewhere(identifier, item.sighting):
                # Another file has this session's name and other words: both are kept.
                identifier = self._named(item, own)
                start = self._start(identifier, content)
        return identifier, start or 0

    def _start(self, identifier: str, content: Bytes) -> int | None:
        """Return where the source's captured bytes end in the content; None when it does not hold them.

        What is in memory is compared as a whole; of a large file its ends are, unless the whole is asked for.
        """
        source = self._sources[identifier]
        if not source.revision or source.removed or (self._whole and source.hidden):
            return 0
        if content.size < source.end or self._probe(content, source.end) != source.probe:
            return None
        if self._whole or isinstance(content, HeldBytes):
            ranges = self._standing.ranges[identifier]
            if any(self._key_of(content.range(start, end)) != key for start, end, key in ranges):
                return None
        return source.end

    def _is_elsewhere(self, identifier: str, sighting: Sighting) -> bool:
        """Tell whether the source has its place in another file, and was read from one that is still there."""
        source = self._sources[identifier]
        here = not source.version or source.uri == self._text_key(sighting.uri)
        return not here and bool(self._others(identifier, sighting))

    def _others(self, identifier: str, sighting: Sighting) -> list[Path]:
        """Return the other files that the source was read from and that are still there."""
        paths = dict.fromkeys(self._standing.read_from.get(identifier, ()))
        return [path for path in paths if path != sighting.path and not is_gone(path)]

    def _moved_here(self, item: Item, content: str) -> KnownFile | None:
        """Return the only captured file of the same root, scope and bytes, if it is gone from where it was."""
        if item.sighting.content.size < MOVE_BYTES_MIN or self._standing.new_contents[content] != 1:
            return None
        place = (item.scope, item.sighting.root, content)
        twins = [file for file in self._standing.twins if (file.scope, file.root, file.content) == place]
        is_move = len(twins) == 1 and twins[0].source is not None and is_gone(twins[0].path)
        return twins[0] if is_move else None

    def _current(self, item: Item, name: str) -> str | None:
        """Return the source that has the name and, for a file, has not moved away from it."""
        found = self._names.get((item.scope, self._text_key(name)))
        if not found:
            return None
        source = self._sources[found[-1].source]
        moved_away = item.sighting.kind == "file" and source.uri != self._text_key(item.sighting.uri)
        return None if moved_away else found[-1].source

    def _named(self, item: Item, name: str) -> str:
        """Return the source of a name in the item's scope; a new one when there is none."""
        if (current := self._current(item, name)) is not None:
            return current
        key = self._text_key(name)
        ordinal = len(self._names.get((item.scope, key), ()))
        identifier = source_id(item.sighting.kind, item.scope, name, ordinal, self._store_key)
        self._sources.setdefault(identifier, Source())
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
        return self._key_of(b"probe" + head + content.range(max(0, end - TAIL_BYTES), end))


def _goes_on(sighting: Sighting, span: tuple[int, int]) -> bool:
    """Tell whether a range is not yet all of what is seen."""
    return sighting.growing and span[1] < sighting.content.size


def _is_revision(event: Event) -> bool:
    return isinstance(event, RevisionCaptured)
