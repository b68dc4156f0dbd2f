"""Cursor's rows: one conversation of its databases, whose rows are the lines, in order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from chronofile.domain.formats.cursor.bubbles import bubble_time, bubble_turn, embedded, tools_apart
from chronofile.domain.formats.cursor.messages import message_turn
from chronofile.domain.formats.records import Record, epoch_time, read_line, text_field, time_field
from chronofile.domain.formats.whole import Conversation
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Part, Turn

ROW_FIELDS = ("cursorDiskKV", "ItemTable", "meta", "blobs")
"""The fields of a line that holds a row: the table that it is from, with the row's key; `value` is its value.

`raw` stands for `value` where that is no JSON, and `folder` is the workspace of the database.
"""
_VERSION_MAX = 17


def table_of(record: Record) -> str | None:
    """Return the table that a line's row is from, None for a line that holds no row."""
    return next((table for table in ROW_FIELDS if text_field(record, table)), None)


def begins_with_row(lines: Sequence[str]) -> bool:
    """Tell whether lines are the rows of a conversation."""
    return any(record is not None and table_of(record) for line in lines[:1] for record in read_line(line))


@dataclass(slots=True)
class Rows:
    """The rows of one conversation: the one that begins it, and its messages with their keys, in order."""

    table: str = ""
    key: str = ""
    folder: str | None = None
    head: Record = field(default_factory=dict)
    messages: list[tuple[str, Record]] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    """Which of the messages the conversation no longer shows."""
    unreadable: int = 0

    @classmethod
    def of(cls, lines: Sequence[str]) -> Rows:
        rows = cls()
        for line in lines:
            for record in read_line(line):
                table = None if record is None else table_of(record)
                if record is None or table is None:
                    rows.unreadable += 1
                    continue
                rows.folder = rows.folder or text_field(record, "folder")
                if record.get("superseded") is True:
                    rows.left.add(len(rows.messages))
                rows._add(table, record[table], embedded(record.get("value")))
        return rows

    def _add(self, table: str, key: str, value: object) -> None:
        is_head = table in ("ItemTable", "meta") or key.startswith("composerData:")
        if not self.key:
            self.table, self.key = table, key
        if not isinstance(value, dict):
            self.unreadable += 1
        elif is_head:
            self.head = value
        else:
            self.messages.append((key.split(":", 2)[-1], value))

    @property
    def id(self) -> str | None:
        named = (text_field(self.head, one) for one in ("composerId", "tabId", "agentId"))
        kind, _, rest = self.key.partition(":")
        is_kept = self.table == "cursorDiskKV"
        own = None if not is_kept else rest if kind == "composerData" else rest.split(":")[0]
        return own or next((one for one in named if one), None)

    def identity(self, path_name: str) -> Identity | None:
        listed = _listed(self.head)
        if not (self.messages or listed):
            return None
        firsts = [message for _, message in [*self.messages, *listed]]
        session = self.id or digest("cursor", repr(self.head.get("createdAt")), repr(firsts[0]), size=16)
        kind = {"meta": "chat:", "blobs": "chat:", "ItemTable": "tab:"}.get(self.table, "")
        fields = ("lastUpdatedAt", "lastSendTime", "updatedAt", "createdAt")
        counted = (epoch_time(self.head.get(one)) or time_field(self.head, one) for one in fields)
        updated = next((at for at in counted if at), None)
        times = [at for message in firsts if (at := bubble_time(message))]
        return Identity(
            session, kind + session, cwd=self._cwd(firsts), updated=updated or max(times, default=None)
        )

    def _cwd(self, messages: Sequence[Record]) -> str | None:
        workspace = self.head.get("workspaceIdentifier")
        uri = workspace.get("uri") if isinstance(workspace, dict) else None
        if isinstance(uri, dict) and (path := text_field(uri, "fsPath") or text_field(uri, "path")):
            return path
        for record in (self.head, *messages):
            uris = record.get("workspaceUris")
            if path := text_field(record, "workspaceProjectDir"):
                return path
            if isinstance(uris, list) and uris and isinstance(uris[0], str):
                return _local(uris[0])
        return _local(self.folder) if self.folder else None

    def folded(self) -> Folded:
        conversation = Conversation(unreadable=self.unreadable)
        number = self.head.get("_v")
        if isinstance(number, int) and number > _VERSION_MAX:
            conversation.unknown[f"version {number}"] += 1
        self._title(conversation)
        if self.table in ("meta", "blobs"):
            self._chat(conversation)
        else:
            self._bubbles(conversation)
        return conversation.folded()

    def _title(self, conversation: Conversation) -> None:
        title = text_field(self.head, "name") or text_field(self.head, "chatTitle")
        if title:
            conversation.title = title
            key = f"title:{digest(title, size=8)}"
            conversation.add(Turn(key, (), "system", None, None, (Part("notice", title),)))

    def _bubbles(self, conversation: Conversation) -> None:
        order, tools = headers(self.head), tools_apart(self.head)
        sub_agent = self.head.get("subagentInfo")
        agent = (
            (text_field(sub_agent, "subagentTypeName") or "agent") if isinstance(sub_agent, dict) else None
        )
        there = [key for key, _ in self.messages]
        missing = set(order).difference(there) if self.messages else set()
        listed = _listed(self.head)
        missing -= {key for key, _ in listed}
        if missing:
            conversation.unknown["bubble missing"] += len(missing)
        for number, (key, bubble) in enumerate([*listed, *self.messages], start=1):
            own = key or f"bubble-{number}"
            is_apart = "toolFormerData" not in bubble and own in tools
            whole = {**bubble, "toolFormerData": tools[own]} if is_apart else bubble
            try:
                turn = bubble_turn(whole, own, agent, conversation.unknown)
            except RecursionError:
                conversation.unreadable += 1
                continue
            conversation.add(replace(turn, superseded=bool(order) and own not in order))
        summary = self.head.get("latestConversationSummary")
        while isinstance(summary, dict):
            summary = summary.get("summary")
        if isinstance(summary, str):
            key = f"summary:{digest(summary, size=8)}"
            conversation.add(Turn(key, (), "system", None, None, (Part("summary", summary),)))

    def _chat(self, conversation: Conversation) -> None:
        met: Counter[str] = Counter()
        for number, (key, message) in enumerate(self.messages):
            met[key] += 1
            # A message that is said twice is stored once, under the digest of what it says.
            own = key if met[key] == 1 else f"{key}#{met[key]}"
            turn = message_turn(message, own, conversation.unknown)
            conversation.unreadable += turn is None
            if turn is not None:
                conversation.add(replace(turn, native_ids=(key,), superseded=number in self.left))


def headers(composer: Record) -> dict[str, Record]:
    """Return the bubbles' ids in the order in which the conversation shows them, with what it says of each."""
    listed = composer.get("fullConversationHeadersOnly")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {own: one for one in found if (own := text_field(one, "bubbleId"))}


def _listed(head: Record) -> list[tuple[str, Record]]:
    """Return the bubbles that older versions keep within the conversation itself."""
    by_id = head.get("conversationMap")
    found = head.get("conversation") or head.get("bubbles")
    if not isinstance(found, list):
        found = (
            [{"bubbleId": key, **one} for key, one in by_id.items() if isinstance(one, dict)]
            if (isinstance(by_id, dict))
            else []
        )
    bubbles = [one for one in found if isinstance(one, dict)]
    return [(text_field(one, "bubbleId") or text_field(one, "id") or "", one) for one in bubbles]


def _local(uri: str) -> str | None:
    """Return the path of a file's URI; None for one on another machine."""
    if "://" not in uri:
        return uri
    try:
        found = urlsplit(uri)
    except ValueError:
        return None
    path = unquote(found.path)
    # On Windows a URI has a slash before the letter of the disk.
    return (path[1:] if re.match(r"/[A-Za-z]:", path) else path) if found.scheme == "file" else None
