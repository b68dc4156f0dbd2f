"""How an event stored long ago becomes one of today's.

Each function takes the state stored under one version of a name to the next. Never edit one that has been
released: add the next. No event has a second version yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

State = dict[str, Any]
Upcasts = Mapping[str, tuple[Callable[[State], State], ...]]

UPCASTS: Upcasts = {}


def version_of(name: str, upcasts: Upcasts = UPCASTS) -> int:
    """Return the version under which today's events of that name are stored."""
    return 1 + len(upcasts.get(name, ()))


def upcast(name: str, version: int, state: State, upcasts: Upcasts = UPCASTS) -> State:
    """Return the state as today's version of the event has it."""
    for step in upcasts.get(name, ())[version - 1 :]:
        state = step(state)
    return state
