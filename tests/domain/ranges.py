"""Folding in ranges: what a format's fold comes to when a conversation is captured as it grows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from chronofile.domain.turns import Format, State, Turn


@dataclass(slots=True)
class Ranges:
    """What all ranges came to: turns by key, the latest wins; the last state; what was counted."""

    turns: dict[str, Turn] = field(default_factory=dict)
    state: State | None = None
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable: int = 0
    title: str | None = None

    @property
    def said(self) -> list[str]:
        """The texts of all parts, sorted."""
        return sorted(part.text for turn in self.turns.values() for part in turn.parts)


def in_ranges(form: Format, lines: Sequence[str], ends: Iterable[int] = ()) -> Ranges:
    """Fold range by range, the state through JSON as a store would keep it, which sorts keys."""
    found = Ranges()
    begin = 0
    for end in [*sorted(ends), len(lines)]:
        folded = form.fold(found.state, lines[begin:end])
        found.state = json.loads(json.dumps(folded.state, sort_keys=True))
        found.turns.update({turn.key: turn for turn in folded.turns})
        for key in folded.superseded:
            if key in found.turns:
                found.turns[key] = replace(found.turns[key], superseded=True)
        for key in folded.removed:
            found.turns.pop(key, None)
        found.unknown.update(folded.unknown or {})
        found.unreadable += folded.unreadable
        found.title = folded.title or found.title
        begin = max(begin, end)
    return found


def typed(turn: Turn) -> list[tuple[str, str]]:
    """Return a turn's parts as (type, text)."""
    return [(part.type, part.text) for part in turn.parts]
