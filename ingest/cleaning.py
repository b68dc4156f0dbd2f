"""Cleaning: what is left of a range's bytes when secrets and erased passages are taken out of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from chronofile.domain.documents import Extracted
from chronofile.domain.erasure import SHORT_CHARS, Span, without
from chronofile.domain.formats import slack
from chronofile.domain.ports import Extractor
from chronofile.domain.rejection import NotRead
from chronofile.ingest import documents
from chronofile.ingest.gathered import KeyOf
from chronofile.ingest.literals import literals as spans_of
from chronofile.ingest.redaction import Redacted, redact
from chronofile.ingest.sighting import Sighting

ERASED = "erased"
"""The name under which passages that were left out are counted, beside the rules of redaction."""

Clean = Callable[[bytes, Sighting, Sequence[Span]], Redacted]
Remove = Callable[[str], tuple[str, int]]
"""Takes something out of a text and counts it; a text in which there is none comes back as it is."""

FIELDS_KEPT = frozenset(
    {
        "$mid", "$rewindTo", "account_uuid", "agent_nickname", "agent_role", "agentId", "agentName",
        "apiCallId", "asset_pointer", "at", "blobs", "bot_id", "bubbleId", "call_id", "callID", "callId",
        "channel", "channel_id", "cli_version", "client_msg_id", "commandMode", "composerId",
        "content_type", "conversation_id", "created_at", "createTime", "current_leaf_message_uuid",
        "current_node", "cursorDiskKV", "cwd", "day", "default_model_slug", "delivery", "direction",
        "errorType", "file_type", "file_uuid", "forked_from_id", "format", "gitBranch", "id", "infoType",
        "initialLocation", "interactionId", "isSidechain", "ItemTable", "kind", "lastUpdated", "leafUuid",
        "level", "logicalParentUuid", "media_type", "message_id", "messageID", "messageId", "mime_type",
        "mimeType", "model", "model_slug", "namespace", "operation", "originator", "parent", "parent_id",
        "parent_message_uuid", "parent_tool_use_id", "parent_user_id", "parentID", "parentId",
        "parentToolCallId", "parentUuid", "partID", "producer", "projectHash", "projectID", "promptId",
        "provider", "provider_session_id", "provider_turn_id", "recipient", "record_type", "requestId",
        "responderUsername", "responseId", "role", "scheme", "scope", "sender", "session", "session_id",
        "sessionID", "sessionId", "slug", "sourceToolAssistantUUID", "start_timestamp", "startTime",
        "status", "stop_reason", "stop_timestamp", "subtype", "team", "textdoc_id", "textdoc_type",
        "thread_id", "thread_ts", "timestamp", "tool", "tool_name", "tool_use_id", "toolCallId", "toolId",
        "toolName", "ts", "turn", "turn_id", "turnId", "type", "updated_at", "upToEventId", "user",
        "user_id", "userType", "uuid", "version",
    }
)  # fmt: skip
"""Names of fields of transcripts whose values say how a record is to be read, and not what somebody said.

`name` is none of them: with some tools it is what a conversation is called.
"""

_COLON = re.compile(r"\s*:")
_LONE_SURROGATE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_MARKED_ENCODINGS = ("utf-8", "utf-8-sig")


def cleaning(key_of: KeyOf, *, redacting: bool, extractor: Extractor | None = None) -> Clean:
    """Return what cleans the ranges of a store; `redacting` is whether secrets are taken out.

    Documents, which `extractor` reads, are kept as their text where something is taken out of that. Raises NotRead
    for one that cannot be read, and for each where there is no extractor.
    """

    def clean(content: bytes, sighting: Sighting, spans: Sequence[Span]) -> Redacted:
        found = Redacted(content, {})
        if documents.is_document(sighting.kind, sighting.format):
            return _of_document(content, sighting, spans)
        if redacting:
            found = redact(
                content,
                encoding=sighting.encoding,
                records=sighting.holds_json,
                name=sighting.path.name,
                marked_up=sighting.format == slack.name,
            )
        if not spans:
            return found
        # Erased passages are known as they were stored, which is without the secrets in them.
        left = cut_out(
            found.content,
            lambda text: without(text, spans, key_of),
            encoding=sighting.encoding,
            records=sighting.holds_json,
        )
        return Redacted(left.content, Counter(found.counts) + Counter(left.counts))

    def _of_document(content: bytes, sighting: Sighting, spans: Sequence[Span]) -> Redacted:
        def extract(document: bytes) -> Extracted:
            return documents.extracted(document, sighting.format, extractor, sighting.path)

        if extractor is None:
            raise NotRead(sighting.path, "documents-extra")
        found = Redacted(content, {})
        if redacting:
            found = documents.without_secrets(
                content, sighting.format, extract, encoding=sighting.encoding, name=sighting.path.name
            )
        if not spans:
            return found
        text = found.content if found.is_text else extract(found.content).text.encode()
        left = cut_out(text, lambda said: without(said, spans, key_of), encoding="utf-8", records=False)
        counts = Counter(found.counts) + Counter(left.counts)
        return Redacted(left.content, counts, is_text=True) if left.counts else found

    return clean


def cut_out(content: bytes, remove: Remove, *, encoding: str, records: bool) -> Redacted:
    """Take something out of a file's text, or with `records` out of the strings in each line of JSON.

    All else stays byte for byte; where nothing is taken out the content is the very same object. Bytes that are
    invalid in another encoding than UTF-8 become U+FFFD, or what the encoding has for it, where something is.
    """
    cleaned, count = (_of_records(content, remove) if records else _of_text(content, encoding, remove)) or (
        content,
        0,
    )
    return Redacted(cleaned, {ERASED: count} if count else {})


def literals(line: str) -> Iterator[tuple[int, int, str | None, str]]:
    """Yield the strings of a line of JSON that are values: span of the literal, the field's name, what it says.

    The name is None within a list. A line that is no JSON yields what looks like it.
    """
    name: str | None = None
    end_of_name = -1
    for start, end in spans_of(line):
        if colon := _COLON.match(line, end + 1):
            name, end_of_name = line[start:end], colon.end()
            continue
        said = said_in(line[start:end])
        if said is not None:
            own = name if end_of_name != -1 and not line[end_of_name : start - 1].strip() else None
            yield start - 1, end + 1, own, said
        end_of_name = -1


def literal(value: object) -> str:
    """Return a text, or any value, as JSON, as it is written into a line that is decoded with `surrogateescape`."""
    written = json.dumps(value, ensure_ascii=False)
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def forms(text: str, levels: int) -> set[str]:
    """Return a text as it may stand in a file or in a string: as it is, and as JSON within it, up to so many times.

    JSON may be written with or without characters that are no ASCII, and line breaks as Windows has them.
    """
    found = {text}
    if "\n" in text and "\r" not in text:
        found.add(text.replace("\n", "\r\n"))
    level = found
    for _ in range(levels):
        level = {written for form in level for written in (literal(form)[1:-1], _in_ascii(form))}
        found = found | level
    return found


def _in_ascii(text: str) -> str:
    return json.dumps(text)[1:-1]


def rewritten(line: str, changes: Sequence[tuple[int, int, object]]) -> str:
    """Return a line with other values in place of some; each change is the span of a value and the new one."""
    pieces, at = [], 0
    for start, end, text in changes:
        pieces += [line[at:start], literal(text)]
        at = end
    return "".join([*pieces, line[at:]])


def said_in(written: str) -> str | None:
    """Return what a literal of JSON says, given without its quotation marks; None where it is none."""
    if "\\" not in written:
        return written
    try:
        said = json.loads(f'"{written}"', strict=False)
    except ValueError:
        return None
    return said if isinstance(said, str) else None


def decoded_line(line: bytes) -> str:
    """Return a line of a transcript as text; each byte that is no UTF-8 comes back as it was."""
    return line.decode("utf-8", "surrogateescape")


def encoded_line(line: str) -> bytes:
    return line.encode("utf-8", "surrogateescape")


def _of_text(content: bytes, encoding: str, remove: Remove) -> tuple[bytes, int] | None:
    errors = "surrogateescape" if encoding.lower() in _MARKED_ENCODINGS else "replace"
    cleaned, count = remove(content.decode(encoding, errors))
    return (cleaned.encode(encoding, errors), count) if count else None


def _of_records(content: bytes, remove: Remove) -> tuple[bytes, int] | None:
    lines = content.split(b"\n")
    total = 0
    for number, line in enumerate(lines):
        text = decoded_line(line)
        cleaned, count = _of_record(text, remove)
        if count:
            lines[number] = encoded_line(cleaned)
            total += count
    return (b"\n".join(lines), total) if total else None


def _of_record(line: str, remove: Remove) -> tuple[str, int]:
    changes: list[tuple[int, int, str]] = []
    total = 0
    for start, end, name, said in literals(line):
        if name in FIELDS_KEPT and len(said) < SHORT_CHARS:
            continue  # A word such as "text" may be the name of a kind of record.
        cleaned, count = remove(said)
        if count:
            changes.append((start, end, cleaned))
            total += count
    cleaned = rewritten(line, changes) if changes else line
    if not _is_json(line):
        # Nobody knows what is a string there.
        cleaned, count = remove(cleaned)
        total += count
    return cleaned, total


def _is_json(line: str) -> bool:
    try:
        json.loads(line.removeprefix("\ufeff"))
    except RecursionError:
        return True
    except ValueError:
        return not line.strip()
    return True
