"""OpenCode's parts: what a message holds, one after the other, as typed parts of a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from chronofile.domain.formats.blocks import assistant_parts
from chronofile.domain.formats.cursor.bubbles import embedded, readable
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import Part

TYPES = frozenset(
    {
        "agent", "compaction", "file", "patch", "reasoning", "retry", "snapshot", "step-finish", "step-start",
        "subtask", "text", "tool",
    }
)  # fmt: skip

# These hold no words: where a step begins and ends, states of the files, a mention that the text has too,
# and the mark before which everything is summarised in the message that follows.
_SILENT = frozenset({"step-start", "step-finish", "snapshot", "agent", "compaction"})


def split_parts(
    parts: Iterable[tuple[str, Record]], mark: str | None, unknown: Counter[str]
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Return the parts before the one of an id, and from it on; all and none where there is no such id."""
    kept: list[Part] = []
    left: list[Part] = []
    into = kept
    for own, record in parts:
        into = left if mark is not None and own == mark else into
        into += [part for part in _part(record, unknown) if part.text]
    return tuple(kept), tuple(left)


def _part(record: Record, unknown: Counter[str]) -> Iterator[Part]:
    kind = text_field(record, "type") or ""
    read = _READERS.get(kind)
    if read is not None:
        yield from read(record)
    elif kind not in _SILENT:
        unknown[f"part {kind}"] += 1


def _text(record: Record) -> Iterator[Part]:
    is_injected = record.get("synthetic") is True or record.get("ignored") is True
    yield Part("notice" if is_injected else "text", text_field(record, "text") or "")


def _reasoning(record: Record) -> Iterator[Part]:
    yield Part("thinking", text_field(record, "text") or "")


def _tool(record: Record) -> Iterator[Part]:
    state = embedded(record.get("state"))
    held: Record = state if isinstance(state, dict) else {}
    given = embedded(held.get("input")) or embedded(held.get("raw"))
    called = text_field(record, "tool") or text_field(record, "name")
    yield from assistant_parts([{"type": "tool_use", "name": called, "input": given}], Counter())
    yield Part("tool_result", readable(held.get("output")))
    for one in records(held.get("content")):
        yield Part("tool_result", text_field(one, "text") or "")
    yield Part("tool_result", _message_of(held.get("error")))
    for one in records(held.get("attachments")):
        yield from _file(one)


def _file(record: Record) -> Iterator[Part]:
    """Yield what a file is; its text, if it was given to the model, is a part that the tool put in."""
    url = text_field(record, "url") or text_field(record, "uri") or ""
    facts = [text_field(record, "filename") or text_field(record, "name"), text_field(record, "mime")]
    if url.startswith("data:"):
        content = url.partition(",")[2]
        facts.append(f"{len(content) * 3 // 4 - content[-2:].count('=')} bytes")
    else:
        facts.append(url)
    named = ", ".join(fact for fact in facts if fact)
    yield Part("text", f"[file {named}]" if named else "[file]")


def _patch(record: Record) -> Iterator[Part]:
    files = record.get("files")
    names = [one for one in files if isinstance(one, str)] if isinstance(files, list) else []
    yield Part("notice", f"[patch {', '.join(names)}]" if names else "")


def _subtask(record: Record) -> Iterator[Part]:
    fields = {key: record[key] for key in ("agent", "description", "command", "prompt") if record.get(key)}
    yield from assistant_parts([{"type": "tool_use", "name": "subtask", "input": fields}], Counter())


def _retry(record: Record) -> Iterator[Part]:
    yield from failure(record.get("error"))


def failure(error: object) -> Iterator[Part]:
    """Yield what an error says as a notice, nothing where there is none."""
    said = _message_of(error)
    if said:
        yield Part("notice", said)


def _message_of(error: object) -> str:
    """Return what an error says, its name where it says nothing."""
    if not isinstance(error, dict):
        return readable(error)
    inner = error.get("data")
    said = text_field(inner, "message") if isinstance(inner, dict) else None
    return said or text_field(error, "message") or text_field(error, "name") or readable(error)


_READERS: Mapping[str, Callable[[Record], Iterator[Part]]] = {
    "text": _text,
    "reasoning": _reasoning,
    "tool": _tool,
    "file": _file,
    "patch": _patch,
    "subtask": _subtask,
    "retry": _retry,
}


def _prompt(value: Record, unknown: Counter[str]) -> Iterator[Part]:
    yield from _text(value)
    for one in records(value.get("files")):
        yield from _file(one)


def _answer(value: Record, unknown: Counter[str]) -> Iterator[Part]:
    for one in records(value.get("content")):
        yield from _part(one, unknown)


def _shell(value: Record, unknown: Counter[str]) -> Iterator[Part]:
    call = {"type": "tool_use", "name": "shell", "input": {"command": value.get("command")}}
    yield from assistant_parts([call], unknown)
    yield Part("tool_result", readable(value.get("output")))


def _injected(value: Record, unknown: Counter[str]) -> Iterator[Part]:
    yield Part("notice", text_field(value, "text") or "")


def _summary(value: Record, unknown: Counter[str]) -> Iterator[Part]:
    yield Part("summary", text_field(value, "summary") or "")


LATER: Mapping[str, Callable[[Record, Counter[str]], Iterator[Part]]] = {
    "user": _prompt,
    "assistant": _answer,
    "shell": _shell,
    "synthetic": _injected,
    "system": _injected,
    "compaction": _summary,
}
"""The kinds of messages of the later table, in which a message holds its own content."""


def records(value: object) -> list[Record]:
    """Return the objects of a list, which may stand there as a string of JSON; none where it is none."""
    value = embedded(value)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
