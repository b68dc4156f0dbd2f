"""Claude.ai's exports: conversations, design chats, projects with their documents, and what the model remembers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from chronofile.domain.formats.attachments import attached
from chronofile.domain.formats.calls import strings
from chronofile.domain.formats.captures import is_seen, seen_turns, told_in
from chronofile.domain.formats.claude_ai.blocks import attached_parts, block_parts, records
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.moments import moment
from chronofile.domain.formats.records import Record, confidence, read_records, text_field
from chronofile.domain.formats.trees import Node, Tree
from chronofile.domain.formats.whole import Conversation
from chronofile.domain.identity import digest
from chronofile.domain.times import parse
from chronofile.domain.turns import Folded, Identity, Likeness, Part, Role, State, Turn

name = "claude-ai"
version = 1
is_json = True

CONVERSATIONS_SEEN_MAX = 20
_KEY_BYTES = 8
_ROLES: Mapping[str, Role] = {
    "human": "user",
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}
# A project has at least these of them, whatever of it is cut off.
_OF_PROJECTS = frozenset({"creator", "docs", "is_private", "is_starter_project", "prompt_template"})
_OF_PROJECTS_MIN = 2
_OF_MEMORIES = frozenset({"memory_files", "project_memories"})


def recognise(head: Head) -> Likeness:
    """Return how surely a JSON text lists conversations, projects or memories of Claude.ai, or is one of them."""
    verdicts = [_kind(_told(found)) is not None for found in head.conversations[:CONVERSATIONS_SEEN_MAX]]
    return Likeness(confidence(verdicts.count(True), verdicts.count(False), 0), "conversations")


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return who a conversation is, or a project, or an account's memories: by its id, else by what began it."""
    record = next((found for found in read_records(lines) if found is not None), None)
    told = None if record is None else _told(record)
    kind = None if told is None else _kind(told)
    if told is None or kind is None:
        return None
    identifier = text_field(told, "account_uuid" if kind == "memories" else "uuid")
    if identifier is None:
        turns = fold(None, lines).turns
        first = next((turn for turn in turns if turn.key not in (_title_key(told), "summary")), None)
        if first is None:
            return None
        identifier = digest(name, text_field(told, "created_at"), first.role, first.text)
    named = identifier if kind in ("conversation", "seen", "design") else f"{kind}/{identifier}"
    return Identity(session=named, key=named, updated=_updated(told))


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold a conversation, a project or memories into turns.

    A conversation's turns come in the order of its tree, where messages name their parents, with other branches than
    the shown one superseded; else as they are listed. Nothing raises: what is nothing of Claude.ai is counted as
    unreadable, blocks of unknown types by type.
    """
    conversation = Conversation()
    for record in read_records(lines):
        told = _told(record) if record is not None else {}
        kind = _kind(told)
        if kind is None:
            conversation.unreadable += 1
            continue
        conversation.title = _title(told) or conversation.title
        for turn in _READERS[kind](told, conversation.unknown):
            conversation.add(turn)
    return conversation.folded()


def _told(record: Record) -> Record:
    return told_in(record, name, "chat_messages")


def _kind(told: Record) -> str | None:
    if isinstance(told.get("chat_messages"), list):
        return "conversation"
    if is_seen(told):
        return "seen"
    if isinstance(told.get("messages"), list) and _is_design(told["messages"]):
        return "design"
    if "uuid" in told and len(_OF_PROJECTS & told.keys()) >= _OF_PROJECTS_MIN:
        return "project"
    is_memories = "conversations_memory" in told or ("account_uuid" in told and _OF_MEMORIES & told.keys())
    return "memories" if is_memories else None


def _conversation(told: Record, unknown: Counter[str]) -> Iterator[Turn]:
    yield from _heading(told)
    messages: dict[str, tuple[str, Record]] = {}
    seen: Counter[str] = Counter()
    for message in told["chat_messages"]:
        if not isinstance(message, dict):
            unknown.update(["message"] if message is not None else [])
            continue
        identifier = text_field(message, "uuid")
        key = identifier or _key(message)
        seen[key] += 1
        place = key if seen[key] == 1 else f"{key}#{seen[key]}"
        messages[place] = (identifier or place, message)
    nodes = [
        Node(place, text_field(message, "parent_message_uuid"), at=parse(_at(message)))
        for place, (_, message) in messages.items()
    ]
    tree = Tree.of(nodes, text_field(told, "current_leaf_message_uuid"))
    for place in tree.order:
        key, message = messages[place]
        yield replace(_turn(message, key, unknown), superseded=place not in tree.shown)


def _turn(message: Record, key: str, unknown: Counter[str]) -> Turn:
    # The text repeats the content, with remarks in place of what is no text.
    parts = block_parts(message.get("content"), unknown) or block_parts(message.get("text"), unknown)
    parts += attached_parts(message)
    parts += [
        replace(part, type="summary") for part in block_parts(message.get("compaction_summary"), unknown)
    ]
    identifier = text_field(message, "uuid")
    role = _role(message.get("sender"), unknown)
    return Turn(key, (identifier,) if identifier else (), role, None, _at(message), tuple(parts))


def _design(told: Record, unknown: Counter[str]) -> Iterator[Turn]:
    """Yield the turns of a design chat, whose messages hold their words and blocks one level deeper."""
    yield from _heading(told)
    for message in told["messages"]:
        if not isinstance(message, dict):
            unknown.update(["message"] if message is not None else [])
            continue
        content = message.get("content")
        inner: Record = content if isinstance(content, dict) else {"content": content}
        parts = block_parts(inner.get("contentBlocks"), unknown) or block_parts(inner.get("content"), unknown)
        parts += attached_parts(inner)
        identifier = text_field(message, "uuid") or text_field(inner, "id")
        role = _role(message.get("role", inner.get("role")), unknown)
        speaker = text_field(inner, "authorName") if role == "user" else None
        at = moment(message.get("created_at")) or moment(inner.get("timestamp"))
        key = identifier or digest(role, at, *(part.text for part in parts), size=_KEY_BYTES)
        yield Turn(key, (identifier,) if identifier else (), role, speaker, at, tuple(parts))


def _seen(told: Record, unknown: Counter[str]) -> Iterator[Turn]:
    yield from _heading(told)
    yield from seen_turns(told)


def _project(told: Record, unknown: Counter[str]) -> Iterator[Turn]:
    """Yield what a person wrote for a project, and each of its documents."""
    yield from _heading(told)
    at = moment(told.get("created_at"))
    for field in ("description", "prompt_template"):
        text = text_field(told, field)
        if text:
            yield Turn(field, (), "user", None, at, (Part("text", text),))
    for document in records(told.get("docs")):
        identifier, named = text_field(document, "uuid"), text_field(document, "filename")
        text = text_field(document, "content") or ""
        key = identifier or digest("document", named, text, size=_KEY_BYTES)
        parts = (Part("text", attached("document", named)), Part("text", text))
        at = moment(document.get("created_at"))
        yield Turn(key, (identifier,) if identifier else (), "user", None, at, parts)


def _memories(told: Record, unknown: Counter[str]) -> Iterator[Turn]:
    """Yield what the model noted of a person and of their projects: derived text, each a turn."""
    text = text_field(told, "conversations_memory")
    if text:
        yield Turn("conversations", (), "system", None, None, (Part("summary", text),))
    projects = told.get("project_memories")
    for project, said in projects.items() if isinstance(projects, dict) else ():
        parts = tuple(replace(part, type="summary") for part in block_parts(said, unknown))
        yield Turn(f"project/{project}", (), "system", None, None, parts)
    for file in records(told.get("memory_files")):
        path, text = text_field(file, "path"), text_field(file, "content")
        if text:
            at = moment(file.get("updated_at"))
            parts = (Part("notice", attached("file", path)), Part("summary", text))
            yield Turn(f"file/{path or digest(text)}", (), "system", None, at, parts)


_READERS = {
    "conversation": _conversation,
    "design": _design,
    "seen": _seen,
    "project": _project,
    "memories": _memories,
}


def _heading(told: Record) -> Iterator[Turn]:
    """Yield what a conversation is called, and what the site says in short that it is about."""
    title, summary, at = _title(told), text_field(told, "summary"), moment(told.get("created_at"))
    if title:
        yield Turn(_title_key(told), (), "system", None, at, (Part("notice", title),))
    if summary:
        yield Turn("summary", (), "system", None, at, (Part("summary", summary),))


def _title(told: Record) -> str | None:
    return text_field(told, "name") or text_field(told, "title")


def _title_key(told: Record) -> str:
    return f"title:{digest(_title(told), size=_KEY_BYTES)}"


def _role(named: object, unknown: Counter[str]) -> Role:
    role = _ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        unknown[f"sender {named}" if isinstance(named, str) else "sender"] += 1
    return role or "system"


def _at(message: Record) -> str | None:
    return moment(message.get("created_at")) or moment(message.get("updated_at"))


def _updated(told: Record) -> str | None:
    times = [told.get("updated_at"), told.get("created_at")]
    files = [moment(file.get("updated_at")) for file in records(told.get("memory_files"))]
    return next(filter(None, map(moment, times)), None) or max(filter(None, files), default=None)


def _key(message: Record) -> str:
    """Return what names a message without an id: it is the same however the conversation grows."""
    said = strings([message.get("sender"), message.get("text"), message.get("content")])
    return digest(text_field(message, "created_at"), *said, size=_KEY_BYTES)


def _is_design(messages: Sequence[object]) -> bool:
    """Tell whether messages are a design chat's: each with its words, or their blocks, in an object of its own."""
    seen = [found for found in messages if isinstance(found, dict)][:CONVERSATIONS_SEEN_MAX]
    inner = [found["content"] for found in seen if isinstance(found.get("content"), dict) and "role" in found]
    own = [found for found in inner if {"contentBlocks", "authorAccountUuid"} & found.keys()]
    return bool(own) and len(own) * 2 >= len(seen)
