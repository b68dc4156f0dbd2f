"""Attachments of Claude Code: what a record carries beside its message, as far as it holds words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chronofile.domain.formats.records import Record, text_field

# Attachments that tell of a file, a rule, a hook's words, a plan, another agent, in these fields.
_WORDED = frozenset(
    {
        "already_read_file", "async_hook_response", "critical_system_reminder", "diagnostics", "directory",
        "edited_text_file", "file", "hook_additional_context", "hook_blocking_error", "hook_error_during_execution",
        "hook_non_blocking_error", "hook_stopped_continuation", "hook_success", "hook_system_message", "mcp_resource",
        "memory", "nested_memory", "plan_file_reference", "relevant_memories", "selected_lines_in_ide", "task_status",
        "teammate_mailbox", "ultramemory", "unified_task_status",
    }
)  # fmt: skip
_FIELDS = frozenset(
    {
        "additionalContext", "blockingError", "content", "deltaSummary", "description", "message", "planContent",
        "snippet", "stderr", "systemMessage", "text",
    }
)  # fmt: skip
# These hold what the tool keeps for itself: lists of tools and skills, reminders, states.
_SILENT = frozenset(
    {
        "agent_listing_delta", "agent_mention", "auto_mode", "auto_mode_exit", "batching_reminder_sent", "budget_usd",
        "command_permissions", "compact_file_reference", "compaction_reminder", "context_efficiency", "date_change",
        "deferred_tools_delta", "dynamic_skill", "hook_cancelled", "hook_permission_decision", "invoked_skills",
        "max_turns_reached", "mcp_instructions_delta", "opened_file_in_ide", "output_style", "output_token_usage",
        "pdf_reference", "plan_mode", "plan_mode_exit", "plan_mode_reentry", "read_truncation_notice",
        "silent_turn_reminder", "skill_discovery", "skill_listing", "structured_output", "task_reminder",
        "team_context", "todo", "todo_reminder", "token_usage", "total_tokens_reminder", "ultra_effort_enter",
        "ultra_effort_exit", "verify_plan_reminder",
    }
)  # fmt: skip
_TWIN_FIELDS = ("stdout", "stderr", "content", "plan", "message", "result")


def attachment_texts(attachment: Record, unknown: Counter[str]) -> list[str]:
    """Return the texts of an attachment; of a type that is not known too, which is counted."""
    kind = str(attachment.get("type"))
    if kind in _SILENT:
        return []
    if kind not in _WORDED:
        unknown[f"attachment {kind}"] += 1
    return list(dict.fromkeys(_texts(attachment, None)))


def result_twin(record: Record) -> str:
    """Return what the twin of a tool's result says, which is the only one where the result itself is empty."""
    twin = record.get("toolUseResult")
    if isinstance(twin, str):
        return twin
    if not isinstance(twin, dict):
        return ""
    found = [text for field in _TWIN_FIELDS if (text := text_field(twin, field))]
    content = twin.get("content")
    blocks = content if isinstance(content, list) else []
    found += [text for block in blocks if isinstance(block, dict) and (text := text_field(block, "text"))]
    return "\n".join(found)


def _texts(value: object, field: str | None) -> Iterator[str]:
    if isinstance(value, str):
        if value and field in _FIELDS:
            yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, field)
