"""Word documents: paragraphs, lists and tables in their order, then notes, comments, headers and footers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from chronofile.infra.extraction.assembling import Assembled, Broken, heading, item, row
from chronofile.infra.extraction.packages import Element, Package, attribute, first, local

_HEADING_NAME = re.compile(r"heading (\d)", re.IGNORECASE)
_BLOCKS = frozenset({"p", "tbl"})
_INLINE_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011", "ptab": "\t"}
_SILENT = frozenset(
    {"pPr", "rPr", "tblPr", "tblGrid", "trPr", "tcPr", "sectPr", "sdtPr", "sdtEndPr", "Fallback"}
)
_GONE = frozenset({"del", "moveFrom", "instrText", "delText", "delInstrText"})
_BASED_ON_MAX = 20


@dataclass(frozen=True, slots=True)
class _Style:
    level: int | None
    is_list: bool


@dataclass(slots=True)
class _Reader:
    styles: dict[str, _Style]
    beside: list[str] = field(default_factory=list)

    def blocks(self, container: Element) -> Iterator[str]:
        """Yield the blocks of whatever holds paragraphs and tables."""
        for child in container:
            name = local(child)
            if name == "p":
                yield from self._paragraph(child)
            elif name == "tbl":
                yield from self._table(child)
            elif name in _GONE:
                self.beside.append("".join(child.itertext()))
            elif name not in _SILENT:
                yield from self.blocks(child)

    def _paragraph(self, paragraph: Element) -> Iterator[str]:
        pieces: list[str] = []
        boxes: list[Element] = []
        self._inline(paragraph, pieces, boxes)
        text = "".join(pieces)
        properties = first(paragraph, "pPr")
        style = self._style(properties)
        if style.level is not None:
            yield heading(style.level, text)
        elif style.is_list:
            depth = first(properties, "numPr", "ilvl") if properties is not None else None
            yield item(_number(depth), text)
        else:
            yield text
        for box in boxes:
            yield from self.blocks(box)

    def _inline(self, element: Element, pieces: list[str], boxes: list[Element]) -> None:
        for child in element:
            name = local(child)
            if name == "t":
                pieces.append(child.text or "")
            elif name in _INLINE_BREAKS:
                pieces.append(_INLINE_BREAKS[name])
            elif name in ("footnoteReference", "endnoteReference"):
                pieces.append(f"[^{name[0]}{attribute(child, 'id')}]")
            elif name in _GONE:
                self.beside.append("".join(child.itertext()))
            elif name == "txbxContent":
                boxes.append(child)
            elif name == "docPr":
                if described := child.get("descr"):
                    pieces.append(f"[image {described}]")
            elif name not in _SILENT:
                self._inline(child, pieces, boxes)

    def _table(self, table: Element) -> Iterator[str]:
        for line in _rows(table):
            cells = [list(self.blocks(cell)) for cell in line]
            if any(_is_more_than_a_cell(cell) for cell in line):
                # Whole pages are laid out in tables: such a cell is read like the page that it is.
                yield from (block for cell in cells for block in cell)
            else:
                yield row([" ".join(filter(None, cell)) for cell in cells])

    def _style(self, properties: Element | None) -> _Style:
        if properties is None:
            return _Style(None, is_list=False)
        named = first(properties, "pStyle")
        style = self.styles.get(attribute(named, "val") or "" if named is not None else "")
        outline = first(properties, "outlineLvl")
        numbered = first(properties, "numPr", "numId")
        is_list = style is not None and style.is_list
        if numbered is not None:
            is_list = attribute(numbered, "val") != "0"
        level = style.level if style is not None else None
        if outline is not None and (own := _number(outline)) < 9:
            level = own + 1
        return _Style(level, is_list)


def read(content: bytes) -> Assembled:
    """Return a Word document's text. Raises Broken, Locked, Bomb and TooMuchText."""
    package = Package(content)
    main = next(iter(package.related_as("", "officeDocument")), "word/document.xml")
    root = package.xml(main)
    if root is None:
        raise Broken(f"There is no {main}.")
    found = Assembled()
    reader = _Reader(_styles(package, main), found.beside)
    found.beside += package.beside()
    found.extend(reader.blocks(root))
    for kind, letter in (("footnotes", "f"), ("endnotes", "e")):
        for note in _notes(package, main, kind):
            words = "\n".join(filter(None, reader.blocks(note)))
            found.add(f"[^{letter}{attribute(note, 'id')}]: {words.strip()}" if words.strip() else "")
    _comments(package, main, reader, found)
    _furniture(package, main, reader, found)
    found.entitle(package.title())
    return found


def _comments(package: Package, main: str, reader: _Reader, found: Assembled) -> None:
    said = [
        item(0, f"{attribute(comment, 'author') or ''}: " + "\n".join(filter(None, reader.blocks(comment))))
        for comment in _notes(package, main, "comments")
    ]
    if said:
        found.heading(2, "Comments")
        found.extend(said)


def _furniture(package: Package, main: str, reader: _Reader, found: Assembled) -> None:
    """Add what stands above and below each page, once."""
    seen: dict[str, None] = {}
    for kind in ("header", "footer"):
        for name in package.related_as(main, kind):
            root = package.xml(name)
            if root is not None:
                seen |= dict.fromkeys(block for block in reader.blocks(root) if block.strip())
    if seen:
        found.heading(2, "Headers and footers")
        found.extend(seen)


def _notes(package: Package, main: str, kind: str) -> Iterator[Element]:
    for name in package.related_as(main, kind):
        root = package.xml(name)
        # Those with a type are the lines that part notes from the page.
        yield from (note for note in (root if root is not None else ()) if attribute(note, "type") is None)


def _rows(table: Element) -> Iterator[list[Element]]:
    for child in table:
        if local(child) == "tr":
            yield list(_cells(child))
        elif local(child) not in _SILENT and local(child) not in _GONE:
            yield from _rows(child)


def _cells(line: Element) -> Iterator[Element]:
    for child in line:
        if local(child) == "tc":
            yield child
        elif local(child) not in _SILENT and local(child) not in _GONE:
            yield from _cells(child)


def _is_more_than_a_cell(cell: Element) -> bool:
    blocks = [local(child) for child in cell if local(child) not in _SILENT]
    return blocks.count("p") > 3 or "tbl" in blocks


def _styles(package: Package, main: str) -> dict[str, _Style]:
    root = None
    for name in package.related_as(main, "styles"):
        root = package.xml(name)
    elements = {
        attribute(one, "styleId") or "": one
        for one in (root if root is not None else ())
        if local(one) == "style"
    }
    return {identifier: _resolved(one, elements) for identifier, one in elements.items()}


def _resolved(style: Element, styles: dict[str, Element]) -> _Style:
    """Return what a style says of its paragraphs, itself or through those that it is based on."""
    level: int | None = None
    is_list: bool | None = None
    for _ in range(_BASED_ON_MAX):
        if level is None:
            level = _level(style)
        if is_list is None and (numbered := first(style, "pPr", "numPr")) is not None:
            number = first(numbered, "numId")
            is_list = number is None or attribute(number, "val") != "0"
        based_on = first(style, "basedOn")
        following = styles.get(attribute(based_on, "val") or "") if based_on is not None else None
        if following is None:
            break
        style = following
    return _Style(level, bool(is_list))


def _level(style: Element) -> int | None:
    outline = first(style, "pPr", "outlineLvl")
    if outline is not None and _number(outline) < 9:
        return _number(outline) + 1
    named = first(style, "name")
    name = (attribute(named, "val") or "") if named is not None else ""
    if found := _HEADING_NAME.fullmatch(name):
        return int(found[1])
    return 1 if name.lower() == "title" else None


def _number(element: Element | None) -> int:
    value = attribute(element, "val") if element is not None else None
    return int(value) if value is not None and value.isdecimal() and len(value) < 4 else 0
