"""Observing: what the system tells of folders and files, through watchdog, and where it refuses to."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog import events
from watchdog.observers import Observer

from chronofile.ingest.watching import Changes

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

EVENTS: list[type[events.FileSystemEvent]] = [
    *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent, events.FileAttribEvent),
    *(events.FileMovedEvent, events.FileDeletedEvent),
    *(events.DirCreatedEvent, events.DirAttribEvent, events.DirMovedEvent, events.DirDeletedEvent),
]
"""What may mean that there is something to capture. That a folder was modified is told by what is in it."""
LIMITS = {
    errno.ENOSPC: "fs.inotify.max_user_watches",
    errno.EMFILE: "fs.inotify.max_user_instances",
}
"""The settings of Linux that end watching, by the error that says so."""


class Observing:
    """Reports changes below the watched paths to `changes`, from threads of its own, until it is closed.

    `wake` is called at the first change after some were taken, and when changes were lost. Changes at or below
    the `spared` paths are none: a capture writes there itself.
    """

    def __init__(self, changes: Changes, wake: Callable[[], None], spared: Sequence[Path] = ()) -> None:
        self._listener = _Listener(changes, wake, spared)
        self._complaints = _Complaints(self._listener)
        self._complaints.begin()
        self._observer: BaseObserver | None = None
        self._bell: ObservedWatch | None = None
        self.limit: str | None = None
        """The setting of the system that keeps us from watching everything, None where nothing does."""

    def watch(self, path: Path) -> ObservedWatch | None:
        """Watch a file, or a folder with all that is below it; None where the system does not."""
        return self._scheduled(self._listener, path, recursive=True)

    def ring_at(self, folder: Path, ring: Callable[[], None]) -> None:
        """Have `ring` called when something is put into a folder, if the system does; again changes nothing."""
        if (self._bell is None or not self.is_alive(self._bell)) and folder.is_dir():
            self._bell = self._scheduled(_Bell(ring), folder, recursive=False)

    def forget(self, watch: ObservedWatch) -> None:
        """Watch no longer."""
        if self._observer is not None and watch in self._watches:
            self._observer.unschedule(watch)

    def is_alive(self, watch: ObservedWatch) -> bool:
        """Tell whether a watch still reports; that of a folder which was deleted does not."""
        if self._observer is None or not self._observer.is_alive():
            return False
        return any(emitter.watch == watch and emitter.is_alive() for emitter in self._observer.emitters)

    def probe(self) -> None:
        """Find out whether the system would watch one more folder.

        Where it would not, it may have refused subfolders of what is watched, and nobody told.
        """
        # Where no folder can be made, nothing is found out.
        with suppress(OSError), tempfile.TemporaryDirectory(prefix="chronofile-watch-") as folder:
            watch = self._scheduled(_Bell(lambda: None), Path(folder), recursive=False)
            if watch is not None:
                self.forget(watch)

    def begin_anew(self) -> None:
        """Give up every watch and every limit that was met; who watched has to watch again."""
        observer, self._observer, self.limit = self._observer, None, None
        if observer is not None:
            observer.stop()
            observer.join()

    def close(self) -> None:
        self.begin_anew()
        self._complaints.end()

    @property
    def _watches(self) -> set[ObservedWatch]:
        return set() if self._observer is None else {emitter.watch for emitter in self._observer.emitters}

    def _scheduled(
        self, listener: events.FileSystemEventHandler, path: Path, *, recursive: bool
    ) -> ObservedWatch | None:
        try:
            if self._observer is None:
                observer = Observer()
                observer.start()
                self._observer = observer
            return self._observer.schedule(listener, str(path), recursive=recursive, event_filter=EVENTS)
        except OSError as failure:
            self.limit = self.limit or LIMITS.get(failure.errno or 0)
            return None


class _Listener(events.FileSystemEventHandler):
    """Notes the paths that events are about."""

    def __init__(self, changes: Changes, wake: Callable[[], None], spared: Sequence[Path]) -> None:
        self._changes, self._wake = changes, wake
        self._spared = tuple(f"{str(path).rstrip(os.sep)}{os.sep}" for path in spared)

    def dispatch(self, event: events.FileSystemEvent) -> None:
        named = (os.fsdecode(path) for path in (event.src_path, event.dest_path) if path)
        paths = [path for path in named if not f"{path}{os.sep}".startswith(self._spared)]
        if paths and self._changes.add(paths, time.monotonic()):
            self._wake()

    def lost(self) -> None:
        self._changes.lost(time.monotonic())
        self._wake()


class _Bell(events.FileSystemEventHandler):
    """Rings when something was put into a folder."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring

    def dispatch(self, event: events.FileSystemEvent) -> None:
        if event.event_type in {events.EVENT_TYPE_CREATED, events.EVENT_TYPE_MOVED}:
            self._ring()


class _Complaints(logging.Handler):
    """Hears what the library complains of, as of a queue that ran over: whatever it is, a change may be lost.

    The library has no other way to tell.
    """

    def __init__(self, listener: _Listener) -> None:
        super().__init__(logging.WARNING)
        self._listener = listener
        self._logger = logging.getLogger("watchdog")
        self._former = self._logger.propagate

    def begin(self) -> None:
        self._logger.propagate = False
        self._logger.addHandler(self)

    def end(self) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = self._former

    def emit(self, record: logging.LogRecord) -> None:
        self._listener.lost()
