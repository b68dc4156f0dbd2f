"""Drafts: the turns that a fold is working on, and what it must remember of those before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chronofile.domain.identity import digest
from chronofile.domain.turns import Part, State, Turn

OPEN_MAX = 12
"""Turns that may still be extended; the one that was extended longest ago is closed first."""
MARKS_MAX = 2_000
"""Records and keys that are remembered; a repetition after more than these is not recognised."""
_MARK_BYTES = 6
_MARK_CHARS = 2 * _MARK_BYTES


@dataclass(slots=True)
class Draft:
    """Turns by key in order of their beginning: the open ones of earlier ranges, then this range's.

    `line` counts the lines folded so far, over all ranges.
    """

    line: int = 0
    turns: dict[str, Turn] = field(default_factory=dict)
    _touched: dict[str, int] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)
    _marks: dict[str, None] = field(default_factory=dict)

    @classmethod
    def resume(cls, state: State | None) -> Draft:
        """Return the draft that a range begins with: empty at the beginning of a source."""
        if state is None:
            return cls()
        draft = cls(line=state["line"])
        for entry in state["open"]:
            turn = _unpacked(entry)
            draft.turns[turn.key] = turn
            draft._touched[turn.key] = entry["touched"]
        marks: str = state["marks"]
        draft._marks = {marks[i : i + _MARK_CHARS]: None for i in range(0, len(marks), _MARK_CHARS)}
        return draft

    def state(self) -> dict[str, Any]:
        """Return what the next range needs, as JSON."""
        is_open = [turn for key, turn in self.turns.items() if key in self._touched]
        return {
            "line": self.line,
            "open": [_packed(turn, self._touched[turn.key]) for turn in is_open],
            "marks": "".join(self._marks),
        }

    def changed(self) -> tuple[Turn, ...]:
        """Return the turns that this range began or extended, in order of their beginning."""
        return tuple(turn for key, turn in self.turns.items() if key in self._changed and turn.parts)

    def add(self, turn: Turn, *, may_grow: bool = False) -> None:
        """Take in what one record says: a turn of its own, or more of an open turn with the same key.

        A record that was taken in before (same native ids, same text) adds nothing. Where a turn of that
        key is closed already, the record becomes a turn under a longer key, so that nothing is lost.
        """
        mark = digest("record", *turn.native_ids, turn.role, turn.text, size=_MARK_BYTES)
        if turn.native_ids and self._is_known(mark):
            return
        if may_grow and turn.key in self._touched:
            turn = self._grown(turn)
        else:
            if self._is_known(digest("key", turn.key, size=_MARK_BYTES)):
                turn = replace(turn, key=f"{turn.key}#{mark}")
            self.turns[turn.key] = turn
        self._changed.add(turn.key)
        if may_grow:
            self._touched[turn.key] = self.line
            self._close_oldest()

    def _grown(self, more: Turn) -> Turn:
        turn = self.turns[more.key]
        if not turn.parts:
            # A turn begins with its first text, in whichever range that comes.
            del self.turns[more.key]
        ids = tuple(dict.fromkeys(turn.native_ids + more.native_ids))
        grown = replace(turn, native_ids=ids, at=turn.at or more.at, parts=turn.parts + more.parts)
        self.turns[more.key] = grown
        return grown

    def _close_oldest(self) -> None:
        if len(self._touched) > OPEN_MAX:
            del self._touched[min(self._touched, key=self._touched.__getitem__)]

    def _is_known(self, mark: str) -> bool:
        if mark in self._marks:
            return True
        self._marks[mark] = None
        if len(self._marks) > MARKS_MAX:
            del self._marks[next(iter(self._marks))]
        return False


def _packed(turn: Turn, touched: int) -> dict[str, Any]:
    return {
        "key": turn.key,
        "native_ids": list(turn.native_ids),
        "role": turn.role,
        "speaker": turn.speaker,
        "at": turn.at,
        "parts": [[part.type, part.text] for part in turn.parts],
        "session": turn.session,
        "superseded": turn.superseded,
        "touched": touched,
    }


def _unpacked(entry: Mapping[str, Any]) -> Turn:
    return Turn(
        key=entry["key"],
        native_ids=tuple(entry["native_ids"]),
        role=entry["role"],
        speaker=entry["speaker"],
        at=entry["at"],
        parts=tuple(Part(kind, text) for kind, text in entry["parts"]),
        session=entry["session"],
        superseded=entry["superseded"],
    )
