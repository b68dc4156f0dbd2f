"""EPUB: the chapters of a book in the order in which they are read."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from chronofile.infra.extraction import pages
from chronofile.infra.extraction.assembling import Assembled, Broken, Locked
from chronofile.infra.extraction.packages import Element, Package, attribute, local

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_TEXTS = ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml")


def read(content: bytes) -> Assembled:
    """Return a book's text. Raises Broken, Locked, Bomb and TooMuchText."""
    package = Package(content)
    name, root = _described(package)
    found = Assembled()
    for kind in ("title", "creator"):
        said = [one.text for one in root.iter(f"{{*}}{kind}") if one.text]
        if said:
            found.add(f"# {said[0].strip()}" if kind == "title" else ", ".join(said))
    found.beside += ["".join(one.itertext()) for one in root if local(one) == "metadata"]
    locked = _locked(package)
    for chapter in _chapters(root, posixpath.dirname(name)):
        if chapter in locked:
            raise Locked
        said_in = package.read(chapter)
        if said_in is None:
            found.omitted["chapters that are not there"] += 1
        elif said_in.strip():
            _chapter(said_in, found)
    return found


def _chapter(content: bytes, found: Assembled) -> None:
    try:
        page = pages.parsed(content)
    except Broken:
        found.omitted["chapters that cannot be read"] += 1
        return
    found.beside += pages.addresses(page)
    found.extend(pages.blocks(page))


def _described(package: Package) -> tuple[str, Element]:
    """Return the part that describes the book, and its name."""
    container = package.xml(_CONTAINER)
    for one in container.iter("{*}rootfile") if container is not None else ():
        name = unquote(one.get("full-path") or "")
        root = package.xml(name)
        if root is not None:
            return name, root
    raise Broken("Nothing in it describes a book.")


def _chapters(root: Element, folder: str) -> Iterator[str]:
    items = {one.get("id"): one for one in root.iter("{*}item")}
    for listed in root.iter("{*}itemref"):
        chapter = items.get(listed.get("idref"))
        if chapter is not None and (chapter.get("media-type") or _TEXTS[0]) in _TEXTS:
            yield posixpath.normpath(
                posixpath.join(folder, unquote(chapter.get("href") or "").partition("#")[0])
            )


def _locked(package: Package) -> frozenset[str]:
    root = package.xml(_ENCRYPTION)
    names = root.iter("{*}CipherReference") if root is not None else ()
    return frozenset(unquote(attribute(one, "URI") or "") for one in names)
