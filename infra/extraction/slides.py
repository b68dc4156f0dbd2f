"""Presentations: each slide's title as a heading, its texts, tables and charts, and the speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator

from chronofile.infra.extraction.assembling import Assembled, Broken, item, one_line, row
from chronofile.infra.extraction.packages import Element, Package, first, local, reference

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_MAIN = "ppt/presentation.xml"


def read(content: bytes) -> Assembled:
    """Return a presentation's text. Raises Broken, Locked, Bomb and TooMuchText."""
    package = Package(content)
    main = next(iter(package.related_as("", "officeDocument")), _MAIN)
    root = package.xml(main)
    if root is None:
        raise Broken(f"There is no {main}.")
    found = Assembled()
    found.beside += package.beside()
    targets = {identifier: target for identifier, _, target in package.related(main)}
    slides = first(root, "sldIdLst")
    for number, listed in enumerate(slides if slides is not None else (), start=1):
        name = targets.get(reference(listed) or "")
        slide = package.xml(name) if name else None
        if name is None or slide is None:
            found.omitted["slides that are not there"] += 1
        else:
            _slide(package, name, slide, number, found)
    found.entitle(package.title())
    return found


def _slide(package: Package, name: str, slide: Element, number: int, found: Assembled) -> None:
    shapes = [shape for shape in _shapes(slide) if _place(shape) not in _FURNITURE]
    title = next((shape for shape in shapes if _place(shape) in _TITLES), None)
    said = one_line(" ".join(_paragraphs(title))) if title is not None else ""
    found.heading(2, f"Slide {number}: {said}" if said else f"Slide {number}")
    for shape in shapes:
        if shape is not title:
            found.extend(_blocks(shape))
    for _, kind, target in package.related(name):
        part = (
            package.xml(target)
            if kind in ("chart", "chartEx", "diagramData", "notesSlide", "comments")
            else None
        )
        if part is None:
            continue
        if kind == "notesSlide":
            notes = [
                p for s in _shapes(part) if _place(s) not in _FURNITURE for p in _paragraphs(s) if p.strip()
            ]
            found.add("\n".join(["Notes:", *notes]) if notes else "")
        elif kind == "comments":
            found.extend(item(0, "".join(one.itertext())) for one in part.iter("{*}text", "{*}txBody"))
        else:
            found.add("\n".join(dict.fromkeys(_words(part))))


def _shapes(root: Element) -> Iterator[Element]:
    """Yield what stands on a slide, in its order, groups taken apart."""
    for element in root.iter("{*}sp", "{*}graphicFrame", "{*}cxnSp"):
        # What newer programs draw is there a second time for older ones.
        if not any(local(above) == "Fallback" for above in element.iterancestors()):
            yield element


def _place(shape: Element) -> str:
    """Return what a shape is on its slide: title, body, number..."""
    for properties in shape:
        found = first(properties, "nvPr", "ph")
        if found is not None:
            return str(found.get("type") or "body")
    return ""


def _blocks(shape: Element) -> Iterator[str]:
    if local(shape) == "graphicFrame":
        for line in shape.iter("{*}tr"):
            yield row([" ".join(filter(None, _paragraphs(cell))) for cell in line if local(cell) == "tc"])
    else:
        yield "\n".join(filter(None, _paragraphs(shape)))


def _paragraphs(shape: Element) -> Iterator[str]:
    for body in shape.iter("{*}txBody"):
        for paragraph in body:
            if local(paragraph) == "p":
                yield "".join(
                    "\n" if local(one) == "br" else one.text or "" for one in paragraph.iter("{*}t", "{*}br")
                )


def _words(part: Element) -> Iterator[str]:
    """Yield what a chart or a diagram says."""
    for one in part.iter("{*}t", "{*}v"):
        if one.text and one.text.strip():
            yield one.text
