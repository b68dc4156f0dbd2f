"""A watch as its users run it, a process of its own, and what the log holds of the files that it watched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from chronofile.domain import streams
from chronofile.domain.events import RevisionCaptured, SourceMoved, SourceRegistered, SourceRemoved
from chronofile.infra.contents import ContentStore
from chronofile.infra.event_store import EventStore
from tests.infra.command_line import PROGRAM

WAIT_S = 30.0
POLL_S = 0.02


def until(condition: Callable[[], object], wait_s: float = WAIT_S) -> float:
    """Wait until something holds, and return how many seconds that took."""
    began_s = time.monotonic()
    while not condition():
        assert time.monotonic() < began_s + wait_s, "It never came to that."
        time.sleep(POLL_S)
    return time.monotonic() - began_s


@dataclass(slots=True)
class Watch:
    """A running watch: the lines of JSON that it printed, and what it said."""

    process: subprocess.Popen[bytes]
    flushes: list[dict[str, Any]] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def begun(self) -> Watch:
        until(lambda: self.flushes or self.process.poll() is not None)
        assert self.process.poll() is None, self.said
        return self

    @property
    def said(self) -> str:
        return "\n".join(self.sentences)

    def says(self, words: str, wait_s: float = WAIT_S) -> None:
        """Wait until it has said something."""
        until(lambda: words in self.said, wait_s)

    def count(self, name: str) -> int:
        """Return the sum of a number over all captures so far."""
        return sum(flush[name] for flush in self.flushes)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit status."""
        self.process.send_signal(number)
        status = self.process.wait(WAIT_S)
        assert "Traceback" not in self.said
        return status

    @property
    def cpu_s(self) -> float:
        """Seconds of processor time so far, on Linux."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def watching(
    *paths: str | Path,
    home: Path,
    conninfo: str | None = None,
    agents: str | None = "none",
    before: tuple[str, ...] = (),
    **variables: str,
) -> Iterator[Watch]:
    """Yield a watch on the paths; it is killed if it still runs at the end.

    Its user's folder is the one that the home is in. `before` are words that its command line begins with.
    """
    base = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "CHRONOFILE_HOME": str(home)}
    if conninfo is not None:
        base["CHRONOFILE_DATABASE_URL"] = conninfo
    flags = ["--json", *([] if agents is None else ["--agents", agents])]
    process = subprocess.Popen(
        [*before, *PROGRAM, "watch", *flags, *map(str, paths)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home.parent,
        env={**base, **variables},
    )
    watch = Watch(process)
    readers = [
        threading.Thread(
            target=_read, args=(process.stdout, lambda line: watch.flushes.append(json.loads(line)))
        ),
        threading.Thread(target=_read, args=(process.stderr, watch.sentences.append)),
    ]
    for reader in readers:
        reader.start()
    try:
        yield watch
    finally:
        process.kill()
        process.wait(WAIT_S)
        for reader in readers:
            reader.join(WAIT_S)


def _read(stream: Any, told: Callable[[str], None]) -> None:
    with stream:
        for line in stream:
            told(line.decode("utf-8", "replace").rstrip("\n"))


@dataclass(slots=True)
class Standing:
    """A source as the log has it now: the ranges that make it up, each by its key in the file."""

    kind: str = ""
    file: str = ""
    removed: bool = False
    ranges: list[tuple[int, int, str]] = field(default_factory=list)
    doubled: int = 0
    """How many revisions brought the very bytes that stood there."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the log has of files."""

    sources: Mapping[str, Standing]
    contents: ContentStore

    @classmethod
    def of(cls, store: EventStore, contents: ContentStore) -> Kept:
        sources: dict[str, Standing] = defaultdict(Standing)
        for page in store.pages():
            for recorded in page.events:
                if recorded.stream.startswith(streams.source("")):
                    _apply(sources[recorded.stream], recorded.event)
        return cls(sources, contents)

    def missing(self, *folders: Path) -> list[str]:
        """Return the files below the folders that are not captured as they are, and what is kept that is not there.

        What a dot hides is none of these files.
        """
        key = self.contents.text_key
        files = {key(str(path)): path for folder in folders for path in _files(folder)}
        standing = {source.file: source for source in self.sources.values() if not source.removed}
        found = [str(path) for file, path in files.items() if not self._holds(standing.get(file), path)]
        # A transcript stays, also when its file does not.
        gone = [file for file, source in standing.items() if file not in files and source.kind == "file"]
        return [*found, *gone]

    @property
    def doubled(self) -> int:
        return sum(source.doubled for source in self.sources.values())

    def _holds(self, source: Standing | None, path: Path) -> bool:
        if source is None:
            return False
        content = path.read_bytes()
        kept = [(start, end) for start, end, _ in source.ranges]
        begun = all(former[1] == later[0] for former, later in pairwise(kept))
        is_whole = bool(kept) and kept[0][0] == 0 and kept[-1][1] == len(content) and begun
        return is_whole and all(self.contents.key(content[s:e]) == key for s, e, key in source.ranges)


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        hidden = any(name.startswith(".") for name in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path


def _apply(source: Standing, event: object) -> None:
    match event:
        case SourceRegistered():
            source.kind, source.removed = event.kind, False
        case SourceRemoved():
            source.removed = True
        case SourceMoved():
            source.file = event.file
        case RevisionCaptured():
            brought = (event.start, event.end, event.original or event.content)
            source.doubled += source.ranges == [brought] and not source.removed
            source.ranges = [*([] if event.start == 0 else source.ranges), brought]
            source.file, source.removed = event.file, False
