"""A made-up export of ChatGPT: a tree with an edited question, tools, thoughts, a picture, a canvas and odd characters."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

BEGAN_S = 1_770_000_000.25


def message(
    text: Any,
    /,
    *,
    role: str = "user",
    key: str = "m",
    at: Any = BEGAN_S,
    kind: str = "text",
    recipient: str = "all",
    author: str | None = None,
    weight: float = 1.0,
    **metadata: Any,
) -> dict[str, Any]:
    """Return a message; `text` is its words, a list of parts, or all of its content."""
    parts = text if isinstance(text, list) else [text]
    content = text if isinstance(text, dict) else {"content_type": kind, "parts": parts}
    return {
        "id": key,
        "author": {"role": role, "name": author, "metadata": {}},
        "create_time": at,
        "content": content,
        "status": "finished_successfully",
        "end_turn": None,
        "weight": weight,
        "metadata": metadata,
        "recipient": recipient,
        "channel": None,
    }


def node(
    key: str, parent: str | None, children: Sequence[str] = (), said: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a node of the tree and, unless it says nothing, its message under the node's id."""
    own = None if said is None else said | {"id": key}
    return {"id": key, "parent": parent, "children": list(children), "message": own}


def conversation(
    *nodes: dict[str, Any],
    key: str = "c-1",
    current: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a conversation of the nodes; the last one ends the shown branch unless another is `current`."""
    return {
        "title": "A made-up conversation",
        "create_time": BEGAN_S,
        "update_time": BEGAN_S + 100,
        "mapping": {found["id"]: found for found in nodes},
        "moderation_results": [],
        "current_node": current or (nodes[-1]["id"] if nodes else None),
        "conversation_id": key,
        "id": key,
        "is_archived": False,
        "default_model_slug": "made-up",
    } | fields


def chain(*said: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a conversation without branches."""
    keys = [found["id"] if found["id"] != "m" else f"n{number}" for number, found in enumerate(said)]
    nodes = [
        node(key, keys[number - 1] if number else None, keys[number + 1 : number + 2], found)
        for number, (key, found) in enumerate(zip(keys, said, strict=True))
    ]
    return conversation(*nodes, **fields)


def full() -> dict[str, Any]:
    """Return a conversation with something of everything."""
    canvas = {"name": "Seed list", "type": "document", "content": 'Kale, "early".\nRunner beans – frühe.'}
    picture = {
        "content_type": "image_asset_pointer",
        "asset_pointer": "file-service://file-1",
        "size_bytes": 2048,
    }
    thoughts = {
        "content_type": "thoughts",
        "thoughts": [
            {"summary": "Weighing frost", "content": "Late frost would kill the beans.", "finished": True}
        ],
    }
    about = {
        "content_type": "user_editable_context",
        "user_profile": "I garden in Graz.",
        "user_instructions": "Be brief.",
    }
    search = {"content_type": "code", "language": "json", "text": '{"q":"last frost Graz"}'}
    page = {
        "content_type": "tether_quote", "url": "https://frost.example", "title": "Frost dates", "text": "Mid May.",
    }  # fmt: skip
    return conversation(
        node("root", None, ["about"]),
        node("about", "root", ["ask-old", "ask"], message(about, is_visually_hidden_from_conversation=True)),
        node("ask-old", "about", ["answer-old"], message("When do I sow beens?", at=BEGAN_S + 1)),
        node("answer-old", "ask-old", [], message("In May, I think.", role="assistant", at=BEGAN_S + 2)),
        node(
            "ask", "about", ["think"],
            message(["When do I sow beans? \u2028 e\u0301 👩‍🌾", picture], kind="multimodal_text", at=BEGAN_S + 3),
        ),
        node("think", "ask", ["call"], message(thoughts, role="assistant", at=BEGAN_S + 4)),
        node("call", "think", ["page"], message(search, role="assistant", recipient="web.search", at=BEGAN_S + 5)),
        node("page", "call", ["write"], message(page, role="tool", author="web.search", at=None)),
        node(
            "write", "page", ["answer"],
            message(json.dumps(canvas), role="assistant", recipient="canmore.create_textdoc", at=BEGAN_S + 6),
        ),
        node("answer", "write", [], message("After the last frost, in mid May.", role="assistant", at=BEGAN_S + 7)),
        key="c-beans",
        title="Sowing beans",
        current="answer",
    )  # fmt: skip


def write(folder: Path) -> Path:
    """Write an export as it is downloaded, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "export.zip"
    short = chain(message("A second conversation about mulch."), key="c-mulch", title=None)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([full(), short]))
        archive.writestr("user.json", json.dumps({"id": "user-made-up", "email": "made-up@example.invalid"}))
        archive.writestr("chat.html", "<html></html>")
    return path
