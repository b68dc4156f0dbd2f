"""OpenCode's sessions, from its folders of small files and from its database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.opencode import kind_of
from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives.databases import VALUE_BYTES_MAX, Damaged, Database
from chronofile.ingest.archives.rows import Lines, as_bytes, as_text, line, loaded
from chronofile.ingest.archives.storages import Storage
from chronofile.ingest.archives.unpacked import Conversation, LeftOut, PassedOver, Unpacked, listed
from chronofile.ingest.reading import opened, read

FORMAT = "opencode"
RECORD_BYTES_MAX = 16 << 20
_SESSION, _MESSAGE, _PART, _LATER = "session", "message", "part", "session_message"
_SESSIONS = "SELECT id FROM session ORDER BY rowid"
_ROWS: Mapping[str, Sequence[tuple[str, str]]] = {
    _SESSION: [("id", "SELECT * FROM session WHERE id = ?")],
    _MESSAGE: [
        ("time_created", "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id"),
        ("session_id", "SELECT * FROM message WHERE session_id = ? ORDER BY rowid"),
    ],
    _PART: [
        ("message_id", "SELECT * FROM part WHERE session_id = ? ORDER BY message_id, id"),
        ("session_id", "SELECT * FROM part WHERE session_id = ? ORDER BY rowid"),
    ],
    _LATER: [
        ("seq", "SELECT * FROM session_message WHERE session_id = ? ORDER BY seq"),
        ("time_created", "SELECT * FROM session_message WHERE session_id = ? ORDER BY time_created, id"),
        ("session_id", "SELECT * FROM session_message WHERE session_id = ? ORDER BY rowid"),
    ],
}
"""By table: how its rows of a session are read, in order, if the table has that column."""


def gather(path: Path, head: Head) -> Iterator[Unpacked]:
    """Yield the session that a file begins, with its messages and their parts, or what an export holds.

    A message or a part that is met by itself is passed over: it is captured with its session.
    """
    kind = kind_of(head)
    if kind == "export":
        with opened(path) as file:
            content = file.range(0, file.fingerprint.size)
        at = 0

        def take(size: int) -> bytes:
            nonlocal at
            chunk = content[at : at + size]
            at += len(chunk)
            return chunk

        yield from listed(FORMAT, path.name, take)
    elif kind == "session":
        yield from _session(path)
    else:
        yield PassedOver("part-of-conversation")


def _session(path: Path) -> Iterator[Unpacked]:
    storage = Storage.of_session(path)
    content = read(path, limit_bytes=RECORD_BYTES_MAX).content
    about = loaded(content)
    session = _own_id(about) or path.stem
    lines, left = Lines(), list[LeftOut]()
    lines.add(line({"kind": _SESSION, "id": session}, content))
    for message in storage.messages(session, path.stem) if storage is not None else ():
        value = _taken(message, left)
        if value is None:
            continue
        own = _own_id(loaded(value)) or message.stem
        lines.add(line({"kind": _MESSAGE, "id": own, "session_id": session}, value))
        for part in storage.parts(message, own) if storage is not None else ():
            record = _taken(part, left)
            if record is not None:
                fields = {"kind": _PART, "id": part.stem, "message_id": own, "session_id": session}
                lines.add(line(fields, record))
    if len(lines.lines) > 1:
        yield Conversation(FORMAT, path.name, lines.content)
    else:
        yield PassedOver("archive-entry")
    yield from left
    yield from _beyond(lines, session)


def _taken(path: Path, left: list[LeftOut]) -> bytes | None:
    """Return a small file's bytes, None for one that is gone by now or cannot be read, which is told."""
    try:
        return read(path, limit_bytes=RECORD_BYTES_MAX).content
    except NotRead as failure:
        if failure.reason != "vanished":
            left.append(LeftOut(failure.reason, f"{path.parent.name}/{path.name}: {failure.detail}"))
        return None


def _own_id(record: object) -> str | None:
    found = record.get("id") if isinstance(record, dict) else None
    return found if isinstance(found, str) and found else None


def is_known(database: Database) -> bool:
    """Tell whether a database has the tables in which OpenCode keeps its sessions."""
    return _SESSION in database.tables and bool({_MESSAGE, _LATER} & database.tables)


def conversations(database: Database) -> Iterator[Unpacked]:
    """Yield the sessions, each with its messages and their parts as rows; what cannot be read is left out and told."""
    columns = database.columns(_SESSION)
    if "id" not in columns:
        yield LeftOut("damaged", "Its sessions are in no form that is known.")
        return
    empty = 0
    try:
        for (identifier,) in list(database.rows(_SESSIONS)):
            session = as_text(identifier)
            lines, lost = Lines(), list[str]()
            with database.snapshot():
                before = _add_session(database, session, lines, lost)
            if len(lines.lines) > before:
                yield Conversation(FORMAT, session, lines.content)
            else:
                empty += 1
            if lost:
                yield LeftOut("damaged", f"{session}: {lost[0]}.")
            yield from _beyond(lines, session)
    except Damaged as failure:
        yield LeftOut("damaged", f"{_SESSION}: {failure}.")
    yield PassedOver("archive-entry", empty)


def _add_session(database: Database, session: str, lines: Lines, lost: list[str]) -> int:
    """Add a session's rows, and return how many are of the session itself."""
    _add_rows(database, _SESSION, session, lines, lost)
    before = len(lines.lines)
    _add_rows(database, _MESSAGE, session, lines, lost)
    if len(lines.lines) == before:
        # The later table says the same as the earlier one where both are filled.
        _add_rows(database, _LATER, session, lines, lost)
    _add_rows(database, _PART, session, lines, lost)
    return before


def _add_rows(database: Database, table: str, session: str, lines: Lines, lost: list[str]) -> None:
    """Add a table's rows of a session: what it keeps as JSON as the value, and the other columns beside it."""
    columns = database.columns(table)
    query = next((query for needed, query in _ROWS[table] if needed in columns), None)
    try:
        for row in database.records(query, (session,)) if query is not None else ():
            stored = as_bytes(row.pop("data", None))
            fields = {name: _plain(value) for name, value in row.items() if value is not None}
            if stored is None:
                stored = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
                fields = {"id": fields.get("id"), "session_id": session}
            if len(stored) > VALUE_BYTES_MAX:
                lines.left += 1
            else:
                lines.add(line({"kind": table, **fields}, stored))
    except Damaged as failure:
        lost.append(f"{table}: {failure}")


def _plain(value: object) -> Any:
    return as_text(value) if isinstance(value, bytes) else value


def _beyond(lines: Lines, session: str) -> Iterator[LeftOut]:
    if lines.left:
        yield LeftOut("too-large", f"{session}: {lines.left} records are beyond the limit.")
