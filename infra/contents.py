"""Contents: bytes stored once, under the keyed hash of what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import psycopg
import sqlalchemy as sa
import zstandard

from chronofile.domain.identity import content_key, decoded, encoded

__all__ = ["RAW", "ZSTD", "ContentStore", "decoded", "encoded"]

RAW, ZSTD = 0, 1
COMPRESS_BYTES_MIN = 128
COMPRESSION_LEVEL = 3
ALONE_BYTES_MIN = 1 << 20
_INSERT_ONE = (
    "INSERT INTO log.content (key, codec, size, bytes) VALUES (%s, %s, %s, %b) ON CONFLICT (key) DO NOTHING"
)
_INSERT = (
    "INSERT INTO log.content (key, codec, size, bytes)"
    " SELECT * FROM unnest(%s::text[], %s::smallint[], %s::bigint[], %b::bytea[])"
    " ON CONFLICT (key) DO NOTHING"
)
_Row = tuple[str, int, int, bytes]


class ContentErasedMeanwhile(Exception):
    """One of the contents of an append was erased while it was decided."""


class ContentStore:
    """The table `log.content`. Rows are written in the transaction of the events that name them."""

    def __init__(self, store_key: bytes) -> None:
        self._store_key = store_key

    def key(self, content: bytes) -> str:
        return content_key(content, self._store_key)

    def text_key(self, text: str) -> str:
        return self.key(encoded(text))

    def write(self, cursor: psycopg.Cursor[dict[str, object]], contents: Mapping[str, bytes]) -> None:
        """Store each content that is not stored yet."""
        if not contents:
            return
        # In the order of their keys, so that two writers of the same contents cannot wait for each other.
        compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL)
        some: list[_Row] = []
        for key in sorted(contents):
            row = (key, *_packed(compressor, contents[key]))
            if len(row[-1]) < ALONE_BYTES_MIN:
                some.append(row)
                continue
            _insert(cursor, some)
            some = []
            # Nothing is copied of a parameter that is sent alone and as it is.
            cursor.execute(_INSERT_ONE, row)
        _insert(cursor, some)

    def require(self, cursor: psycopg.Cursor[Any], contents: Mapping[str, bytes]) -> None:
        """Raise ContentErasedMeanwhile unless every content is there and none was erased.

        Asked under the log's lock: an erasure between writing the contents and taking the lock would leave
        an event without its content, or bring a content back.
        """
        if not contents:
            return
        cursor.execute(
            "SELECT count(*) AS standing FROM log.content AS content WHERE key = ANY(%s)"
            " AND NOT EXISTS (SELECT FROM log.erased_content AS erased WHERE erased.key = content.key)",
            (list(contents),),
        )
        (row,) = cursor
        if row["standing"] < len(contents):
            raise ContentErasedMeanwhile

    def read(self, conn: sa.Connection, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of each key that is there; an erased content is missing."""
        rows = conn.execute(
            sa.text("SELECT key, codec, bytes FROM log.content WHERE key = ANY(:keys)"), {"keys": list(keys)}
        )
        decompressor = zstandard.ZstdDecompressor()
        return {key: _unpacked(decompressor, codec, packed) for key, codec, packed in rows}

    def unpacked(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, bytes]:
        """Return the bytes of rows that were read elsewhere: `key`, `codec` and `bytes` of each."""
        decompressor = zstandard.ZstdDecompressor()
        return {row["key"]: _unpacked(decompressor, row["codec"], row["bytes"]) for row in rows}


def _insert(cursor: psycopg.Cursor[dict[str, object]], rows: Sequence[_Row]) -> None:
    if rows:
        cursor.execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])


# Neither is safe in two threads at once, so each call of the store makes its own.
def _packed(compressor: zstandard.ZstdCompressor, content: bytes) -> tuple[int, int, bytes]:
    if len(content) >= COMPRESS_BYTES_MIN:
        packed = compressor.compress(content)
        if len(packed) < len(content):
            return ZSTD, len(content), packed
    return RAW, len(content), content


def _unpacked(decompressor: zstandard.ZstdDecompressor, codec: int, packed: bytes) -> bytes:
    return decompressor.decompress(packed) if codec == ZSTD else bytes(packed)
