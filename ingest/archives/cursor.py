"""Cursor's databases: the conversations of its composer, of its older chat and of its command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chronofile.domain.formats.cursor.rows import headers
from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives.databases import VALUE_BYTES_MAX, Damaged, Database
from chronofile.ingest.archives.rows import Lines, as_bytes, as_text, line, loaded, objects
from chronofile.ingest.archives.unpacked import Conversation, LeftOut, PassedOver, Unpacked
from chronofile.ingest.reading import read

FORMAT = "cursor"
_KEPT, _ITEMS, _BLOBS, _META = "cursorDiskKV", "ItemTable", "blobs", "meta"
_CHAT = "workbench.panel.aichat.view.aichat.chatdata"
_WORKSPACE = "workspace.json"
_WORKSPACE_BYTES_MAX = 1 << 20
_COMPOSERS = "composer.composerData"
_NEXT_KEY = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key LIMIT 1"
_IS_KEY = "SELECT 1 FROM cursorDiskKV WHERE key = ?"
_KEYS = "SELECT key FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY rowid"
_METAS = "SELECT key, value FROM meta"
_BLOB_IDS = "SELECT id FROM blobs ORDER BY rowid"
_VALUES: Mapping[str, str] = {
    _KEPT: "SELECT CASE WHEN length(value) <= ? THEN value END, value IS NULL FROM cursorDiskKV WHERE key = ?"
    " ORDER BY rowid DESC LIMIT 1",
    _ITEMS: "SELECT CASE WHEN length(value) <= ? THEN value END, value IS NULL FROM ItemTable WHERE key = ?"
    " ORDER BY rowid DESC LIMIT 1",
    _BLOBS: "SELECT CASE WHEN length(data) <= ? THEN data END, data IS NULL FROM blobs WHERE id = ?",
}
_REFERENCE_BYTES = 32
_DEPTH_MAX = 50


def is_known(database: Database) -> bool:
    """Tell whether a database has the tables in which Cursor keeps its conversations."""
    return bool({_KEPT, _ITEMS} & database.tables) or {_BLOBS, _META} <= database.tables


def conversations(database: Database) -> Iterator[Unpacked]:
    """Yield the conversations, each as the rows that make it; a part that cannot be read is left out and told."""
    if _KEPT in database.tables:
        yield from _composers(database, _folder(database.path))
    if _ITEMS in database.tables:
        yield from _items(database, _folder(database.path))
    if {_BLOBS, _META} <= database.tables:
        yield from _chat(database)


def _composers(database: Database, folder: str | None) -> Iterator[Unpacked]:
    empty = 0
    try:
        for composer in _composer_ids(database):
            rows = _Rows(database, _KEPT, folder)
            with database.snapshot():
                is_any = _add_composer(rows, composer)
            if is_any:
                yield from rows.unpacked(composer)
            else:
                empty += 1
                yield from rows.left_out(composer)
    except Damaged as failure:
        yield LeftOut("damaged", f"{_KEPT}: {failure}.")
    yield PassedOver("archive-entry", empty)


def _add_composer(rows: _Rows, composer: str) -> bool:
    """Add a conversation's rows: its own, then its bubbles as it lists them, then others. Tell whether it has any."""
    begin = rows.value(f"composerData:{composer}")
    head = loaded(begin)
    order = headers(head) if isinstance(head, dict) else {}
    prefix = f"bubbleId:{composer}:"
    there = dict.fromkeys(rows.keys(prefix))
    if begin is not None:
        rows.add(f"composerData:{composer}", begin)
    for key in [*(prefix + one for one in order), *there]:
        if key in there and key not in rows.taken:
            rows.add(key, rows.value(key))
    # A composer of an older version holds its bubbles itself.
    return len(rows.lines.lines) > (begin is not None) or _holds_bubbles(head)


def _composer_ids(database: Database) -> Iterator[str]:
    """Yield the ids of the composers and of bubbles whose composer is gone, found by steps through the index."""
    for prefix in ("composerData:", "bubbleId:"):
        after = prefix
        while found := next(database.rows(_NEXT_KEY, (after, _end(prefix))), None):
            key = as_text(found[0])
            after, composer = f"{key}\0", key.removeprefix(prefix)
            if prefix == "bubbleId:":
                composer, colon, _ = composer.partition(":")
                after = _end(f"{prefix}{composer}:") if colon else after
                if not colon or _is_there(database, f"composerData:{composer}"):
                    continue
            yield composer


def _is_there(database: Database, key: str) -> bool:
    return any(database.rows(_IS_KEY, (key,)))


def _items(database: Database, folder: str | None) -> Iterator[Unpacked]:
    """Yield the chats of a workspace, and the composers that were kept there once."""
    rows = _Rows(database, _ITEMS, folder)
    chat, composers = loaded(rows.value(_CHAT)), loaded(rows.value(_COMPOSERS))
    found = [(_CHAT, tab) for tab in objects(chat, "tabs") if _holds_bubbles(tab)]
    found += [(_COMPOSERS, one) for one in objects(composers, "allComposers") if _holds_bubbles(one)]
    for number, (key, one) in enumerate(found, start=1):
        lines = _Rows(database, _ITEMS, folder)
        lines.add(key, json.dumps(one, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        yield from lines.unpacked(f"{key}, number {number}")
    yield from rows.left_out(_ITEMS)
    yield PassedOver("archive-entry", 0 if found else 1)


def _holds_bubbles(conversation: object) -> bool:
    names = ("conversation", "conversationMap", "bubbles")
    return isinstance(conversation, Mapping) and any(conversation.get(name) for name in names)


def _chat(database: Database) -> Iterator[Unpacked]:
    """Yield the one conversation of a command line's store: messages under their digests, and what orders them."""
    rows = _Rows(database, _BLOBS, None)
    with database.snapshot():
        others = _add_chat(rows)
    if rows.taken:
        yield from rows.unpacked(database.path.parent.name)
    elif others > 1:
        yield LeftOut("damaged", "Its messages are in no form that is known.")
    else:
        yield from rows.left_out(database.path.parent.name)
        yield PassedOver("archive-entry")


def _add_chat(rows: _Rows) -> int:
    """Add a chat's rows, first its own, and return how many blobs are no messages."""
    database = rows.database
    found = [(as_text(key), as_bytes(value) or b"") for key, value in database.rows(_METAS)]
    metas = [(key, _unhexed(value)) for key, value in found]
    for key, meta in metas:
        rows.lines.add(line({_META: key}, meta))
    about = next((one for _, meta in metas if isinstance(one := loaded(meta), dict)), {})
    root = about.get("latestRootBlobId")
    order = list(_order(rows, root, set(), 0)) if isinstance(root, str) else []
    for key in order:
        rows.add(key, rows.value(key))
    others = 0
    for (key,) in list(database.rows(_BLOB_IDS)):
        if as_text(key) in rows.taken:
            continue
        value = rows.value(as_text(key))
        if value is None or not _is_message(value):
            others += value is not None
            continue
        rows.add(as_text(key), value, superseded=bool(order))
    return others


def _order(rows: _Rows, key: str, met: set[str], depth: int) -> Iterator[str]:
    """Yield the ids of the messages that a blob refers to, in their order; a message may come several times."""
    value = rows.value(key)
    if value is None or depth > _DEPTH_MAX:
        return
    if _is_message(value):
        yield key
    elif key not in met:
        met.add(key)
        for reference in _references(value):
            yield from _order(rows, reference, met, depth + 1)


def _references(content: bytes) -> list[str]:
    """Return the fields of a protobuf message that are as long as a digest, in order; none where it is no message.

    https://protobuf.dev/programming-guides/encoding/
    """
    found: list[str] = []
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(content, at)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            size, at = _varint(content, at)
            if size == _REFERENCE_BYTES and at + size <= len(content):
                found.append(content[at : at + size].hex())
            at += size
        else:
            return []
    return found if at == len(content) else []


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(content):
        value |= (content[at] & 0x7F) << shift
        shift += 7
        at += 1
        if content[at - 1] < 0x80:
            return value, at
    return value, len(content) + 1


def _is_message(value: bytes) -> bool:
    return value[:1] == b"{" and b'"role"' in value


def _unhexed(value: bytes) -> bytes:
    try:
        return bytes.fromhex(value.decode("ascii"))
    except ValueError:
        return value


def _folder(path: Path) -> str | None:
    """Return the folder that the workspace of a database is, which a file beside it tells."""
    try:
        about = loaded(read(path.with_name(_WORKSPACE), limit_bytes=_WORKSPACE_BYTES_MAX).content)
    except NotRead:
        return None
    found = about.get("folder") if isinstance(about, dict) else None
    return found if isinstance(found, str) else None


def _end(prefix: str) -> str:
    """Return the first key after all that begin with a prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


@dataclass(slots=True)
class _Rows:
    """The rows of one conversation; `broken` and `long` count those that could not be taken."""

    database: Database
    table: str
    folder: str | None
    lines: Lines = field(default_factory=Lines)
    taken: set[str] = field(default_factory=set)
    broken: int = 0
    long: int = 0

    def keys(self, prefix: str) -> Iterator[str]:
        try:
            for (key,) in self.database.rows(_KEYS, (prefix, _end(prefix))):
                yield as_text(key)
        except Damaged:
            self.broken += 1

    def value(self, key: str) -> bytes | None:
        """Return a value, None for one that is NULL, not there, too long or broken; the last two are counted."""
        try:
            for value, is_null in self.database.rows(_VALUES[self.table], (VALUE_BYTES_MAX, key)):
                self.long += value is None and not is_null
                return as_bytes(value)
        except Damaged:
            self.broken += 1
        return None

    def add(self, key: str, value: bytes | None, *, superseded: bool = False) -> None:
        self.taken.add(key)
        fields: dict[str, Any] = {self.table: key}
        if self.folder and not self.lines.lines:
            fields["folder"] = self.folder
        if superseded:
            fields["superseded"] = True
        if value is not None:
            self.lines.add(line(fields, value))

    def unpacked(self, name: str) -> Sequence[Unpacked]:
        return [Conversation(FORMAT, name, self.lines.content), *self.left_out(name)]

    def left_out(self, name: str) -> list[Unpacked]:
        found: list[Unpacked] = []
        if self.broken:
            found.append(LeftOut("damaged", f"{name}: {self.broken} rows cannot be read."))
        if self.long or self.lines.left:
            count = self.long + self.lines.left
            found.append(LeftOut("too-large", f"{name}: {count} rows are beyond the limit."))
        return found
