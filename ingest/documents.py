"""Documents as they are captured: which file is one, and what of it may be kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from chronofile.domain.documents import (
    DOCUMENTS,
    WRITTEN,
    Extracted,
    NotExtracted,
    packed_format,
    plain_format,
)
from chronofile.domain.ports import Extractor
from chronofile.domain.rejection import NotRead, Rejected
from chronofile.ingest.archives.shelves import opened_zip
from chronofile.ingest.reading import Read, Sniffed, read
from chronofile.ingest.redaction import Finding, Redacted, findings, redact

DOCUMENT_BYTES_MAX = 100_000_000

Extract = Callable[[bytes], Extracted]
"""Returns the text of a document of a format that is settled. Raises what that raises."""

_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCKED_MARK = "EncryptedPackage".encode("utf-16-le")
_OFFICE = (".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm")


def is_document(kind: str, format_name: str) -> bool:
    """Tell whether what was captured of a source under a format is a document's own bytes."""
    return kind == "file" and format_name in DOCUMENTS


def document_format(sniffed: Sniffed, *, is_source_code: bool) -> str | None:
    """Return which document a file is, by its beginning, None where it is none. Raises NotRead."""
    if sniffed.beginning.startswith(_ZIP):
        return _packed_format(sniffed.path)
    return plain_format(
        sniffed.path.name, sniffed.beginning, sniffed.head.text, is_source_code=is_source_code
    )


def _packed_format(path: Path) -> str | None:
    try:
        with opened_zip(path) as shelf:
            return packed_format(frozenset(shelf.names()))
    except NotRead as failure:
        if failure.reason == "damaged" and path.suffix.lower() in (*_OFFICE, ".epub"):
            raise NotRead(path, "document-broken", failure.detail) from failure
        raise


def readable(path: Path, format_name: str, extractor: Extractor | None) -> Read:
    """Return a document as it is now, whose text can be extracted; without extractor that is left open. Raises NotRead."""
    taken = read(path, limit_bytes=DOCUMENT_BYTES_MAX)
    if extractor is not None:
        extracted(taken.content, format_name, extractor, path)
    return taken


def extracted(content: bytes, format_name: str, extractor: Extractor | None, path: Path) -> Extracted:
    """Return a document's text. Raises NotRead, which says why it cannot be had."""
    if extractor is None:
        raise NotRead(path, "documents-extra")
    try:
        return extractor.extract(content, format_name)
    except NotExtracted as failure:
        raise NotRead(path, failure.reason, failure.detail) from failure


def locked_office_file(path: Path, beginning: bytes) -> Rejected | None:
    """Return the rejection of an Office document with a password, which is no zip archive any more."""
    if not beginning.startswith(_COMPOUND) or path.suffix.lower() not in _OFFICE:
        return None
    content = read(path, limit_bytes=DOCUMENT_BYTES_MAX).content
    return Rejected(path, "encrypted") if _LOCKED_MARK in content else None


def without_secrets(
    content: bytes, format_name: str, extract: Extract, *, encoding: str, name: str
) -> Redacted:
    """Return a document as it may be kept: as it is, or its text alone where a secret would be kept with the rest.

    Secrets are looked for in its text and in what it says beside it. What is a text itself stays what it is without
    its secrets, unless some are only seen in what is extracted from it.
    """
    kept = Redacted(content, {})
    if format_name in WRITTEN:
        kept = redact(content, encoding=encoding, records=False, name=name)
    found = extract(kept.content)
    text = redact(found.text.encode(), encoding="utf-8", records=False)
    counts = Counter(text.counts)
    if format_name not in WRITTEN:
        counts |= Counter(
            one.rule for one in findings(found.beside.encode(), encoding="utf-8", records=False)
        )
    return Redacted(text.content, {**(counts + Counter(kept.counts))}, is_text=True) if counts else kept


def secrets_in(
    content: bytes, format_name: str, found: Extracted, *, encoding: str, name: str
) -> list[Finding]:
    """Return the secrets in a stored document, by the lines of its text; those beside the text stand in line 1."""
    said = findings(found.text.encode(), encoding="utf-8", records=False)
    beside = findings(found.beside.encode(), encoding="utf-8", records=False)
    if format_name in WRITTEN:
        beside += findings(content, encoding=encoding, records=False, name=name)
    known = {(one.rule, one.preview) for one in said}
    return [*said, *(replace(one, line=1) for one in beside if (one.rule, one.preview) not in known)]
