"""Slack's markup: what a message's text looked like, with the names of people and channels in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from chronofile.domain.formats.records import Record, text_field

_MARKED = re.compile(r"<([@#!][^<>]*|[A-Za-z][A-Za-z0-9+.-]*:[^<>]*)>")
_SCHEME = re.compile(r"(?:https?://|mailto:|tel:)", re.IGNORECASE)
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


@dataclass(frozen=True, slots=True)
class Names:
    """What an export calls people and channels, by their ids; `bots` are people by the ids of their bots."""

    people: Mapping[str, Record] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    bots: Mapping[str, Record] = field(default_factory=dict)

    def shown(self, person: str) -> str | None:
        """Return the name under which Slack shows somebody: the one they chose, else the real one."""
        return _first(self.people.get(person), "display_name", "real_name", "name")

    def full(self, person: str) -> str | None:
        """Return somebody's whole name: the real one, where it is known."""
        return _first(self.people.get(person), "real_name", "display_name", "name")


def full_name(profile: object) -> str | None:
    """Return the whole name that a profile holds, None where it holds none."""
    return _first(profile, "real_name", "display_name", "name", "first_name")


def shown(text: str, names: Names) -> str:
    """Return a text as Slack showed it: names for mentions, `label (url)` for links, and no entities.

    What is not known by name stays as its id. Emphasis and emoji stay as they were typed.
    """
    pieces, at = [], 0
    for found in _MARKED.finditer(text):
        pieces += [_plain(text[at : found.start()]), _plain(_meant(found[1], names))]
        at = found.end()
    return "".join([*pieces, _plain(text[at:])])


def escaped(text: str) -> str:
    """Return a text without markup as Slack stores it: with entities."""
    for entity, character in reversed(_ENTITIES):
        text = text.replace(character, entity)
    return text


def linked(label: str, url: str) -> str:
    """Return a link as it is shown here: its label and where it leads, or one of them where both are the same."""
    if not label or label == url:
        return url
    return label if _SCHEME.sub("", url, count=1).rstrip("/") == label.rstrip("/") else f"{label} ({url})"


def _meant(marked: str, names: Names) -> str:
    target, _, label = marked.partition("|")
    if target.startswith("@"):
        return "@" + (names.shown(target[1:]) or label.removeprefix("@") or target[1:])
    if target.startswith("#"):
        return "#" + (label or names.channels.get(target[1:]) or target[1:])
    if not target.startswith("!"):
        return linked(label, target)
    command, _, rest = target[1:].partition("^")
    if label and command != "date":
        return label if label[0] in "@#" or command != "subteam" else f"@{label}"
    return label or "@" + (rest if command == "subteam" and rest else command)


def _plain(text: str) -> str:
    if "&" in text:
        for entity, character in _ENTITIES:
            text = text.replace(entity, character)
    return text


def _first(profile: object, *fields: str) -> str | None:
    if not isinstance(profile, Mapping):
        return None
    return next((name for field in fields if (name := text_field(profile, field))), None)
