"""Events of Codex's rollouts: what the person at the tool was shown, as sayings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from chronofile.domain.formats.codex.content import attachments, call_text, content_parts, result_text
from chronofile.domain.formats.codex.injected import is_surely_injected
from chronofile.domain.formats.codex.items import REVIEW_CALL, search_part
from chronofile.domain.formats.codex.said import Origin, Saying, Stage
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import Part, Role

# These carry no words of a turn, or only words that another record holds too.
SILENT = frozenset(
    {
        "agent_message_content_delta", "agent_message_delta", "agent_reasoning_delta",
        "agent_reasoning_raw_content_delta", "agent_reasoning_section_break", "apply_patch_approval_request",
        "collab_agent_interaction_begin", "collab_agent_spawn_begin", "collab_close_begin", "collab_resume_begin",
        "collab_waiting_begin", "context_compacted", "exec_approval_request", "exec_command_begin",
        "exec_command_output_delta", "hook_completed", "hook_started", "image_generation_begin", "item_started",
        "list_skills_response", "mcp_list_tools_response", "mcp_startup_complete", "mcp_startup_update",
        "mcp_tool_call_begin", "model_reroute", "model_verification", "patch_apply_begin", "patch_apply_updated",
        "plan_delta", "plan_update", "raw_response_item", "reasoning_content_delta", "reasoning_raw_content_delta",
        "request_permissions", "session_configured", "shutdown_complete", "skills_update_available",
        "sub_agent_activity", "task_started", "terminal_interaction", "thread_settings_applied", "token_count",
        "turn_aborted", "turn_diff", "turn_started", "undo_started", "web_search_begin",
    }
)  # fmt: skip
_ITEMS_SILENT = frozenset({"contextcompaction", "sleep", "subagentactivity"})
_INJECTED_KINDS = frozenset({"environment_context", "user_instructions"})


def sayings(event: Record, unknown: Counter[str]) -> list[Saying]:
    """Return what an event says; an event of a type that is not known is counted by it."""
    kind = str(event.get("type"))
    if kind == "item_completed":
        found = _completed(event.get("item"), unknown)
    elif (read := _READERS.get(kind)) is not None:
        found = read(event, unknown)
    else:
        found = ()
        if kind not in SILENT:
            unknown[f"event {kind}"] += 1
    return [said for said in found if said.parts]


def _completed(item: object, unknown: Counter[str]) -> Sequence[Saying]:
    """Return what a completed item says: the newest rollouts have them in place of other events."""
    if not isinstance(item, dict):
        unknown["item"] += 1
        return ()
    kind = str(item.get("type")).replace("_", "").casefold()
    if kind == "extension" and ("query" in item or "action" in item):
        kind = "websearch"
    if (read := _ITEM_READERS.get(kind)) is not None:
        return read(item, unknown)
    if kind not in _ITEMS_SILENT:
        unknown[f"item {item.get('type')}"] += 1
    return ()


def _user(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    text = text_field(event, "message")
    parts = [Part("text", text)] if text else []
    parts += [*attachments(event.get("images")), *attachments(event.get("local_images"))]
    parts += attachments(event.get("local_audio"), "audio")
    is_told = text_field(event, "kind") in _INJECTED_KINDS
    return _typed("e", parts, (), is_told=is_told)


def _user_item(item: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return _typed("i", content_parts(item.get("content"), unknown), _ids(item))


def _typed(
    origin: Origin, parts: list[Part], ids: tuple[str, ...], *, is_told: bool = False
) -> Sequence[Saying]:
    words = [
        Part("notice", part.text) if is_told or is_surely_injected(part.text) else part for part in parts
    ]
    return [Saying(origin, "user", tuple(words), "user", ids, once=True)]


def _said(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return [Saying("e", "assistant", _texts(event, "message"), "assistant")]


def _said_item(item: Record, unknown: Counter[str]) -> Sequence[Saying]:
    parts = content_parts(item.get("content"), unknown)
    return [Saying("i", "assistant", tuple(parts), "assistant", _ids(item))]


def _thought(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    text = text_field(event, "text")
    return [Saying("e", "assistant", (Part("thinking", text),) if text else (), "thinking")]


def _thought_item(item: Record, unknown: Counter[str]) -> Sequence[Saying]:
    parts = content_parts(item.get("summary_text"), unknown, "thinking")
    parts += content_parts(item.get("raw_content"), unknown, "thinking")
    return [Saying("i", "assistant", tuple(parts), "thinking", _ids(item))]


def _plan(item: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return [Saying("i", "assistant", _texts(item, "text"), "assistant", _ids(item))]


def _finished(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    failure = event.get("error")
    return [
        Saying("t", "assistant", _texts(event, "last_agent_message"), "assistant"),
        Saying("t", "system", _notices(failure, "message") if isinstance(failure, dict) else (), "error"),
    ]


def _ran(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    """Return a command that was run, or files that were changed, with what came of it."""
    output = text_field(event, "aggregated_output") or text_field(event, "formatted_output")
    result = output or "\n".join(text for name in ("stdout", "stderr") if (text := text_field(event, name)))
    if "command" not in event:
        return _used(event, "apply_patch", event.get("changes"), result)
    return _used(
        event, "exec_command", {"command": event.get("command"), "workdir": event.get("cwd")}, result
    )


def _mcp(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    invoked = event.get("invocation")
    call: Record = invoked if isinstance(invoked, dict) else event
    name = ".".join(word for field in ("server", "tool") if (word := text_field(call, field)))
    failure = event.get("error")
    outcome = event.get("result") if event.get("result") is not None else failure
    if isinstance(outcome, dict) and isinstance(outcome.get("message"), str):
        outcome = outcome["message"]
    return _used(event, name or "tool", call.get("arguments"), result_text(outcome, unknown))


def _asked(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return _used(event, text_field(event, "tool") or "tool", event.get("arguments"), "", "asked")


def _answered(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    result = result_text(event.get("content_items"), unknown) or text_field(event, "error") or ""
    return _used(event, text_field(event, "tool") or "tool", event.get("arguments"), result)


def _viewed(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return _used(event, "view_image", {"path": event.get("path")}, "")


def _among_agents(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    """Return what was asked of other agents, and what they said when they were done."""
    told = event.get("agent_statuses") or event.get("statuses") or event.get("agents_states")
    states = told if isinstance(told, list) else list(told.values()) if isinstance(told, dict) else []
    ends = [
        one.get("status", one) if isinstance(one, dict) else one for one in [*states, event.get("status")]
    ]
    results = [
        text for end in ends if isinstance(end, dict) for text in end.values() if isinstance(text, str)
    ]
    name = text_field(event, "tool") or str(event.get("type")).removeprefix("collab_").removesuffix("_end")
    given = {"prompt": event.get("prompt")} if text_field(event, "prompt") else {}
    return _used(event, name, given, "\n".join(results)) if given or results else ()


def _used(event: Record, name: str, given: object, result: str, stage: Stage = "ended") -> Sequence[Saying]:
    call = text_field(event, "call_id") or text_field(event, "callId") or text_field(event, "id")
    parts = [Part("tool_call", call_text(name, given))]
    if result:
        parts.append(Part("tool_result", result))
    ids = (call,) if call else ()
    role: Role = "tool" if stage == "ended" else "assistant"
    return [Saying("e", role, tuple(parts), ids=ids, call=call, stage=stage)]


def _searched(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    origin: Origin = "e" if "call_id" in event else "i"
    ids = tuple(found for name in ("call_id", "id") if (found := text_field(event, name)))
    asked = search_part(event.get("action"), event.get("query"))
    results = event.get("results")
    told = [
        Part("tool_result", "\n".join(words))
        for result in (results if isinstance(results, list) else [])
        if isinstance(result, dict)
        and (words := [text for name in ("title", "url", "snippet") if (text := text_field(result, name))])
    ]
    call = Saying(origin, "assistant", (asked,) if "\n" in asked.text else (), "search", ids)
    return [call, Saying(origin, "tool", tuple(told), "found", ids)]


def _drawn(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    prompt = text_field(event, "revised_prompt")
    parts = (Part("tool_call", call_text("image_generation", {"prompt": prompt})),) if prompt else ()
    return [Saying("e" if "call_id" in event else "i", "assistant", parts, "image", _ids(event))]


def _review(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return [Saying("e", "system", _notices(event, "prompt", "user_facing_hint"))]


def _reviewed(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    output = event.get("review_output")
    if not isinstance(output, dict):
        return ()
    parts = [*_texts(output, "overall_explanation", "overall_correctness")]
    findings = output.get("findings")
    for finding in findings if isinstance(findings, list) else []:
        parts += _texts(finding, "title", "body") if isinstance(finding, dict) else ()
    return [Saying("e", "assistant", tuple(parts), call=REVIEW_CALL)]


def _goal(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    goal = event.get("goal")
    notices = _notices(goal, "objective") if isinstance(goal, dict) else ()
    return [Saying("e", "system", notices, once=True)]


def _judged(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return [Saying("e", "system", _notices(event, "rationale"), once=True)]


def _noted(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return [Saying("e", "system", _notices(event, "message", "summary", "details", "additional_details"))]


def _failed(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    return [Saying("e", "system", _notices(event, "message"), "error")]


def _injected(event: Record, unknown: Counter[str]) -> Sequence[Saying]:
    parts = content_parts(event.get("message", event.get("content")), unknown)
    return [Saying("e", "system", tuple(Part("notice", part.text) for part in parts), "user", once=True)]


def _hook(item: Record, unknown: Counter[str]) -> Sequence[Saying]:
    fragments = item.get("fragments")
    texts = (
        [_notices(one, "text") for one in fragments if isinstance(one, dict)]
        if isinstance(fragments, list)
        else []
    )
    return [
        Saying("i", "system", tuple(part for found in texts for part in found), ids=_ids(item), once=True)
    ]


def _texts(event: Record, *names: str) -> tuple[Part, ...]:
    return tuple(Part("text", text) for name in names if (text := text_field(event, name)))


def _notices(event: Record, *names: str) -> tuple[Part, ...]:
    return tuple(Part("notice", part.text) for part in _texts(event, *names))


def _ids(item: Record) -> tuple[str, ...]:
    return tuple(found for name in ("id", "call_id") if (found := text_field(item, name)))


_Reader = Callable[[Record, Counter[str]], Sequence[Saying]]

_READERS: Mapping[str, _Reader] = {
    "user_message": _user,
    "agent_message": _said,
    "agent_reasoning": _thought,
    "agent_reasoning_raw_content": _thought,
    "task_complete": _finished,
    "turn_complete": _finished,
    "injected_message": _injected,
    "exec_command_end": _ran,
    "patch_apply_end": _ran,
    "mcp_tool_call_end": _mcp,
    "dynamic_tool_call_request": _asked,
    "dynamic_tool_call_response": _answered,
    "view_image_tool_call": _viewed,
    "collab_agent_spawn_end": _among_agents,
    "collab_agent_interaction_end": _among_agents,
    "collab_waiting_end": _among_agents,
    "collab_close_end": _among_agents,
    "collab_resume_end": _among_agents,
    "web_search_end": _searched,
    "image_generation_end": _drawn,
    "entered_review_mode": _review,
    "exited_review_mode": _reviewed,
    "thread_goal_updated": _goal,
    "guardian_assessment": _judged,
    "guardian_warning": _noted,
    "warning": _noted,
    "deprecation_notice": _noted,
    "background_event": _noted,
    "undo_completed": _noted,
    "stream_error": _failed,
    "error": _failed,
}

_ITEM_READERS: Mapping[str, _Reader] = {
    "usermessage": _user_item,
    "agentmessage": _said_item,
    "plan": _plan,
    "reasoning": _thought_item,
    "commandexecution": _ran,
    "filechange": _ran,
    "mcptoolcall": _mcp,
    "dynamictoolcall": _answered,
    "collabagenttoolcall": _among_agents,
    "imageview": _viewed,
    "websearch": _searched,
    "imagegeneration": _drawn,
    "hookprompt": _hook,
    "enteredreviewmode": _review,
    "exitedreviewmode": _reviewed,
}
