"""PDF: the text of each page under a heading with its number, and the notes that readers left on it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw

from chronofile.infra.extraction.assembling import Assembled, Broken, Locked, item

ANNOTATIONS_MAX = 10_000
_PASSWORD = 4
"""What the library says of a document that asks for a password."""
_DIVIDED_WORD = re.compile(r"(?<=[^\W\d_])[\ufffe\x02](?=[a-zß-öø-ÿ])")
"""A word that was divided at a line's end; the library has joined the lines and left this mark."""
_HYPHEN_MARKS = str.maketrans({"\ufffe": "-", "\x02": "-"})
_SAID = (b"Contents", b"V")
"""Where a note, and a field of a form, say something."""


def read(content: bytes) -> Assembled:
    """Return a PDF's text. Raises Broken, Locked and TooMuchText."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as failure:
        if getattr(failure, "err_code", None) == _PASSWORD:
            raise Locked from failure
        raise Broken(str(failure)) from failure
    found = Assembled()
    described: dict[str, str] = document.get_metadata_dict(skip_empty=True)
    found.beside += described.values()
    for number in range(len(document)):
        try:
            page = document[number]
        except pypdfium2.PdfiumError:
            found.omitted["pages that cannot be read"] += 1
            continue
        text, notes = _text(page), list(_notes(page, found.beside))
        page.close()
        if not text.strip():
            found.omitted["pages without text"] += 1
        if text.strip() or notes:
            found.heading(2, f"Page {number + 1}")
            found.add(text)
            found.extend(item(0, note) for note in notes)
    document.close()
    found.entitle(described.get("Title", ""))
    return found


def _text(page: Any) -> str:
    shown = page.get_textpage()
    text: str = shown.get_text_bounded(errors="replace")
    shown.close()
    return _DIVIDED_WORD.sub("", text).translate(_HYPHEN_MARKS).replace("\r\n", "\n")


def _notes(page: Any, beside: list[str]) -> Iterator[str]:
    """Yield what notes and fields of forms on a page say; where its links lead goes beside."""
    for number in range(min(raw.FPDFPage_GetAnnotCount(page.raw), ANNOTATIONS_MAX)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        is_link = raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_LINK
        if is_link:
            beside.append(_address(page, annotation))
        else:
            for key in _SAID:
                if said := _string(annotation, key).strip():
                    yield said
        raw.FPDFPage_CloseAnnot(annotation)


def _string(annotation: Any, key: bytes) -> str:
    size = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")


def _address(page: Any, annotation: Any) -> str:
    link = raw.FPDFAnnot_GetLink(annotation)
    action = raw.FPDFLink_GetAction(link) if link else None
    if not action:
        return ""
    document = page.pdf.raw
    size = raw.FPDFAction_GetURIPath(document, action, None, 0)
    buffer = ctypes.create_string_buffer(max(size, 1))
    raw.FPDFAction_GetURIPath(document, action, buffer, size)
    return buffer.value.decode("utf-8", "replace")
