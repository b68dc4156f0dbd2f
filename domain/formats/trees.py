"""Trees: conversations that branch where a message was edited or an answer was asked for again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from chronofile.domain.times import FIRST


@dataclass(frozen=True, slots=True)
class Node:
    """One place in a tree: its id, the ids that it names, and when its message was written."""

    id: str
    parent: str | None = None
    children: Sequence[str] = ()
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """Ids in reading order, and those of the branch that is shown."""

    order: tuple[str, ...]
    shown: frozenset[str]

    @classmethod
    def of(cls, nodes: Sequence[Node], current: str | None) -> Tree:
        """Return the tree of the nodes; each id is there once.

        A message comes after its parent, and each branch as a whole before the next. The shown branch is the one that
        leads to `current`; where that is none of the ids, the one to the newest leaf. Where none is another's parent,
        the nodes are a list, and all of them are shown. Cycles, several roots and missing parents are allowed.
        """
        ids = {node.id: node for node in nodes}
        parents = _parents(nodes, ids)
        order = tuple(_in_order(ids, parents))
        is_list = not parents and (current not in ids or not any(node.parent for node in nodes))
        if is_list:
            return cls(order, frozenset(order))
        leaf = current if current is not None and current in ids else _newest_leaf(order, ids, parents)
        return cls(order, frozenset(_way_up(leaf, parents)))


def _parents(nodes: Sequence[Node], ids: Mapping[str, Node]) -> dict[str, str]:
    """Return each node's parent: the one that it names, else the one that names it."""
    parents = {
        node.id: node.parent
        for node in nodes
        if node.parent is not None and node.parent in ids and node.parent != node.id
    }
    for node in nodes:
        for child in node.children:
            if child in ids and child != node.id:
                parents.setdefault(child, node.id)
    return parents


def _in_order(ids: Mapping[str, Node], parents: Mapping[str, str]) -> Iterator[str]:
    """Yield all ids, parents first. A cycle has no beginning, so it begins where it is met first."""
    children = _children(ids, parents)
    seen: set[str] = set()
    for root in [*(id_ for id_ in ids if id_ not in parents), *ids]:
        waiting = [root]
        while waiting:
            found = waiting.pop()
            if found not in seen:
                seen.add(found)
                yield found
                waiting += reversed(children.get(found, ()))


def _children(ids: Mapping[str, Node], parents: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the children of each node: as it lists them, then those that only say so themselves."""
    found: dict[str, dict[str, None]] = {}
    for node in ids.values():
        for child in node.children:
            if parents.get(child) == node.id:
                found.setdefault(node.id, {})[child] = None
    for child in ids:
        if child in parents:
            found.setdefault(parents[child], {})[child] = None
    return {parent: list(listed) for parent, listed in found.items()}


def _newest_leaf(order: Sequence[str], ids: Mapping[str, Node], parents: Mapping[str, str]) -> str:
    """Return the leaf whose message, or the nearest above it with a time, is the newest; the last of several."""
    inner = set(parents.values())
    times: dict[str, datetime] = {}
    for found in order:
        times[found] = ids[found].at or times.get(parents.get(found, ""), FIRST)
    # Where all is one cycle there is no leaf.
    leaves = [found for found in reversed(order) if found not in inner] or order
    return max(leaves, key=times.__getitem__)


def _way_up(leaf: str, parents: Mapping[str, str]) -> Iterator[str]:
    seen: set[str] = set()
    at: str | None = leaf
    while at and at not in seen:
        seen.add(at)
        yield at
        at = parents.get(at)
