"""A day of a Slack channel: its messages, and what its lines say of the channel and of who is named."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chronofile.domain.formats.records import Record, read_records, text_field
from chronofile.domain.formats.slack.markup import Names, shown
from chronofile.domain.identity import digest

_STAMP = re.compile(r"\d{9,11}\.\d{1,9}")
_ID = re.compile(r"[A-Z][A-Z0-9]+")


@dataclass(slots=True)
class Day:
    """What the lines of a day hold, read without trust."""

    channel: Record | None = None
    day: str = ""
    team: str | None = None
    names: Names = field(default_factory=Names)
    messages: list[Record] = field(default_factory=list)
    unreadable: int = 0

    @property
    def session(self) -> str:
        channel = self.channel or {}
        if found := text_field(channel, "id"):
            return found
        called = text_field(channel, "name")
        if called is None:
            first = self.messages[0] if self.messages else {}
            return f"slack-{digest(text_field(first, 'ts'), text_field(first, 'text'), size=8)}"
        return f"{self.team}:{called}" if self.team else called

    @property
    def latest(self) -> float | None:
        """The latest time that the messages tell of, in seconds: of them, of their edits and of replies to them."""
        stamps: list[object] = []
        for one in self.messages:
            edited = one.get("edited")
            stamps += [one.get("ts"), one.get("latest_reply")]
            stamps.append(edited.get("ts") if isinstance(edited, Mapping) else None)
        times = [float(stamp) for stamp in stamps if isinstance(stamp, str) and is_stamp(stamp)]
        return max(times, default=None)

    @property
    def title(self) -> str | None:
        """What the channel is called: a conversation between people by their names."""
        channel = self.channel or {}
        called = text_field(channel, "name")
        members = channel.get("members")
        if isinstance(members, list) and (called is None or called.startswith("mpdm-") or is_id(called)):
            people = [self.names.full(one) or one for one in members if isinstance(one, str)]
            return ", ".join(people) or called
        return called

    @property
    def about(self) -> list[str]:
        """What the channel's record says of it, in the one day that has all of it."""
        channel = self.channel or {}
        if channel.get("is_whole") is not True:
            return []
        texts = [self.title]
        for name in ("topic", "purpose"):
            value = channel.get(name)
            texts.append(
                shown(text_field(value, "value") or "", self.names) if isinstance(value, Mapping) else None
            )
        return [text for text in texts if text]


def read_day(lines: Sequence[str]) -> Day:
    day = Day()
    for record in read_records(lines):
        if record is None:
            day.unreadable += 1
        elif isinstance(record.get("channel"), Mapping) and "ts" not in record:
            day.channel, day.team = record["channel"], text_field(record, "team")
            day.day = text_field(record, "day") or ""
        elif isinstance(record.get("users"), Mapping) and "ts" not in record:
            day.names = _names(record)
        else:
            day.messages.append(record)
    return day


def stamp_of(record: Record) -> str | None:
    """Return a message's time stamp, which is its id within the channel, None where it has none."""
    value = record.get("ts")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return text_field(record, "ts")


def is_stamp(value: object) -> bool:
    """Tell whether a value is seconds and a fraction as text: a Slack time."""
    return isinstance(value, str) and bool(_STAMP.fullmatch(value))


def is_id(text: str) -> bool:
    """Tell whether a text looks like an id of Slack's."""
    return bool(_ID.fullmatch(text))


def _names(record: Record) -> Names:
    people = {key: one for key, one in record["users"].items() if isinstance(one, Mapping)}
    channels = record.get("channels")
    named = channels.items() if isinstance(channels, Mapping) else ()
    bots = {bot: one for one in people.values() if (bot := text_field(one, "bot_id"))}
    return Names(people, {key: one for key, one in named if isinstance(one, str)}, bots)
