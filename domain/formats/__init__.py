"""Transcript formats: each a module of pure functions that folds records into turns.

A format is added as a module with what `turns.Format` asks for, and a line in FORMATS. CONTRIBUTING has an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from chronofile.domain.formats import (
    aider,
    chat,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    copilot_cli,
    copilot_vscode,
    cursor,
    gemini_cli,
    messages,
    neutral,
    opencode,
    slack,
)
from chronofile.domain.formats.heads import Head
from chronofile.domain.turns import Format, Layout, PartedFormat

CONFIDENCE_MIN = 0.5

PARTED: Mapping[str, PartedFormat] = MappingProxyType({aider.name: aider, neutral.name: neutral})
"""The formats whose files hold several conversations' lines."""

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        chat.name: chat,
        chatgpt.name: chatgpt,
        claude_ai.name: claude_ai,
        claude_code.name: claude_code,
        codex.name: codex,
        copilot_cli.name: copilot_cli,
        copilot_vscode.name: copilot_vscode,
        cursor.name: cursor,
        gemini_cli.name: gemini_cli,
        messages.name: messages,
        opencode.name: opencode,
        slack.name: slack,
        **PARTED,
    }
)


def recognise(head: Head) -> tuple[Format, Layout] | None:
    """Return the format that a file's beginning is surest of, and how its records lie; None when it is no transcript."""
    found = {key: form.recognise(head) for key, form in FORMATS.items()}
    best = max(found, key=lambda key: found[key].confidence)
    return (FORMATS[best], found[best].layout) if found[best].confidence >= CONFIDENCE_MIN else None


def holds_json(format_name: str) -> bool:
    """Tell whether what is stored of a format is a JSON object a line: of transcripts most, of files none."""
    return format_name in FORMATS and FORMATS[format_name].is_json
