"""The contents of ChatGPT's messages as typed parts, by their `content_type`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from chronofile.domain.formats.attachments import attached, size, without_base64
from chronofile.domain.formats.calls import strings
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import Part, PartType

_WORDS = (
    "name", "title", "url", "parts", "text", "code", "content", "result", "output_str", "summary", "snippet", "message",
    "thoughts", "user_profile", "user_instructions", "model_set_context", "shared_prompt", "context_parts",
)  # fmt: skip
"""Fields in which a content of an unknown type may have words, in reading order."""


def content_parts(content: object, kind: PartType, unknown: Counter[str]) -> list[Part]:
    """Return the parts of a message's content; `kind` is what its words are: a text, a tool's result, a notice.

    Types that are not known are counted in `unknown`, and their words come out nevertheless.
    """
    try:
        found = list(_parts(content, kind, unknown))
    except RecursionError:
        unknown["content that is nested too deeply"] += 1
        found = [Part(kind, said) for said in strings(content)]
    return [part for part in found if part.text]


def pointers(content: object) -> set[str]:
    """Return the ids of the files that a content shows in their place."""
    shown = content.get("parts") if isinstance(content, dict) else None
    found = [part for part in shown if isinstance(part, dict)] if isinstance(shown, list) else []
    named = [pointer for part in found if (pointer := text_field(part, "asset_pointer"))]
    return {pointer.rpartition("/")[2] for pointer in named}


def _parts(content: object, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    if isinstance(content, str):
        yield Part(kind, without_base64(content))
    elif isinstance(content, list):
        for inner in content:
            yield from _parts(inner, kind, unknown)
    elif isinstance(content, dict):
        named = content.get("content_type")
        read = _READERS.get(named) if isinstance(named, str) else _text if named is None else None
        if read is None:
            unknown[f"content {named}"] += 1
            read = _any
        yield from read(content, kind, unknown)
    elif content is not None:
        unknown["content"] += 1


def _fields(content: Record, names: Sequence[str], kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    """Yield what fields say, the same words once."""
    said: set[Part] = set()
    for name in names:
        for part in _parts(content.get(name), kind, unknown):
            if part not in said:
                said.add(part)
                yield part


def _any(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    ignored: Counter[str] = Counter()  # What is within a thing of an unknown type was counted with it.
    yield from _fields(content, _WORDS, kind, ignored)


def _text(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    names = ("parts",) if content.get("parts") else ("text", "content")
    for name in names:
        yield from _parts(content.get(name), kind, unknown)


def _code(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    yield from _fields(content, ("text", "code", "parts"), kind, unknown)
    yield from _fields(content, ("result",), "tool_result", unknown)


def _output(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    yield from _fields(content, ("text", "output_str", "parts"), "tool_result", unknown)


def _thoughts(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    thoughts = content.get("thoughts")
    for thought in thoughts if isinstance(thoughts, list) else [thoughts]:
        if isinstance(thought, dict):
            # The chunks are what the content was put together from.
            said = ("summary", "content" if thought.get("content") else "chunks")
            yield from _fields(thought, said, "thinking", unknown)
        else:
            yield from _parts(thought, "thinking", unknown)
    yield from _fields(content, ("parts", "text", "content"), "thinking", unknown)


def _quote(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    yield from _fields(content, ("title", "url", "text"), kind, unknown)
    snippet = text_field(content, "snippet")
    if snippet and snippet not in (text_field(content, "text") or ""):
        yield Part(kind, snippet)


def _computer(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    state = content.get("state")
    if isinstance(state, dict):
        yield from _fields(state, ("title", "url"), kind, unknown)
    yield from _parts(content.get("screenshot"), kind, unknown)


def _picture(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
    width, height = content.get("width"), content.get("height")
    has_size = isinstance(width, int) and isinstance(height, int)
    dimensions = f"{width} x {height} pixels" if has_size else None
    yield Part(kind, attached("image", size(content.get("size_bytes")), dimensions))
    metadata = content.get("metadata")
    painted = metadata.get("dalle") if isinstance(metadata, dict) else None
    if isinstance(painted, dict):
        yield from _fields(painted, ("prompt",), kind, unknown)


def _recording(name: str) -> _Reader:
    def read(content: Record, kind: PartType, unknown: Counter[str]) -> Iterator[Part]:
        yield Part(kind, attached(name, content.get("format"), size(content.get("size_bytes"))))

    return read


def _own(*names: str, kind: PartType | None = None) -> _Reader:
    """Return what reads the words of fields, which are of a kind of their own or of the message's."""

    def read(content: Record, words: PartType, unknown: Counter[str]) -> Iterator[Part]:
        yield from _fields(content, names, kind or words, unknown)

    return read


_Reader = Callable[[Record, PartType, Counter[str]], Iterator[Part]]

_READERS: Mapping[str, _Reader] = {
    "text": _text,
    "multimodal_text": _text,
    "code": _code,
    "execution_output": _output,
    "citable_code_output": _output,
    "thoughts": _thoughts,
    "reasoning_recap": _own("content", "parts", "text", "summary", kind="notice"),
    "user_editable_context": _own("user_profile", "user_instructions", "parts", "text", kind="notice"),
    "model_editable_context": _own(
        "model_set_context", "repo_summary", "structured_context", "parts", "text", kind="notice"
    ),
    "app_pairing_content": _own("shared_prompt", "context_parts", "text", "parts", kind="notice"),
    "tether_quote": _quote,
    "sonic_webpage": _quote,
    "tether_browsing_display": _own("result", "summary", "text", "parts"),
    "tether_browsing_code": _own("text", "code", "result", "parts"),
    "system_error": _own("name", "text", "parts"),
    "computer_output": _computer,
    "audio_transcription": _own("text"),
    "image_asset_pointer": _picture,
    "audio_asset_pointer": _recording("audio"),
    "video_container_asset_pointer": _recording("video"),
    "real_time_user_audio_video_asset_pointer": _recording("audio and video"),
}
