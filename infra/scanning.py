"""Scanning what is stored for secrets: every content of every source, memories, and questions that were asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from chronofile.domain import streams
from chronofile.domain.documents import DOCUMENTS, Extracted, NotExtracted
from chronofile.domain.events import Event, MemoryCorrected, MemoryRemembered, RevisionCaptured
from chronofile.domain.formats import holds_json, slack
from chronofile.domain.identity import decoded
from chronofile.infra.erasing.questions import asked, texts_of
from chronofile.infra.erasing.wanted import Wanted, every, find, reading, uris
from chronofile.ingest import documents
from chronofile.ingest.redaction import Finding, findings

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

STREAMS_READ_MAX = 100
LEDGER = "ledger:questions"
"""What the questions of the search ledger are called in place of a source's URI."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in what is stored: `preview` is its beginning, `line` that of the revision in which it first stands.

    `count` is in how many places of all revisions it stands; `source` is None for questions that were asked.
    """

    source: str | None
    uri: str
    rule: str
    line: int
    preview: str
    count: int


Tick = Callable[[int, int], None]
"""Hears how many sources were looked through, and of how many."""


def scan(parts: Parts, wanted: Wanted | None, tick: Tick = lambda done, of: None) -> Iterator[Secret]:
    """Look through what is stored of sources, one content at a time; None stands for everything, questions too.

    Raises UnknownSource, UnknownScope.
    """
    names = every(parts) if wanted is None else find(parts, wanted).whole
    for start in range(0, len(names), STREAMS_READ_MAX):
        chunk = names[start : start + STREAMS_READ_MAX]
        with reading(parts.engine) as conn:
            named = uris(conn, chunk)
        for stream, recorded in parts.store.read_many(chunk).items():
            found = _of_stream(parts, [one.event for one in recorded])
            yield from _secrets(streams.id_of(stream), named.get(stream, ""), found)
        tick(start + len(chunk), len(names))
    if wanted is None:
        yield from _secrets(None, LEDGER, _of_questions(parts))


def _secrets(source: str | None, uri: str, found: Iterator[Finding]) -> Iterator[Secret]:
    counted: Counter[tuple[str, str]] = Counter()
    lines: dict[tuple[str, str], int] = {}
    for one in found:
        key = (one.rule, one.preview)
        counted[key] += 1
        lines.setdefault(key, one.line)
    for (rule, preview), count in counted.items():
        yield Secret(source, uri, rule, lines[rule, preview], preview, count)


def _of_stream(parts: Parts, events: Sequence[Event]) -> Iterator[Finding]:
    looked: set[str] = set()
    name, lines = "", 0
    for event in events:
        match event:
            case RevisionCaptured(content=key):
                name = _name(parts, event.file) or name
                lines = 0 if event.start == 0 else lines
                content = _read(parts, key)
                if content is not None and key not in looked:
                    for found in _of_content(parts, event, content, name):
                        yield Finding(found.rule, found.line + lines, found.preview)
                lines += (content or b"").count(b"\n")
                looked.add(key)
            case MemoryRemembered(text=key) | MemoryCorrected(text=key) if key not in looked:
                looked.add(key)
                yield from findings(_read(parts, key) or b"", encoding="utf-8", records=False)
            case _:
                pass


def _of_content(parts: Parts, event: RevisionCaptured, content: bytes, name: str) -> list[Finding]:
    """Return the secrets in a stored content; those of a document where it can be read."""
    if event.format not in DOCUMENTS:
        return findings(
            content,
            encoding=event.encoding,
            records=holds_json(event.format),
            name=name,
            marked_up=event.format == slack.name,
        )
    try:
        found = (
            parts.extractor.extract(content, event.format) if parts.extractor is not None else Extracted("")
        )
    except NotExtracted:
        found = Extracted("")
    return documents.secrets_in(content, event.format, found, encoding=event.encoding, name=name)


def _of_questions(parts: Parts) -> Iterator[Finding]:
    for _, text in texts_of(parts, asked(parts)):
        yield from findings(text.encode("utf-8", "replace"), encoding="utf-8", records=False)


def _name(parts: Parts, key: str) -> str:
    return PurePath(decoded(_read(parts, key) or b"")).name


def _read(parts: Parts, key: str) -> bytes | None:
    return parts.read([key]).get(key)
