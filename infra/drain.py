"""Draining: what waits in the spool is captured, and an entry is deleted once that is durable."""

from __future__ import annotations

import os
import time
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
from chronofile.infra.capturing import capture_of
from chronofile.infra.config import ON
from chronofile.ingest import known, spool
from chronofile.ingest.capture import Captured, Request
from chronofile.ingest.cleaning import cleaning
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
from chronofile.ingest.spool import Entry, Mention, Unusable

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

ENTRIES_MAX = 1_000
"""So many are taken at a time; what is left is for the next time."""
LEFT_AGE_S_MAX = 86_400
"""An entry that could not be used for a day is set aside."""
UNTOLD = float("inf")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Drained:
    """What a drain came to. `captured` counts revisions, `dropped` entries' transcripts by why there was nothing.

    `left` are entries that wait for the next time. `left_out_bytes` were too many for the spool and are not in
    the file any more either.
    """

    entries: int = 0
    captured: int = 0
    set_aside: int = 0
    left: int = 0
    left_out_bytes: int = 0
    batches: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


def drain(
    parts: Parts,
    *,
    seconds: float = UNTOLD,
    bytes_max: float = UNTOLD,
    stopping: Callable[[], bool] = lambda: False,
) -> Drained:
    """Capture what the spool holds. Nothing happens where it is empty or another process is at it.

    After `seconds` no further transcript is begun, and one of which more than `bytes_max` bytes are new is left
    for somebody who has the time. No entry makes it raise; the database does.
    """
    home = parts.config.home
    if not spool.waiting(home):
        return Drained()
    with spool.locked(home) as is_ours:
        if not is_ours:
            return Drained()
        spool.delete_parts(home)
        return _Drain(parts, time.monotonic() + seconds, bytes_max, stopping).run()


@dataclass(frozen=True, slots=True)
class _Told:
    """One transcript that one entry names."""

    entry: Entry
    mention: Mention


@dataclass(slots=True)
class _Drain:
    parts: Parts
    deadline_s: float
    bytes_max: float
    stopping: Callable[[], bool]
    recovery: Recovery = field(init=False)
    captured: list[Captured] = field(default_factory=list)
    set_aside: int = 0
    left_out_bytes: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    aside: dict[Path, str] = field(default_factory=dict)
    """Entries that cannot be used, by their files, with the reason."""
    left: set[Path] = field(default_factory=set)
    """Entries that are not used up."""
    deferred: dict[Path, list[_Told]] = field(default_factory=dict)
    recovered: dict[Path, list[bytes]] = field(default_factory=dict)
    """The lines that became sources of their own, by the transcript that they were in."""

    def __post_init__(self) -> None:
        parts = self.parts

        def read(keys: Sequence[str]) -> Mapping[str, bytes]:
            with parts.engine.connect() as conn:
                return parts.contents.read(conn, keys)

        clean = cleaning(parts.contents.key, redacting=parts.config["redaction"] == ON)
        self.recovery = Recovery(parts.store, parts.contents.key, clean, read)

    def run(self) -> Drained:
        entries = list(self._entries())
        told: dict[Path, list[_Told]] = {}
        for entry in entries:
            for mention in entry.mentions:
                told.setdefault(mention.path, []).append(_Told(entry, mention))
            if not entry.mentions and not entry.is_readable:
                self.aside[entry.file] = "The hook's JSON is broken, and names no transcript."
        while told:
            self._capture(told, _tool(entries))
            told, self.deferred = self.deferred, {}
        return self._settled(entries)

    def _entries(self) -> Iterator[Entry]:
        for file in spool.waiting(self.parts.config.home)[:ENTRIES_MAX]:
            try:
                entry = spool.read(file)
            except Unusable as error:
                self._put_aside(file, error.reason)
            else:
                if entry is not None:
                    yield entry

    def _capture(self, told: Mapping[Path, list[_Told]], tool: str) -> None:
        """Capture what the entries mean, as one batch."""
        before = self._known(list(told))
        seen: dict[Path, Fingerprint] = {}
        captured = capture_of(self.parts).take(self._looks(told, before, seen), Request([], tool=tool))
        self.captured.append(captured)
        refused = {rejected.path: rejected for rejected in captured.rejected}
        for path, mentions in told.items():
            for one in mentions:
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
        told: Mapping[Path, list[_Told]],
        before: Mapping[Path, KnownFile],
        seen: dict[Path, Fingerprint],
    ) -> Iterator[Looked]:
        for path, mentions in told.items():
            if time.monotonic() > self.deadline_s or self.stopping():
                self._leave(mentions)
                continue
            try:
                yield from self._of_path(path, mentions, before.get(path), seen)
            except (NotRead, OSError) as error:
                log.debug("left in the spool", error=type(error).__name__)
                self._leave(mentions)

    def _of_path(
        self, path: Path, mentions: list[_Told], before: KnownFile | None, seen: dict[Path, Fingerprint]
    ) -> Iterator[Looked]:
        live = live_transcript(path, self.parts.config.home)
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

    def _of_changed(
        self, path: Path, mentions: Sequence[_Told], before: KnownFile | None
    ) -> Iterator[Looked]:
        """Yield the spooled lines that are not in the file any more."""
        for one in mentions:
            if one.mention.held is None or is_still_there(one.mention):
                continue
            self.left_out_bytes += one.mention.left_out_bytes
            if (recovered := self._recovered(one, "the file changed")) is not None:
                yield from self._own_source(one, *recovered, lines_of(path), before)

    def _of_gone(self, mentions: Sequence[_Told], reason: str, before: KnownFile | None) -> Iterator[Looked]:
        """Yield what was spooled of a file that is no transcript now: as the file's next bytes if they are that."""
        for number, one in enumerate(mentions):
            mention = one.mention
            if mention.held is None or reason == "home" or is_still_there(mention):
                self.dropped[reason] += 1
                continue
            self.left_out_bytes += mention.left_out_bytes
            if (recovered := self._recovered(one, reason)) is None:
                continue
            identity, found = recovered
            if self.recovery.continues(mention, found, before.source if before else None):
                yield continued(mention, identity)
                # What comes after it is decided when this is captured.
                self.deferred[mention.path] = list(mentions[number + 1 :])
                return
            yield from self._own_source(one, identity, found, found.lines(), before)

    def _recovered(self, one: _Told, reason: str) -> tuple[tuple[str, Identity], Known] | None:
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
        one: _Told,
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

    def _check(self, mentions: Sequence[_Told], fingerprint: Fingerprint) -> None:
        """Leave what was copied if the file changed while it was captured: it may be in neither now."""
        for one in mentions:
            if one.mention.held is None:
                continue
            with suppress(OSError):
                if fingerprint_of(os.lstat(one.mention.path)) == fingerprint:
                    continue
            if not is_still_there(one.mention):
                self.left.add(one.entry.file)

    def _refused(self, one: _Told, rejected: Rejected) -> None:
        if rejected.reason == "erased" or one.mention.held is None:
            self.dropped[rejected.reason] += 1
        else:
            self.left.add(one.entry.file)

    def _leave(self, mentions: Collection[_Told]) -> None:
        self.left |= {one.entry.file for one in mentions}

    def _settled(self, entries: Sequence[Entry]) -> Drained:
        """Delete the entries that are used up, and set aside those that cannot be used.

        The last goes first: lines that an earlier entry has too became no source of a later one, and would
        if that were alone.
        """
        used = 0
        for entry in reversed(entries):
            if entry.file in self.aside and entry.file not in self.left:
                self._put_aside(entry.file, self.aside[entry.file])
            elif entry.file not in self.left:
                entry.file.unlink(missing_ok=True)
                used += 1
            elif self.deadline_s == UNTOLD and time.time() - entry.at_ns / 1e9 > LEFT_AGE_S_MAX:
                self._put_aside(entry.file, "It could not be captured for a day.")
        return Drained(
            entries=used,
            captured=sum(captured.revisions for captured in self.captured),
            set_aside=self.set_aside,
            left=len(self.left),
            left_out_bytes=self.left_out_bytes,
            batches=tuple(captured.batch for captured in self.captured if captured.batch),
            dropped=dict(self.dropped),
        )

    def _put_aside(self, file: Path, reason: str) -> None:
        try:
            spool.set_aside(file, reason)
            self.set_aside += 1
        except OSError as failure:
            log.warning("an entry of the spool cannot be set aside", error=failure.strerror)

    def _known(self, paths: list[Path]) -> Mapping[Path, KnownFile]:
        with self.parts.store.cursor() as cursor:
            return known.files(cursor, paths)


def _tool(entries: Sequence[Entry]) -> str:
    agents = {entry.agent for entry in entries}
    return f"hook:{agents.pop()}" if len(agents) == 1 else "drain"
