"""Harder: what is cut from the records of a turn whose text is put together from several values, and from no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from chronofile.domain.erasure import MARK
from chronofile.domain.events import RevisionCaptured
from chronofile.domain.formats import holds_json
from chronofile.domain.turns import Turn
from chronofile.infra.erasing.chains import Chain, Cut
from chronofile.infra.erasing.owned import (
    Node,
    Scanned,
    Value,
    own_objects,
    scanned,
    sharing_objects,
    values_in,
)
from chronofile.infra.erasing.pieces import PIECE_CHARS_MIN, SPAN_CHARS_MIN, Pieces
from chronofile.infra.erasing.suspects import Suspects
from chronofile.infra.erasing.worded import without_lines
from chronofile.ingest.cleaning import FIELDS_KEPT, decoded_line, encoded_line, literal, rewritten

ARGUMENTS: Final = frozenset(
    {"args", "arguments", "input", "metadata", "params", "parameters", "rawArgs", "structuredContent", "toolUseResult"}
)  # fmt: skip
"""Fields with whatever a tool was asked or told, whose names of fields are words of the text as well."""
LISTS_KEPT: Final = frozenset({"children", "ids", "members", "reply_users"})
NUMBERS_KEPT: Final = frozenset(
    {"_v", "completed", "create_time", "created", "createdAt", "end", "seq", "start", "time", "update_time", "updated",
     "updatedAt", "v", "weight"}
)  # fmt: skip
"""Fields of numbers that say when something was and how a record is read, beside those of strings."""

TRIES_MAX: Final = 64
"""How many places are tried one by one: each time the whole source is read anew."""

_WORD: Final = re.compile(r"-?\w[\w.]*")
_LINE_KEY: Final = re.compile(r"line-(\d+)\b")

Change = tuple[int, int, object]
"""A span of a line, and the value that takes its place."""


@dataclass(frozen=True, slots=True)
class _Place:
    """What may be cut at once: a line of a range, an object in it unless it is all of it, and what in that is not."""

    event: RevisionCaptured
    index: int
    found: Scanned
    within: Node | None
    without: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class _Aim:
    """What is cut: the texts, and the turns that say them; `spared` tells what is left to other turns."""

    texts: Collection[str]
    suspects: Suspects
    spared: Callable[[str], bool] = lambda said: False


@dataclass(slots=True)
class _Done:
    """What a step comes to at one place: the changes, and the texts that they take out."""

    place: _Place
    changes: list[Change] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)

    def mark(self, value: Value, piece: str) -> None:
        self.changes.append((value.start, value.end, value.said.replace(piece, MARK)))
        self.remove(piece)

    def remove(self, piece: str) -> None:
        if len(piece) >= SPAN_CHARS_MIN:
            self.removed.add(piece)


Step = Callable[[_Place, _Aim], _Done]


def cut_harder(chain: Chain, texts: Collection[str], suspects: Suspects, cut: Cut) -> bool:
    """Cut what the turns that said the texts are made of, step by step; tell whether nothing of the texts is left.

    What would change the text of another turn is not done.
    """
    aim = _Aim(texts, suspects)
    if not all(holds_json(event.format) for event in chain.ranges):
        _cut_text(chain, aim, cut)
        return not suspects.left(chain.turns(cut))
    for step, is_strict, is_by_text in _STEPS:
        left = suspects.left(chain.turns(cut))
        if not left:
            return True
        _try(chain, step, list(_places(chain, left, aim, cut, is_strict, is_by_text)), aim, cut)
    left = suspects.left(chain.turns(cut))
    return not left or not _is_left(chain, left, aim, cut)


def _cut_text(chain: Chain, aim: _Aim, cut: Cut) -> None:
    """Cut the lines of a conversation that somebody wrote down as text."""
    before = dict(cut.cleaned)
    for event in chain.ranges:
        content = chain.content(event, cut)
        if content is not None:
            left, count = without_lines(content, event.encoding, aim.texts, cut.removed)
            if count:
                cut.add(event.content, left, count)
    if not aim.suspects.spares(chain.turns(cut)):
        cut.cleaned = before


def _try(chain: Chain, step: Step, places: Sequence[_Place], aim: _Aim, cut: Cut) -> None:
    """Do a step at all places; where that changes another turn, at each by itself, and sparing what others say."""
    before = dict(cut.cleaned)

    def is_possible(done: Sequence[_Done]) -> bool:
        cut.cleaned = dict(before)
        _apply(chain, done, cut)
        return aim.suspects.spares(chain.turns(cut))

    def spared(said: str) -> bool:
        suspects = aim.suspects
        return suspects.speaks(said.strip()) or (
            suspects.is_of_others(said) and not suspects.pieces.are_in(said)
        )

    chosen = [done for place in places if (done := step(place, aim)).changes]
    if not is_possible(chosen):
        sparing, found = _Aim(aim.texts, aim.suspects, spared), chosen[:TRIES_MAX]
        chosen = []
        for done in found:
            for one in (done, step(done.place, sparing)):
                if is_possible([*chosen, one]):
                    chosen.append(one)
                    break
        is_possible(chosen)
    for done in chosen:
        cut.removed |= done.removed


def _apply(chain: Chain, chosen: Sequence[_Done], cut: Cut) -> None:
    found: dict[tuple[str, int], tuple[RevisionCaptured, list[Change]]] = {}
    for done in chosen:
        key = done.place.event.content, done.place.index
        found.setdefault(key, (done.place.event, []))[1].extend(done.changes)
    for (_, index), (event, changes) in found.items():
        content = chain.content(event, cut)
        if content is not None:
            lines, apart = content.split(b"\n"), _apart(changes)
            lines[index] = encoded_line(rewritten(decoded_line(lines[index]), apart))
            cut.add(event.content, b"\n".join(lines), len(apart))


def _apart(changes: Sequence[Change]) -> list[Change]:
    """Return changes in order, without those within another."""
    found: list[Change] = []
    for change in sorted(changes, key=lambda change: (change[0], -change[1])):
        if not found or change[0] >= found[-1][1]:
            found.append(change)
    return found


def _places(
    chain: Chain, left: Sequence[Turn], aim: _Aim, cut: Cut, is_strict: bool, is_by_text: bool
) -> Iterator[_Place]:
    """Yield where the turns stand by their ids and lines, or by what they share with the texts if nothing tells.

    `is_strict`: without the objects in them that are of another turn. `is_by_text`: in any case by what they share.
    """
    ids = {native for turn in left for native in turn.native_ids}
    numbers = {int(key[1]) for turn in left if (key := _LINE_KEY.match(turn.key))}
    others = aim.suspects.ids - ids if is_strict else frozenset[str]()
    marks = {literal(native) for native in ids}
    is_found = False
    for event, first, lines in chain.numbered(cut) if not is_by_text else ():
        for index, line in enumerate(lines):
            text = decoded_line(line)
            is_numbered = first + index in numbers
            if not is_numbered and not any(mark in text or mark[1:-1] in text for mark in marks):
                continue
            found = scanned(text)
            if is_numbered:
                is_found = True
                yield _Place(event, index, found, None)
            for node in own_objects(found, ids):
                is_found = True
                foreign = [one for one in found.nodes if one.ids & others and not one.ids & ids]
                yield _Place(event, index, found, node, tuple(foreign))
    if not is_found:
        yield from _sharing(chain, aim, cut)


def _sharing(chain: Chain, aim: _Aim, cut: Cut) -> Iterator[_Place]:
    for event, _, lines in chain.numbered(cut):
        for index, line in enumerate(lines):
            found = scanned(decoded_line(line))
            for node in sharing_objects(found, aim.suspects.pieces.are_in):
                yield _Place(event, index, found, node)


def _is_left(chain: Chain, left: Sequence[Turn], aim: _Aim, cut: Cut) -> bool:
    """Tell whether turns say more of the texts than their reader adds by itself and what a record is read by.

    So it is where a value or a name that no other turn says still has a piece of what is left.
    """
    suspects = aim.suspects
    pieces = Pieces.of(piece for turn in left for piece in suspects.pieces_left(turn))
    kept: set[str] = set()
    for _, _, lines in chain.numbered(cut):
        for line in lines:
            found = scanned(decoded_line(line))
            kept |= {value.said.strip() for value in found.values if _is_kept(value, aim)}
            said = {value.said for value in found.values if value.is_text and not _is_kept(value, aim)}
            said |= {name for name in found.names if len(name) >= SPAN_CHARS_MIN}
            if any(pieces.are_in(text) and not suspects.is_of_others(text) for text in said):
                return True
    return any(suspects.says_it(turn, kept) for turn in left)


def _pieces(place: _Place, aim: _Aim) -> _Done:
    """Take out of strings what they share with a text that is put together from several."""
    done = _Done(place)
    for value in values_in(place.found, place.within, place.without):
        if (
            not value.is_text
            or value.name in FIELDS_KEPT
            or value.name in LISTS_KEPT
            or aim.spared(value.said)
        ):
            continue
        left = value.said
        for text in aim.texts:
            for piece in _shared_pieces(left, text):
                left = left.replace(piece, MARK)
                done.remove(piece)
        if left != value.said:
            done.changes.append((value.start, value.end, left))
    return done


def _shared_pieces(said: str, text: str) -> Iterator[str]:
    bare, shown = said.strip(), literal(said)[1:-1]
    if len(bare) >= PIECE_CHARS_MIN and (bare in text or shown in text):
        yield bare
        return
    if end := _overlap(said, text):
        yield said[-end:]
        said = said[:-end]
    if start := _overlap(text, said):
        yield said[:start]


def _overlap(first: str, second: str) -> int:
    """Return how many characters the end of the one and the beginning of the other have in common, 0 for few."""
    for size in range(min(len(first), len(second)), PIECE_CHARS_MIN - 1, -1):
        if first.endswith(second[:size]):
            return size
    return 0


def _words(place: _Place, aim: _Aim) -> _Done:
    """Take all out of the strings, and the numbers that a text has; what a record is read by only if it says the text."""
    done = _Done(place)
    numbers = {word for text in aim.texts for word in _WORD.findall(text)}
    for value in values_in(place.found, place.within, place.without):
        if _is_kept(value, aim):
            continue
        if not value.is_text:
            if value.said in numbers and value.name not in NUMBERS_KEPT:
                done.changes.append((value.start, value.end, None))
        elif value.said.strip() and value.said.strip() != MARK and not aim.spared(value.said):
            done.changes.append((value.start, value.end, MARK))
            done.remove(value.said)
    return done


def _is_kept(value: Value, aim: _Aim) -> bool:
    is_of_reading = value.name in FIELDS_KEPT or value.name in LISTS_KEPT
    return is_of_reading and not aim.suspects.remove(value.said)[1]


def _arguments(place: _Place, aim: _Aim) -> _Done:
    """Take out all of what a tool was asked or told, with the names of its fields."""
    done = _Done(place)
    for node in place.found.nodes:
        within = place.within
        is_within = within is None or within.start < node.start < within.end
        if (
            node.name in ARGUMENTS
            and is_within
            and node not in place.without
            and not node.is_in(place.without)
        ):
            done.changes.append((node.start, node.end, MARK))
    return done


_STEPS: Final[tuple[tuple[Step, bool, bool], ...]] = (
    (_pieces, False, False),
    (_words, True, False),
    (_words, False, False),
    (_arguments, False, False),
    (_words, False, True),
)
"""Each with whether what is of another turn is left out, and whether it goes by what an object shares with the texts."""
