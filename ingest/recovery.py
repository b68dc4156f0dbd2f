"""Recovery: what of the bytes that a hook copied is in no file any more, as something to capture."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from chronofile.domain import streams
from chronofile.domain.erasure import Span
from chronofile.domain.events import RevisionCaptured
from chronofile.domain.formats import recognise
from chronofile.domain.formats.heads import Head
from chronofile.domain.identity import storable
from chronofile.domain.ports import Log
from chronofile.domain.rejection import NotRead, Omitted, Rejected
from chronofile.domain.sources import Source, shown, source_of
from chronofile.domain.turns import Identity
from chronofile.ingest import erased, known
from chronofile.ingest.cleaning import Clean
from chronofile.ingest.gathered import KeyOf, text_key
from chronofile.ingest.looking import look
from chronofile.ingest.reading import Fingerprint, fingerprint_of, not_read, opened
from chronofile.ingest.scan import Found, scan
from chronofile.ingest.sighting import HEAD_BYTES, TAIL_BYTES, HeldBytes, Looked, Sighting, uri_of
from chronofile.ingest.spool import Entry, Mention
from chronofile.ingest.spooled import MARK, SpooledBytes

COMPARE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Known:
    """What the log holds of a transcript: its sources, the lines that they show, and what was erased of them."""

    sources: Mapping[str, Source]
    lines: Callable[[], Iterator[bytes]]
    is_erased: bool
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Recovery:
    """Tells what is to be captured of spooled bytes. `read` returns contents by their keys."""

    log: Log
    key_of: KeyOf
    clean: Clean
    read: Callable[[Sequence[str]], Mapping[str, bytes]]

    def known(self, mention: Mention, identity: tuple[str, Identity], entry: Entry) -> Known:
        """Return what the log holds of the session that spooled bytes are of, in every scope."""
        sighting = _sighting(entry, mention, identity, HeldBytes(b""))
        key = _key(identity)
        keys = [key, f"{key}@{uri_of(mention.path)}", sighting.key]
        with self.log.cursor() as cursor:
            names = known.names(cursor, [text_key(self.key_of, name) for name in keys])
        identifiers = sorted({name.source for found in names.values() for name in found})
        stored = self.log.read_many([streams.source(identifier) for identifier in identifiers])
        events = {streams.id_of(name): [one.event for one in found] for name, found in stored.items()}
        batches = {
            one.batch for found in events.values() for one in found if isinstance(one, RevisionCaptured)
        }
        with self.log.cursor() as cursor:
            reverted = erased.reverted(cursor, batches)
            gone = erased.of_sources(cursor, identifiers)

        def lines() -> Iterator[bytes]:
            for found in events.values():
                for event in shown(found, reverted):
                    yield from self.read([event.content]).get(event.content, b"").split(b"\n")

        return Known(
            sources={identifier: source_of(found, reverted) for identifier, found in events.items()},
            lines=lines,
            is_erased=bool(gone.sources),
            spans=tuple(span for spans in gone.spans.values() for span in spans),
        )

    def continues(self, mention: Mention, found: Known, source: str | None) -> bool:
        """Tell whether a file that is gone can be captured on from its spooled bytes, as if it were there.

        `source` is the one that the path was captured into before.
        """
        held = mention.held
        if held is None:
            return False
        if source is None:
            return not found.sources and _is_from_start(held)
        at = found.sources.get(source)
        if at is None or at.removed or at.hidden or not at.revision:
            return False
        try:
            return held.start <= at.end < held.size and self._probe(held, at.end) == at.probe
        except NotRead:
            return False

    def missing(
        self, entry: Entry, mention: Mention, identity: tuple[str, Identity], lines: Iterable[bytes]
    ) -> list[bytes]:
        """Return the new spooled lines that are not among others, be these as they were or cleaned."""
        assert mention.held is not None
        own = [line for line in mention.held.lines() if line.strip()]
        if not own:
            return []
        sighting = _sighting(entry, mention, identity, HeldBytes(b""))
        cleaned = self.clean(b"\n".join(own), sighting, ()).content.split(b"\n")
        if len(cleaned) != len(own):
            cleaned = own
        wanted: dict[bytes, set[int]] = {}
        for number, line in enumerate(own):
            for spelling in {line, cleaned[number]}:
                wanted.setdefault(_digest(spelling), set()).add(number)
        left = set(range(len(own)))
        for line in lines:
            left -= wanted.get(_digest(line), set())
            if not left:
                break
        return [own[number] for number in sorted(left)]

    def own_source(
        self,
        entry: Entry,
        mention: Mention,
        identity: tuple[str, Identity],
        lines: Sequence[bytes],
        scope: str | None,
        spans: Sequence[Span],
    ) -> Looked:
        """Return spooled lines as a source of their own, without what was erased of the transcript."""
        content = b"\n".join(lines) + b"\n"
        if spans:
            sighting = _sighting(entry, mention, identity, HeldBytes(content))
            content = self.clean(content, sighting, spans).content
        sighting = _sighting(entry, mention, identity, HeldBytes(content), scope)
        found = Found(entry.file, named=True, root=None)
        return Looked(found, fingerprint_of(os.lstat(entry.file)), (sighting,))

    def _probe(self, held: SpooledBytes, end: int) -> str:
        head = held.range(0, min(HEAD_BYTES, end))
        return self.key_of(b"probe" + head + held.range(max(0, end - TAIL_BYTES), end))


def identity_of(mention: Mention) -> tuple[str, Identity] | None:
    """Return the format and the session of spooled bytes; None where they are of none whose lines can be told apart."""
    lines = mention.held.head() if mention.held is not None else ()
    found = recognise(Head.of("\n".join(lines), str(mention.path), tuple(lines)))
    if found is None or found[1] != "lines":
        return None
    identity = found[0].identify(lines, str(mention.path))
    return None if identity is None else (found[0].name, identity)


def live_transcript(path: Path, home: Path, *, of_agent: bool = False) -> Looked | str:
    """Return the transcript at a path as it is now; where there is none, why.

    What is kept `of_agent` in its own folder is one whatever its format, and a text where that is not known yet.
    """
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return "not-regular"
        found = next(scan([path], home=home), None)
        if found is None or isinstance(found, Omitted | Rejected):
            return found.reason if found is not None else "vanished"
        looked = look(replace(found, otherwise=None if of_agent else found.otherwise or "ignored"))
    except NotRead as error:
        return error.reason
    except (OSError, ValueError) as error:
        return not_read(path, error).reason if isinstance(error, OSError) else "path-too-long"
    return "no-transcript" if looked is None else replace(looked, found=found)


def is_still_there(mention: Mention) -> bool:
    """Tell whether the file has all spooled bytes where they were."""
    held = mention.held
    if held is None:
        return True
    try:
        with opened(mention.path) as file:
            return all(
                file.range(at, min(at + COMPARE_BYTES, end)) == held.range(at, min(at + COMPARE_BYTES, end))
                for start, end, _ in held.spans
                for at in range(start, end, COMPARE_BYTES)
            )
    except NotRead:
        return False


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without line ends, range by range; raises NotRead."""
    with opened(path) as file:
        for start, end in file.ranges(0, file.fingerprint.size):
            yield from file.range(start, end).split(b"\n")


def continued(mention: Mention, identity: tuple[str, Identity]) -> Looked:
    """Return spooled bytes in the place of the file that they were copied from."""
    assert mention.held is not None
    format_name, who = identity
    sighting = Sighting(
        path=mention.path,
        root=None,
        kind="transcript",
        format=format_name,
        encoding="utf-8-sig",
        session=storable(who.session),
        key=_key(identity),
        uri=uri_of(mention.path),
        cwd=who.cwd,
        scope=storable(who.scope),
        growing=True,
        content=mention.held,
        event_time=None,
    )
    # No file looks like this: one that comes back is read.
    fingerprint = Fingerprint(mention.held.size, -1, -1, 0, 0)
    return Looked(Found(mention.path, named=True, root=None), fingerprint, (sighting,))


def _sighting(
    entry: Entry,
    mention: Mention,
    identity: tuple[str, Identity],
    content: HeldBytes,
    scope: str | None = None,
) -> Sighting:
    format_name, who = identity
    name = f"{MARK}{entry.id}"
    return Sighting(
        path=entry.file,
        root=None,
        kind="transcript",
        format=format_name,
        encoding="utf-8-sig",
        session=storable(who.session),
        key=f"{_key(identity)}@{name}",
        uri=f"{uri_of(mention.path)}#{name}",
        cwd=who.cwd,
        scope=scope or storable(who.scope),
        growing=True,
        content=content,
        event_time=None,
    )


def _key(identity: tuple[str, Identity]) -> str:
    return f"{identity[0]}:{identity[1].key}"


def _is_from_start(held: SpooledBytes) -> bool:
    return len(held.spans) == 1 and held.spans[0][0] == 0


def _digest(line: bytes) -> bytes:
    return blake2b(line.removesuffix(b"\r"), digest_size=16).digest()
