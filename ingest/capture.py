"""Capture: what was seen becomes events, and what was captured before becomes nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from chronofile.domain import streams
from chronofile.domain.envelope import Addition
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.domain.events import BatchFinished, BatchStarted
from chronofile.domain.ports import Extractor, Log
from chronofile.domain.rejection import NotRead, OmissionReason, Omitted, Rejected, RejectionReason
from chronofile.domain.sources import Occasion, Source
from chronofile.domain.times import iso
from chronofile.domain.wording import counted
from chronofile.ingest import erased, known, offsets
from chronofile.ingest.appending import Appending
from chronofile.ingest.archives import companions
from chronofile.ingest.cleaning import Clean, cleaning
from chronofile.ingest.former import Read, Rewritten, former
from chronofile.ingest.gathered import KeyOf
from chronofile.ingest.known import KnownFile, unsettled
from chronofile.ingest.looking import looks, rejected_file
from chronofile.ingest.placing import Placing
from chronofile.ingest.plan import Item, Plan, Planned, Ranges
from chronofile.ingest.planner import Planner
from chronofile.ingest.reading import fingerprint_of
from chronofile.ingest.repositories import Facts, Repositories
from chronofile.ingest.scan import Found, scan
from chronofile.ingest.selections import Selected
from chronofile.ingest.sighting import Looked, Sighting
from chronofile.ingest.vanished import vanished

GROUP_FILES_MAX = 200
GROUP_BYTES_MAX = 8 << 20
TRIES_MAX = 20


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked to capture.

    With `only`, which are absolute paths without links, nothing else below `paths` is looked at: what is there of
    these and of what is below them, by the same rules. `again` reads also what looks unchanged, and compares all of what was captured with what is there now:
    of a file that is larger than a range, else only its ends are. `dry_run` appends nothing.
    """

    paths: Sequence[Path]
    scope: str | None = None
    format_name: str | None = None
    again: bool = False
    dry_run: bool = False
    tool: str = "ingest"
    only: frozenset[Path] | None = None
    selected: Selected = field(default_factory=dict)
    """Of folders among the paths, the files that are wanted."""


@dataclass(slots=True)
class Captured:
    """What a run came to: counts of this run alone."""

    batch: str | None = None
    sources: set[str] = field(default_factory=set)
    revisions: int = 0
    unchanged: int = 0
    moved: int = 0
    removed: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    omitted: Counter[OmissionReason] = field(default_factory=Counter)
    redactions: Counter[str] = field(default_factory=Counter)
    waiting_bytes: int = 0
    read_bytes: int = 0
    position: int = 0


Tick = Callable[[Path, Captured], None]
T = TypeVar("T")


class Capture:
    """One run: it scans, reads in groups, decides, and appends each group in one transaction.

    `clean` takes out of what is read what is not to be stored; secrets, unless another is given. With `read`,
    which returns stored contents, what a transcript said before it was written anew is kept. Documents, which
    `extractor` reads, are rejected without it; with it those that `unread` names, each with its revision, are captured
    once more, for their text was not had when they were new.

    It can be stopped between any two of them and loses nothing: the next run goes on where it stood.
    """

    def __init__(
        self,
        log: Log,
        key_of: KeyOf,
        *,
        home: Path,
        store_key: bytes,
        now: datetime,
        new_id: Callable[[], str],
        clean: Clean | None = None,
        read: Read | None = None,
        extractor: Extractor | None = None,
        unread: Callable[[], Mapping[str, int]] = dict,
        tick: Tick = lambda path, captured: None,
    ) -> None:
        self._log, self._key_of, self._home = log, key_of, home
        self._store_key, self._now, self._tick = store_key, now, tick
        self._clean, self._read = clean or cleaning(key_of, redacting=True, extractor=extractor), read
        self._extractor = extractor
        self._unread_now = unread
        self._unread: Mapping[str, int] = {}
        self._batch = new_id()
        self._appending = Appending(log, new_id)
        self._assumed: dict[str, tuple[Source, Ranges]] = {}
        self._older: Counter[Path] = Counter()
        self._repositories = Repositories.with_installed_git()

    def run(self, request: Request) -> Captured:
        """Capture what the request names. Raises what the log raises; what is appended by then stays."""
        captured = Captured()
        seen: set[Path] = set()
        if self._extractor is not None:
            self._unread = self._unread_now()
        for group in self._groups(self._looks(request, captured, seen)):
            self._capture(request, group, captured)
        self._remove_gone(request, seen, captured)
        return self._finished(captured)

    def take(self, looks: Iterable[Looked], request: Request) -> Captured:
        """Capture what was looked at elsewhere; of the request only how counts, and not its paths."""
        captured = Captured()
        for group in self._groups(looks):
            self._capture(request, group, captured)
        return self._finished(captured)

    def _finished(self, captured: Captured) -> Captured:
        if captured.batch is not None:
            self._finish(streams.batch(captured.batch), captured)
        captured.position = self._log.position()
        return captured

    def _finish(self, batch: str, captured: Captured) -> None:
        """Note that the run ended by itself; its batch may have been undone while it went on."""
        finished = BatchFinished(captured.revisions, len(captured.rejected), iso(self._now))
        after = 1
        for tries_left in reversed(range(TRIES_MAX)):
            try:
                self._appending.append([Addition(batch, after, [finished])])
            except WrongExpectedVersion:
                if not tries_left:
                    raise
                after = len(self._log.read_many([batch])[batch])
            else:
                return

    def _looks(self, request: Request, captured: Captured, seen: set[Path]) -> Iterator[Looked]:
        """Yield the files that changed, as they are read."""
        for found in self._changed(request, captured, seen):
            for looked in self._look(request, found, captured):
                captured.waiting_bytes += looked.waiting_bytes
                self._tick(found.path, captured)
                yield looked

    def _groups(self, looks: Iterable[Looked]) -> Iterator[list[Looked]]:
        """Yield the files that were read, so many at a time that memory stays small."""
        group: list[Looked] = []
        size = 0
        for looked in looks:
            group.append(looked)
            size += max(min(looked.fingerprint.size, GROUP_BYTES_MAX), looked.held_bytes)
            if len(group) >= GROUP_FILES_MAX or size >= GROUP_BYTES_MAX:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _changed(self, request: Request, captured: Captured, seen: set[Path]) -> Iterator[Found]:
        """Yield the files that do not look as they did when they were captured."""
        for chunk in _chunks(self._found(request, captured), GROUP_FILES_MAX):
            seen |= {found.path for found in chunk}
            with self._log.cursor() as cursor:
                before = known.files(cursor, [found.path for found in chunk])
            for found in chunk:
                file = before.get(found.path)
                if file is None or not self._is_unchanged(request, file):
                    yield found
                else:
                    _tell_unchanged(file, captured)

    def _found(self, request: Request, captured: Captured) -> Iterator[Found]:
        for scanned in scan(request.paths, home=self._home, only=request.only, selected=request.selected):
            match scanned:
                case Found():
                    yield scanned
                case Omitted():
                    captured.omitted[scanned.reason] += 1
                case Rejected():
                    captured.rejected.append(scanned)

    def _is_unchanged(self, request: Request, file: KnownFile) -> bool:
        if request.again or request.format_name or (request.scope or file.scope) != file.scope:
            return False
        if file.outcome == "documents-extra" and self._extractor is not None:
            return False
        if file.source in self._unread:
            return False
        try:
            status = os.lstat(file.path)
        except OSError:
            return False
        return companions.fingerprint(file.path, fingerprint_of(status)) == file.fingerprint

    def _look(self, request: Request, found: Found, captured: Captured) -> Iterator[Looked]:
        """Look at a file; one that is there and cannot be read is rejected, and remembered as such."""
        is_anything = False
        try:
            for looked in looks(found, format_name=request.format_name, extractor=self._extractor):
                is_anything = True
                _note(looked, captured)
                yield looked
        except NotRead as error:
            captured.rejected.append(error.rejected)
            if error.reason == "other-format":
                # That says nothing of the file but of what was asked of it.
                return
            try:
                fingerprint = fingerprint_of(os.lstat(found.path))
            except OSError:
                return
            if error.reason == "locked":
                fingerprint = unsettled(fingerprint)
            if not is_anything:
                yield rejected_file(found, fingerprint, error.rejected)
        else:
            if not is_anything:
                captured.omitted[found.otherwise or "ignored"] += 1

    def _capture(self, request: Request, group: Sequence[Looked], captured: Captured) -> None:
        """Decide and append what a group of files means, until nothing of it is left."""
        plan = self._carried_out(request, self._placed(request, group), captured)
        self._older += plan.older
        if not request.dry_run:
            with self._log.cursor() as cursor:
                known.write_files(cursor, self._remembered(request, plan), plan.left_behind)
            offsets.write(self._home, plan.captured)

    def _carried_out(self, request: Request, plan: Plan, captured: Captured) -> Plan:
        while plan.open:
            planned = self._decided(request, captured, partial(Planner.plan, plan=plan))
            plan = planned.rest
            _count(planned, captured)
            if request.dry_run:
                self._assumed.update(planned.standing)
        return plan

    def _keep_former(self, request: Request, rewritten: Iterable[Rewritten], captured: Captured) -> None:
        """Capture what rewritten transcripts said before, while that is shown: it is the same if it is done again."""
        for one in rewritten:
            sighting = former(one, self._read, self._clean) if self._read is not None else None
            if sighting is not None:
                self._carried_out(request, Plan((), [Item(sighting, one.scope, None)], {}), captured)

    def _decided(self, request: Request, captured: Captured, decide: Callable[[Planner], Planned]) -> Planned:
        """Decide and append; where somebody else was first, decide anew with what stands then."""
        for tries_left in reversed(range(TRIES_MAX)):
            planned = decide(self._planner(request))
            self._keep_former(request, planned.rewritten, captured)
            try:
                self._append(request, planned, captured)
            except WrongExpectedVersion:
                if tries_left:
                    continue
                raise
            return planned
        raise AssertionError("it is tried at least once")

    def _placed(self, request: Request, group: Sequence[Looked]) -> Plan:
        placing = Placing(
            self._log, self._appending, self._key_of, iso(self._now), request.scope, request.dry_run
        )
        with self._log.cursor() as cursor:
            before = known.files(cursor, [looked.found.path for looked in group])
        scopes = {path: file.scope for path, file in before.items() if file.sources and file.scope}
        sightings = [sighting for looked in group for sighting in looked.sightings]
        around = {looked.found.path: looked.found.around for looked in group}
        placed = placing.scopes(sightings, scopes, {path: root for path, root in around.items() if root})
        facts = {} if request.dry_run else self._facts(sightings)
        return Plan.of(group, sightings, placed, before, request.scope, facts)

    def _facts(self, sightings: Iterable[Sighting]) -> dict[Path, Facts]:
        """Return what the repositories of the files say of them. A transcript's own place says nothing of it."""
        by_root: dict[Path, dict[Path, bytes]] = {}
        for sighting in sightings:
            if sighting.kind == "file" and sighting.root is not None:
                content = sighting.content.range(0, sighting.content.size)
                by_root.setdefault(sighting.root, {})[sighting.path] = content
        found: dict[Path, Facts] = {}
        for root, files in by_root.items():
            found |= self._repositories.facts(root, files)
        return found

    def _planner(self, request: Request) -> Planner:
        return Planner(
            log=self._log,
            key_of=self._key_of,
            store_key=self._store_key,
            now=Occasion(self._batch, iso(self._now)),
            clean=self._clean,
            whole=request.again,
            assumed=self._assumed,
            unread=self._unread,
        )

    def _append(self, request: Request, planned: Planned, captured: Captured) -> None:
        if request.dry_run or not planned.additions:
            return
        begun = []
        if captured.batch is None:
            begun = [Addition(streams.batch(self._batch), 0, [BatchStarted(request.tool, iso(self._now))])]
        self._appending.append(
            [*begun, *planned.additions],
            contents=planned.contents,
            alongside=partial(_write_beside, planned=planned),
        )
        captured.batch = self._batch

    def _remembered(self, request: Request, plan: Plan) -> Iterator[KnownFile]:
        """Yield how the files look now, but for those that may have changed in the same tick of their clock.

        A file that holds nothing of the format that was asked for stays as it was known.
        """
        now_ns = int(self._now.timestamp() * 1e9)
        for one in plan.files:
            file = known.with_older(one, self._older.pop(one.path, 0))
            if request.format_name and not file.sources:
                continue
            if file.fingerprint.settled(now_ns):
                yield file
            else:
                # It is read again next time; where it is and what it held is still worth knowing.
                yield replace(file, fingerprint=unsettled(file.fingerprint))

    def _remove_gone(self, request: Request, seen: set[Path], captured: Captured) -> None:
        """Note the captured files below the given folders that are there no more; transcripts are kept."""
        folders = [folder.resolve() for folder in request.paths if folder.is_dir()]
        with self._log.cursor() as cursor:
            gone, away = vanished(cursor, folders, request.only, seen)
        if away:
            captured.omitted["disk-away"] += len(away)
        for chunk in _chunks(gone, GROUP_FILES_MAX):
            planned = self._decided(request, captured, partial(Planner.plan_removal, gone=chunk))
            captured.removed += len(planned.additions)
            if not request.dry_run:
                with self._log.cursor() as cursor:
                    known.write_files(cursor, (), [file.path for file in chunk])


def _note(looked: Looked, captured: Captured) -> None:
    if looked.is_last:
        captured.read_bytes += looked.fingerprint.size
    if looked.rejected is not None:
        captured.rejected.append(looked.rejected)
    captured.rejected += looked.left_out
    captured.omitted += Counter(looked.omitted)


def _tell_unchanged(file: KnownFile, captured: Captured) -> None:
    """Count a file that was not read, by what is remembered of it."""
    if file.left_out is None:
        captured.rejected.append(Rejected(file.path, _reason(file.outcome)))
        return
    older = file.left_out.get("older-copy", 0)
    captured.unchanged += file.sources - older
    if older:
        captured.omitted["older-copy"] += older
    captured.rejected += [
        Rejected(file.path, _reason(reason), counted(count, "part"))
        for reason, count in file.left_out.items()
        if reason != "older-copy"
    ]


def _write_beside(cursor: known.Cursor, planned: Planned) -> None:
    known.write_names(cursor, planned.names)
    if planned.taken_back:
        erased.take_back(cursor, planned.taken_back | planned.contents.keys())


def _count(planned: Planned, captured: Captured) -> None:
    captured.rejected += planned.rejected
    captured.sources |= planned.revised
    captured.revisions += planned.revisions
    captured.unchanged += planned.unchanged
    if planned.older:
        captured.omitted["older-copy"] += planned.older
    captured.moved += planned.moved
    captured.redactions += planned.redactions


def _reason(outcome: str) -> RejectionReason:
    return outcome  # type: ignore[return-value]  # It was written from one.


def _chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    chunk: list[T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
