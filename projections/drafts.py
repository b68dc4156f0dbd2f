"""Drafts: passages as one revision's text gives them, before they meet those that are there."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from chronofile.domain.identity import storable
from chronofile.domain.passages import cut, cut_turn, kind_of, passage_id, titles
from chronofile.domain.sections import TextKind
from chronofile.domain.times import parse
from chronofile.domain.turns import PART_SEPARATOR, Turn
from chronofile.projections.passages import SEQ_PER_TURN

FILE_PART, MEMORY_PART = "file", "memory"


@dataclass(frozen=True, slots=True)
class Draft:
    """One passage of a file or a turn; spans in code points of the file's or turn's text, lines from 1."""

    id: str
    seq: int
    turn: str | None
    part: str
    title: str | None
    text: str
    start: int
    end: int
    line_first: int | None
    line_last: int | None
    session: str | None
    role: str | None
    speaker: str | None
    event_time: str | None
    event_at: datetime | None


def of_file(
    source: str,
    name: str,
    text: str,
    event_time: str | None,
    store_key: bytes,
    kind: TextKind | None = None,
) -> list[Draft]:
    """Cut a file's text as its kind, or else its name, asks. `name` is its path within its scope; it begins each title."""
    kind = kind or kind_of(name)
    spans = cut(text, kind=kind)
    starts = _line_starts(text)
    equal: Counter[str] = Counter()
    moment = parse(event_time)
    found = []
    for seq, ((start, end), heading) in enumerate(zip(spans, titles(text, spans, kind), strict=True)):
        piece = text[start:end]
        found.append(
            Draft(
                id=passage_id(source, None, piece, equal[piece], store_key),
                seq=seq,
                turn=None,
                part=FILE_PART,
                title=f"{name}: {heading}" if heading else name,
                text=piece,
                start=start,
                end=end,
                line_first=bisect_right(starts, start),
                line_last=bisect_right(starts, max(start, end - 1)),
                session=None,
                role=None,
                speaker=None,
                event_time=event_time,
                event_at=moment,
            )
        )
        equal[piece] += 1
    return found


def of_memory(source: str, text: str, event_time: str, store_key: bytes) -> list[Draft]:
    """Cut a memory's text. Nobody says it and it has no lines; its time is when it was given."""
    equal: Counter[str] = Counter()
    moment = parse(event_time)
    found = []
    for seq, (start, end) in enumerate(cut(text, kind="prose")):
        piece = text[start:end]
        found.append(
            Draft(
                id=passage_id(source, None, piece, equal[piece], store_key),
                seq=seq,
                turn=None,
                part=MEMORY_PART,
                title=None,
                text=piece,
                start=start,
                end=end,
                line_first=None,
                line_last=None,
                session=None,
                role=None,
                speaker=None,
                event_time=event_time,
                event_at=moment,
            )
        )
        equal[piece] += 1
    return found


def of_turn(source: str, turn: Turn, ordinal: int, session: str | None, store_key: bytes) -> list[Draft]:
    """Cut a turn's text, anew at each of its parts; the blank line between two parts ends the first."""
    equal: Counter[str] = Counter()
    moment = parse(turn.at)
    found: list[Draft] = []
    for part_type, start, end, text in _pieces(turn):
        found.append(
            Draft(
                id=passage_id(source, turn.key, text, equal[text], store_key),
                seq=ordinal * SEQ_PER_TURN + len(found),
                turn=turn.key,
                part=part_type,
                title=None,
                text=text,
                start=start,
                end=end,
                line_first=None,
                line_last=None,
                session=storable(turn.session or session),
                role=turn.role,
                speaker=storable(turn.speaker),
                event_time=storable(turn.at),
                event_at=moment,
            )
        )
        equal[text] += 1
    return found


def _pieces(turn: Turn) -> Iterator[tuple[str, int, int, str]]:
    """Yield each passage's part type, span and text."""
    text, part, ends = turn.text, 0, _part_ends(turn)
    for start, end in cut_turn(turn):
        while start >= ends[part]:
            part += 1
        yield turn.parts[part].type, start, end, text[start:end]


def _part_ends(turn: Turn) -> list[int]:
    lengths = (len(part.text) + len(PART_SEPARATOR) for part in turn.parts)
    return list(accumulate(lengths))


def _line_starts(text: str) -> Sequence[int]:
    starts, at = [0], text.find("\n")
    while at != -1:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
