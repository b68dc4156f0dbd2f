"""The parts of a Slack message: its text, and the words in its blocks, attachments and files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.formats.slack.markup import Names, linked, shown
from chronofile.domain.turns import Part, PartType

_MARKS = re.compile(r"[\s*_~`>•]+")
_ITEM_MARKS = {"bullet": "• "}

# Blocks without words of their own, or whose words stand in the message's text as well.
_SILENT = frozenset({"divider", "share_shortcut", "channel_actions", "event"})
_RICH = "rich_text"
_OBJECTS = (
    "text",
    "title",
    "label",
    "description",
    "hint",
    "placeholder",
    "alt_text",
    "author_name",
    "value",
)
_NESTED = ("elements", "fields", "rows", "accessory", "element", "options", "slack_file")


def message_parts(record: Record, kind: PartType, names: Names, unknown: Counter[str]) -> tuple[Part, ...]:
    """Return the parts of a message: what stood in it, in order, each text once.

    `kind` is the type of what it says itself. What Slack put below it to show where a link leads is a `notice`.
    """
    text = record.get("text")
    if text is not None and not isinstance(text, str):
        unknown["text that is no string"] += 1
    said = shown(text, names) if isinstance(text, str) else ""
    parts = [Part(kind, said)]
    parts += _new(parts, kind, _block_texts(record.get("blocks"), names, unknown, is_rich=not said.strip()))
    for attachment in _records(record.get("attachments")):
        typed: PartType = "notice" if _is_preview(attachment) else kind
        parts += _new(parts, typed, _attachment_texts(attachment, names, unknown))
        parts += _file_parts(parts, kind, _records(attachment.get("files")), names)
    parts += _file_parts(
        parts, kind, [*_records(record.get("files")), *_records([record.get("file")])], names
    )
    comment = record.get("comment")
    if isinstance(comment, Mapping):
        parts += _new(parts, kind, [shown(text_field(comment, "comment") or "", names)])
    return tuple(part for part in parts if part.text)


def _new(parts: Sequence[Part], kind: PartType, texts: Iterable[str]) -> list[Part]:
    """Return the texts that do not stand in an earlier part, white space and emphasis apart."""
    wanted = list(texts)
    there = [_bare(part.text) for part in parts] if wanted else []
    found: list[Part] = []
    for text in wanted:
        bare = _bare(text)
        if bare.strip() and not any(bare in other for other in there):
            found.append(Part(kind, text))
            there.append(bare)
    return found


def _bare(text: str) -> str:
    """Return the words of a text between spaces, so that none is found within a longer one."""
    return f" {_MARKS.sub(' ', text).strip()} "


def _is_preview(attachment: Record) -> bool:
    is_shared = attachment.get("is_share") is True or attachment.get("is_msg_unfurl") is True
    return not is_shared and bool(
        text_field(attachment, "from_url") or text_field(attachment, "original_url")
    )


def _attachment_texts(attachment: Record, names: Names, unknown: Counter[str]) -> Iterator[str]:
    """Yield what an attachment says; its fallback only where it says nothing else."""
    title, link = text_field(attachment, "title"), text_field(attachment, "title_link")
    texts = [text_field(attachment, field) for field in ("pretext", "author_name")]
    texts += [linked(title, link) if title and link else title, text_field(attachment, "text")]
    for row in _records(attachment.get("fields")):
        texts += [text_field(row, "title"), text_field(row, "value")]
    texts.append(text_field(attachment, "footer"))
    found = [shown(text, names) for text in texts if text]
    found += _block_texts(attachment.get("blocks"), names, unknown, is_rich=not found)
    for quoted in _records(attachment.get("message_blocks")):
        message = quoted.get("message")
        inner = message.get("blocks") if isinstance(message, Mapping) else None
        found += _block_texts(inner, names, unknown, is_rich=not attachment.get("text"))
    if found:
        yield from found
    else:
        yield shown(text_field(attachment, "fallback") or "", names)


def _file_parts(
    before: Sequence[Part], kind: PartType, files: Iterable[Record], names: Names
) -> Iterator[Part]:
    """Yield what a file is and is called, and what is known of its text."""
    for file in files:
        yield Part(kind, _fact(file))
        for text in _file_texts(file, names):
            yield from _new(before, kind, [text])


def _fact(file: Record) -> str:
    mode = text_field(file, "mode")
    name = text_field(file, "name") or text_field(file, "title")
    facts = [name, text_field(file, "mimetype") or text_field(file, "filetype")]
    size = file.get("size")
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        facts.append(f"{size} bytes")
    if mode in ("tombstone", "hidden_by_limit"):
        facts.append("deleted" if mode == "tombstone" else "hidden by a limit")
    if mode == "external":
        facts.append(text_field(file, "url_private"))
    told = ", ".join(fact for fact in facts if fact)
    return f"[file {told}]" if told else "[file]"


def _file_texts(file: Record, names: Names) -> Iterator[str]:
    title = text_field(file, "title")
    if title and title != text_field(file, "name") and text_field(file, "mode") != "tombstone":
        yield title
    for field in ("subject", "alt_txt"):
        yield text_field(file, field) or ""
    comment = file.get("initial_comment")
    if isinstance(comment, Mapping):
        yield shown(text_field(comment, "comment") or "", names)
    spoken = file.get("transcription")
    if isinstance(spoken, Mapping) and isinstance(spoken.get("preview"), Mapping):
        yield text_field(spoken["preview"], "content") or ""
    yield text_field(file, "plain_text") or text_field(file, "preview") or ""


def _block_texts(blocks: object, names: Names, unknown: Counter[str], *, is_rich: bool) -> list[str]:
    """Return the words of blocks, one text each; those of rich text only with `is_rich`, else the text has them."""
    texts: list[str] = []
    for block in _records(blocks):
        kind = text_field(block, "type") or "without a type"
        if kind == _RICH:
            texts += [_rich(block, names, unknown)] if is_rich else []
        elif kind in _BLOCKS:
            texts += _words(block, names, unknown)
        elif kind not in _SILENT:
            unknown[f"block {kind}"] += 1
            texts += _words(block, names, unknown)
    return texts


_BLOCKS = frozenset(
    {
        "actions", "call", "context", "context_actions", "file", "header", "image", "input", "markdown", "section",
        "table", "video",
    }
)  # fmt: skip


def _words(block: Record, names: Names, unknown: Counter[str]) -> list[str]:
    """Return the texts in a block and in what it is made of."""
    if block.get("type") == _RICH:
        return [_rich(block, names, unknown)]
    texts: list[str] = []
    for field in _OBJECTS:
        value = block.get(field)
        if isinstance(value, str):
            is_button = field == "value" and "text" in block
            texts += [] if is_button or not value else [shown(value, names)]
        elif isinstance(value, Mapping):
            texts += _words(value, names, unknown)
    for field in _NESTED:
        nested = block.get(field)
        for row in nested if isinstance(nested, list) else [nested]:
            for one in _records(row if isinstance(row, list) else [row]):
                texts += _words(one, names, unknown)
    call = block.get("call")
    if isinstance(call, Mapping):
        texts += [name for one in _records(list(call.values())) if (name := text_field(one, "name"))]
    return texts


def _rich(block: Record, names: Names, unknown: Counter[str]) -> str:
    """Return a rich text as plain text: its sections one after the other, items of lists on lines of their own."""
    pieces: list[str] = []
    for section in _records(block.get("elements")):
        is_list = section.get("type") == "rich_text_list"
        lines = [_inline(section, names, unknown)]
        if is_list:
            mark = _ITEM_MARKS.get(str(section.get("style")), "")
            items = [_inline(item, names, unknown) for item in _records(section.get("elements"))]
            lines = [f"{mark or f'{number}. '}{item}" for number, item in enumerate(items, start=1)]
        if pieces and not pieces[-1].endswith("\n"):
            pieces.append("\n")
        pieces.append("\n".join(lines))
    return "".join(pieces)


def _inline(section: Record, names: Names, unknown: Counter[str]) -> str:
    return "".join(_element(element, names, unknown) for element in _records(section.get("elements")))


def _element(element: Record, names: Names, unknown: Counter[str]) -> str:
    kind = text_field(element, "type") or "without a type"
    text = text_field(element, "text") or ""
    match kind:
        case "text":
            return text
        case "link":
            return linked(text, text_field(element, "url") or "")
        case "user":
            person = text_field(element, "user_id") or ""
            return f"@{names.shown(person) or person}"
        case "channel":
            channel = text_field(element, "channel_id") or ""
            return f"#{names.channels.get(channel) or channel}"
        case "emoji":
            return f":{text_field(element, 'name') or ''}:"
        case "usergroup":
            return f"@{text_field(element, 'usergroup_id') or ''}"
        case "broadcast":
            return f"@{text_field(element, 'range') or ''}"
        case "date":
            return text_field(element, "fallback") or ""
        case "color":
            return text_field(element, "value") or ""
        case "rich_text_section" | "rich_text_preformatted" | "rich_text_quote" | "rich_text_list":
            return _inline(element, names, unknown)
    unknown[f"element {kind}"] += 1
    return text


def _records(values: object) -> list[Record]:
    return [one for one in values if isinstance(one, Mapping)] if isinstance(values, list) else []
