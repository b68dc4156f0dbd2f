"""The neutral transcript format, `*.turns.jsonl`: one turn a line, in words that no tool owns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.records import (
    Record,
    confidence,
    read_pieces,
    read_records,
    text_field,
    time_field,
)
from chronofile.domain.turns import Folded, Identity, Likeness, Part, Role, Session, State, Turn

name = "turns"
version = 1
is_json = True

_ROLES: tuple[Role, ...] = get_args(Role)


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
    A turn without text is no turn. Lines that are not of the format are counted as unreadable.
    """
    turns: dict[str, Turn] = {}
    unreadable = 0
    for record in read_records(lines):
        if record is None or not _is_turn(record):
            unreadable += 1
        elif record["text"]:
            turns[record["turn"]] = _turn(record)
    return Folded(tuple(turns.values()), {}, unreadable=unreadable)


def part(lines: Iterable[str]) -> Iterator[tuple[Session | None, str]]:
    """Yield the lines of one file with the (scope or None, session) that they name; blank ones are left out.

    Records that share a line are lines of their own here.
    """
    for line in lines:
        for piece, record in read_pieces(line):
            is_turn = record is not None and _is_turn(record)
            yield (text_field(record, "scope"), record["session"]) if record and is_turn else None, piece


def _is_turn(record: Record) -> bool:
    named = text_field(record, "session") and text_field(record, "turn")
    return bool(named) and record.get("role") in _ROLES and isinstance(record.get("text"), str)


def _turn(record: Record) -> Turn:
    key: str = record["turn"]
    return Turn(
        key=key,
        native_ids=(key,),
        role=record["role"],
        speaker=text_field(record, "speaker"),
        at=time_field(record, "at"),
        parts=(Part("text", record["text"]),),
    )
