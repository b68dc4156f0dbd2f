"""Seeking: which streams hold, quote or repeat what is erased, found in one pass over the stored contents.

Passages do not tell: what Chronofile quoted in a transcript is in none, and a text may be spread over two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from chronofile.domain import streams
from chronofile.infra.erasing.plan import named_since, references
from chronofile.infra.erasing.quoting import ID_CHARS, Names, named_in
from chronofile.infra.erasing.tables import CONTENT, contents, written
from chronofile.infra.erasing.wanted import Found
from chronofile.infra.progress import UNWATCHED, Progress

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

TICK_CONTENTS = 100
_WIDE = ("utf-16-le", "utf-16-be")


@dataclass(slots=True)
class _Matches:
    """The keys of contents that match: with the names that they quote something by, or for a line."""

    quoting: dict[str, set[bytes]] = field(default_factory=dict)
    repeating: set[str] = field(default_factory=set)


def sought(
    parts: Parts, found: Found, names: Names, lines: Collection[str], progress: Progress = UNWATCHED
) -> Found:
    """Return what is meant, with the streams beside `holders` that hold, quote or repeat something of it.

    Every content is read once. The lines are some of what goes as a whole.
    """
    position = parts.store.position()
    matches = _matches(parts, found, names, lines if found.whole else (), None, progress)
    return replace(
        found,
        quoting=_quoting(parts, found, matches),
        names=names,
        repeating=_naming(parts, matches.repeating, found.whole),
        position=position,
    )


def sought_again(parts: Parts, found: Found) -> Mapping[str, int]:
    """Return the streams that came to hold or to quote it since it was sought, each with how many passages."""
    if not (found.texts or found.names):
        return {}
    with parts.store.cursor() as cursor:
        keys = named_since(cursor, found.position)
    return _quoting(parts, found, _matches(parts, found, found.names, (), keys, UNWATCHED))


def repeating(parts: Parts, lines: Collection[str]) -> Mapping[str, frozenset[str]]:
    """Return the keys of contents that hold one of the lines, each with the sources and memories that name it."""
    matches = _matches(parts, Found(), frozenset(), lines, None, UNWATCHED)
    named = _naming(parts, matches.repeating, ())
    return {key: named.get(key, frozenset()) for key in matches.repeating}


def _matches(
    parts: Parts,
    found: Found,
    names: Names,
    lines: Collection[str],
    keys: Collection[str] | None,
    progress: Progress,
) -> _Matches:
    texts = {form for text in found.long_texts for form in (*written(text), *_wide(text))}
    repeated = {form for line in lines for form in written(line)}
    matches = _Matches()
    if not (texts or names or repeated):
        return matches
    for number, (key, content) in enumerate(contents(parts, keys), 1):
        named = named_in(content) & names if names else set[bytes]()
        if named or _holds(content, texts):
            matches.quoting[key] = named
        if _holds(content, repeated):
            matches.repeating.add(key)
        if number % TICK_CONTENTS == 0:
            progress.applied(CONTENT, number)
    return matches


def _holds(content: bytes, needles: Iterable[bytes]) -> bool:
    return any(needle in content for needle in needles)


def _wide(text: str) -> Iterator[bytes]:
    for form in {text, text.replace("\n", "\r\n")}:
        for encoding in _WIDE:
            yield form.encode(encoding, "surrogatepass")


def _quoting(parts: Parts, found: Found, matches: _Matches) -> dict[str, int]:
    by_stream: dict[str, set[bytes]] = defaultdict(set)
    for key, named in _naming(parts, matches.quoting, (*found.whole, *found.holders)).items():
        for stream in named:
            by_stream[stream] |= matches.quoting[key]
    whole = {streams.id_of(stream).encode() for stream in found.whole}
    return {stream: _count(names, whole) for stream, names in sorted(by_stream.items())}


def _count(names: Collection[bytes], whole: Collection[bytes]) -> int:
    """Return how many passages names stand for: a passage has an id, and a hash besides."""
    ids = {name for name in names if len(name) == ID_CHARS}
    return len({*ids}.difference(whole) or ids or names)


def _naming(parts: Parts, keys: Iterable[str], but: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the sources and memories that name each key, of all but some."""
    with parts.store.cursor() as cursor:
        named = references(cursor, list(keys), but)
    found = {
        key: frozenset(stream for stream in naming if stream.startswith(("source-", "memory-")))
        for key, naming in named.items()
    }
    return {key: naming for key, naming in found.items() if naming}
