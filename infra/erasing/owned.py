"""Owned: where in a line of JSON the objects stand that are a turn's own, and the values in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from chronofile.ingest.cleaning import said_in

OWN_IDS: Final = frozenset(
    {
        "bubbleId", "call_id", "callID", "callId", "client_msg_id", "event_id", "id", "ids", "message_id", "messageID",
        "messageId", "partID", "requestId", "responseId", "tool_use_id", "toolCallId", "ts", "turn", "turn_id", "turnId",
        "uuid",
    }
)  # fmt: skip
"""Fields by which an object says what it is itself, or of which message it is a part; all others name another one."""

_TOKEN: Final = re.compile(
    r'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)"(?P<colon>\s*:)?'
    r"|(?P<open>[{\[])|(?P<close>[}\]])|(?P<number>-?\d[\d.eE+-]*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Value:
    """A string or a number at [start, end) of a line, with its field's name, or the name of the list that it is in."""

    start: int
    end: int
    name: str | None
    said: str
    is_text: bool
    node: Node


@dataclass(slots=True, eq=False)
class Node:
    """An object or a list of a line: where it stands, the name of its field, and its own ids."""

    start: int
    name: str | None
    above: Node | None
    is_object: bool
    end: int = 0
    ids: set[str] = field(default_factory=set)

    def is_in(self, others: Collection[Node]) -> bool:
        above = self.above
        while above is not None:
            if above in others:
                return True
            above = above.above
        return False


@dataclass(slots=True)
class Scanned:
    """A line of JSON: its objects and lists, its values and the names of its fields, each in order."""

    nodes: list[Node] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def scanned(line: str) -> Scanned:
    """Return what stands in a line; of one that is no JSON what looks like it."""
    found = Scanned()
    top: Node | None = None
    name: str | None = None
    for token in _TOKEN.finditer(line):
        if token["colon"] is not None:
            name = str(token["text"])
            found.names.add(name)
            continue
        if token["open"]:
            top = Node(token.start(), name, top, token["open"] == "{", len(line))
            found.nodes.append(top)
        elif token["close"]:
            if top is not None:
                top.end, top = token.end(), top.above
        elif top is not None:
            _add(found, token, name, top)
        name = None
    return found


def _add(found: Scanned, token: re.Match[str], name: str | None, node: Node) -> None:
    is_text = token["text"] is not None
    said = said_in(token["text"]) if is_text else token["number"]
    if said is None:
        return
    called = name if node.is_object else node.name
    found.values.append(Value(token.start(), token.end(), called, said, is_text, node))
    if called in OWN_IDS and len(said) > 0:
        owner = node if node.is_object else node.above
        if owner is not None:
            owner.ids.add(said)


def own_objects(found: Scanned, ids: Collection[str]) -> list[Node]:
    """Return the objects that have one of the ids as their own, without those within another such object."""
    own = {node for node in found.nodes if not node.ids.isdisjoint(ids)}
    return [node for node in found.nodes if node in own and not node.is_in(own)]


def sharing_objects(found: Scanned, shares: Callable[[str], bool]) -> list[Node]:
    """Return the smallest objects with a text that shares something with what is erased."""
    chosen: dict[Node, None] = {}
    for value in found.values:
        node: Node | None = value.node
        if value.is_text and shares(value.said):
            while node is not None and not node.is_object:
                node = node.above
            if node is not None:
                chosen[node] = None
    return [node for node in chosen if not node.is_in(chosen)]


def values_in(found: Scanned, within: Node | None, without: Collection[Node]) -> Iterator[Value]:
    """Yield the values within an object, or all of a line's, but those of the objects to leave out."""
    for value in found.values:
        is_left_out = value.node in without or value.node.is_in(without)
        if not is_left_out and (within is None or within.start <= value.start < within.end):
            yield value
