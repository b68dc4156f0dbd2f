"""Slack's export: the messages of a channel on one day, as its files have them, after who is named in them.

A conversation's records are lines: first `{"channel": {...}, "day": ...}`, then `{"users": {id: names}, "channels":
{id: name}}`, then each message as the export has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import Record, epoch_time, text_field
from chronofile.domain.formats.slack.days import Day, is_id, is_stamp, read_day, stamp_of
from chronofile.domain.formats.slack.markup import Names, full_name
from chronofile.domain.formats.slack.parts import message_parts
from chronofile.domain.formats.whole import Conversation
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, PartType, Role, State, Turn

name = "slack"
version = 1
is_json = True

CHANNEL_FILES = ("channels.json", "groups.json", "mpims.json", "dms.json", "file_conversations.json")
USER_FILES = ("users.json", "org_users.json")
CONTEXT_FILES = frozenset(
    {
        *CHANNEL_FILES,
        *USER_FILES,
        "canvases.json",
        "huddle_transcripts.json",
        "integration_logs.json",
        "lists.json",
    }
)
"""The files of an export that hold no messages."""

_EMPTY_CONFIDENCE = 0.5
_AUTHOR = re.compile(r"[UWB][A-Z0-9]{7,}")

# Messages that Slack wrote itself, mostly about who came and went.
_NOTICES = frozenset(
    {
        "app_conversation_join", "app_conversation_leave", "assistant_app_thread", "bot_add", "bot_disable", "bot_enable",
        "bot_remove", "channel_archive", "channel_canvas_updated", "channel_convert_to_private",
        "channel_convert_to_public", "channel_join", "channel_leave", "channel_name", "channel_posting_permissions",
        "channel_purpose", "channel_topic", "channel_unarchive", "ekm_access_denied", "file_mention", "group_archive",
        "group_join", "group_leave", "group_name", "group_purpose", "group_topic", "group_unarchive", "huddle_thread",
        "joiner_notification", "joiner_notification_for_inviter", "pinned_item", "reminder_add", "reminder_delete",
        "sh_room_created", "sh_room_shared", "tombstone", "unpinned_item",
    }
)  # fmt: skip
_SPOKEN = frozenset(
    {
        "bot_message", "file_comment", "file_share", "me_message", "reply_broadcast", "slackbot_response",
        "thread_broadcast",
    }
)  # fmt: skip
_BOTS = frozenset({"bot_message", "slackbot_response"})
_CHANGES = frozenset({"message_changed", "message_deleted"})
# It repeats how many replies a message has.
_SILENT = frozenset({"message_replied"})
_NESTED = frozenset({"attachments", "blocks", "files", "message", "original", "previous_message"})


def recognise(head: Head) -> Likeness:
    """Return how surely a JSON array lists Slack's messages, or what an export says about people and channels."""
    if not isinstance(head.opening, list):
        return Likeness(0.0, "conversations")
    is_context = PurePosixPath(head.name.replace("\\", "/")).name in CONTEXT_FILES
    if not head.opening:
        return Likeness(_EMPTY_CONFIDENCE if is_context else 0.0, "conversations")
    is_own = _is_of_context if is_context else is_message
    found = sum(map(is_own, head.conversations))
    return Likeness(found / len(head.opening), "conversations")


def is_message(record: Record) -> bool:
    """Tell whether a record is a message: it has a time stamp, or an author's id, as only Slack writes them."""
    if record.get("type") != "message":
        return False
    stamp, author = record.get("ts"), text_field(record, "user") or text_field(record, "bot_id")
    return is_stamp(stamp) or bool(author and _AUTHOR.fullmatch(author))


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return the channel as the session, and its day as the key; None where there is no record at all.

    Both are the channel's id, or its name after the workspace's id where it has none.
    """
    day = read_day(lines)
    if not day.messages and day.channel is None:
        return None
    return Identity(day.session, f"{day.session}/{day.day}", updated=epoch_time(day.latest))


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold a day's lines into turns, the replies to a message right after it where it is of the same day.

    What Slack shows is the text: people and channels by their names, links as `label (url)`. Nothing raises.
    """
    day = read_day(lines)
    talk = Conversation(title=day.title, unreadable=day.unreadable)
    if day.about:
        ids = (day.session,) if text_field(day.channel or {}, "id") else ()
        parts = tuple(Part("notice", text) for text in day.about)
        talk.add(Turn(f"title:{digest(day.session, size=8)}", ids, "system", None, None, parts))
    for record in _threaded(day.messages):
        before = Counter(talk.unknown)
        try:
            _add(talk, record, day)
        except RecursionError:
            talk.unknown = before + Counter(["nested too deeply"])
            _add(talk, {name: value for name, value in record.items() if name not in _NESTED}, day)
    return talk.folded()


def _threaded(messages: Sequence[Record]) -> Iterable[Record]:
    """Return the messages in their order, but each reply after its thread's first message if that is there."""
    begun = {stamp for one in messages if (stamp := stamp_of(one)) and _thread(one) in (None, stamp)}
    replies: dict[str, list[Record]] = {}
    for one in messages:
        thread = _thread(one)
        if thread in begun and stamp_of(one) != thread:
            replies.setdefault(thread or "", []).append(one)
    for one in messages:
        stamp, thread = stamp_of(one), _thread(one)
        if thread is not None and thread in begun and stamp != thread:
            continue
        yield one
        yield from replies.pop(stamp, ()) if stamp else ()


def _add(talk: Conversation, record: Record, day: Day) -> None:
    kind, subtype = _word(record, "type"), _subtype(record)
    if kind != "message":
        talk.unknown[f"type {kind}"] += 1
    if subtype in _CHANGES:
        _add_change(talk, record, day)
    elif subtype not in _SILENT:
        if subtype is not None and subtype not in _NOTICES and subtype not in _SPOKEN:
            talk.unknown[f"subtype {subtype}"] += 1
        if stamp_of(record) is None:
            talk.unknown["message without a time"] += 1
        talk.add(_turn(record, day, talk.unknown))


def _subtype(record: Record) -> str | None:
    return None if record.get("subtype") is None else _word(record, "subtype")


def _word(record: Record, name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else "that is no word"


def _add_change(talk: Conversation, record: Record, day: Day) -> None:
    """Keep what a message said before it was edited or deleted, where an export has that, as superseded."""
    event = stamp_of(record) or text_field(record, "event_ts") or ""
    for name in ("previous_message", "original", "message"):
        said = record.get(name)
        if not isinstance(said, Mapping):
            continue
        stamp = stamp_of(said)
        if name == "message":
            if all(stamp_of(one) != stamp for one in day.messages):
                talk.add(_turn(said, day, talk.unknown))
            continue
        talk.add(_turn(said, day, talk.unknown, before=event or "change"))


def _turn(record: Record, day: Day, unknown: Counter[str], *, before: str | None = None) -> Turn:
    stamp = stamp_of(record)
    kind: PartType = "notice" if _subtype(record) in _NOTICES else "text"
    parts = message_parts(record, kind, day.names, unknown)
    if not parts and (room := _room(record, day.names)):
        parts = (Part("notice", room),)
    key = stamp or f"undated:{_mark(record)}"
    return Turn(
        key=key if before is None else f"{key}~{before}",
        native_ids=(stamp,) if stamp else (),
        role=_role(record, parts),
        speaker=_speaker(record, day.names),
        at=epoch_time(stamp),
        parts=parts,
        superseded=before is not None,
    )


def _role(record: Record, parts: Sequence[Part]) -> Role:
    if all(part.type == "notice" for part in parts):
        return "system"
    is_bot = _subtype(record) in _BOTS or (text_field(record, "bot_id") and not record.get("upload"))
    return "tool" if is_bot else "user"


def _speaker(record: Record, names: Names) -> str | None:
    """Return who speaks: a person by the whole name, a bot by the name that it gave itself."""
    bot, profile = text_field(record, "bot_id"), record.get("bot_profile")
    comment = record.get("comment")
    person = text_field(record, "user") or (
        text_field(comment, "user") if isinstance(comment, Mapping) else None
    )
    if bot or _subtype(record) in _BOTS:
        given = text_field(record, "username") or full_name(profile)
        if given:
            return given
    if person is not None:
        return names.full(person) or full_name(record.get("user_profile")) or person
    known = full_name(names.bots.get(bot)) if bot else None
    return known or text_field(record, "username") or full_name(record.get("user_profile")) or bot


def _room(record: Record, names: Names) -> str | None:
    """Return what a huddle or a call is called and who was in it."""
    room = record.get("room")
    if not isinstance(room, Mapping):
        return None
    history = room.get("participant_history")
    people = (
        [names.full(one) or one for one in history if isinstance(one, str)]
        if isinstance(history, list)
        else []
    )
    facts = ", ".join([one for one in (text_field(room, "name"),) if one] + people)
    return f"[call {facts}]" if facts else "[call]"


def _thread(record: Record) -> str | None:
    return text_field(record, "thread_ts")


def _mark(record: Record) -> str:
    person = text_field(record, "user") or text_field(record, "bot_id")
    return text_field(record, "client_msg_id") or digest(person, text_field(record, "text"), size=8)


def _is_of_context(record: Record) -> bool:
    if "change_type" in record:
        return True
    identifier = text_field(record, "id")
    kinds = ("created", "members", "profile", "team_id", "url_private_download")
    return bool(identifier and is_id(identifier)) and any(kind in record for kind in kinds)
