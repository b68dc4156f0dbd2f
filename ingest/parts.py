"""Parts: the conversations of an archive as sightings, so many at a time that memory stays small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from urllib.parse import quote

from chronofile.domain.formats import FORMATS
from chronofile.domain.identity import storable
from chronofile.domain.rejection import NotRead, OmissionReason, Rejected
from chronofile.domain.wording import counted
from chronofile.ingest.archives import companions
from chronofile.ingest.archives.unpacked import Conversation, LeftOut, Unpacked
from chronofile.ingest.reading import Fingerprint, opened
from chronofile.ingest.scan import Found
from chronofile.ingest.sighting import TRANSCRIPT, HeldBytes, Looked, Sighting, uri_of

PART_BYTES_MAX = 8 << 20
PART_CONVERSATIONS_MAX = 200
"""An archive's conversations are captured in parts of so many bytes and so many conversations."""
_DIGEST_BYTES = 16


def parts(found: Found, fingerprint: Fingerprint, unpacked: Iterator[Unpacked]) -> Iterator[Looked]:
    """Yield an archive's conversations in parts, the last one with what was not taken.

    Where it turns out to be unreadable further in, what was read by then is yielded, and why there is no more. Raises
    NotRead where there is nothing at all.
    """
    taken = _Taken(found)
    part: list[Sighting] = []
    size = before = 0
    for sighting in taken.sightings(unpacked):
        if part and (size + sighting.content.size > PART_BYTES_MAX or len(part) >= PART_CONVERSATIONS_MAX):
            yield Looked(found, fingerprint, tuple(part), is_last=False, sources_before=before)
            before, part, size = before + len(part), [], 0
        part.append(sighting)
        size += sighting.content.size
    taken.see_whether_it_changed(fingerprint)
    yield Looked(
        found,
        fingerprint,
        tuple(part),
        left_out=tuple(taken.all_left_out()),
        omitted=taken.omitted,
        sources_before=before,
        is_archive=True,
    )


@dataclass(slots=True)
class _Taken:
    """What was taken out of an archive so far: the names of its conversations, and what was not taken."""

    found: Found
    seen: dict[str, list[bytes]] = field(default_factory=dict)
    """By name, a digest of each conversation that had it."""
    nameless: Counter[str] = field(default_factory=Counter)
    """By entry, how many records are nothing that its format knows."""
    left_out: list[Rejected] = field(default_factory=list)
    omitted: Counter[OmissionReason] = field(default_factory=Counter)

    def sightings(self, unpacked: Iterator[Unpacked]) -> Iterator[Sighting]:
        try:
            for one in unpacked:
                if isinstance(one, Conversation):
                    yield from self._conversation(one)
                elif isinstance(one, LeftOut):
                    self.left_out.append(Rejected(self.found.path, one.reason, one.detail))
                else:
                    self.omitted[one.reason] += one.count
        except NotRead as failure:
            if not self.seen:
                raise
            self.left_out.append(failure.rejected)

    def all_left_out(self) -> Iterator[Rejected]:
        yield from self.left_out
        for name, count in self.nameless.items():
            yield Rejected(self.found.path, "not-turns", f"{name}: {counted(count, 'record')}")

    def see_whether_it_changed(self, before: Fingerprint) -> None:
        """Note that an archive is not what it was when it was looked at first."""
        try:
            with opened(self.found.path) as file:
                # What has companions was read as it was at one moment, or is seen by them to have changed since.
                if file.fingerprint != before and not companions.leads(self.found.path):
                    self.left_out.append(Rejected(self.found.path, "changed-while-read"))
        except NotRead as failure:
            self.left_out.append(failure.rejected)

    def _conversation(self, one: Conversation) -> Iterator[Sighting]:
        end = len(one.content) - one.content.endswith(b"\n")
        lines = str(memoryview(one.content)[:end], "utf-8", "surrogateescape").split("\n")
        identity = FORMATS[one.format].identify(lines, one.name)
        if identity is None:
            self.nameless[one.name] += 1
            return
        key = self._key(f"{one.format}:{identity.key}", one.content)
        if key is not None:
            yield Sighting(
                path=self.found.path,
                root=self.found.root,
                kind=TRANSCRIPT,
                format=one.format,
                encoding="utf-8-sig",
                session=storable(identity.session),
                key=key,
                uri=f"{uri_of(self.found.path)}#{quote(key.partition(':')[2], errors='surrogatepass')}",
                cwd=identity.cwd,
                scope=storable(identity.scope),
                growing=False,
                content=HeldBytes(one.content),
                event_time=storable(identity.updated) or one.changed,
            )

    def _key(self, key: str, content: bytes) -> str | None:
        """Return what names a conversation within its scope; None where this very one was listed before."""
        mark = blake2b(content, digest_size=_DIGEST_BYTES).digest()
        same = self.seen.setdefault(key, [])
        if mark in same:
            return None
        same.append(mark)
        # Two conversations with one id that differ are two conversations.
        return key if len(same) == 1 else f"{key}#{len(same)}"
