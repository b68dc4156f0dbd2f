"""Injected text of Codex: what the tool writes into a conversation in a person's name, told apart by its tags."""

from __future__ import annotations

import re

_TAGS = (
    "INSTRUCTIONS",
    "apps_instructions",
    "codex_apps_instructions",
    "codex_internal_context",
    "collaboration_mode",
    "environment_context",
    "environments_instructions",
    "git_attribution",
    "goal_context",
    "hook_prompt",
    "managed_network",
    "memory_context",
    "model_switch",
    "multi_agent_mode",
    "multi_agents",
    "permissions instructions",
    "personality_spec",
    "pinned_notes",
    "plugins_instructions",
    "realtime_conversation",
    "reasoning_context",
    "recommended_plugins",
    "skill",
    "skills_instructions",
    "subagent_notification",
    "subagents",
    "system-reminder",
    "token_budget",
    "tool_context",
    "turn_aborted",
    "user_action",
    "user_instructions",
    "user_shell_command",
)
_OPENING = re.compile(rf"\s*<({'|'.join(_TAGS)})(?:\s[^<>]*)?>")
_HEADING = re.compile(r"\s*# AGENTS\.md instructions[^\n]*\n\s*(?=<INSTRUCTIONS>)")
_SURE = re.compile(r"\s*(?:# AGENTS\.md instructions|<environment_context>|<user_instructions>)")
_IMAGE_TAG = re.compile(r"\s*</?image(?:\s[^<>]*)?>\s*", re.IGNORECASE)

REVIEW = "<user_action>"
"""How the note begins that repeats to the model what a review found."""


def is_injected(text: str) -> bool:
    """Tell whether a whole text was put in by the tool: nothing but blocks with its tags, one after the other."""
    at = _after_heading(text, 0)
    begin = at
    while opening := _OPENING.match(text, at):
        end = _end(text, opening)
        if end is None:
            return False
        at = _after_heading(text, end)
    return at > begin and not text[at:].strip()


def is_surely_injected(text: str) -> bool:
    """Tell whether a text that was shown as a person's was put in by the tool all the same, as in some versions."""
    return _SURE.match(text) is not None and is_injected(text)


def without_tags(text: str) -> str:
    """Return what stands in the only block that a text is; the text as it is where it is anything else."""
    opening = _OPENING.match(text, _after_heading(text, 0))
    if opening is None:
        return text
    end = _end(text, opening)
    if end is None or text[end:].strip():
        return text
    return text[opening.end() : text.rfind("<", 0, end)]


def is_image_tag(text: str) -> bool:
    """Tell whether a text is nothing but a tag around an image."""
    return len(text) < 1_000 and _IMAGE_TAG.fullmatch(text) is not None


def _after_heading(text: str, at: int) -> int:
    heading = _HEADING.match(text, at)
    return heading.end() if heading else at


def _end(text: str, opening: re.Match[str]) -> int | None:
    """Return where the block that begins here ends, None where it does not."""
    closing = re.compile(rf"</{re.escape(opening[1])}\s*>").search(text, opening.end())
    return closing.end() if closing else None
