"""Draining: what waits in the spool is captured, and an entry is deleted once that is durable."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from chronofile.domain.rejection import NotRead
from chronofile.infra.capturing import clean_of
from chronofile.infra.drain.passes import Pass, Told, by_path
from chronofile.infra.failures import is_expected
from chronofile.ingest import hooked, spool
from chronofile.ingest.recovery import Recovery
from chronofile.ingest.spool import Entry, Unusable

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

ENTRIES_MAX = 50_000
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
        return _Drain(parts, seconds, bytes_max, stopping).run()


@dataclass(slots=True)
class _Drain:
    parts: Parts
    seconds: float
    bytes_max: float
    stopping: Callable[[], bool]
    began_s: float = field(default_factory=time.monotonic)
    recovery: Recovery = field(init=False)
    set_aside: int = 0
    not_read: int = 0
    passes: list[Pass] = field(default_factory=list)
    aside: dict[Path, str] = field(default_factory=dict)
    """Entries that cannot be used, by their files, with the reason."""
    left: set[Path] = field(default_factory=set)
    """Entries that are not used up."""
    failed: set[Path] = field(default_factory=set)
    """Those among them that were tried."""
    recovered: dict[Path, list[bytes]] = field(default_factory=dict)
    """The lines that became sources of their own, by the transcript that they were in."""

    def __post_init__(self) -> None:
        parts = self.parts
        self.recovery = Recovery(parts.store, parts.contents.key, clean_of(parts), parts.read)

    def run(self) -> Drained:
        entries = list(self._entries())
        hooked.note(self.parts.config.home, entries)
        told: list[Told] = []
        for entry in entries:
            told += [Told(entry, mention) for mention in entry.mentions]
            if not entry.mentions and not entry.is_readable:
                self.aside[entry.file] = "The hook's JSON is broken, and names no transcript."
        told = [one for mentions in by_path(told).values() for one in mentions]
        while told:
            told = self._capture(told, _tool(entries))
        return self._settled(entries)

    def _entries(self) -> Iterator[Entry]:
        """Yield the entries that can be used; reading them takes half of the time at most."""
        files = spool.waiting(self.parts.config.home)
        for number, file in enumerate(files):
            if number >= ENTRIES_MAX or self._is_past(self.seconds / 2):
                self.not_read = len(files) - number
                return
            try:
                entry = spool.read(file)
            except Unusable as error:
                self._put_aside(file, error.reason)
            else:
                if entry is not None:
                    yield entry

    def _capture(self, told: Sequence[Told], tool: str) -> list[Told]:
        """Capture what the entries mean, as one batch; return those that were deferred.

        Where that fails, and not for the system's sake, the halves are tried, so that what makes it fail is found
        and set aside, and nothing else.
        """
        recovered = {path: list(lines) for path, lines in self.recovered.items()}
        run = Pass(self.parts, self.recovery, self.bytes_max, self._is_over, recovered)
        try:
            run.capture(told, tool)
        except Exception as error:
            if not _is_of_an_entry(error):
                raise
            log.warning(
                "entries of the spool cannot be captured", entries=len(told), error=type(error).__name__
            )
            if len(told) == 1:
                self.aside[told[0].entry.file] = f"It could not be captured ({type(error).__name__})."
                return []
            half = len(told) // 2
            return [*self._capture(told[:half], tool), *self._capture(told[half:], tool)]
        self.passes.append(run)
        self.aside |= run.aside
        self.left |= run.left
        self.failed |= run.failed
        self.recovered = run.recovered
        return run.deferred

    def _is_over(self) -> bool:
        return self._is_past(self.seconds) or self.stopping()

    def _is_past(self, seconds: float) -> bool:
        return time.monotonic() - self.began_s > seconds

    def _settled(self, entries: Sequence[Entry]) -> Drained:
        """Delete the entries that are used up, and set aside those that cannot be used.

        The last goes first: lines that an earlier entry has too became no source of a later one, and would
        if that were alone.
        """
        used = 0
        self.left -= self._said_before(entries)
        for entry in reversed(entries):
            if entry.file in self.aside and entry.file not in self.left:
                self._put_aside(entry.file, self.aside[entry.file])
            elif entry.file not in self.left:
                entry.file.unlink(missing_ok=True)
                used += 1
            elif self._is_too_old(entry):
                self.left.discard(entry.file)
                self._put_aside(entry.file, "It could not be captured for a day.")
        dropped = sum((run.dropped for run in self.passes), Counter[str]())
        return Drained(
            entries=used,
            captured=sum(run.captured.revisions for run in self.passes),
            set_aside=self.set_aside,
            left=len(self.left) + self.not_read,
            left_out_bytes=sum(run.left_out_bytes for run in self.passes),
            batches=tuple(run.captured.batch for run in self.passes if run.captured.batch),
            dropped=dict(dropped),
        )

    def _said_before(self, entries: Sequence[Entry]) -> set[Path]:
        """Return the entries among those left that hold nothing and tell of no other transcripts than earlier ones.

        A transcript may wait for long, and each word in it is an event: one that says so is enough.
        """
        said: set[Path] = set()
        again: set[Path] = set()
        for entry in entries:
            if entry.file not in self.left or entry.file in self.aside or self._is_too_old(entry):
                continue
            paths = {mention.path for mention in entry.mentions}
            if paths <= said and not any(one.held or one.left_out_bytes for one in entry.mentions):
                again.add(entry.file)
            said |= paths
        return again

    def _is_too_old(self, entry: Entry) -> bool:
        return entry.file in self.failed and time.time() - entry.at_ns / 1e9 > LEFT_AGE_S_MAX

    def _put_aside(self, file: Path, reason: str) -> None:
        try:
            spool.set_aside(file, reason)
            self.set_aside += 1
        except OSError as failure:
            log.warning("an entry of the spool cannot be set aside", error=failure.strerror)


def _is_of_an_entry(error: BaseException) -> bool:
    """Tell whether what was to be captured made it fail, and not the system or the database as such."""
    cause = error
    while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = inner
    # Classes of codes: what was sent cannot be stored, or is past a limit.
    is_refused = (getattr(cause, "sqlstate", None) or "").startswith(("22", "54"))
    return is_refused or isinstance(error, NotRead) or not is_expected(error)


def _tool(entries: Sequence[Entry]) -> str:
    agents = {entry.agent for entry in entries}
    return f"hook:{agents.pop()}" if len(agents) == 1 else "drain"
