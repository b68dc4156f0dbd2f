"""Zip archives: the conversations in an export as it is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from chronofile.domain.formats import recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.slack import CONTEXT_FILES
from chronofile.domain.rejection import NotRead, RejectionReason
from chronofile.ingest.archives import slack
from chronofile.ingest.archives.shelves import Zip, is_unsafe, opened_zip
from chronofile.ingest.archives.unpacked import LeftOut, PassedOver, Unpacked, listed
from chronofile.ingest.marked import beginning_text
from chronofile.ingest.reading import SNIFF_BYTES

_SUFFIX = ".json"
_GATHERED: Mapping[str, Callable[[Zip, Sequence[str]], Iterator[Unpacked]]] = MappingProxyType(
    {"slack": slack.of_zip}
)
"""By format: what reads conversations whose records are in several entries, from those that begin them."""
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")


@dataclass(slots=True)
class _Contents:
    """The entries of an archive by what they are; `held` are those with conversations, and their format."""

    held: list[tuple[str, str]]
    left_out: list[LeftOut]
    others: int = 0
    is_of_others: bool = False
    """Whether it holds conversations, of formats that were not asked for."""


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
    if contents.is_of_others:
        raise NotRead(path, "other-format")
    return None


def _unpacked(path: Path, contents: _Contents) -> Iterator[Unpacked]:
    with opened_zip(path) as shelf:
        for name, format_name in contents.held:
            if format_name not in _GATHERED:
                yield from _of_entry(shelf, name, format_name)
        for format_name, gathered in _GATHERED.items():
            names = [name for name, held_as in contents.held if held_as == format_name]
            yield from gathered(shelf, names)
    yield from contents.left_out
    if contents.others:
        yield PassedOver("archive-entry", contents.others)


def _of_entry(shelf: Zip, name: str, format_name: str) -> Iterator[Unpacked]:
    try:
        with shelf.open(name) as entry:
            yield from listed(format_name, name, entry.read, shelf.changed(name))
    except NotRead as failure:
        yield LeftOut(failure.reason, failure.detail)


def _contents(shelf: Zip, wanted: str | None) -> _Contents:
    found = _Contents([], [], others=shelf.repeated)
    for name in shelf.names():
        refusal = _refusal(shelf, name)
        if refusal is not None:
            found.left_out.append(LeftOut(refusal, name))
            continue
        try:
            format_name = _format(shelf, name) if name.lower().endswith(_SUFFIX) else None
        except NotRead as failure:
            found.left_out.append(LeftOut(failure.reason, failure.detail))
            continue
        if format_name is not None and wanted in (None, format_name):
            found.held.append((name, format_name))
        else:
            found.others += 1
            found.is_of_others = found.is_of_others or format_name is not None
    return found


def _refusal(shelf: Zip, name: str) -> RejectionReason | None:
    """Return why an entry that may hold conversations is not read."""
    if name.lower().endswith(_ARCHIVES):
        return "nested-archive"
    if not name.lower().endswith(_SUFFIX):
        return None
    if is_unsafe(name):
        return "unsafe-name"
    if shelf.is_encrypted(name):
        return "encrypted"
    return "zip-bomb" if shelf.is_bomb(name) else None


def _format(shelf: Zip, name: str) -> str | None:
    """Return the format of an entry that lists conversations."""
    with shelf.open(name) as entry:
        found = recognise(Head.of(beginning_text(entry.read(SNIFF_BYTES)), name))
        if found is None:
            entry.read(1)  # What is cut off looks like nothing, and is told.
    if found and found[0].name in _GATHERED and PurePosixPath(name).name in CONTEXT_FILES:
        return None
    return found[0].name if found and found[1] == "conversations" else None
