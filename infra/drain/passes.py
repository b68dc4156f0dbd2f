"""A pass of a drain: the transcripts that entries of the spool tell of, looked at and captured as one batch."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from chronofile.domain.rejection import NotRead, Rejected
from chronofile.domain.turns import Identity
from chronofile.infra.agents import agents_folders
from chronofile.infra.capturing import capture_of
from chronofile.ingest import known
from chronofile.ingest.agents import NAMES
from chronofile.ingest.capture import Captured, Request
from chronofile.ingest.known import KnownFile
from chronofile.ingest.reading import Fingerprint, fingerprint_of
from chronofile.ingest.recovery import (
    Known,
    Recovery,
    continued,
    identity_of,
    is_still_there,
    lines_of,
    live_transcript,
)
from chronofile.ingest.sighting import Looked
from chronofile.ingest.spool import Entry, Mention

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """One transcript that one entry names."""

    entry: Entry
    mention: Mention


def by_path(told: Iterable[Told]) -> dict[Path, list[Told]]:
    found: dict[Path, list[Told]] = {}
    for one in told:
        found.setdefault(one.mention.path, []).append(one)
    return found


@dataclass(slots=True)
class Pass:
    """Captures at once; what became of it is in the fields, which nobody needs where it raises.

    `is_over` tells that no further transcript is to be begun. `recovered` are the lines that became sources of their
    own, by the transcript that they were in; it goes on.
    """

    parts: Parts
    recovery: Recovery
    bytes_max: float
    is_over: Callable[[], bool]
    recovered: dict[Path, list[bytes]]
    captured: Captured = field(default_factory=Captured)
    left_out_bytes: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    aside: dict[Path, str] = field(default_factory=dict)
    """Entries that cannot be used, by their files, with the reason."""
    left: set[Path] = field(default_factory=set)
    """Entries that are not used up."""
    failed: set[Path] = field(default_factory=set)
    """Those among them that were tried."""
    deferred: list[Told] = field(default_factory=list)
    """What can be decided only when this is captured."""

    def capture(self, mentions: Iterable[Told], tool: str) -> None:
        """Capture what the entries mean. Raises what capturing raises."""
        told = by_path(mentions)
        before = self._known(list(told))
        seen: dict[Path, Fingerprint] = {}
        self.captured = capture_of(self.parts).take(self._looks(told, before, seen), Request([], tool=tool))
        refused = {rejected.path: rejected for rejected in self.captured.rejected}
        for path, named in told.items():
            for one in named:
                if (rejected := refused.get(path) or refused.get(one.entry.file)) is not None:
                    self._refused(one, rejected)
        for path, fingerprint in seen.items():
            self._check(told[path], fingerprint)
        if files := [one.entry.file for found in told.values() for one in found if one.mention.held]:
            with self.parts.store.cursor() as cursor:
                # The spool is no place where a source could be found again.
                known.write_files(cursor, (), files)

    def _looks(
        self,
        told: Mapping[Path, list[Told]],
        before: Mapping[Path, KnownFile],
        seen: dict[Path, Fingerprint],
    ) -> Iterator[Looked]:
        for path, mentions in told.items():
            if self.is_over():
                self._leave(mentions)
                continue
            try:
                yield from self._of_path(path, mentions, before.get(path), seen)
            except (NotRead, OSError) as error:
                log.debug("left in the spool", error=type(error).__name__)
                self._fail(mentions)

    def _of_path(
        self, path: Path, mentions: list[Told], before: KnownFile | None, seen: dict[Path, Fingerprint]
    ) -> Iterator[Looked]:
        live = live_transcript(path, self.parts.config.home, of_agent=_is_in_folder_of_agent(path, mentions))
        if isinstance(live, str):
            yield from self._of_gone(mentions, live, before)
            return
        new_bytes = live.fingerprint.size - (before.fingerprint.size if before is not None else 0)
        if new_bytes > self.bytes_max:
            self._leave(mentions)
            return
        yield from self._of_changed(path, mentions, before)
        seen[path] = live.fingerprint
        if before is None or before.fingerprint != live.fingerprint:
            yield live

    def _of_changed(self, path: Path, mentions: Sequence[Told], before: KnownFile | None) -> Iterator[Looked]:
        """Yield the spooled lines that are not in the file any more."""
        for one in mentions:
            if one.mention.held is None or is_still_there(one.mention):
                continue
            self.left_out_bytes += one.mention.left_out_bytes
            if (recovered := self._recovered(one, "the file changed")) is not None:
                # What was captured before is kept by the capture of the file as it is now.
                yield from self._own_source(
                    one, *recovered, chain(lines_of(path), recovered[1].lines()), before
                )

    def _of_gone(self, mentions: Sequence[Told], reason: str, before: KnownFile | None) -> Iterator[Looked]:
        """Yield what was spooled of a file that is no transcript now: as the file's next bytes if they are that."""
        for number, one in enumerate(mentions):
            mention = one.mention
            if mention.held is None or reason == "home" or is_still_there(mention):
                if reason == "no-transcript":
                    self.aside[one.entry.file] = (
                        "It names a file that is no transcript whose format is known."
                    )
                else:
                    self.dropped[reason] += 1
                continue
            self.left_out_bytes += mention.left_out_bytes
            if (recovered := self._recovered(one, reason)) is None:
                continue
            identity, found = recovered
            if self.recovery.continues(mention, found, before.source if before else None):
                yield continued(mention, identity)
                # What comes after it is decided when this is captured.
                self.deferred += mentions[number + 1 :]
                return
            yield from self._own_source(one, identity, found, found.lines(), before)

    def _recovered(self, one: Told, reason: str) -> tuple[tuple[str, Identity], Known] | None:
        """Return which session an entry's bytes are of, and what is known of it; None where they are not wanted."""
        if (identity := identity_of(one.mention)) is None:
            self.aside[one.entry.file] = f"It holds bytes of no transcript whose format is known ({reason})."
            return None
        found = self.recovery.known(one.mention, identity, one.entry)
        if found.is_erased:
            self.dropped["erased"] += 1
            return None
        return identity, found

    def _own_source(
        self,
        one: Told,
        identity: tuple[str, Identity],
        found: Known,
        lines: Iterable[bytes],
        before: KnownFile | None,
    ) -> Iterator[Looked]:
        recovered = self.recovered.setdefault(one.mention.path, [])
        missing = self.recovery.missing(one.entry, one.mention, identity, chain(recovered, lines))
        if missing:
            recovered += missing
            scope = before.scope if before is not None else None
            yield self.recovery.own_source(one.entry, one.mention, identity, missing, scope, found.spans)

    def _check(self, mentions: Sequence[Told], fingerprint: Fingerprint) -> None:
        """Leave what was copied if the file changed while it was captured: it may be in neither now."""
        for one in mentions:
            if one.mention.held is None:
                continue
            with suppress(OSError):
                if fingerprint_of(os.lstat(one.mention.path)) == fingerprint:
                    continue
            if not is_still_there(one.mention):
                self._fail([one])

    def _refused(self, one: Told, rejected: Rejected) -> None:
        if rejected.reason == "erased" or one.mention.held is None:
            self.dropped[rejected.reason] += 1
        else:
            self._fail([one])

    def _leave(self, mentions: Collection[Told]) -> None:
        self.left |= {one.entry.file for one in mentions}

    def _fail(self, mentions: Collection[Told]) -> None:
        self._leave(mentions)
        self.failed |= {one.entry.file for one in mentions}

    def _known(self, paths: list[Path]) -> Mapping[Path, KnownFile]:
        with self.parts.store.cursor() as cursor:
            return known.files(cursor, paths)


def _is_in_folder_of_agent(path: Path, mentions: Sequence[Told]) -> bool:
    """Tell whether a file is where the agent whose hooks name it keeps its transcripts, of whatever format."""
    agents = {one.entry.agent for one in mentions} & set(NAMES)
    folders = [folder for agent in agents for folder in agents_folders(agent)[agent]]
    return any(path.is_relative_to(folder) for folder in folders)
