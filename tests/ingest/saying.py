"""What a world shows of its conversations: the turns that are there, by their texts."""

from __future__ import annotations

from dataclasses import dataclass

from chronofile.projections.projection import FOREVER
from tests.world import World


@dataclass(frozen=True, slots=True)
class Said:
    """A turn that is there; its parts are a blank line apart."""

    text: str
    role: str
    session: str | None
    scope: str
    superseded: bool


def said(world: World) -> list[Said]:
    """Return what is said, in order."""
    query = (
        "SELECT p.source, p.turn, p.text, p.role, p.session, s.scope, t.superseded FROM {passages}.passage p"
        " JOIN {passages}.source s ON s.id = p.source"
        " JOIN {passages}.turn t ON t.source = p.source AND t.key = p.turn"
        " WHERE p.recorded_to = %s AND t.recorded_to = %s ORDER BY p.source, t.ordinal, p.no"
    )
    turns: dict[tuple[str, bytes], Said] = {}
    for source, key, text, *rest in world.rows(query, FOREVER, FOREVER):
        before = turns.get((source, bytes(key)))
        whole = (before.text if before else "") + bytes(text).decode()
        turns[source, bytes(key)] = Said(whole, *rest)
    return list(turns.values())


def texts(world: World) -> list[str]:
    return [one.text for one in said(world)]


def superseded(world: World) -> set[str]:
    return {one.text for one in said(world) if one.superseded}
