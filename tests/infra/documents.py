"""Made-up documents, written part by part: whole ones, and such as break their readers."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from io import BytesIO

_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of these parts."""
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def relations(*found: tuple[str, str]) -> str:
    """Return relationships: each a kind and a target, with the ids rId1 and so on."""
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"'
        + (' TargetMode="External"' if "://" in target else "")
        + "/>"
        for number, (kind, target) in enumerate(found, start=1)
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{listed}</Relationships>'


def docx(
    body: str, *, more: Mapping[str, str | bytes] | None = None, related: Sequence[tuple[str, str]] = ()
) -> bytes:
    """Return a Word document whose body is given as markup in the prefix `w`."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": relations(("officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": relations(*related),
        "word/document.xml": word("document", f"<w:body>{body}</w:body>"),
    }
    return packed(parts | dict(more or {}))


def word(name: str, inner: str) -> str:
    """Return a part of a Word document."""
    return f'<w:{name} xmlns:w="{_WORD}">{inner}</w:{name}>'


def paragraph(text: str, properties: str = "") -> str:
    shown = f"<w:pPr>{properties}</w:pPr>" if properties else ""
    return f'<w:p>{shown}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def pptx(*slides: tuple[str, str, str]) -> bytes:
    """Return a presentation; each slide has a title, a text and what the speaker notes."""
    names = [f"slides/slide{number}.xml" for number in range(1, len(slides) + 1)]
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": relations(("officeDocument", "ppt/presentation.xml")),
        "ppt/_rels/presentation.xml.rels": relations(*(("slide", name) for name in names)),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{_SLIDES}" xmlns:r="{_OFFICE}"><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>',
    }
    for number, (title, text, notes) in enumerate(slides, start=1):
        parts[f"ppt/slides/slide{number}.xml"] = _slide(("title", title), ("body", text))
        parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(
            ("notesSlide", f"../notesSlides/notesSlide{number}.xml")
        )
        parts[f"ppt/notesSlides/notesSlide{number}.xml"] = _slide(("body", notes), ("sldNum", "7"))
    return packed(parts)


def _slide(*shapes: tuple[str, str]) -> str:
    drawn = "".join(
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        for kind, text in shapes
    )
    return f'<p:sld xmlns:p="{_SLIDES}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree>{drawn}</p:spTree></p:cSld></p:sld>'


def xlsx(**sheets: Sequence[Sequence[str | float]]) -> bytes:
    """Return a workbook; each sheet is given by its rows."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, start=1)
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{_SHEETS}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            *(("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1))
        ),
    }
    for number, rows in enumerate(sheets.values(), start=1):
        lines = "".join(
            f'<row r="{r}">' + "".join(_cell(r, c, value) for c, value in enumerate(row)) + "</row>"
            for r, row in enumerate(rows, start=1)
        )
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_SHEETS}"><sheetData>{lines}</sheetData></worksheet>'
        )
    return packed(parts)


def _cell(row: int, column: int, value: str | float) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def epub(title: str, *chapters: tuple[str, str]) -> bytes:
    """Return a book; each chapter has a title and a text. Their files have a space in their names, as some have."""
    items = "".join(
        f'<item id="c{n}" href="part%20{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book/content.opf"/></rootfiles></container>',
        "book/content.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    for number, (name, text) in enumerate(chapters):
        parts[f"book/part {number}.xhtml"] = (
            f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{name}</h1><p>{text}</p></body></html>'
        )
    return packed(parts)


def pdf(*pages: str, title: str = "") -> bytes:
    """Return a PDF of these pages, each of lines of ASCII; a page may be empty, as a scan is."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    objects.append(b"<< /Title (%s) >>" % title.encode())
    kids = []
    for page in pages:
        lines = "".join(f"({_escaped(line)}) Tj 0 -14 Td " for line in page.split("\n") if line)
        drawn = zlib.compress(f"BT /F1 12 Tf 50 780 Td {lines}ET".encode())
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(drawn), drawn))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
            % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return _numbered(objects)


def _numbered(objects: Sequence[bytes]) -> bytes:
    found, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(found))
        found += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(found))
    return found + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + trailer


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def ipynb(*cells: tuple[str, str, Sequence[str]]) -> bytes:
    """Return a notebook; each cell has a kind, a source and what it printed."""
    found = []
    for kind, source, printed in cells:
        cell: dict[str, object] = {
            "cell_type": kind,
            "metadata": {},
            "source": source.splitlines(keepends=True),
        }
        if kind == "code":
            cell |= {
                "execution_count": 1,
                "outputs": [{"output_type": "stream", "name": "stdout", "text": [text]} for text in printed],
            }
        found.append(cell)
    described = {"kernelspec": {"name": "python3", "language": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": described, "cells": found}).encode()
