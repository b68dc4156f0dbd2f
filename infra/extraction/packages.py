"""Packages: the parts of a document that is a zip archive, and what the parts refer to."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]  # Compiled, and without types.

from chronofile.infra.extraction.assembling import Broken, Locked

PART_BYTES_MAX = 256 << 20
ALL_BYTES_MAX = 1 << 30
RATIO_MAX = 200
RATIO_BYTES_MIN = 50 << 20
"""A part that unpacks to more than so many bytes, and to so many times what it takes, is no document's."""

_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_DESCRIBING = (
    "customXml/",
    "docProps/",
    "word/settings",
    "word/webSettings",
    "xl/connections",
    "xl/externalLinks/",
    "xl/queryTables/",
)
_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)

Element = Any
"""An lxml element: the library has no types of its own."""


class Bomb(Exception):
    """The document unpacks to far more than a document holds."""


class Package:
    """A document's zip archive. Raises Broken, Locked and Bomb, here and as it is read."""

    def __init__(self, content: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(BytesIO(content))
        except (*_BROKEN, ValueError) as failure:
            raise Broken(str(failure)) from failure
        entries = self._archive.infolist()
        self._entries = {entry.filename: entry for entry in entries}
        # Some writers spell a part's name in another case than those who refer to it.
        self._by_folded = {name.casefold(): name for name in self._entries}
        if sum(entry.file_size for entry in entries) > ALL_BYTES_MAX or any(map(_is_bomb, entries)):
            raise Bomb

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def read(self, name: str) -> bytes | None:
        """Return a part's bytes, None where there is no such part."""
        found = self._by_folded.get(name.lstrip("/").casefold())
        if found is None:
            return None
        entry = self._entries[found]
        if entry.flag_bits & _ENCRYPTED:
            raise Locked
        try:
            return self._archive.read(entry)
        except _BROKEN as failure:
            raise Broken(f"{name}: {failure}") from failure

    def xml(self, name: str) -> Element | None:
        """Return a part's root element, None where there is no such part."""
        content = self.read(name)
        return None if content is None else parsed(content, name)

    def related(self, name: str) -> list[tuple[str, str, str]]:
        """Return what a part refers to: the reference's id, the last word of its type, and the part's name."""
        folder, file = posixpath.split(name)
        root = self.xml(f"{folder}/_rels/{file}.rels" if folder else f"_rels/{file}.rels")
        found = []
        for one in root if root is not None else ():
            target = one.get("Target") or ""
            if one.get("TargetMode") != "External" and target:
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
                found.append((one.get("Id") or "", (one.get("Type") or "").rpartition("/")[2], target))
        return found

    def related_as(self, name: str, kind: str) -> list[str]:
        """Return the parts that a part refers to in a way."""
        return [target for _, one, target in self.related(name) if one == kind]

    def title(self) -> str:
        """Return what an Office document is called."""
        properties = next(iter(self.related_as("", "core-properties")), "docProps/core.xml")
        try:
            root = self.xml(properties)
        except Broken:
            return ""
        return next(
            (one.text or "" for one in (root if root is not None else ()) if local(one) == "title"), ""
        )

    def beside(self) -> Iterator[str]:
        """Yield what the document says of itself and where its links lead, as it is written."""
        for name in self.names:
            described = name.startswith(_DESCRIBING) and name.endswith(".xml")
            if described or name.endswith(".rels"):
                yield (self.read(name) or b"").decode("utf-8", "replace")


def parsed(content: bytes, name: str) -> Element:
    """Return the root of an XML text. Nothing that it names is loaded, and no entity of its own is resolved."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as failure:
        raise Broken(f"{name}: {failure}") from failure
    if root.getroottree().docinfo.internalDTD is not None:
        raise Broken(f"{name} declares entities, as no document does.")
    return root


def local(element: Element) -> str:
    """Return an element's name without its namespace: strict and transitional documents differ only in that."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str) -> str | None:
    """Return an attribute by its name without a namespace."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def reference(element: Element, name: str = "id") -> str | None:
    """Return the id of what an element refers to."""
    found: str | None = element.get(f"{{{_RELATIONSHIPS}}}{name}") or element.get(f"{{{_STRICT}}}{name}")
    return found


def first(element: Element, *names: str) -> Element | None:
    """Return the first child of a child, and so on, by their names; None where one is missing."""
    found = element
    for name in names:
        found = next((child for child in found if local(child) == name), None)
        if found is None:
            return None
    return found


def _is_bomb(entry: zipfile.ZipInfo) -> bool:
    is_large = entry.file_size > PART_BYTES_MAX
    return is_large or (
        entry.file_size > RATIO_BYTES_MIN and entry.file_size > RATIO_MAX * max(1, entry.compress_size)
    )
