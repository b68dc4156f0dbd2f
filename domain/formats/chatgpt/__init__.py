"""ChatGPT's exports: conversations as trees of messages, of which one branch is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from chronofile.domain.formats.calls import strings
from chronofile.domain.formats.captures import is_seen, seen_turns, told_in
from chronofile.domain.formats.chatgpt.messages import turn_of
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.moments import moment
from chronofile.domain.formats.records import Record, confidence, read_records, text_field
from chronofile.domain.formats.trees import Node, Tree
from chronofile.domain.formats.whole import Conversation
from chronofile.domain.identity import digest
from chronofile.domain.times import parse
from chronofile.domain.turns import Folded, Identity, Likeness, Part, State, Turn

name = "chatgpt"
version = 1
is_json = True

PROVIDER = "chatgpt"
CONVERSATIONS_SEEN_MAX = 20
_NODES_SEEN_MAX = 20
_KEY_BYTES = 8
_TELLING_MIN = 3

# Fields that hardly anything else has: with some of them a head is known of which the tree was cut off.
_TELLING = frozenset(
    {
        "blocked_urls", "conversation_template_id", "current_node", "default_model_slug", "disabled_tool_ids", "gizmo_id",
        "gizmo_type", "is_do_not_remember", "is_study_mode", "memory_scope", "moderation_results", "plugin_ids", "safe_urls",
        "sugar_item_visible",
    }
)  # fmt: skip


def recognise(head: Head) -> Likeness:
    """Return how surely a JSON text lists ChatGPT's conversations, or is one, or a canvas document."""
    verdicts = [_is_own(found) for found in head.conversations[:CONVERSATIONS_SEEN_MAX]]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), 0), "conversations")


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who the conversation is: by its id, else by when it began and its first words; None without any."""
    record = next((found for found in read_records(lines) if found is not None), None)
    if record is None:
        return None
    told = told_in(record, PROVIDER, "mapping")
    identifier = _identifier(told)
    if identifier is None:
        turns = fold(None, lines).turns
        first = next((turn for turn in turns if turn.key != _title_key(_title(told))), None)
        if first is None:
            return None
        identifier = digest(name, str(told.get("create_time")), first.role, first.text)
    key = f"textdoc/{identifier}" if _is_document(told) else identifier
    times = (told.get(field) for field in ("update_time", "updated_at", "create_time", "created_at"))
    return Identity(session=identifier, key=key, updated=next(filter(None, map(moment, times)), None))


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold a conversation into turns, in the order of its tree; other branches than the shown one are superseded.

    Nothing raises: what is no JSON object is counted as unreadable, contents and roles of unknown types by type.
    """
    conversation = Conversation()
    for record in read_records(lines):
        if record is None:
            conversation.unreadable += 1
        else:
            _take(told_in(record, PROVIDER, "mapping"), conversation)
    return conversation.folded()


@dataclass(frozen=True, slots=True)
class _Place:
    """A message, where it stands, and what names it where it has no id of its own."""

    node: Node
    key: str
    message: Record | None


def _take(told: Record, conversation: Conversation) -> None:
    title = _title(told)
    if title:
        conversation.title = title
        at = moment(told.get("create_time"))
        conversation.add(Turn(_title_key(title), (), "system", None, at, (Part("notice", title),)))
    if _is_document(told):
        _take_document(told, conversation)
        return
    for turn in seen_turns(told):
        conversation.add(turn)
    places = {place.node.id: place for place in _places(told, conversation.unknown)}
    tree = Tree.of([place.node for place in places.values()], _current(told, places))
    for found in tree.order:
        message = places[found].message
        if message is not None:
            turn = turn_of(message, places[found].key, conversation.unknown)
            conversation.add(replace(turn, superseded=found not in tree.shown))


def _take_document(told: Record, conversation: Conversation) -> None:
    """Take in a document that was written in a canvas beside a conversation, as an export may hold it by itself."""
    identifier = _identifier(told) or "document"
    parts = (Part("text", text_field(told, "content") or ""),)
    at = moment(told.get("updated_at") or told.get("created_at"))
    conversation.add(Turn(identifier, (identifier,), "assistant", None, at, parts))


def _places(told: Record, unknown: Counter[str]) -> Iterator[_Place]:
    """Yield the messages of a conversation: those of its tree, else those that it lists."""
    mapping = told.get("mapping")
    if isinstance(mapping, dict):
        yield from (_place(key, node, unknown) for key, node in mapping.items())
        return
    listed = next((told[field] for field in ("linear_conversation", "messages") if field in told), None)
    seen: Counter[str] = Counter()
    for number, found in enumerate(listed if isinstance(listed, list) else ()):
        message = _message(_within_node(found) if isinstance(found, dict) else found, unknown)
        # A list has no names for its messages, and one that is put in must not change the keys of the others.
        key = digest(*strings(message), size=_KEY_BYTES)
        seen[key] += 1
        key = key if seen[key] == 1 else f"{key}#{seen[key]}"
        yield _Place(Node(str(number), at=_time(message)), key, message)


def _place(key: str, node: object, unknown: Counter[str]) -> _Place:
    if not isinstance(node, dict):
        if node is not None:
            unknown["node"] += 1
        return _Place(Node(key), key, None)
    children = node.get("children")
    named = [child for child in children if isinstance(child, str)] if isinstance(children, list) else []
    message = _message(node.get("message"), unknown)
    return _Place(Node(key, text_field(node, "parent"), named, _time(message)), key, message)


def _message(value: object, unknown: Counter[str]) -> Record | None:
    if isinstance(value, dict):
        return value
    if value is not None:
        unknown["message"] += 1
    return None


def _time(message: Record | None) -> datetime | None:
    return parse(moment(message.get("create_time"))) if message else None


def _current(told: Record, places: Mapping[str, _Place]) -> str | None:
    """Return the node that the shown branch ends with: named by its place in the tree, or by its message."""
    current = text_field(told, "current_node")
    if current is None or current in places:
        return current
    return next(
        (key for key, found in places.items() if found.message and found.message.get("id") == current), None
    )


def _is_own(record: Record) -> bool:
    told = told_in(record, PROVIDER, "mapping")
    mapping = told.get("mapping")
    is_telling = len(_TELLING & told.keys()) >= _TELLING_MIN
    if isinstance(mapping, dict):
        nodes = list(islice(mapping.values(), _NODES_SEEN_MAX))
        own = sum(map(_is_node, nodes))
        return own * 2 > len(nodes) if nodes else is_telling or {"title", "create_time"} <= told.keys()
    listed = told.get("linear_conversation", told.get("messages"))
    if isinstance(listed, list) and listed:
        messages = [_within_node(found) for found in listed[:_NODES_SEEN_MAX]]
        return all(_is_message(found) and isinstance(found["content"], dict) for found in messages)
    return is_telling or is_seen(told) or _is_document(told)


def _is_node(value: object) -> bool:
    message = _within_node(value)
    is_between = isinstance(value, dict) and "parent" in value and "children" in value and message is None
    return is_between or _is_message(message)


def _within_node(value: object) -> Any:
    """Return the message of a node, and a message that stands by itself as it is."""
    return value.get("message", value) if isinstance(value, dict) else None


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("content"), dict | str):
        return False
    author = value.get("author")
    return isinstance(author, dict) and "role" in author


def _is_document(told: Record) -> bool:
    return isinstance(told.get("content"), str) and ("textdoc_type" in told or "textdoc_id" in told)


def _title(told: Record) -> str | None:
    return text_field(told, "title")


def _title_key(title: str | None) -> str:
    return f"title:{digest(title, size=_KEY_BYTES)}"


def _identifier(told: Record) -> str | None:
    for field in ("conversation_id", "textdoc_id", "id"):
        value = told.get(field)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None
