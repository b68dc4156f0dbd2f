"""Redaction: secrets are taken out of what was read before anything of it is kept.

Only the characters of a secret are replaced, by a mark that names the rule; line ends within it stay. All other bytes stay
as they are. A text is searched one byte a character, so texts in UTF-16 are narrowed first and cut by units of theirs.
"""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from chronofile.ingest.assignments import ASSIGNMENTS, env_values, is_env_file
from chronofile.ingest.detectors import MARK, Span
from chronofile.ingest.literals import joined, literals, neighbours, unescaped
from chronofile.ingest.markup import Shown, shown_texts
from chronofile.ingest.secrets import DETECTORS, HEADERS, PRIVATE_KEYS, RULES, private_blocks

__all__ = ["RULES", "Finding", "Redacted", "findings", "redact", "redact_text"]

PASSES_MAX = 5
DEPTH_MAX = 5
PREVIEW_CHARS_MAX = 4
DOCUMENT_BYTES_MAX = 64 << 20


@dataclass(frozen=True, slots=True)
class Redacted:
    """Bytes without their secrets, and how many each rule took out. Where it is none, the bytes are the very same object.

    `is_text`: they are the text of a document, in UTF-8, in place of the document's own bytes.
    """

    content: bytes
    counts: Mapping[str, int]
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret that is there: its rule, its line (from 1), and its first characters, the rest as dots."""

    rule: str
    line: int
    preview: str


def redact(
    content: bytes, *, encoding: str, records: bool, name: str = "", marked_up: bool = False
) -> Redacted:
    """Return the content without its secrets.

    `encoding` is Python's name of it. `records`: JSON Lines, whose strings are searched as what they say; each
    line stays valid where it was. `marked_up`: Slack's, searched also as what it shows. `name` is the file's: of a
    .env file nearly every value goes. What was redacted stays as it is when it is redacted again.
    """
    counts: Counter[str] = Counter()
    # A cut can join what stood apart, so the result is searched again until nothing is found in it.
    for _ in range(PASSES_MAX):
        text = _narrowed(content, encoding)
        if not (cuts := _cuts(text, records=records, name=name, marked_up=marked_up)):
            break
        counts.update(cut.rule for cut in cuts)
        content = _without(content, cuts, encoding)
    return Redacted(content, dict(counts))


def redact_text(text: str) -> tuple[str, Mapping[str, int]]:
    """Return a text without its secrets, and how many each rule took out."""
    redacted = redact(text.encode("utf-8", "surrogatepass"), encoding="utf-8", records=False)
    if not redacted.counts:
        return text, redacted.counts
    return redacted.content.decode("utf-8", "surrogatepass"), redacted.counts


def findings(
    content: bytes, *, encoding: str, records: bool, name: str = "", marked_up: bool = False
) -> list[Finding]:
    """Return the secrets in a content, in their order, as `redact` would take them out."""
    text = _narrowed(content, encoding)
    found: list[Finding] = []
    line, last = 1, 0
    for cut in _cuts(text, records=records, name=name, marked_up=marked_up):
        line += text.count(b"\n", last, cut.start)
        last = cut.start
        found.append(Finding(cut.rule, line, _preview(text[cut.start : cut.end])))
    return found


def _preview(secret: bytes) -> str:
    shown = secret[: min(PREVIEW_CHARS_MAX, len(secret) // 4)].decode("ascii", "replace")
    return "".join(character if character.isprintable() else "." for character in shown).ljust(
        min(len(secret), 16), "."
    )


@dataclass(frozen=True, slots=True)
class _Cut:
    """A secret at [start, end) of a text, and where the line ends within it stand: those stay."""

    rule: str
    start: int
    end: int
    line_ends: tuple[tuple[int, int], ...] = ()


_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
# What may stand in JSON with escapes where the detectors expect none: some writers escape slashes and angle brackets.
_ESCAPED: Final = (
    re.compile(rb"private\s{0,8}(?:>|\\+u003e)"),
    re.compile(rb":\\+/\\+/[^\s\"]{1,300}@"),
)
_LOOSE: Final = tuple(
    dict.fromkeys((detector.loose, detector.folded) for detector in (*DETECTORS, *ASSIGNMENTS))
)
_ESCAPED_LINE_ENDS: Final = (b"\\n", b"\\r")
_PRECEDENCE: Final = {rule: place for place, rule in enumerate(RULES)}


def _cuts(text: bytes, *, records: bool, name: str, marked_up: bool) -> list[_Cut]:
    if records:
        found = [
            cut
            for start, end, hints in _lines(text, _hints(text))
            for cut in _line_cuts(text, start, end, hints)
        ]
        return _merged([*found, *_shown_cuts(text)]) if marked_up else found
    env = is_env_file(name)
    if not env and _begins_as_json(_unmarked(text)) and len(text) <= DOCUMENT_BYTES_MAX:
        # A document of JSON is searched as one record: so it is sure to stay valid.
        hints = _hints(text)
        return _line_cuts(text, 0, len(text), hints) if hints else []
    return _merged(_plain_cuts(text, 0, len(text), env=env))


def _unmarked(text: bytes) -> bytes:
    """Return a text without its byte order mark, which is one \\x80 where it was wider."""
    return text.removeprefix(codecs.BOM_UTF8).removeprefix(b"\x80")


def _begins_as_json(text: bytes) -> bool:
    return text[:64].lstrip()[:1] in (b"{", b"[")


def _hints(text: bytes) -> list[int]:
    """Return where something stands that may be a secret once the escapes of JSON are resolved."""
    lowered = text.lower()
    found: list[int] = []
    for loose, is_folded in _LOOSE:
        found += [match.start() for match in loose.finditer(lowered if is_folded else text)]
    for hint in _ESCAPED:
        found += [match.start() for match in hint.finditer(lowered)]
    return sorted(found)


def _lines(text: bytes, hints: list[int]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield the lines with hints in them, which are few; the hints of each are counted from its beginning."""
    place = 0
    while place < len(hints):
        start, end = text.rfind(b"\n", 0, hints[place]) + 1, text.find(b"\n", hints[place])
        end = len(text) if end < 0 else end
        after = bisect_right(hints, end, place)
        yield start, end, [hint - start for hint in hints[place:after]]
        place = after


def _line_cuts(text: bytes, start: int, end: int, hints: list[int], *, marked_up: bool = False) -> list[_Cut]:
    """Search a record; what is no JSON is searched as plain text."""
    line = text[start:end]
    if not _is_json(_unmarked(line)):
        return _merged(_plain_cuts(text, start, end))
    return _merged(_moved(cut, lambda offset: start + offset) for cut in _record_cuts(line, hints, depth=0))


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text.decode("latin-1"), strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _plain_cuts(text: bytes, start: int, end: int, *, env: bool = False) -> Iterator[_Cut]:
    part = text if (start, end) == (0, len(text)) else text[start:end]
    for span in (*_spans(part), *(env_values(part) if env else ())):
        yield _moved(_cut(part, span), lambda offset: start + offset)


def _record_cuts(record: bytes, hints: list[int], depth: int) -> Iterator[_Cut]:
    """Yield what to cut from a JSON text: secrets in its strings, and strings under names that say so."""
    lowered = record.lower()
    for detector in ASSIGNMENTS:
        for span in detector.spans(record, lowered):
            if _is_string(record, span):
                yield _Cut(span.rule, span.start, span.end)
    for name, header in HEADERS.items():
        for span in header.spans(record, lowered):
            # The name and the value may be two strings; with an escape between them they are within one, and come below.
            if b"\\" not in record[lowered.rfind(name.encode(), 0, span.start) : span.end]:
                yield _Cut(span.rule, span.start, span.end)
    yield from _spread_cuts(record, lowered)
    for start, end in literals(record):
        if bisect_left(hints, start) == bisect_left(hints, end):
            continue
        said = unescaped(record, start, end)
        if depth < DEPTH_MAX and _begins_as_json(said.text) and _is_json(said.text):
            inner = _record_cuts(said.text, _hints(said.text), depth + 1)
        else:
            inner = _plain_cuts(said.text, 0, len(said.text))
        for cut in inner:
            yield _moved(cut, said.origin)


def _shown_cuts(text: bytes) -> Iterator[_Cut]:
    """Yield what to cut from Slack's records for what their texts show, without the structure between two of them."""
    found = list(shown_texts(text))
    # Hints are looked for in all of them at once: most have none.
    hints, at = _hints(b"\n".join(shown.text for shown in found)), 0
    for shown in found:
        end = at + len(shown.text)
        if bisect_left(hints, at) < bisect_right(hints, end):
            yield from _shown_cuts_of(shown)
        at = end + 1


def _shown_cuts_of(shown: Shown) -> Iterator[_Cut]:
    text = bytes(shown.text)
    for span in _spans(text):
        bounds = [match.span() for match in _LINE_END.finditer(text, span.start, span.end)]
        starts = [span.start, *(end for _, end in bounds)]
        ends = [*(start for start, _ in bounds), span.end]
        places = sorted({place for at in zip(starts, ends, strict=True) for place in shown.places(*at)})
        link = shown.link_around(span.start, span.end)
        # What a link says by itself is searched as it stands in the record.
        if places and not (link and any(_spans(link))):
            between = zip((end for _, end in places), (start for start, _ in places[1:]), strict=False)
            kept = tuple((end, start) for end, start in between if end < start)
            yield _Cut(span.rule, places[0][0], places[-1][1], kept)


# What may be spread over several strings of one list, as lines of a notebook or of a diff are.
_SPREADING: Final = (b"-----begin ", b"private-lines:", b"<private", b"u003cprivate")


def _spread_cuts(record: bytes, lowered: bytes) -> Iterator[_Cut]:
    """Yield private keys and private blocks that are spread over neighbouring strings of a list."""
    if not any(one in lowered for one in _SPREADING):
        return
    for strings in neighbours(record):
        part = lowered[strings[0][0] : strings[-1][1]]
        if not any(one in part for one in _SPREADING):
            continue
        said = joined(record, strings)
        folded = said.text.lower()
        spans = [span for keys in PRIVATE_KEYS for span in keys.spans(said.text, folded)]
        # Only where strings are lines of one text does what nothing closes go on in the next one.
        lines = all(record.endswith(_ESCAPED_LINE_ENDS, start, end) for start, end in strings[:-1])
        spans += private_blocks(said.text, folded, closed_only=not lines)
        for span in spans:
            # The bounds of strings are ends of lines in what is joined, so they stay.
            yield _moved(_cut(said.text, span), said.origin)


def _spans(text: bytes) -> Iterator[Span]:
    lowered = text.lower()
    for detector in (*DETECTORS, *ASSIGNMENTS):
        yield from detector.spans(text, lowered)
    if b"<private" in lowered:
        yield from private_blocks(text, lowered)


def _is_string(record: bytes, span: Span) -> bool:
    """Tell whether a span is a whole string of a record; what is said within strings is searched as what it says."""
    before, after = record[max(0, span.start - 2) : span.start], record[span.end : span.end + 1]
    return before.endswith(b'"') and after == b'"' and not before.startswith(b"\\")


def _cut(text: bytes, span: Span) -> _Cut:
    return _Cut(
        *(span.rule, span.start, span.end),
        tuple(match.span() for match in _LINE_END.finditer(text, span.start, span.end)),
    )


def _moved(cut: _Cut, origin: Callable[[int], int]) -> _Cut:
    """Return a cut in the text around."""
    line_ends = tuple((origin(start), origin(end)) for start, end in cut.line_ends)
    return _Cut(cut.rule, origin(cut.start), origin(cut.end), line_ends)


def _merged(cuts: Iterable[_Cut]) -> list[_Cut]:
    """Return the cuts in order, without overlaps: of those that do, the longest names the rule."""
    merged: list[_Cut] = []
    for cut in sorted(cuts, key=lambda cut: (cut.start, -cut.end, _PRECEDENCE[cut.rule])):
        if not merged or cut.start >= merged[-1].end:
            merged.append(cut)
        elif cut.end > merged[-1].end or not set(cut.line_ends) <= set(merged[-1].line_ends):
            last = merged[-1]
            longer = cut if cut.end - cut.start > last.end - last.start else last
            line_ends = _united((*last.line_ends, *cut.line_ends))
            merged[-1] = _Cut(longer.rule, last.start, max(last.end, cut.end), line_ends)
    return merged


def _united(line_ends: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return line ends in order, without overlaps: one at the end of a string goes on to the next string of its list."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(line_ends):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return tuple(united)


# How wide a character of ASCII is, and where in it the byte that tells it stands.
_WIDE: Final = {
    "utf-16": (2, 0), "utf-16-le": (2, 0), "utf-16-be": (2, 1), "utf-32": (4, 0), "utf-32-le": (4, 0), "utf-32-be": (4, 3),
}  # fmt: skip


def _width(content: bytes, encoding: str) -> tuple[int, int]:
    name = encoding.lower().replace("_", "-")
    width, place = _WIDE.get(name, (1, 0))
    marked_big = content.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    return (width, width - 1) if name in ("utf-16", "utf-32") and marked_big else (width, place)


def _narrowed(content: bytes, encoding: str) -> bytes:
    """Return the content one byte a character (a code unit, in UTF-16); what is no ASCII is \\x80 where it was wider."""
    width, place = _width(content, encoding)
    if width == 1:
        return content
    whole = content[: len(content) - len(content) % width]
    telling = whole[place::width]
    others = [whole[other::width] for other in range(width) if other != place]
    if telling.isascii() and not any(map(any, others)):
        return telling
    return bytes(
        byte if byte < 0x80 and not any(rest) else 0x80 for byte, *rest in zip(telling, *others, strict=True)
    )


def _without(content: bytes, cuts: Iterable[_Cut], encoding: str) -> bytes:
    width, place = _width(content, encoding)
    pieces: list[bytes] = []
    last = 0
    for cut in cuts:
        mark = MARK + cut.rule.encode("ascii") + b"]"
        if width > 1:
            mark = b"".join(bytes(place) + bytes((byte,)) + bytes(width - 1 - place) for byte in mark)
        pieces += (content[last : cut.start * width], mark)
        pieces += (content[start * width : end * width] for start, end in cut.line_ends)
        last = cut.end * width
    pieces.append(content[last:])
    return b"".join(pieces)
