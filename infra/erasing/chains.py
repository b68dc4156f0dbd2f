"""Chains: a source's contents range by range, as they were captured and as what was cut leaves of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chronofile.domain.decoding import decode
from chronofile.domain.events import Event, RevisionCaptured
from chronofile.domain.formats import FORMATS
from chronofile.domain.turns import Part, State, Turn
from chronofile.ingest.cleaning import ERASED
from chronofile.ingest.redaction import Redacted

TITLE = ""
"""The key under which a title is looked at like a turn."""

Read = Callable[[str], bytes | None]
"""Returns the content of a key, None where it was erased."""


@dataclass(slots=True)
class Cut:
    """What cutting came to: the cleaned content of each key that held something, and the texts that were taken out.

    `turns` are the keys of the turns of a transcript that said one of them.
    """

    cleaned: dict[str, Redacted] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    turns: set[str] = field(default_factory=set)

    @property
    def places(self) -> int:
        return sum(sum(found.counts.values()) for found in self.cleaned.values())

    def add(self, key: str, content: bytes, count: int) -> None:
        """Keep what is left of a content, from which something was cut at some more places."""
        earlier = self.cleaned[key].counts.get(ERASED, 0) if key in self.cleaned else 0
        self.cleaned[key] = Redacted(content, {ERASED: earlier + count})


@dataclass(frozen=True, slots=True)
class Chain:
    """A whole and the ranges that continue it."""

    ranges: Sequence[RevisionCaptured]
    read: Read

    def content(self, event: RevisionCaptured, cut: Cut | None) -> bytes | None:
        """Return a range as it was captured, or what is left of it after a cut."""
        if cut is not None and event.content in cut.cleaned:
            return cut.cleaned[event.content].content
        return self.read(event.content)

    def turns(self, cut: Cut | None) -> list[Turn]:
        """Return the turns as they are read range by range: one that grows comes once for each range.

        The last is what the conversation is called, where it is called something.
        """
        state: State | None = None
        found: list[Turn] = []
        title: str | None = None
        for event in self.ranges:
            fold = FORMATS.get(event.format)
            content = self.content(event, cut)
            if fold is None or content is None:
                continue
            lines = decode(content, event.encoding)[0].removesuffix("\n").split("\n")
            folded = fold.fold(state, lines)
            state = folded.state
            found += folded.turns
            title = folded.title or title
        parts = (Part("notice", title),) if title else ()
        return [*found, Turn(TITLE, (), "system", None, None, parts)]

    def numbered(self, cut: Cut | None) -> Iterator[tuple[RevisionCaptured, int, list[bytes]]]:
        """Yield each range with the number of its first line, from 1, and its lines."""
        number = 1
        for event in self.ranges:
            content = self.content(event, cut)
            if content is not None:
                lines = content.split(b"\n")
                yield event, number, lines
                number += len(lines) - (not lines[-1])


def chains(events: Iterable[Event], read: Read) -> list[Chain]:
    """Return the source's revisions: each a whole and the ranges that continue it."""
    found: list[list[RevisionCaptured]] = []
    for event in events:
        if isinstance(event, RevisionCaptured):
            if event.start == 0 or not found:
                found.append([])
            found[-1].append(event)
    return [Chain(ranges, read) for ranges in found]


def counts_of(cut: Cut, event: RevisionCaptured) -> Mapping[str, int]:
    """Return what was taken out of a range in all: before, and now."""
    now = cut.cleaned[event.content].counts if event.content in cut.cleaned else {}
    return Counter(event.redactions) + Counter(now)
