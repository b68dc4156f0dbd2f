"""A made-up export of Claude.ai: conversations, an edited question, an artifact, a project and memories."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

BEGAN = "2026-02-03T08:15:00.123456+00:00"


def message(
    text: str = "",
    /,
    *,
    sender: str = "human",
    uuid: str | None = "m-1",
    at: str | None = BEGAN,
    content: Any = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a message as the export has it: its words in `text`, and again in its content unless that is given."""
    blocks = [{"type": "text", "text": text, "citations": []}] if content is None else content
    own = {"sender": sender, "text": text, "content": blocks, "attachments": [], "files": []}
    return own | {"uuid": uuid, "created_at": at, "updated_at": at} | fields


def conversation(*messages: dict[str, Any], uuid: str | None = "c-1", **fields: Any) -> dict[str, Any]:
    return {
        "uuid": uuid,
        "name": "A made-up conversation",
        "summary": "",
        "created_at": BEGAN,
        "updated_at": "2026-02-03T09:00:00.000000+00:00",
        "account": {"uuid": "a-1"},
        "chat_messages": list(messages),
    } | fields


def full() -> dict[str, Any]:
    """Return a conversation with something of everything."""
    artifact = {
        "id": "plan", "type": "text/markdown", "command": "create", "title": "Plan",
        "content": "# Plan\n\nKnead for ten minutes – no less.",
    }  # fmt: skip
    blocks = [
        {
            "type": "thinking",
            "thinking": "Rye needs more water.",
            "summaries": [{"summary": "Weighing water"}],
        },
        {"type": "text", "text": "Here is a plan. \u2028 e\u0301 🥖"},
        {"type": "tool_use", "name": "artifacts", "input": artifact},
        {
            "type": "tool_result",
            "name": "artifacts",
            "content": [{"type": "text", "text": "OK"}],
            "is_error": False,
        },
    ]
    recipe = {
        "file_name": "recipe.txt",
        "file_type": "txt",
        "file_size": 18,
        "extracted_content": "500 g of rye flour",
    }
    return conversation(
        message("How do I bake rye bred?", uuid="m-1", parent_message_uuid="root"),
        message("With a sourdough.", uuid="m-2", sender="assistant", parent_message_uuid="m-1"),
        message("How do I bake rye bread?", uuid="m-3", parent_message_uuid="root", attachments=[recipe]),
        message("", uuid="m-4", sender="assistant", parent_message_uuid="m-3", content=blocks),
        uuid="c-rye",
        name="Rye bread",
        summary="A plan for baking rye bread at home.",
        current_leaf_message_uuid="m-4",
    )


def project() -> dict[str, Any]:
    return {
        "uuid": "p-1",
        "name": "Bakery",
        "description": "All about the little bakery.",
        "prompt_template": "Answer as a baker would.",
        "is_private": True,
        "creator": {"uuid": "a-1", "full_name": "Mara Quill"},
        "created_at": BEGAN,
        "updated_at": BEGAN,
        "docs": [{"uuid": "d-1", "filename": "ovens.md", "content": "The stone oven holds 250 degrees.", "created_at": BEGAN}],
    }  # fmt: skip


def memories() -> dict[str, Any]:
    return {
        "conversations_memory": "Mara bakes with rye.",
        "project_memories": {"p-1": "The bakery opens at six."},
        "account_uuid": "a-1",
    }


def write(folder: Path) -> Path:
    """Write an export as it is downloaded, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "claude-export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "conversations.json", json.dumps([full(), conversation(message("A question about yeast."))])
        )
        archive.writestr("projects.json", json.dumps([project()]))
        archive.writestr("memories.json", json.dumps([memories()]))
        archive.writestr("users.json", json.dumps([{"uuid": "a-1", "full_name": "Mara Quill"}]))
    return path
