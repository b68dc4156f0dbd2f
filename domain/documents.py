"""Documents: files whose text has to be extracted, by what their beginning or their entries show."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

DocumentFormat = Literal["docx", "epub", "html", "ipynb", "pdf", "pptx", "xlsx"]

PACKED: Mapping[str, DocumentFormat] = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx"}
"""Where an Office document, which is a zip archive, keeps its parts."""
DOCUMENTS: frozenset[str] = frozenset({"epub", "html", "ipynb", "pdf", *PACKED.values()})
WRITTEN: frozenset[str] = frozenset({"html", "ipynb"})
"""Those that are texts themselves, and can be captured as such."""

NOTEBOOK_MARKS = ('"cells"', '"worksheets"', '"nbformat"')
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
PDF_MARK = b"%PDF-"
PDF_MARK_BYTES = 1_024
"""Readers find the mark that far into a file."""

_CONTENT_TYPES = "[Content_Types].xml"
_CONTAINER = "META-INF/container.xml"
_HTML = re.compile(
    r"(?:\s|<!--.*?-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)

Unextracted = Literal["document-broken", "document-costly", "documents-extra", "encrypted", "zip-bomb"]


@dataclass(frozen=True, slots=True)
class Extracted:
    """A document's text, as Markdown where it has headings, lists or tables, with a heading for each page, slide or sheet.

    `beside` is what it also says and a reader does not see: properties, addresses of links, deleted words. It is no
    part of the text, and is looked through for secrets. `omitted` counts what gave no text, by what it is.
    """

    text: str
    beside: str = ""
    omitted: Mapping[str, int] = field(default_factory=dict)


class NotExtracted(Exception):
    """The text of the document could not be had."""

    def __init__(self, reason: Unextracted, detail: str = "") -> None:
        super().__init__(f"{self.__doc__} {reason}: {detail}")
        self.reason: Unextracted = reason
        self.detail = detail


def packed_format(names: Collection[str]) -> DocumentFormat | None:
    """Return which document a zip archive with these entries is, None for another archive."""
    if _CONTENT_TYPES in names:
        for folder, found in PACKED.items():
            if any(name.startswith(folder) for name in names):
                return found
    return "epub" if _CONTAINER in names else None


def plain_format(name: str, beginning: bytes, text: str, *, is_source_code: bool) -> DocumentFormat | None:
    """Return which document a file that is no archive is, None for any other.

    `beginning` are its first bytes, `text` the same as a text, empty where they are none. HTML that `is_source_code`,
    as in a repository, is no document.
    """
    suffix = PurePosixPath(name).suffix.lower()
    at = beginning.find(PDF_MARK, 0, PDF_MARK_BYTES)
    if at >= 0 and (suffix == ".pdf" or not beginning[:at].strip(b"\xef\xbb\xbf\0\t\r\n ")):
        return "pdf"
    if suffix == ".ipynb":
        is_notebook = text.lstrip().startswith("{") and any(mark in text for mark in NOTEBOOK_MARKS)
        return "ipynb" if is_notebook else None
    if is_source_code:
        return None
    return "html" if _HTML.match(text[:4_096]) or (suffix in HTML_SUFFIXES and "<" in text) else None
