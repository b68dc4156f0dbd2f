"""The neutral transcript format, `*.turns.jsonl`: one turn a line, in words that no tool owns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    compact_json,
    confidence,
    read_pieces,
    read_records,
    text_field,
    time_field,
)
from chronofile.domain.turns import (
    PART_SEPARATOR,
    Folded,
    Identity,
    Likeness,
    Part,
    PartType,
    Role,
    Session,
    State,
    Turn,
)

name = "turns"
version = 1
is_json = True

_ROLES: tuple[Role, ...] = get_args(Role)
_PART_TYPES: tuple[PartType, ...] = get_args(PartType)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Measured = tuple[PartType, int]
"""The type of a part and its length in code points."""


def recognise(head: Head) -> Likeness:
    """Return how surely the first lines are neutral turns; the name tells nothing more."""
    verdicts = [None if record is None else _is_turn(record) for record in read_records(head.lines)]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), verdicts.count(None)), "parted")


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return the session and scope of the first turn; None when there is no turn yet."""
    for record in read_records(lines):
        if record is not None and _is_turn(record):
            session = record["session"]
            return Identity(session=session, key=session, scope=text_field(record, "scope"))
    return None


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold lines of one session into turns, one each.

    A turn id that comes again replaces the turn: the later line wins, and an equal one changes nothing.
    A turn without text is no turn. Lines that are not of the format are counted as unreadable, and `parts`
    or `ids` that say nothing of the turn as unknown. The last `title` is the conversation's.
    """
    turns: dict[str, Turn] = {}
    unknown: Counter[str] = Counter()
    unreadable = 0
    title, origin = None, origin_of(state)
    for record in read_records(lines):
        if record is None or not _is_turn(record):
            unreadable += 1
            continue
        title = text_field(record, "title") or title
        origin = text_field(record, "format") or origin
        if record["text"]:
            turns[record["turn"]] = _turn(record, unknown)
    remembered = {} if origin is None else {"format": origin}
    return Folded(
        tuple(turns.values()), remembered, unknown=dict(unknown), unreadable=unreadable, title=title
    )


def part(lines: Iterable[str]) -> Iterator[tuple[Session | None, str]]:
    """Yield the lines of one file with the (scope or None, session) that they name; blank ones are left out.

    Records that share a line are lines of their own here.
    """
    for line in lines:
        for piece, record in read_pieces(line):
            is_turn = record is not None and _is_turn(record)
            yield (text_field(record, "scope"), record["session"]) if record and is_turn else None, piece


def origin_of(state: State | None) -> str | None:
    """Return the format that the lines were written from, as the last of them to name one says."""
    origin = None if state is None else state.get("format")
    return origin if isinstance(origin, str) else None


def begun(turn: Turn, *, session: str, scope: str, key: str) -> bytes:
    """Return a turn as the beginning of a line, `key` being its id there; `ended` makes a line of it.

    Fields that say no more than a reader takes for granted are left out.
    """
    record: dict[str, Any] = {"session": session, "turn": key, "role": turn.role}
    record |= {"speaker": turn.speaker} if turn.speaker else {}
    record |= {"at": turn.at} if turn.at else {}
    record |= {"text": turn.text, "scope": scope}
    if len(turn.parts) != 1 or turn.parts[0].type != "text":
        record["parts"] = [[part.type, len(part.text)] for part in turn.parts]
    if turn.native_ids != (key,):
        record["ids"] = list(turn.native_ids)
    return _encoded(compact_json(record)[:-1])


def ended(
    beginning: bytes, *, superseded: bool = False, title: str | None = None, origin: str | None = None
) -> bytes:
    """Return the line that a turn is, with its line end; `origin` is the format that it came from."""
    fields: dict[str, Any] = {"superseded": True} if superseded else {}
    fields |= {"title": title} if title else {}
    fields |= {"format": origin} if origin else {}
    rest = f",{compact_json(fields)[1:]}" if fields else "}"
    return beginning + _encoded(rest) + b"\n"


def _encoded(text: str) -> bytes:
    """Return JSON as UTF-8, which has no lone surrogates: they are written as escapes."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


def _is_turn(record: Record) -> bool:
    named = text_field(record, "session") and text_field(record, "turn")
    return bool(named) and record.get("role") in _ROLES and isinstance(record.get("text"), str)


def _turn(record: Record, unknown: Counter[str]) -> Turn:
    return Turn(
        key=record["turn"],
        native_ids=_native_ids(record, unknown),
        role=record["role"],
        speaker=text_field(record, "speaker"),
        at=time_field(record, "at"),
        parts=_parts(record, unknown),
        superseded=record.get("superseded") is True,
    )


def _native_ids(record: Record, unknown: Counter[str]) -> tuple[str, ...]:
    given = record.get("ids")
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        return tuple(given)
    unknown.update([] if given is None else ["ids"])
    return (record["turn"],)


def _parts(record: Record, unknown: Counter[str]) -> tuple[Part, ...]:
    text, given = record["text"], record.get("parts")
    measured = _measured(given)
    found = None if measured is None else _cut(text, measured)
    if found is None:
        unknown.update([] if given is None else ["parts"])
        return (Part("text", text),)
    return found


def _measured(given: object) -> list[Measured] | None:
    """Return the types and lengths of parts as a line has them; None where it has none, or something else."""
    if not isinstance(given, list) or not given:
        return None
    found: list[Measured] = []
    for one in given:
        if not isinstance(one, list) or len(one) != 2:
            return None
        kind, length = one
        if kind not in _PART_TYPES or type(length) is not int or length < 0:
            return None
        found.append((kind, length))
    return found


def _cut(text: str, measured: Sequence[Measured]) -> tuple[Part, ...] | None:
    """Return the parts of a text; None where they do not fit.

    One that is longer or shorter than it was, as it is when a secret was taken out of it, is what is left
    between those before it and behind it.
    """
    first, start = 0, 0
    before: list[Part] = []
    while first < len(measured) - 1:
        kind, length = measured[first]
        if not text.startswith(PART_SEPARATOR, start + length):
            break
        before.append(Part(kind, text[start : start + length]))
        first, start = first + 1, start + length + len(PART_SEPARATOR)
    last, end = len(measured) - 1, len(text)
    behind: list[Part] = []
    while last > first:
        kind, length = measured[last]
        at = end - length - len(PART_SEPARATOR)
        if at < start or not text.startswith(PART_SEPARATOR, at):
            return None
        behind.append(Part(kind, text[at + len(PART_SEPARATOR) : end]))
        last, end = last - 1, at
    return (*before, Part(measured[first][0], text[start:end]), *reversed(behind))
