"""The spool: what agents' hooks noted, in a folder of the home, until it is captured.

An entry is a file of one line of JSON, and behind it the bytes that the hook copied from transcripts. Its name
begins with its time, so that names are in the order of events.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chronofile.domain.rejection import NotRead
from chronofile.ingest import offsets
from chronofile.ingest.small_files import replace_file
from chronofile.ingest.spooled import SpooledBytes, held, is_object

VERSION = 1
SUFFIX = ".entry"
LINE_BYTES_MAX = 4 << 20
"""The hook keeps 64 KiB of a client's JSON, which escapes make six times as long at most."""
PART_AGE_S_MAX = 600.0
"""A file that has no name yet after so long is of a hook that was killed."""

AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
EVENT = re.compile(r"[a-z][a-z-]{0,127}")
NAME = re.compile(r"[0-9a-z-]{1,80}")
"""What a hook calls its agent, its event and its entry: they become part of what the log says, or of what it names."""
LARGE_BYTES_MIN = 32 << 20
"""A transcript with more new bytes waits for somebody who has the time."""

_REASON = ".reason"
_ASIDE = "set-aside"
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Unusable(Exception):
    """The entry cannot be used."""

    def __init__(self, entry: Path, reason: str) -> None:
        super().__init__(f"{entry}: {self.__doc__} {reason}")
        self.entry, self.reason = entry, reason


@dataclass(frozen=True, slots=True)
class Mention:
    """A transcript that an entry names, with its size when the hook ran, None where there was no file.

    `held` is what was copied of it; `left_out_bytes` were to be copied and were too many.
    """

    path: Path
    size: int | None
    held: SpooledBytes | None
    left_out_bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One event of an agent, as its hook noted it. `is_readable`: the client's own JSON could be read."""

    file: Path
    event: str
    agent: str
    at_ns: int
    mentions: tuple[Mention, ...]
    is_readable: bool

    @property
    def id(self) -> str:
        return self.file.name.removesuffix(SUFFIX)


@dataclass(frozen=True, slots=True)
class SetAside:
    """An entry that could not be used, and why."""

    entry: str
    reason: str


@dataclass(frozen=True, slots=True)
class SpoolStanding:
    """How much waits in the spool, what was set aside, and how many bytes all of it takes."""

    waiting: int = 0
    set_aside: tuple[SetAside, ...] = ()
    bytes: int = 0
    large: tuple[str, ...] = ()
    """The transcripts among those that wait of which so much is new that no command captures them in passing."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what somebody has to do about it, in sentences."""
        captures = (
            "so much of it is new that only `chronofile watch` and an idle `chronofile mcp` capture it."
        )
        return tuple(f"A transcript waits in the hooks' spool, {path}: {captures}" for path in self.large)


def folder(home: Path) -> Path:
    return home / "spool"


def waiting(home: Path) -> list[Path]:
    """Return the entries, oldest first; none where there is no spool."""
    return _entries_in(folder(home))


def read(file: Path) -> Entry | None:
    """Return an entry, None where a later version of the program has to read it. Raises Unusable."""
    if not NAME.fullmatch(file.name.removesuffix(SUFFIX)):
        raise Unusable(file, "No hook names an entry so.")
    try:
        line, size = _first_line(file)
    except OSError as failure:
        raise Unusable(file, f"The system says: {failure.strerror}.") from failure
    try:
        found = json.loads(line)
        if _count(found["version"]) > VERSION:
            return None
        return _entry(file, found, len(line), size)
    except Unusable:
        raise
    except NotRead as failure:
        raise Unusable(file, str(failure)) from failure
    except Exception as failure:  # Anybody can write a file there, and one must not stop all.
        raise Unusable(file, f"It is no entry of a hook ({type(failure).__name__}).") from failure


def set_aside(file: Path, reason: str) -> None:
    """Move an entry out of the way, with its reason beside it."""
    aside = file.parent / _ASIDE
    aside.mkdir(mode=0o700, exist_ok=True)
    file.rename(aside / file.name)
    replace_file(aside / (file.name + _REASON), reason.encode("utf-8", "backslashreplace") + b"\n")


def discard(home: Path, paths: frozenset[Path]) -> int:
    """Delete every entry that names one of the transcripts, also those that were set aside; return how many.

    What was erased must not come back from the spool.
    """
    gone = 0
    for file in (*waiting(home), *_aside(home)):
        with suppress(Unusable, OSError):
            entry = read(file)
            if entry is not None and paths & {mention.path for mention in entry.mentions}:
                file.unlink()
                file.with_name(file.name + _REASON).unlink(missing_ok=True)
                gone += 1
    return gone


def standing(home: Path) -> SpoolStanding:
    """Return how the spool stands."""
    aside = _aside(home)
    files = [*waiting(home), *aside]
    reasons = [SetAside(_text(file.name.removesuffix(SUFFIX)), _reason_of(file)) for file in aside]
    waiting_files = files[: len(files) - len(aside)]
    return SpoolStanding(
        len(waiting_files), tuple(reasons), sum(map(_size, files)), _large(home, waiting_files)
    )


@contextmanager
def locked(home: Path) -> Iterator[bool]:
    """Hold the right to drain the spool, if no other process has it; it ends with this process, also by a kill."""
    from fcntl import LOCK_EX, LOCK_NB, flock  # noqa: PLC0415  # Not every system has it.

    lock = os.open(folder(home) / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)


def delete_parts(home: Path) -> None:
    """Delete what hooks that were killed left of entries."""
    with suppress(OSError):
        for file in folder(home).iterdir():
            if file.suffix == ".part" and time.time() - file.stat().st_mtime > PART_AGE_S_MAX:
                file.unlink()


def _entry(file: Path, found: Any, line_bytes: int, size: int) -> Entry:
    """Return what an entry's line tells. Raises Unusable, and whatever a line raises that no hook wrote."""
    place = line_bytes
    mentions = []
    for told in found["transcripts"]:
        copied = told.get("copied") or {}
        spans = []
        before = 0
        for start, end in copied.get("spans", ()):
            if not before <= _count(start) <= _count(end):
                raise ValueError(start)
            spans.append((start, end, place))
            place += end - start
            before = end
        mentions.append((told, copied, tuple(spans)))
    if place != size:
        raise Unusable(file, f"It should have {place} bytes and has {size}.")
    return Entry(
        file=file,
        event=_named(EVENT, found["event"]),
        agent=_named(AGENT, found["agent"]),
        at_ns=_count(found["at_ns"]),
        mentions=tuple(_mention(file, *mention) for mention in mentions),
        is_readable=is_object(str(found["input"])) or bool(found["input_left_out"]) or not found["input"],
    )


def _mention(
    file: Path, told: Mapping[str, Any], copied: Mapping[str, Any], spans: tuple[tuple[int, int, int], ...]
) -> Mention:
    path = Path(told["path"])
    if not path.is_absolute() or b"\0" in os.fsencode(path):
        raise ValueError(path)
    return Mention(
        path=path,
        size=None if told["size"] is None else _count(told["size"]),
        held=held(file, spans, _count(copied["offset"])) if spans else None,
        left_out_bytes=_count(copied.get("left_out", 0)),
    )


def _count(found: Any) -> int:
    """Return a number of bytes or nanoseconds; raises TypeError, ValueError."""
    if type(found) is not int:
        raise TypeError(found)
    if not 0 <= found < 1 << 63:
        raise ValueError(found)
    return found


def _named(pattern: re.Pattern[str], found: Any) -> str:
    if not pattern.fullmatch(found):
        raise ValueError(found)
    return str(found)


def _large(home: Path, files: Iterable[Path]) -> tuple[str, ...]:
    """Return the transcripts that entries name and that have grown by much since they were captured."""
    paths: dict[Path, None] = {}
    for file in files:
        with suppress(Unusable):
            if (entry := read(file)) is not None:
                paths |= dict.fromkeys(mention.path for mention in entry.mentions)
    large = [path for path in paths if _size(path) - offsets.read(home, path) > LARGE_BYTES_MIN]
    return tuple(_text(path) for path in large)


def _text(name: str | Path) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


def _first_line(file: Path) -> tuple[bytes, int]:
    descriptor = os.open(file, _OPEN)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(file, "It is no regular file.")
        content = os.pread(descriptor, LINE_BYTES_MAX, 0)
        return content[: content.find(b"\n") + 1], status.st_size
    finally:
        os.close(descriptor)


def _aside(home: Path) -> list[Path]:
    return _entries_in(folder(home) / _ASIDE)


def _entries_in(place: Path) -> list[Path]:
    try:
        return sorted(file for file in place.iterdir() if file.suffix == SUFFIX)
    except OSError:
        return []


def _reason_of(file: Path) -> str:
    try:
        return file.with_name(file.name + _REASON).read_text("utf-8", "replace").strip()
    except OSError:
        return "unknown"


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
