"""Response items of Codex's rollouts: what the model was given and what it gave, as sayings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from chronofile.domain.formats.codex.content import call_text, content_parts, result_text
from chronofile.domain.formats.codex.injected import REVIEW, is_injected
from chronofile.domain.formats.codex.said import Saying
from chronofile.domain.formats.records import Record, compact_json, text_field
from chronofile.domain.turns import Part

REVIEW_CALL = "review"
"""Stands for the call of a review, which has no id."""

# These carry no words: states of a repository, what is encrypted, lists of tools.
_SILENT = frozenset(
    {
        "additional_tools", "compaction", "compaction_summary", "compaction_trigger", "context_compaction",
        "ghost_snapshot", "other",
    }
)  # fmt: skip


def sayings(item: Record, unknown: Counter[str]) -> list[Saying]:
    """Return what an item says; an item of a type that is not known is counted by it."""
    kind = item.get("type")
    if not isinstance(kind, str):
        kind = "message" if isinstance(item.get("role"), str) else str(kind)
    read = _READERS.get(kind)
    if read is not None:
        said = read(item, unknown)
        return [said] if said.parts else []
    if kind not in _SILENT:
        unknown[f"item {kind}"] += 1
    return []


def is_item(record: Record) -> bool:
    """Tell whether a record is itself an item, as in the oldest rollouts."""
    return text_field(record, "type") in _READERS or (
        record.get("type") is None
        and isinstance(record.get("role"), str)
        and ("content" in record or "message" in record)
    )


def search_part(action: object, query: object) -> Part:
    """Return a search of the web as a call, in the same words whichever record tells of it."""
    fields = dict(action) if isinstance(action, dict) else {}
    fields.pop("type", None)
    if not any(fields.values()) and isinstance(query, str) and query:
        fields = {"query": query}
    listed = fields.get("queries")
    if isinstance(listed, list) and listed in ([fields.get("query")], []):
        fields.pop("queries")
    return Part(
        "tool_call", call_text("web_search", {name: value for name, value in fields.items() if value})
    )


def _message(item: Record, unknown: Counter[str]) -> Saying:
    content = item.get("content") if "content" in item else item.get("message")
    parts = content_parts(content, unknown)
    ids, role = _ids(item), item.get("role")
    if role == "assistant":
        return Saying("r", "assistant", tuple(parts), "assistant", ids)
    if role == "tool":
        results = tuple(Part("tool_result", part.text) for part in parts)
        return Saying("r", "tool", results, ids=ids)
    if role != "user":
        return Saying("r", "system", _notices(parts), ids=ids, once=True)
    told = tuple(Part("notice", part.text) if is_injected(part.text) else part for part in parts)
    review = REVIEW_CALL if any(part.text.startswith(REVIEW) for part in told) else None
    return Saying("r", "user", told, "user", ids, call=review, once=True)


def _reasoning(item: Record, unknown: Counter[str]) -> Saying:
    parts = content_parts(item.get("summary"), unknown, "thinking")
    parts += content_parts(item.get("content"), unknown, "thinking")
    return Saying("r", "assistant", tuple(parts), "thinking", _ids(item))


def _call(item: Record, unknown: Counter[str]) -> Saying:
    function = item.get("function")
    named = function if isinstance(function, dict) else {}
    name = text_field(item, "name") or text_field(named, "name")
    space = text_field(item, "namespace")
    if name and space:
        name = f"{space}.{name}"
    fields = ("arguments", "input", "action", "parameters")
    given = next(
        (found for field in fields if (found := item.get(field)) is not None), named.get("arguments")
    )
    name = name or str(item.get("type")).removesuffix("_call")
    if given is None and (summary := text_field(item, "summary")):
        given = {"summary": summary}
    part = Part("tool_call", call_text(name, given))
    return Saying("r", "assistant", (part,), ids=_ids(item), call=text_field(item, "call_id"))


def _output(item: Record, unknown: Counter[str]) -> Saying:
    given = item.get("output") if item.get("output") is not None else item.get("result")
    found = result_text(given, unknown)
    if not found and item.get("tools"):
        found = compact_json(item["tools"])
    return Saying(
        "r",
        "tool",
        (Part("tool_result", found),) if found else (),
        ids=_ids(item),
        call=text_field(item, "call_id"),
    )


def _search(item: Record, unknown: Counter[str]) -> Saying:
    part = search_part(item.get("action"), item.get("query"))
    return Saying("r", "assistant", (part,), "search", _ids(item))


def _image(item: Record, unknown: Counter[str]) -> Saying:
    prompt = text_field(item, "revised_prompt") or text_field(item, "prompt") or ""
    part = Part("tool_call", call_text("image_generation", {"prompt": prompt}))
    return Saying("r", "assistant", (part,) if prompt else (), "image", _ids(item))


def _agent_message(item: Record, unknown: Counter[str]) -> Saying:
    """Return what another agent wrote to this one, or this one to another."""
    parts = content_parts(item.get("content"), unknown)
    return Saying("r", "user", tuple(parts), "mail", _ids(item), speaker=text_field(item, "author"))


def _error(item: Record, unknown: Counter[str]) -> Saying:
    text = text_field(item, "text") or text_field(item, "message")
    return Saying("r", "system", (Part("notice", text),) if text else (), "error", _ids(item))


def _notices(parts: list[Part]) -> tuple[Part, ...]:
    return tuple(Part("notice", part.text) for part in parts)


def _ids(item: Record) -> tuple[str, ...]:
    return tuple(found for name in ("id", "call_id") if (found := text_field(item, name)))


_READERS: Mapping[str, Callable[[Record, Counter[str]], Saying]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "custom_tool_call": _call,
    "local_shell_call": _call,
    "mcp_tool_call": _call,
    "tool_call": _call,
    "tool_search_call": _call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "local_shell_call_output": _output,
    "mcp_tool_call_output": _output,
    "function_result": _output,
    "tool_result": _output,
    "tool_search_output": _output,
    "web_search_call": _search,
    "image_generation_call": _image,
    "agent_message": _agent_message,
    "error": _error,
}
