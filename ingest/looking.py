"""Looking: what a file turns out to hold, read as far as that takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from chronofile.domain.decoding import decode
from chronofile.domain.documents import WRITTEN
from chronofile.domain.formats import FORMATS, PARTED, recognise
from chronofile.domain.identity import digest, storable
from chronofile.domain.ports import Extractor
from chronofile.domain.rejection import NotRead, Rejected
from chronofile.domain.times import iso
from chronofile.domain.turns import Layout
from chronofile.ingest import archives, documents
from chronofile.ingest.archives import companions, exports
from chronofile.ingest.encodings import text_encoding
from chronofile.ingest.parted import parted
from chronofile.ingest.parts import parts
from chronofile.ingest.reading import (
    PLAIN_BYTES_MAX,
    RANGE_BYTES,
    Fingerprint,
    Sniffed,
    opened,
    read,
    sniff,
)
from chronofile.ingest.scan import Found
from chronofile.ingest.sighting import TEXT, TRANSCRIPT, Bytes, FileBytes, HeldBytes, Looked, Sighting, uri_of


def looks(
    found: Found, *, format_name: str | None = None, extractor: Extractor | None = None
) -> Iterator[Looked]:
    """Read a file and yield what it holds: in parts if it is an archive, else at once.

    Nothing where it was to be taken only as a transcript and is none. Raises NotRead. A file that holds no text is
    no error here: `rejected` says so. Documents are read by `extractor`, if it is there.
    """
    sniffed = sniff(found.path)
    if format_name != TEXT and (passed_over := exports.beside(found.path)) is not None:
        yield from parts(found, sniffed.fingerprint, passed_over)
        return
    if not found.otherwise and format_name != TEXT and (document := _document(found, sniffed, extractor)):
        yield document
        return
    form, layout = _recognised(sniffed, format_name)
    unpacked = archives.unpack(found.path, sniffed, form if layout == "conversations" else None, format_name)
    if unpacked is not None:
        yield from parts(found, companions.fingerprint(found.path, sniffed.fingerprint), unpacked)
        return
    looked: Looked | None = None
    if form is not None and layout == "parted":
        yield from parted(found, PARTED[form])
        return
    if form is not None and layout == "text":
        looked = _text(found, form)
    elif form is not None:
        looked = _transcript(found, form, sniffed.head.lines)
    if looked is None and not found.otherwise:
        looked = _file(found)
    if looked is not None:
        yield looked


def look(found: Found, *, format_name: str | None = None) -> Looked | None:
    """Read a file that is no large archive, and return what it holds.

    None when it was to be taken only as a transcript and is none, and for an archive that comes in parts. Raises
    NotRead.
    """
    looked = next(looks(found, format_name=format_name), None)
    return looked if looked is not None and looked.is_last else None


def _recognised(sniffed: Sniffed, format_name: str | None) -> tuple[str | None, Layout]:
    if format_name is None:
        found = recognise(sniffed.head)
        return (found[0].name, found[1]) if found else (None, "lines")
    if format_name not in FORMATS:
        return None, "lines"
    return format_name, FORMATS[format_name].recognise(sniffed.head).layout


def is_part_of(path: Path, sighting: Sighting) -> bool:
    """Tell whether the file at a path has the sighting's session, and there begins with all that is seen of it."""
    try:
        looked = look(Found(path, named=True, root=None), format_name=sighting.format)
        others = looked.sightings if looked is not None else ()
        return any(_is_beginning(sighting.content, o.content) for o in others if o.key == sighting.key)
    except NotRead:
        return False


def _document(found: Found, sniffed: Sniffed, extractor: Extractor | None) -> Looked | None:
    """Return a file that is a document; None for any other, and for one that is a text itself and cannot be extracted."""
    if locked := documents.locked_office_file(found.path, sniffed.beginning):
        return rejected_file(found, sniffed.fingerprint, locked)
    form = documents.document_format(sniffed, is_source_code=found.root is not None)
    if form is None or (extractor is None and form in WRITTEN):
        return None
    try:
        taken = documents.readable(found.path, form, extractor)
    except NotRead as failure:
        if form in WRITTEN:
            return None
        return rejected_file(found, sniffed.fingerprint, failure.rejected)
    encoding = text_encoding(taken.content) or "utf-8"
    sighting = replace(_file_sighting(found, taken.content, encoding, taken.fingerprint), format=form)
    return Looked(found, taken.fingerprint, (sighting,))


def _file(found: Found) -> Looked:
    taken = read(found.path, limit_bytes=PLAIN_BYTES_MAX)
    encoding = text_encoding(taken.content)
    if encoding is None:
        binary = Rejected(found.path, "binary")
        return rejected_file(found, taken.fingerprint, binary, state=digest(taken.content))
    sighting = _file_sighting(found, taken.content, encoding, taken.fingerprint)
    return Looked(found, taken.fingerprint, (sighting,))


def rejected_file(
    found: Found, fingerprint: Fingerprint, rejected: Rejected, *, state: str | None = None
) -> Looked:
    """Return a file that is there and cannot be captured; one that was not read has its size and time as state."""
    state = state or f"{fingerprint.size}/{fingerprint.mtime_ns}/{fingerprint.inode}"
    return Looked(found, fingerprint, (_file_sighting(found, b"", "utf-8", fingerprint),), rejected, state)


def _file_sighting(found: Found, content: bytes, encoding: str, fingerprint: Fingerprint) -> Sighting:
    uri = uri_of(found.path)
    changed = datetime.fromtimestamp(fingerprint.mtime_ns / 1e9, UTC)
    return Sighting(
        path=found.path,
        root=found.root,
        kind="file",
        format=TEXT,
        encoding=encoding,
        session=None,
        key=uri,
        uri=uri,
        cwd=None,
        scope=None,
        growing=False,
        content=HeldBytes(content),
        event_time=iso(changed),
    )


def _text(found: Found, form: str) -> Looked | None:
    taken = read(found.path, limit_bytes=PLAIN_BYTES_MAX)
    encoding = text_encoding(taken.content)
    if encoding is None:
        return None
    text, _ = decode(taken.content, encoding)
    identity = FORMATS[form].identify(text.split("\n"), str(found.path))
    if identity is None:
        return None
    sighting = replace(
        _file_sighting(found, taken.content, encoding, taken.fingerprint),
        kind=TRANSCRIPT,
        format=form,
        session=storable(identity.session),
        key=f"{form}:{identity.key}",
        scope=storable(identity.scope),
    )
    return Looked(found, taken.fingerprint, (sighting,))


def _transcript(found: Found, format_name: str, head: tuple[str, ...]) -> Looked | None:
    identity = FORMATS[format_name].identify(head, str(found.path))
    if identity is None:
        return None
    with opened(found.path) as file:
        end = file.complete_end()
        held = HeldBytes(file.range(0, end)) if end <= RANGE_BYTES else None
        fingerprint = file.fingerprint
    sighting = Sighting(
        path=found.path,
        root=found.root,
        kind=TRANSCRIPT,
        format=format_name,
        encoding="utf-8-sig",
        session=storable(identity.session),
        key=f"{format_name}:{identity.key}",
        uri=uri_of(found.path),
        cwd=identity.cwd,
        scope=storable(identity.scope),
        growing=True,
        content=held or FileBytes(found.path, end),
        event_time=None,
    )
    return Looked(found, fingerprint, (sighting,), waiting_bytes=fingerprint.size - end)


def _is_beginning(shorter: Bytes, longer: Bytes) -> bool:
    if longer.size < shorter.size:
        return False
    starts = range(0, shorter.size, RANGE_BYTES)
    spans = [(start, min(start + RANGE_BYTES, shorter.size)) for start in starts]
    return all(shorter.range(*span) == longer.range(*span) for span in spans)
