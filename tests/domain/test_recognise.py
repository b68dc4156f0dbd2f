"""A transcript is recognised by what stands in it, whatever its name is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chronofile.domain.formats import FORMATS, recognise
from chronofile.domain.formats.heads import Head

TRANSCRIPTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts"
needs_samples = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason="../shared/data/transcripts is not here")

NEUTRAL = json.dumps({"session": "s", "turn": "1", "role": "user", "text": "Hi"})
CLAUDE = json.dumps(
    {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "Hi"}}
)


def name_of(lines: list[str], path_name: str = "x.jsonl") -> str | None:
    found = recognise(Head.of("\n".join(lines), path_name, tuple(lines)))
    return found[0].name if found else None


def test_formats_are_known_by_their_names() -> None:
    assert {key: form.name for key, form in FORMATS.items()} == {
        "claude-code": "claude-code",
        "turns": "turns",
    }


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
        ['{"loglines": [' + CLAUDE + "]}"],
        ['{"id": 1, "text": "a row"}', '{"id": 2, "text": "another"}'],
        ['{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/w"}}'],
        ['{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","parts":[{"text":"Hi"}]}}'],
        [CLAUDE, *['{"level":"info","msg":"x"}'] * 9],
        ["[" * 100_000],
    ],
)
def test_other_files_are_no_transcripts(lines: list[str]) -> None:
    assert name_of(lines) is None


@needs_samples
def test_of_all_samples_only_claude_codes_are_recognised() -> None:
    wrong: list[str] = []
    # One sample has neither session nor ids, and one damaged file holds nothing that is JSON.
    exempt = {"ccusage_transcript.jsonl", "invalid_utf8_latin1.jsonl", "only_newlines.jsonl"}
    for path in TRANSCRIPTS.rglob("*"):
        if path.suffix in (".jsonl", ".json", ".md") and path.name not in exempt:
            head = path.read_bytes().decode("utf-8", "replace").split("\n")[:50]
            folder = path.relative_to(TRANSCRIPTS).parts[0]
            expected = (
                "claude-code"
                if folder in ("claude_code", "edge_derived") and path.suffix == ".jsonl"
                else None
            )
            if name_of(head, path.name) != expected:
                wrong.append(str(path.relative_to(TRANSCRIPTS)))
    assert wrong == []
