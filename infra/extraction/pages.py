"""HTML: headings, paragraphs, lists, tables and what is laid out as it stands, without scripts and styles."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]  # Compiled, and without types.

from chronofile.infra.extraction.assembling import Assembled, Broken, heading, item, row
from chronofile.infra.extraction.packages import Element, local

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "main", "menu", "nav", "ol", "optgroup",
    "option", "p", "section", "select", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", *_HEADINGS, "li", "pre",
})  # fmt: skip
_SILENT = frozenset({"script", "style", "template", "noscript", "head", "iframe", "object", "canvas"})
_LAYOUT = frozenset({"table", "ul", "ol", "pre", "blockquote", "section", "article", "form", *_HEADINGS})
"""A cell that holds one of these is a piece of a page and no cell of a table."""
_LISTS = frozenset({"ul", "ol", "menu"})
_SPACE = re.compile(r"[ \t\r\n\f]+")
_AROUND_BREAK = re.compile(r" *\n *")
_CHARSET = re.compile(
    rb"(?:charset\s*=\s*[\"']?|<\?xml[^>]{0,100}encoding\s*=\s*[\"'])([\w.:-]{2,40})", re.IGNORECASE
)
_CHARSET_BYTES = 4_096
_FENCE = re.compile(r"`{3,}")
_TOO_DEEP = "ERR_RESOURCE_LIMIT"
_ADDRESSES = ("href", "src", "action", "content", "data")


def read(content: bytes) -> Assembled:
    """Return the text of an HTML page. Raises Broken and TooMuchText."""
    found = Assembled()
    root = parsed(content)
    title = next((one.text for one in root.iter("title") if one.text), None)
    if title is not None and title.strip():
        found.heading(1, _SPACE.sub(" ", title))
    found.beside += addresses(root)
    found.extend(blocks(root))
    return found


def parsed(content: bytes) -> Element:
    """Return the root of an HTML or XHTML text."""
    # Without `huge_tree` what is nested deeper than 256 is dropped without a word, with it than 2,048.
    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True
    )
    text = decoded(content).replace("\0", "")
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError) as failure:
        raise Broken(str(failure)) from failure
    if root is None:
        raise Broken("It is empty.")
    if any(one.type_name == _TOO_DEEP for one in parser.error_log):
        raise Broken("It is nested too deeply.")
    return root


def decoded(content: bytes) -> str:
    """Return the text of a page in the encoding that its mark, or it itself, names, else in UTF-8 or Windows-1252."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if content.startswith(mark):
            return content.decode(encoding, "replace").removeprefix("\ufeff")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        named = _CHARSET.search(content, 0, _CHARSET_BYTES)
    try:
        return content.decode(named[1].decode("ascii") if named else "cp1252", "replace")
    except (LookupError, ValueError):
        return content.decode("cp1252", "replace")


def addresses(root: Element) -> Iterator[str]:
    """Yield where links lead and what is said in attributes that nobody sees."""
    for element in root.iter():
        for name in _ADDRESSES:
            value = element.get(name) if isinstance(element.tag, str) else None
            if value and not value.startswith("data:"):
                yield str(value)


def blocks(root: Element) -> Iterator[str]:
    """Yield the blocks of a page in their order."""
    walk = _Walk()
    silent: Element | None = None
    for event, element in etree.iterwalk(root, events=("start", "end")):
        name = local(element)
        if event == "start" and silent is None:
            if name in _SILENT:
                silent = element
            else:
                yield from walk.begin(element, name)
        elif event == "end":
            if silent is None:
                yield from walk.end(name)
            elif silent is element:
                silent = None
            if silent is None and element is not root:
                walk.say(element.tail or "")
    yield from walk.flush()


@dataclass(slots=True)
class _Walk:
    """What is open at a place of the page."""

    pieces: list[str] = field(default_factory=list)
    style: str = ""
    lists: int = 0
    pre: int = 0
    cells: list[str] | None = None
    """The cells of the row that is open, None outside of tables and in those that lay out a page."""

    def say(self, text: str) -> None:
        self.pieces.append(text if self.pre else _SPACE.sub(" ", text))

    def begin(self, element: Element, name: str) -> Iterator[str]:
        if self.cells is not None:
            if name in ("td", "th"):
                self.pieces.clear()
            elif name in _BLOCKS or name == "br":
                self.pieces.append(" ")
        elif name in _BLOCKS:
            yield from self.flush()
            self.style = name if name in _HEADINGS or name in ("li", "pre") else self.style
            self.lists += name in _LISTS
            self.pre += name == "pre"
            if name == "tr" and not _is_layout(element):
                self.cells = []
        elif name == "br":
            self.pieces.append("\n")
        elif name in ("td", "th"):
            yield from self.flush()
        if name == "img" and (said := element.get("alt")):
            self.pieces.append(f"[image {said}]")
        self.say(element.text or "")

    def end(self, name: str) -> Iterator[str]:
        if self.cells is not None:
            if name in ("td", "th"):
                self.cells.append(_SPACE.sub(" ", "".join(self.pieces)).strip())
                self.pieces.clear()
            elif name == "tr":
                yield row(self.cells)
                self.cells = None
                self.pieces.clear()
        elif name in _BLOCKS or name in ("td", "th"):
            yield from self.flush()
            self.style = "" if name in _HEADINGS or name in ("li", "pre") else self.style
            self.lists -= name in _LISTS
            self.pre -= name == "pre"

    def flush(self) -> Iterator[str]:
        text = "".join(self.pieces)
        self.pieces.clear()
        if not text.strip():
            return
        if self.pre:
            yield fenced(text)
            return
        text = _AROUND_BREAK.sub("\n", text).strip()
        if self.style in _HEADINGS:
            yield heading(_HEADINGS[self.style], text)
        elif self.style == "li":
            yield item(self.lists - 1, text)
            # What follows within the item stands for itself.
            self.style = ""
        else:
            yield text


def fenced(text: str, language: str = "") -> str:
    """Return a text that stays as it is laid out."""
    longest = max(map(len, _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n" + text.strip("\n") + f"\n{fence}"


def _is_layout(line: Element) -> bool:
    return any(local(inner) in _LAYOUT for inner in line.iterdescendants())
