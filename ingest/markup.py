"""Markup: what Slack's texts show, one byte a character, with the way back to where each character stands in a record."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from chronofile.ingest.literals import Unescaped, literals, unescaped

_HINT: Final = re.compile(rb"<|&(?:lt|gt|amp);|\\u003c|\\u0026")

_MARKUP: Final = re.compile(
    rb"<(?P<target>[@#!][^<>|]*+|[A-Za-z][A-Za-z0-9+.-]*:[^<>|]*+)(?:\|(?P<label>[^<>]*+))?>"
    rb"|&(?P<entity>lt|gt|amp);"
)
_ENTITIES: Final = {b"lt": b"<", b"gt": b">", b"amp": b"&"}
_SCHEME: Final = re.compile(rb"(?:https?://|mailto:|tel:)", re.IGNORECASE)
_COLON: Final = re.compile(rb"\s*:")
_ANY_HINT: Final = re.compile(_HINT.pattern + rb'|"rich_text')
_ELEMENTS: Final = frozenset({b"text", b"link"})


@dataclass(slots=True)
class Shown:
    """What is shown of some literals of a record.

    A region is what can only be cut as a whole: [start, end) here, and the spans in the record that make it up.
    """

    text: bytearray = field(default_factory=bytearray)
    _starts: list[int] = field(default_factory=list)
    _origins: list[tuple[int, int]] = field(default_factory=list)
    """For each piece where it begins in the record, and whether it is one of a kind: how far it goes on there."""
    _regions: list[tuple[int, int, Sequence[tuple[int, int]]]] = field(default_factory=list)

    def add(self, text: bytes, origin: int) -> None:
        """Add bytes that stand in the record one after the other."""
        if text:
            self._starts.append(len(self.text))
            self._origins.append((origin, origin + len(text)))
            self.text += text

    def add_region(self, text: bytes, spans: Sequence[tuple[int, int]]) -> None:
        """Add what is shown for spans of the record that can only be cut as wholes."""
        if text:
            self._regions.append((len(self.text), len(self.text) + len(text), spans))
            self._starts.append(len(self.text))
            self._origins.append(spans[0])
            self.text += text

    def places(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the spans of the record that [start, end) is shown for, in order."""
        found: list[tuple[int, int]] = []
        first = max(0, bisect_right(self._starts, start) - 1)
        regions = {begin: spans for begin, _, spans in self._regions}
        for number in range(first, len(self._starts)):
            begin = self._starts[number]
            if begin >= end:
                break
            stop = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text)
            if begin in regions:
                found += regions[begin]
            else:
                origin = self._origins[number][0]
                found.append((origin + max(start, begin) - begin, origin + min(end, stop) - begin))
        return sorted(set(found))

    def link_around(self, start: int, end: int) -> bytes:
        """Return what is shown of the one link that all of [start, end) is of, nothing where it is not."""
        around = ((begin, stop) for begin, stop, _ in self._regions if begin <= start and end <= stop)
        begin, stop = next(around, (0, 0))
        return bytes(self.text[begin:stop])


def shown_texts(text: bytes) -> Iterator[Shown]:
    """Yield what is shown of the texts of records, of those that stand there otherwise."""
    for hint in _lines_with(text):
        start, end = text.rfind(b"\n", 0, hint) + 1, text.find(b"\n", hint)
        yield from _of_record(text, start, len(text) if end < 0 else end)


def _lines_with(text: bytes) -> Iterator[int]:
    """Yield a place in each line in which something may be shown otherwise."""
    at = 0
    while found := _ANY_HINT.search(text, at):
        yield found.start()
        at = text.find(b"\n", found.end())
        if at < 0:
            return


def _of_record(text: bytes, start: int, end: int) -> Iterator[Shown]:
    run: list[dict[bytes, tuple[int, int]]] = []
    name = b""
    for first, last in literals(text, start, end):
        if _COLON.match(text, last + 1):
            name = text[first:last]
            continue
        if name == b"type":
            if text[first:last] in _ELEMENTS:
                run.append({})
            else:
                yield from _of_run(text, run)
                run = []
        elif name in (b"text", b"url") and run:
            run[-1].setdefault(name, (first, last))
        if (shown := _of_literal(text, first, last)) is not None:
            yield shown
        name = b""
    yield from _of_run(text, run)


def _of_literal(record: bytes, start: int, end: int) -> Shown | None:
    if _HINT.search(record, start, end) is None:
        return None
    said = unescaped(record, start, end)
    if _MARKUP.search(said.text) is None:
        return None
    found, at = Shown(), 0
    for match in _MARKUP.finditer(said.text):
        _add_plain(found, said, at, match.start())
        span = said.origin(match.start()), said.origin(match.end())
        if match["entity"]:
            found.add_region(_ENTITIES[match["entity"]], [span])
        elif match["label"] is None and match["target"][:1] not in b"@#!":
            _add_plain(found, said, *match.span("target"))
        else:
            found.add_region(_meant(_plain(match["target"]), _plain(match["label"] or b"")), [span])
        at = match.end()
    _add_plain(found, said, at, len(said.text))
    return found


def _of_run(record: bytes, run: Sequence[dict[bytes, tuple[int, int]]]) -> Iterator[Shown]:
    if not any(b"url" in element for element in run) and len(run) < 2:
        return
    found = Shown()
    for element in run:
        label = unescaped(record, *element[b"text"]) if b"text" in element else None
        if b"url" in element:
            url = unescaped(record, *element[b"url"])
            spans = [span for span in sorted(element.values()) if span[0] < span[1]]
            found.add_region(_linked(label.text if label else b"", url.text), spans)
        elif label is not None:
            _add_plain(found, label, 0, len(label.text))
    yield found


def _add_plain(found: Shown, said: Unescaped, start: int, end: int) -> None:
    """Add characters of a literal: an escape is a piece by itself, since it is longer in the record."""
    for piece in range(max(0, bisect_right(said.starts, start) - 1), len(said.starts)):
        begin = max(start, said.starts[piece])
        stop = min(end, said.starts[piece + 1] if piece + 1 < len(said.starts) else end)
        if begin >= end:
            break
        if begin < stop:
            origin, after = said.origin(begin), said.origin(stop)
            if after - origin == stop - begin:
                found.add(said.text[begin:stop], origin)
            else:
                found.add_region(said.text[begin:stop], [(origin, after)])


def _plain(text: bytes) -> bytes:
    for entity, character in _ENTITIES.items():
        text = text.replace(b"&" + entity + b";", character)
    return text


def _meant(target: bytes, label: bytes) -> bytes:
    if target[:1] in b"@#!":
        return label or b"@" + target[1:]
    return _linked(label, target)


def _linked(label: bytes, url: bytes) -> bytes:
    if not label or label == url:
        return url
    is_same = _SCHEME.sub(b"", url, count=1).rstrip(b"/") == label.rstrip(b"/")
    return label if is_same else label + b" (" + url + b")"
