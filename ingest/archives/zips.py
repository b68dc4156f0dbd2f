"""Zip archives: the conversations in an export as it is downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chronofile.domain.formats import recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.rejection import NotRead, RejectionReason
from chronofile.ingest.archives.shelves import Zip, is_unsafe, opened_zip
from chronofile.ingest.archives.unpacked import LeftOut, PassedOver, Unpacked, listed
from chronofile.ingest.reading import SNIFF_BYTES

_SUFFIX = ".json"
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")


@dataclass(slots=True)
class _Contents:
    """The entries of an archive by what they are; `held` are those with conversations, and their format."""

    held: list[tuple[str, str]]
    left_out: list[LeftOut]
    others: int = 0


def unpack(path: Path, wanted: str | None = None) -> Iterator[Unpacked] | None:
    """Return the conversations of a zip archive; None when it is no export that is known.

    With `wanted`, only those of that format. Raises NotRead where the archive cannot be read at all, and
    while it is iterated where it is damaged further in.
    """
    with opened_zip(path) as shelf:
        contents = _contents(shelf, wanted)
    if contents.held:
        return _unpacked(path, contents)
    if contents.left_out:
        first = contents.left_out[0]
        raise NotRead(path, first.reason, first.detail)
    return None


def _unpacked(path: Path, contents: _Contents) -> Iterator[Unpacked]:
    with opened_zip(path) as shelf:
        for name, format_name in contents.held:
            yield from _of_entry(shelf, name, format_name)
    yield from contents.left_out
    if contents.others:
        yield PassedOver("archive-entry", contents.others)


def _of_entry(shelf: Zip, name: str, format_name: str) -> Iterator[Unpacked]:
    try:
        with shelf.open(name) as stream:
            yield from listed(format_name, name, stream.read)
    except NotRead as failure:
        if failure.reason != "damaged":
            raise
        yield LeftOut(failure.reason, failure.detail)


def _contents(shelf: Zip, wanted: str | None) -> _Contents:
    found = _Contents([], [])
    for name in shelf.names():
        reason: RejectionReason | None = None
        if name.lower().endswith(_ARCHIVES):
            reason = "nested-archive"
        elif name.lower().endswith(_SUFFIX):
            reason = _refusal(shelf, name)
            if reason is None and (format_name := _format(shelf, name)) and wanted in (None, format_name):
                found.held.append((name, format_name))
                continue
        if reason is None:
            found.others += 1
        else:
            found.left_out.append(LeftOut(reason, name))
    return found


def _refusal(shelf: Zip, name: str) -> RejectionReason | None:
    if is_unsafe(name):
        return "unsafe-name"
    if shelf.is_encrypted(name):
        return "encrypted"
    return "zip-bomb" if shelf.is_bomb(name) else None


def _format(shelf: Zip, name: str) -> str | None:
    """Return the format of an entry that lists conversations."""
    try:
        with shelf.open(name) as stream:
            beginning = stream.read(SNIFF_BYTES)
    except NotRead:
        return None
    found = recognise(Head.of(beginning.decode("utf-8", "replace"), name))
    return found[0].name if found and found[1] == "conversations" else None
