"""Identity: how ids and content keys are made from what a thing is."""

from __future__ import annotations

import re
from hashlib import blake2b

CONTENT_KEY_BYTES = 20
ID_BYTES = 16

Field = str | bytes | int | None

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def digest(*fields: Field, key: bytes = b"", size: int = ID_BYTES) -> str:
    """Return the BLAKE2b of the fields as hexadecimal text of `2 * size` characters.

    Fields are length-prefixed and typed, so that ("ab", "c") and ("a", "bc"), or 1 and "1", differ.
    Lone surrogates are allowed.
    """
    state = blake2b(key=key, digest_size=size)
    for field in fields:
        kind, encoded = _canonical(field)
        state.update(kind + len(encoded).to_bytes(8, "big"))
        state.update(encoded)
    return state.hexdigest()


def content_key(content: bytes, store_key: bytes) -> str:
    """Return the name of a content: a hash under the store's own key.

    The plain hash of a short secret could be guessed; a keyed one cannot without the store's key.
    """
    return blake2b(content, key=store_key, digest_size=CONTENT_KEY_BYTES).hexdigest()


def encoded(text: str) -> bytes:
    """Return a text's bytes as a content; a path's stray bytes and lone surrogates come back as they were."""
    return text.encode("utf-8", "surrogatepass")


def decoded(content: bytes) -> str:
    """Return the text that was encoded so."""
    return content.decode("utf-8", "surrogatepass")


def source_id(kind: str, scope: str, key: str, ordinal: int, store_key: bytes) -> str:
    """Return a source's id, minted when it is registered: `ordinal` counts earlier registrations of its key."""
    return digest("source", kind, scope, key, ordinal, key=store_key)


def storable(text: str | None) -> str | None:
    """Return an identifier as every store takes it: NUL and lone surrogates become U+FFFD."""
    if text is None:
        return None
    return _UNSTORABLE.sub("\ufffd", text)


def _canonical(field: Field) -> tuple[bytes, bytes]:
    if field is None:
        return b"n", b""
    if isinstance(field, bytes):
        return b"b", field
    if isinstance(field, int):
        return b"i", str(field).encode("ascii")
    return b"s", encoded(field)
