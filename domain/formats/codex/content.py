"""Content of Codex's records: blocks, calls and results in the shapes of OpenAI's API, as typed parts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from chronofile.domain.formats.blocks import RESULT_SEPARATOR
from chronofile.domain.formats.calls import call_lines
from chronofile.domain.formats.codex.injected import is_image_tag
from chronofile.domain.formats.records import compact_json, text_field
from chronofile.domain.turns import Part, PartType

_TEXT_FIELDS = ("text", "refusal", "transcript")
_TEXTS = frozenset(
    {"input_text", "output_text", "text", "inputtext", "summary_text", "reasoning_text", "refusal", "none"}
)
# What nobody can read, and what only names what a text block says.
_SILENT = frozenset({"encrypted_content", "skill", "mention"})
# Of a result these say how it was, and not what it is; its content was read before.
_FACTS = frozenset({"_meta", "content", "isError", "is_error", "success"})
_WRAPPED = '{"output":'


def content_parts(content: object, unknown: Counter[str], kind: PartType = "text") -> list[Part]:
    """Return the parts of a message's content: a string or a list of blocks, attachments as what they are.

    Types of blocks that are not known are counted in `unknown`; their text is taken all the same.
    """
    parts = []
    for block in content if isinstance(content, list) else [content]:
        is_attached, text = _block(block, unknown)
        if text and not (kind == "text" and not is_attached and is_image_tag(text)):
            parts.append(Part(kind, text))
    return parts


def attachments(values: object, label: str = "image") -> Iterator[Part]:
    """Yield what is attached, from a list of addresses, paths or blocks."""
    for value in values if isinstance(values, list) else []:
        named = value if isinstance(value, dict) else {"path": value}
        addresses = (text_field(named, name) for name in ("path", "url", "image_url"))
        yield Part("text", _fact(label, next(filter(None, addresses), None)))


def result_text(output: object, unknown: Counter[str]) -> str:
    """Return a tool's output as text: a string, blocks, or an object with either in it.

    Older versions wrap what a command printed in JSON with its exit code; the wrapping is taken off.
    """
    if isinstance(output, str):
        return _unwrapped(output)
    if isinstance(output, list):
        found = (_block(block, unknown)[1] for block in output)
        return RESULT_SEPARATOR.join(text for text in found if text)
    if not isinstance(output, dict):
        return "" if output is None else compact_json(output)
    for name in ("Ok", "Err"):
        if name in output:
            return result_text(output[name], unknown)
    for name in ("content", "output"):
        if name in output and (text := result_text(output[name], unknown)):
            return text
    if isinstance(output.get("type"), str):
        return _block(output, unknown)[1]
    streams = list(filter(None, (text_field(output, name) for name in ("stdout", "stderr"))))
    if streams:
        return RESULT_SEPARATOR.join(streams)
    told = {name: value for name, value in output.items() if name not in _FACTS and value is not None}
    return compact_json(told) if told else ""


def call_text(name: str, given: object) -> str:
    """Return a call as its name and its arguments, one a line; they may be JSON within a string."""
    if isinstance(given, str):
        given = _decoded(given)
    fields = given if isinstance(given, Mapping) else {"input": given} if given else {}
    lines = [line for field, value in fields.items() if value is not None for line in _lines(field, value)]
    return "\n".join([name, *lines])


def _block(block: object, unknown: Counter[str]) -> tuple[bool, str]:
    """Return whether a block is an attachment, and its text."""
    if isinstance(block, str):
        return False, block
    if not isinstance(block, dict):
        if block is not None:
            unknown["block"] += 1
        return False, ""
    kind = str(block.get("type")).casefold()
    text = next(filter(None, (text_field(block, name) for name in _TEXT_FIELDS)), "")
    if kind in _TEXTS:
        return False, text
    if "image" in kind or "file" in kind or "audio" in kind:
        label = next(label for label in ("image", "file", "audio") if label in kind)
        names = ("image_url", "imageUrl", "url", "path", "filename", "data")
        address = next((found for name in names if (found := text_field(block, name))), None)
        return not text, text or _fact(label, address)
    if kind not in _SILENT:
        unknown[f"block {block.get('type')}"] += 1
    return False, text


def _fact(label: str, address: str | None) -> str:
    """Return what an attachment is: its media type and size where it is written out, else where it lies."""
    if not address:
        return f"[{label}]"
    if not address.startswith("data:"):
        return f"[{label} {address}]" if len(address) <= 2_000 else f"[{label}, {len(address)} characters]"
    head, _, written = address.partition(",")
    # Base64 writes three bytes as four characters, the last ones filled up with "=".
    size = len(written) * 3 // 4 - written[-2:].count("=") if head.endswith(";base64") else len(written)
    media_type = head.removeprefix("data:").partition(";")[0]
    return f"[{label} {media_type}, {size} bytes]" if media_type else f"[{label}, {size} bytes]"


def _unwrapped(output: str) -> str:
    if not output.startswith(_WRAPPED):
        return output
    found = _decoded(output)
    inner = (
        found.get("output") if isinstance(found, dict) and found.keys() <= {"output", "metadata"} else None
    )
    return inner if isinstance(inner, str) else output


def _decoded(text: str) -> object:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


def _lines(field: str, value: object) -> Iterator[str]:
    is_words = isinstance(value, list) and all(isinstance(word, str) for word in value)
    return call_lines(field, " ".join(value) if is_words and isinstance(value, list) else value)
