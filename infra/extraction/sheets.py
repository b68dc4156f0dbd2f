"""Workbooks: each sheet under its name, a line for each row that says something, then comments and drawings."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal
from io import BytesIO
from xml.sax.saxutils import unescape

import python_calamine

from chronofile.infra.extraction.assembling import Assembled, Broken, Locked, item, row
from chronofile.infra.extraction.packages import Package

CELLS_MAX = 50_000_000
"""The rows of a sheet times its columns: they are held at once, the empty ones too."""

_FORMULA = re.compile(rb"<f\b[^>]*>([^<]*(?:\"|&quot;)[^<]*)</f>")


def read(content: bytes) -> Assembled:
    """Return a workbook's text. Raises Broken, Locked, Bomb, TooMuchText and MemoryError."""
    package = Package(content)
    try:
        book = python_calamine.load_workbook(BytesIO(content))
    except python_calamine.PasswordError as failure:
        raise Locked from failure
    except (python_calamine.CalamineError, OSError) as failure:
        raise Broken(str(failure)) from failure
    found = Assembled()
    found.beside += package.beside()
    found.beside += _formulas(package)
    for metadata in book.sheets_metadata:
        if metadata.typ != python_calamine.SheetTypeEnum.WorkSheet:
            found.omitted["sheets without cells"] += 1
            continue
        try:
            sheet = book.get_sheet_by_name(metadata.name)
            _sheet(sheet, metadata.name, found)
        except python_calamine.CalamineError as failure:
            raise Broken(f"{metadata.name}: {failure}") from failure
    for heading, prefix in (
        ("Comments", "xl/comments"),
        ("Comments", "xl/threadedComments/"),
        ("Drawings", "xl/drawings/drawing"),
    ):
        _beside_the_cells(package, heading, prefix, found)
    found.entitle(package.title())
    return found


def _sheet(sheet: python_calamine.CalamineSheet, name: str, found: Assembled) -> None:
    if sheet.end is not None and (sheet.end[0] + 1) * (sheet.end[1] + 1) > CELLS_MAX:
        raise MemoryError
    found.heading(2, f"Sheet: {name}")
    for cells in sheet.iter_rows():
        found.add(row([_said(cell) for cell in cells]))


def _formulas(package: Package) -> Iterator[str]:
    """Yield the formulas that hold a text, of which a sheet shows only what they come to."""
    for name in package.names:
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            for formula in _FORMULA.findall(package.read(name) or b""):
                yield unescape(formula.decode("utf-8", "replace"), {"&quot;": '"'})


def _said(cell: object) -> str:
    """Return a cell's value as people write it."""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float):
        # As many digits as it has, and noughts after them: large ones are numbers of accounts and of orders.
        return f"{Decimal(repr(cell)):f}".removesuffix(".0") if cell.is_integer() else repr(cell)
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ")
    return str(cell)


def _beside_the_cells(package: Package, heading: str, prefix: str, found: Assembled) -> None:
    said = []
    for name in sorted(package.names):
        if name.startswith(prefix) and name.endswith(".xml") and (root := package.xml(name)) is not None:
            for one in root.iter("{*}comment", "{*}threadedComment", "{*}txBody"):
                words = "".join(piece.text or "" for piece in one.iter("{*}t", "{*}text"))
                said.append(item(0, words))
    if any(said):
        found.heading(2, heading)
        found.extend(said)
