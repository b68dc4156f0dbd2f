"""Former lines: what a transcript said before its file was written anew, and says no more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from chronofile.domain.erasure import Span
from chronofile.domain.formats import neutral
from chronofile.ingest.cleaning import Clean
from chronofile.ingest.sighting import HeldBytes, Sighting

Read = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Returns contents by their keys; what was erased is missing."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A transcript that was written anew: as it is now, its scope, and the contents that it showed until its revision."""

    sighting: Sighting
    scope: str
    contents: tuple[str, ...]
    revision: int
    spans: Sequence[Span]
    """Passages that were erased of it."""


def is_kept(sighting: Sighting) -> bool:
    """Tell whether what was said before is kept: agents only append, so what is gone was dropped by a compaction.

    Neutral turns are somebody's own file, and changing one there means to change what it says.
    """
    return sighting.growing and sighting.holds_json and sighting.format != neutral.name


def name_of(revision: int) -> str:
    """Return what names the lines that a source showed last with a revision."""
    return f"former-{revision}"


def former(rewritten: Rewritten, read: Read, clean: Clean) -> Sighting | None:
    """Return the lines that are no longer in the file as a source of their own; None where all are."""
    now = {record_of(line) for line in _kept_lines(rewritten, clean)}
    left: list[bytes] = []
    for key in rewritten.contents:
        for line in read([key]).get(key, b"").split(b"\n"):
            if line.strip() and (record := record_of(line)) not in now:
                now.add(record)
                left.append(line)
    if not left:
        return None
    name = name_of(rewritten.revision)
    sighting = rewritten.sighting
    return replace(
        sighting,
        key=f"{sighting.key}@{name}",
        uri=f"{sighting.uri}#{name}",
        content=HeldBytes(b"\n".join(left) + b"\n"),
    )


def record_of(line: bytes) -> bytes:
    """Return what tells a record from others by all that it says, also where that is spelled anew."""
    line = line.strip()
    try:
        found = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        said = line
    else:
        said = json.dumps(found, sort_keys=True).encode("ascii")
    return blake2b(said, digest_size=16).digest()


def _kept_lines(rewritten: Rewritten, clean: Clean) -> Iterator[bytes]:
    """Yield the file's lines as they would be stored."""
    content = rewritten.sighting.content
    for start, end in content.ranges(0):
        yield from clean(content.range(start, end), rewritten.sighting, rewritten.spans).content.split(b"\n")
