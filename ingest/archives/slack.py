"""Slack's exports: each day of a channel as lines, with who is named in it, from a zip archive or a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import BYTE_ORDER_MARK, Record, compact_json, text_field
from chronofile.domain.formats.slack import CHANNEL_FILES, CONTEXT_FILES, USER_FILES, name
from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives.elements import elements
from chronofile.ingest.archives.shelves import Folder, Shelf, Zip
from chronofile.ingest.archives.unpacked import Conversation, LeftOut, PassedOver, Unpacked
from chronofile.ingest.reading import opened

ROOT_LEVELS_MAX = 3
"""How many folders above a channel's the export's own files are looked for; in a large one teams lie between."""
CONTEXTS_MAX = 8
"""How many lists of people and channels are kept: all the days of an export are read with the same ones."""
DAY_BYTES_MAX = 64 << 20
FOLDERS_MAX = 1_000
"""How many folders are looked into to see whether a list of channels belongs to an export."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}.*\.json")
_WORD = re.compile(rb"[A-Za-z0-9_-]+")
_NAMES = ("name", "real_name", "display_name")
_ABOUT_LEFT_OUT = frozenset({"members", "pins"})
"""Of a channel's record these change with every export, and hold no words."""


def of_zip(shelf: Zip, days: Sequence[str]) -> Iterator[Unpacked]:
    """Yield the days of an archive, given the names of the entries that hold messages."""
    first = _first_days(days)
    lists: dict[PurePosixPath, _Lists] = {}
    for entry in days:
        folder = PurePosixPath(entry).parent
        if folder.parent not in lists:
            lists[folder.parent] = _lists(shelf, folder)
            yield from (LeftOut("damaged", file) for file in lists[folder.parent].broken)
        day = _Day(entry)
        try:
            with shelf.open(entry) as stream:
                day.take(stream.read)
        except NotRead as failure:
            day.left_out.append(LeftOut(failure.reason, failure.detail))
        yield from day.unpacked(lists[folder.parent], is_first=entry in first)


def of_folder(path: Path, head: Head) -> Iterator[Unpacked] | None:
    """Return the day that a file of an unpacked export holds; of a file without messages that it is a part.

    None where it only looks like a part of one.
    """
    if path.name in CONTEXT_FILES:
        return iter([PassedOver("part-of-conversation")]) if _is_export(path.parent) else None
    return _of_day(path)


def _of_day(path: Path) -> Iterator[Unpacked]:
    root = path.parents[min(ROOT_LEVELS_MAX, len(path.parents) - 1)]
    day = _Day(path.relative_to(root).as_posix())
    with opened(path) as file:
        at = 0

        def read(size: int) -> bytes:
            nonlocal at
            content = file.range(at, min(at + size, file.fingerprint.size))
            at += len(content)
            return content

        day.take(read)
    first = min(other.name for other in path.parent.iterdir() if other.suffix == path.suffix)
    lists = _lists(Folder(root), PurePosixPath(day.entry).parent)
    yield from day.unpacked(lists, is_first=first == path.name)


def _is_export(folder: Path) -> bool:
    """Tell whether a folder has channels in it: folders with files that are named by a day."""
    try:
        folders = [one for one in folder.iterdir() if one.is_dir() and not one.is_symlink()]
        return any(_DAY.fullmatch(file.name) for one in folders[:FOLDERS_MAX] for file in one.iterdir())
    except OSError:
        return False


def _first_days(days: Sequence[str]) -> frozenset[str]:
    first: dict[PurePosixPath, str] = {}
    for entry in sorted(days):
        first.setdefault(PurePosixPath(entry).parent, entry)
    return frozenset(first.values())


@dataclass(frozen=True, slots=True)
class _Lists:
    """What an export says of its channels and its people; `broken` are files that could not be read."""

    channels: Sequence[Record]
    people: Mapping[str, Record]
    called: Mapping[str, str]
    team: str | None
    broken: Sequence[str]

    def channel(self, folder: str) -> Record:
        """Return the record of the channel whose messages are in a folder."""
        called = {folder, _unmangled(folder)}
        found = (one for one in self.channels if called & {one.get("name"), one.get("id")})
        return next(found, {"name": _unmangled(folder)})


def _lists(shelf: Shelf, folder: PurePosixPath) -> _Lists:
    """Return the lists that lie nearest above a channel's folder."""
    above = [parent for parent in folder.parents if parent != folder][:ROOT_LEVELS_MAX]
    broken: list[str] = []
    channels = [one for file in CHANNEL_FILES for one in _nearest(shelf, above, (file,), broken)]
    users = _nearest(shelf, above, USER_FILES, broken)
    return _Lists(
        channels=channels,
        people={identifier: one for one in users if (identifier := text_field(one, "id"))},
        called={
            identifier: called
            for one in channels
            if (identifier := text_field(one, "id")) and (called := text_field(one, "name"))
        },
        team=next((team for one in users if (team := text_field(one, "team_id"))), None),
        broken=broken,
    )


def _nearest(
    shelf: Shelf, folders: Sequence[PurePosixPath], files: Sequence[str], broken: list[str]
) -> Sequence[Record]:
    """Return what the first of the files that there is lists, looked for in one folder after the other."""
    for place in (str(folder / file) for folder in folders for file in files):
        try:
            content = shelf.read(place)
            found = None if content is None else _listed(content)
        except NotRead:
            content, found = b"", None
        if found is not None:
            return found
        if content is not None:
            broken.append(place)
    return ()


@lru_cache(maxsize=CONTEXTS_MAX)
def _listed(content: bytes) -> Sequence[Record] | None:
    """Return the records that a JSON array holds, None where it is no JSON."""
    try:
        found = json.loads(content.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return None
    return tuple(one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


@dataclass(slots=True)
class _Day:
    """The messages of a day's file as far as they could be read, each on a line."""

    entry: str
    messages: list[bytes] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def take(self, read: Callable[[int], bytes]) -> None:
        """Take in the file's messages; raises what reading it raises, and keeps what was read by then."""
        size = 0
        for number, element in enumerate(elements(read), start=1):
            size += element.size
            if size > DAY_BYTES_MAX:
                told = f"{self.entry} has more than {DAY_BYTES_MAX:,} bytes."
                self.left_out.append(LeftOut("too-large", told))
                return
            if element.content is not None:
                self.messages.append(element.content)
            elif element.is_cut_off:
                self.left_out.append(LeftOut("damaged", f"{self.entry} ends within message {number}."))

    def unpacked(self, lists: _Lists, *, is_first: bool) -> Iterator[Unpacked]:
        if self.messages:
            lines = _before(self.entry, self.messages, lists, is_first=is_first)
            content = b"\n".join([*map(_encoded, lines), *self.messages]) + b"\n"
            yield Conversation(name, self.entry, content)
        yield from self.left_out


def _before(
    entry: str, messages: Sequence[bytes], lists: _Lists, *, is_first: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the lines that stand before a day's messages: its channel, and whom and what it names.

    They change only when what they name is called otherwise. All of the channel's record stands in its first day
    alone, so that a new topic does not change every day.
    """
    record = lists.channel(PurePosixPath(entry).parent.name)
    channel = {key: record[key] for key in ("id", "name") if key in record}
    members = record.get("members")
    if is_first:
        about = {key: value for key, value in record.items() if key not in _ABOUT_LEFT_OUT}
        channel = {**about, "is_whole": True}
    words = {word.decode() for message in messages for word in _WORD.findall(message)}
    if isinstance(members, list) and _is_of_people(record):
        channel["members"] = members
        words |= {one for one in members if isinstance(one, str)}
    words |= _makers(channel) if is_first else set()
    begin: dict[str, Any] = {"channel": channel, "day": PurePosixPath(entry).stem}
    if lists.team and "id" not in channel:
        begin["team"] = lists.team
    people = {
        identifier: _names(one)
        for identifier, one in sorted(lists.people.items())
        if identifier in words or _bot(one) in words
    }
    channels = {key: called for key, called in sorted(lists.called.items()) if key in words}
    return begin, {"users": people, "channels": channels}


def _makers(channel: Record) -> set[str]:
    return set(re.findall(r"[A-Z0-9]+", compact_json([channel.get("topic"), channel.get("purpose")])))


def _is_of_people(channel: Record) -> bool:
    called = text_field(channel, "name")
    return called is None or called.startswith("mpdm-") or channel.get("is_im") is True


def _names(person: Record) -> dict[str, str]:
    """Return what somebody is called, and the id of the bot that it is."""
    profile = person.get("profile")
    given = profile if isinstance(profile, dict) else {}
    found = {key: text_field(person, key) or text_field(given, key) for key in _NAMES} | {
        "bot_id": _bot(person)
    }
    return {key: value for key, value in found.items() if value}


def _bot(person: Record) -> str | None:
    profile = person.get("profile")
    return text_field(profile, "bot_id") if isinstance(profile, dict) else None


def _unmangled(folder: str) -> str:
    """Return a folder's name as it was meant: archives say it in UTF-8 without saying so."""
    try:
        return folder.encode("cp437").decode("utf-8")
    except UnicodeError:
        return folder


def _encoded(line: Mapping[str, Any]) -> bytes:
    try:
        return compact_json(line).encode()
    except UnicodeEncodeError:
        return json.dumps(line).encode()
