"""A transcript is recognised by what stands in it, whatever its name is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.formats import FORMATS, recognise
from chronofile.domain.formats.heads import Head
from chronofile.ingest.reading import sniff

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
needs_samples = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="../shared/data/transcripts is not here")

NEUTRAL = json.dumps({"session": "s", "turn": "1", "role": "user", "text": "Hi"})
CLAUDE = json.dumps(
    {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "Hi"}}
)


NAMES = (
    "type", "role", "content", "text", "message", "messages", "mapping", "chat_messages", "payload", "ts", "id", "uuid",
    "sessionId", "parts", "requests", "loglines", "children", "parent", "time", "parentID", "sender", "author",
)  # fmt: skip


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)


def _records_of(blocks: list[Any]) -> list[dict[str, Any]]:
    """Return the same blocks as the content of a message in the shapes of several formats."""
    said = {"role": "user", "content": blocks}
    author = {"id": "m", "author": {"role": "user"}, "content": {"content_type": "text", "parts": blocks}}
    event = {"content": "x", "attachments": blocks, "toolRequests": blocks, "result": {"contents": blocks}}
    request = {"requestId": "r", "message": {"text": "x", "parts": blocks}, "response": blocks}
    return [
        {"type": "user", "sessionId": "s", "uuid": "u", "message": said},
        {"type": "assistant", "sessionId": "s", "uuid": "u", "message": {"id": "m", "content": blocks}},
        {"type": "message", **said},
        {"type": "response_item", "payload": {"type": "message", **said}},
        {
            "type": "event_msg",
            "payload": {"type": "item_completed", "item": {"type": "AgentMessage", **said}},
        },
        {
            "uuid": "u",
            "chat_messages": [{"uuid": "m", "sender": "human", "content": blocks, "files": blocks}],
        },
        {"id": "m", "type": "gemini", "timestamp": "x", "content": blocks, "toolCalls": blocks},
        {"chunkedPrompt": {"chunks": blocks}},
        {"version": 3, "responderUsername": "x", "requests": [request]},
        {"id": "c", "mapping": {"a": {"id": "a", "message": author}}},
        {"info": {"id": "s"}, "messages": [{"info": {"id": "m", "role": "user"}, "parts": blocks}]},
        {"type": "message", "ts": "1700000000.1", "text": "x", "blocks": blocks, "attachments": blocks},
        {"type": "user.message", "id": "e", "parentId": None, "timestamp": "x", "data": event},
        {"type": "assistant.message", "id": "e", "parentId": None, "timestamp": "x", "data": event},
        {"blobs": "k", "value": said},
        {"role": "tool", "content": blocks, "tool_calls": blocks},
    ]


def _block_shaped(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return records whose blocks have types of any kind, as a damaged file or one of the future may have them."""
    kinds = st.sampled_from(["text", "tool_use", "tool_result", "image", "image_url", "new"]) | value
    fields = ("kind", "text", "content", "input", "source", "url", "image_url")
    block = st.fixed_dictionaries({"type": kinds}, optional=dict.fromkeys(fields, value))
    blocks = st.lists(block | value, min_size=1, max_size=3)
    return blocks.flatmap(lambda found: st.sampled_from(_records_of(found)))


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
VALUES = st.recursive(SCALARS, _nested, max_leaves=20)
FEW = st.recursive(SCALARS, _nested, max_leaves=4)


def name_of(lines: list[str], path_name: str = "x.jsonl") -> str | None:
    found = recognise(Head.of("\n".join(lines), path_name, tuple(lines)))
    return found[0].name if found else None


def test_formats_are_known_by_their_names() -> None:
    assert {key: form.name for key, form in FORMATS.items()} == {
        name: name
        for name in (
            "aider", "chat", "chatgpt", "claude-ai", "claude-code", "codex", "copilot-cli", "copilot-vscode", "cursor",
            "gemini-cli", "messages", "opencode", "slack", "turns",
        )
    }  # fmt: skip


def test_content_decides_and_not_the_name() -> None:
    assert name_of([NEUTRAL], "x.jsonl") == "turns"
    assert name_of([CLAUDE], "x.turns.jsonl") == "claude-code"
    assert name_of(["garbage", "more"], "x.turns.jsonl") is None


def test_damaged_lines_do_not_hide_a_format() -> None:
    assert name_of(["\ufeff" + CLAUDE + "\r", "", "garbage", "[1]", "4"]) == "claude-code"
    assert name_of([NEUTRAL, "garbage", "null"]) == "turns"


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ['{"id": 1, "text": "a row"}', '{"id": 2, "text": "another"}'],
        ['{"name": "x", "version": "1", "dependencies": {}, "scripts": {}}'],
        ['[{"id": 1, "title": "a row", "content": "text", "role": "admin"}]'],
        ['{"nbformat": 4, "cells": [{"cell_type": "code", "source": ["x = 1"]}], "metadata": {}}'],
        ['{"type": "FeatureCollection", "features": [{"type": "Feature", "id": "x"}]}'],
        ['{"$schema": "x", "type": ["object", "null"], "properties": {"messages": {"type": "array"}}}'],
        [CLAUDE, *['{"level":"info","msg":"x"}'] * 9],
        ["[" * 100_000],
    ],
)
def test_other_files_are_no_transcripts(lines: list[str]) -> None:
    assert name_of(lines) is None


FOLDERS = {
    "claude_code": "claude-code", "edge_derived": "claude-code", "claude_ai": "claude-ai", "gemini_cli": "gemini-cli",
    "copilot_cli": "copilot-cli", "copilot_vscode": "copilot-vscode",
}  # fmt: skip
EXEMPT = {
    # A schema of an export, a pointer to one, a broken one, and records without session and ids.
    "ccusage_transcript.jsonl", "only_newlines.jsonl", "ost_invalid.json", "poly_schema_v2.json.gz", "migration",
}  # fmt: skip


@needs_samples
def test_every_sample_is_recognised_as_what_it_is() -> None:
    wrong: dict[str, str | None] = {}
    for path in sorted(TRANSCRIPTS.glob("*/**/*")):
        folder = path.relative_to(TRANSCRIPTS).parts[0]
        if path.is_file() and path.name not in EXEMPT and path.suffix in (".jsonl", ".json", ".md"):
            found = recognise(sniff(path).head)
            named = found[0].name if found else None
            if named != FOLDERS.get(folder, folder) and folder != "other":
                wrong[str(path.relative_to(TRANSCRIPTS))] = named
    assert wrong == {}


@pytest.mark.parametrize("key", [*FORMATS])
@given(VALUES)
@settings(max_examples=60)
def test_no_beginning_makes_a_format_raise(key: str, value: object) -> None:
    _read_with(key, value)


@pytest.mark.parametrize("key", [*FORMATS])
@given(_block_shaped(FEW))
@settings(max_examples=100)
def test_no_type_of_a_block_makes_a_format_raise(key: str, value: object) -> None:
    _read_with(key, value)


@pytest.mark.parametrize("kind", [None, 5, {}, {"a": "b"}, [], ["text"]])
def test_a_block_whose_type_is_no_word_makes_no_format_raise(kind: object) -> None:
    for record in _records_of([{"type": kind, "kind": kind, "role": kind, "text": "x"}]):
        for key in FORMATS:
            _read_with(key, record)


def _read_with(key: str, value: object) -> None:
    line = json.dumps(value)
    for head in (Head.of(line, "x.json", (line,)), Head.of(f"[{line}]", "x.json"), Head.of(line[:-2], "x")):
        FORMATS[key].recognise(head)
    FORMATS[key].identify([line], "x.json")
    folded = FORMATS[key].fold(None, [line, "", "garbage"])
    # A store sorts the keys of what it keeps.
    state = json.loads(json.dumps(folded.state, sort_keys=True))
    FORMATS[key].fold(state, [line, "", "garbage"])
