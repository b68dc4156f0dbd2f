"""Rows: values of a database as lines of JSON, so that what a tool stored is kept as it stands there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chronofile.ingest.archives.elements import one_line

CONTENT_BYTES_MAX = 64 << 20
"""The most of one conversation that is captured."""


@dataclass(slots=True)
class Lines:
    """The lines of one conversation, as far as they are within the limit; `left` counts the others."""

    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    left: int = 0

    def add(self, line: bytes) -> None:
        if self.size + len(line) > CONTENT_BYTES_MAX:
            self.left += 1
            return
        self.lines.append(line)
        self.size += len(line) + 1

    @property
    def content(self) -> bytes:
        return b"\n".join([*self.lines, b""])


def line(fields: Mapping[str, Any], value: bytes) -> bytes:
    """Return a line with the fields and, as `value`, a JSON text; one that is none stands there as the text `raw`."""
    named = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    stripped = value.strip().removeprefix(b"\xef\xbb\xbf")
    if (stripped[:1], stripped[-1:]) in ((b"{", b"}"), (b"[", b"]")):
        return b'%s,"value":%s}' % (named[:-1], one_line(stripped))
    raw = json.dumps(value.decode("utf-8", "surrogateescape"), ensure_ascii=True).encode()
    return b'%s,"raw":%s}' % (named[:-1], raw)


def as_bytes(value: object) -> bytes | None:
    """Return a stored value as the bytes of its text, None for NULL."""
    if value is None:
        return None
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


def as_text(value: object) -> str:
    found = as_bytes(value)
    return "" if found is None else found.decode("utf-8", "surrogateescape")


def objects(value: object, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a list that a JSON object has under a name."""
    listed = value.get(name) if isinstance(value, dict) else None
    yield from (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()


def loaded(content: bytes | None) -> object:
    """Return what a JSON text says, None where it is none."""
    try:
        return None if content is None else json.loads(content)
    except (ValueError, RecursionError):
        return None
