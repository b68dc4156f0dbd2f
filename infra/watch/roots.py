"""Roots: the folders and files that are watched, as they come, go and are replaced."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.observers.api import ObservedWatch

    from chronofile.infra.watch.observing import Observing

Identity = tuple[int, int]
"""A device and an inode."""

_LIMITED = (
    "The system watches no more folders for us ({limit}): everything is looked through every few seconds instead."
    " A higher limit (sysctl {limit}) ends that without a new start."
)


@dataclass(slots=True)
class Root:
    """A folder or a file that was named, as it was when it was last looked at. `path` is without links.

    `identity` is that of the folder, or of the folder that the file is in; None where nothing is there.
    `filled` is the folder in which something was seen to be. Below one that `is_sparse` there is so much else that
    it is looked through now and then instead.
    """

    given: Path
    path: Path
    identity: Identity | None = None
    filled: Identity | None = None
    is_folder: bool = False
    is_sparse: bool = False
    watch: ObservedWatch | None = None

    @property
    def is_there(self) -> bool:
        return self.identity is not None

    @property
    def counts(self) -> bool:
        """Whether what is missing below it was removed, and is not away with a disk.

        An empty folder may be the place of a disk that is not mounted, unless something was seen in this very one.
        """
        return self.is_there and (not self.is_folder or self.filled == self.identity)


@dataclass(frozen=True, slots=True)
class News:
    """What a look at the roots found: those that are to be looked through, and what there is to say."""

    changed: tuple[Path, ...] = ()
    sentences: tuple[str, ...] = ()


class Roots:
    """All that a watch was asked to watch."""

    def __init__(self, paths: Iterable[Path], observing: Observing) -> None:
        self._observing = observing
        self._roots = [Root(path, path) for path in dict.fromkeys(paths)]
        self._limit: str | None = None
        self._is_begun = False

    def add(self, paths: Iterable[Path], *, sparse: bool = False) -> None:
        """Watch more from the next look on; what is watched already changes nothing."""
        known = {root.given for root in self._roots}
        self._roots += [
            Root(path, path, is_sparse=sparse) for path in dict.fromkeys(paths) if path not in known
        ]

    @property
    def counting(self) -> list[Path]:
        """The roots that are there, so that a scan of them tells what was removed."""
        return list(dict.fromkeys(root.path for root in self._roots if root.counts))

    @property
    def unwatched(self) -> list[Path]:
        """The roots of which the system may not tell every change, or is not asked to."""
        is_limited = self._limit is not None
        return [root.path for root in self._roots if root.counts and (is_limited or root.watch is None)]

    @property
    def is_told_everything(self) -> bool:
        """Whether the system tells every change that it is asked for."""
        asked = [root for root in self._roots if root.counts and not root.is_sparse]
        return self._limit is None and all(root.watch is not None for root in asked)

    def look(self) -> News:
        """See which roots came, went or were replaced, and watch those that are there and not watched."""
        changed, sentences = [], []
        is_watching_more = False
        for root in self._roots:
            was_there, counted, watch = root.is_there, root.counts, root.watch
            is_other = self._look_at(root)
            is_watching_more |= root.watch is not None and root.watch is not watch
            if root.counts and (is_other or not counted):
                changed.append(root.path)
            if was_there != root.is_there and self._is_begun:
                sentences.append(_returned(root) if root.is_there else _vanished(root))
            elif not self._is_begun and not root.is_there:
                sentences.append(f"{root.given} is not there; it is watched as soon as it is.")
        if is_watching_more:
            self._observing.probe()
        self._is_begun = True
        return News(tuple(dict.fromkeys(changed)), (*sentences, *self._limit_news()))

    def renew(self) -> None:
        """Let every root be watched anew at the next look: events may have stopped coming, or a limit was raised."""
        self._observing.begin_anew()
        for root in self._roots:
            root.watch = None

    def _look_at(self, root: Root) -> bool:
        """Bring a root up to date; tell whether it is another than it was, or was not watched for a while."""
        path, identity, is_folder = _found(root.given)
        if is_folder and identity is not None and _is_filled(path):
            root.filled = identity
        is_same = (path, identity, is_folder) == (root.path, root.identity, root.is_folder)
        if is_same and (not root.is_there or self._is_reporting(root)):
            return False
        if root.watch is not None:
            self._observing.forget(root.watch)
        had_watch = root.watch is not None
        root.path, root.identity, root.is_folder = path, identity, is_folder
        is_watched = identity is not None and not root.is_sparse
        root.watch = self._observing.watch(path) if is_watched else None
        return not is_same or had_watch

    def _is_reporting(self, root: Root) -> bool:
        return root.watch is not None and self._observing.is_alive(root.watch)

    def _limit_news(self) -> list[str]:
        """Say once that the system's limit is met, and once that it no longer is."""
        before, self._limit = self._limit, self._observing.limit
        if self._limit is not None and before is None:
            return [_LIMITED.format(limit=self._limit)]
        return (
            ["The system watches every folder again."] if before is not None and self._limit is None else []
        )


def _vanished(root: Root) -> str:
    return f"{root.given} is gone. Nothing of it counts as removed; it is watched again when it is back."


def _returned(root: Root) -> str:
    return f"{root.given} is there, and watched."


def _found(given: Path) -> tuple[Path, Identity | None, bool]:
    """Return what is at a path now: it without links, whose identity it has, and whether it is a folder."""
    try:
        path = Path(os.path.realpath(given))
        status = path.stat()
        is_folder = stat.S_ISDIR(status.st_mode)
        # A file is replaced at every save; that is a change of the folder that it is in.
        named = status if is_folder else path.parent.stat()
    except (OSError, ValueError):
        return given, None, False
    return path, (named.st_dev, named.st_ino), is_folder


def _is_filled(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except PermissionError:
        return True  # The scan says that it may not be listed.
    except OSError:
        return False
