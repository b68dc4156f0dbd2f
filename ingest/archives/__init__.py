"""Archives: files that hold conversations one by one, unpacked into their records without writing to a disk.

A zip archive, a database, a folder of small files, or a JSON text that lists conversations: each gives an iterator of
`unpacked.Unpacked`, and never more of it is held than one conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from chronofile.domain.formats import FORMATS
from chronofile.domain.formats.heads import Head
from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives import cursor, opencode, slack, zips
from chronofile.ingest.archives.databases import MAGIC, Database, opened_database
from chronofile.ingest.archives.unpacked import Unpacked, listed
from chronofile.ingest.reading import Sniffed, opened

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")

GATHERED: Mapping[str, Callable[[Path, Head], Iterator[Unpacked] | None]] = MappingProxyType(
    {"opencode": opencode.gather, "slack": slack.of_folder}
)
"""By format: what reads a conversation whose records are in several files, from the file that begins it.

None where the file only looks like one that begins a conversation."""


def unpack(
    path: Path, sniffed: Sniffed, form: str | None, wanted: str | None = None
) -> Iterator[Unpacked] | None:
    """Return the conversations in a file; None when it is none that holds them one by one.

    `form` is the format that its beginning was recognised as, and `wanted` the only one that is asked for. Raises
    NotRead, also while it is iterated; `no-conversation` for a zip archive or a database that holds none.
    """
    if sniffed.beginning.startswith((*_ZIP, MAGIC)):
        is_zip = sniffed.beginning.startswith(_ZIP)
        unpacked = zips.unpack(path, wanted) if is_zip else _of_database(path, wanted)
        if unpacked is None and (wanted is None or wanted in FORMATS):
            raise NotRead(path, "no-conversation")
        return unpacked
    if form is None:
        return None
    return GATHERED[form](path, sniffed.head) if form in GATHERED else _listed(path, form)


_DATABASES: Mapping[str, tuple[Callable[[Database], bool], Callable[[Database], Iterator[Unpacked]]]] = (
    MappingProxyType(
        {
            cursor.FORMAT: (cursor.is_known, cursor.conversations),
            opencode.FORMAT: (opencode.is_known, opencode.conversations),
        }
    )
)
"""By format: what tells whether a database holds its tables, and what reads its conversations."""


def _of_database(path: Path, wanted: str | None) -> Iterator[Unpacked] | None:
    with opened_database(path) as database:
        held = [form for form, (is_known, _) in _DATABASES.items() if is_known(database)]
    chosen = [form for form in held if wanted in (None, form)]
    if held and not chosen:
        raise NotRead(path, "other-format")
    return _rows(path, chosen) if chosen else None


def _rows(path: Path, chosen: list[str]) -> Iterator[Unpacked]:
    with opened_database(path) as database:
        for form in chosen:
            yield from _DATABASES[form][1](database)


def _listed(path: Path, form: str) -> Iterator[Unpacked]:
    with opened(path) as file:
        at = 0

        def read(size: int) -> bytes:
            nonlocal at
            content = file.range(at, min(at + size, file.fingerprint.size))
            at += len(content)
            return content

        yield from listed(form, path.name, read)
