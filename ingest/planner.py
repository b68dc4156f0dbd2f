"""The planner: what a group's sightings mean, decided with the log's state as it is when it is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chronofile.domain import streams
from chronofile.domain.events import RevisionCaptured
from chronofile.domain.ports import Log
from chronofile.domain.sources import MOVE_BYTES_MIN, Occasion, Source, shown, source_of
from chronofile.ingest import erased, known
from chronofile.ingest.cleaning import Clean
from chronofile.ingest.decisions import Decisions, Standing, names_of, ranges_of
from chronofile.ingest.gathered import KeyOf, text_key
from chronofile.ingest.known import KnownFile
from chronofile.ingest.plan import Plan, Planned, Ranges
from chronofile.ingest.sighting import uri_of


@dataclass(frozen=True, slots=True)
class Planner:
    """Decides, and a conflict asks again.

    `whole`: what was captured is compared as a whole, and not only by its ends. `assumed` are sources as they
    would stand if what was planned before had been appended: a dry run goes on from there. `unread` are documents
    by the revision of which the text was not had: while they stand there, their bytes are taken for new ones.
    """

    log: Log
    key_of: KeyOf
    store_key: bytes
    now: Occasion
    clean: Clean
    whole: bool = False
    assumed: Mapping[str, tuple[Source, Ranges]] = field(default_factory=dict)
    unread: Mapping[str, int] = field(default_factory=dict)

    def plan(self, plan: Plan) -> Planned:
        """Decide the next range of every open item; once more where it turns out that one was erased."""
        standing = self._standing(plan)
        planned = self._planned(plan, standing)
        with self.log.cursor() as cursor:
            gone = erased.contents(cursor, planned.originals)
        if not gone:
            return planned
        standing = self._standing(plan)
        standing.erased = replace(standing.erased, contents=gone)
        return self._planned(plan, standing)

    def _planned(self, plan: Plan, standing: Standing) -> Planned:
        decisions = self._decisions(standing)
        items = [decisions.decide(item, plan.before) if item.open else item for item in plan.items]
        decisions.remove_replaced(items, plan.before)
        left_behind = plan.left_behind + tuple(decisions.left_behind)
        return decisions.planned(replace(plan, items=items, left_behind=left_behind))

    def plan_removal(self, gone: Sequence[KnownFile]) -> Planned:
        """Decide what it means that files are gone: what was captured of them is over, but transcripts are kept."""
        uris = {self._text_key(uri_of(file.path)) for file in gone}
        with self.log.cursor() as cursor:
            names = known.names(cursor, uris)
        standing = Standing({}, {}, names)
        self._load(standing, {name.source for found in names.values() for name in found})
        decisions = self._decisions(standing)
        for identifier, source in standing.sources.items():
            # One that had this name and has another URI has moved away from here.
            if source.kind == "file" and source.uri in uris:
                decisions.remove(identifier)
        return decisions.planned(Plan((), (), {}))

    def _standing(self, plan: Plan) -> Standing:
        sightings = [item.sighting for item in plan.open]
        whole = [sighting.content for sighting in sightings if sighting.kind == "file"]
        contents = [
            self.key_of(content.range(0, content.size)) for content in whole if content.size >= MOVE_BYTES_MIN
        ]
        with self.log.cursor() as cursor:
            names = known.names(cursor, [self._text_key(n) for seen in sightings for n in names_of(seen)])
            twins = known.files_with_content(cursor, contents)
        standing = Standing({}, {}, names, twins, Counter(contents))
        ids = {name.source for found in names.values() for name in found}
        self._load(standing, ids | {file.source for file in (*twins, *plan.before.values()) if file.source})
        if len(whole) < len(sightings):
            self._load_files(standing)
        return standing

    def _load(self, standing: Standing, ids: Collection[str]) -> None:
        stored = self.log.read_many([streams.source(identifier) for identifier in sorted(ids)])
        events = {streams.id_of(stream): [one.event for one in found] for stream, found in stored.items()}
        batches = {
            one.batch for found in events.values() for one in found if isinstance(one, RevisionCaptured)
        }
        with self.log.cursor() as cursor:
            standing.reverted = erased.reverted(cursor, batches)
            standing.erased = erased.of_sources(cursor, list(events))
        for identifier, found in events.items():
            standing.ranges[identifier] = ranges_of(found)
            source = source_of(found, standing.reverted)
            is_unread = self.unread.get(identifier) == source.revision and not source.hidden
            standing.sources[identifier] = replace(source, original=None, shown=None) if is_unread else source
            standing.shown[identifier] = tuple(one.content for one in shown(found, standing.reverted))
        for identifier, (source, ranges) in self.assumed.items():
            standing.sources[identifier], standing.ranges[identifier] = source, ranges

    def _load_files(self, standing: Standing) -> None:
        """Find the files that the sources were read from, also those that hold several sources."""
        with self.log.cursor() as cursor:
            files = known.files_of(cursor, list(standing.sources))
            shared = {self._text_key(str(path)): path for path in known.shared_files(cursor)}
        for identifier, source in standing.sources.items():
            paths = [file.path for file in files.get(identifier, ())]
            if source.file in shared:
                paths.append(shared[source.file])
            standing.read_from[identifier] = paths

    def _decisions(self, standing: Standing) -> Decisions:
        return Decisions(self.key_of, self.store_key, self.now, standing, clean=self.clean, whole=self.whole)

    def _text_key(self, text: str) -> str:
        return text_key(self.key_of, text)
