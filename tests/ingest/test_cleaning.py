"""Cleaning: erased passages are left out of files and of the strings of transcripts, and all else stays as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path

import pytest

from chronofile.domain.erasure import MARK, Span, without_texts
from chronofile.ingest.cleaning import cleaning, cut_out, forms, literal, literals, rewritten
from chronofile.ingest.looking import look
from chronofile.ingest.scan import Found
from chronofile.ingest.sighting import Sighting
from tests.builders import claude_line, turn_line, write

PASSAGE = 'The heron says "no"\nto the \u00e4ther.'
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def key_of(content: bytes) -> str:
    return blake2b(content, key=b"k" * 32, digest_size=20).hexdigest()


remove = partial(without_texts, texts=[PASSAGE])


def records(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def sighting(path: Path, *lines: str) -> Sighting:
    looked = look(Found(write(path, *lines), named=True, root=None))
    assert looked is not None
    return looked.sightings[0]


def spans(*passages: str) -> Sequence[Span]:
    return [Span.of(passage, key_of) for passage in passages]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_a_file_loses_the_passage_in_any_encoding(encoding: str) -> None:
    content = f"before\r\n{PASSAGE}\r\nafter".encode(encoding)
    left = cut_out(content, remove, encoding=encoding, records=False)
    assert left.content == f"before\r\n{MARK}\n\r\nafter".encode(encoding)
    assert left.counts == {"erased": 1}


def test_invalid_bytes_beside_the_passage_stay() -> None:
    content = b"\xff\xfe bad " + PASSAGE.encode() + b" \x80"
    left = cut_out(content, remove, encoding="utf-8", records=False)
    assert left.content == b"\xff\xfe bad " + MARK.encode() + b"\n \x80"


def test_where_nothing_is_taken_out_the_content_is_the_same_object() -> None:
    for content, as_records in ((b"nothing", False), (records('{"a": "nothing"}', "{broken"), True)):
        left = cut_out(content, remove, encoding="utf-8", records=as_records)
        assert left.content is content
        assert left.counts == {}


def test_a_record_loses_it_from_its_strings_however_they_are_escaped() -> None:
    escaped = '{"text" :  "a \\u0054he heron says \\"no\\"\\nto the \\u00e4ther. b", "n": 1.50}'
    left = cut_out(records(escaped, '{"x":1}'), remove, encoding="utf-8-sig", records=True)
    assert left.content == records(f'{{"text" :  "a {MARK}\\n b", "n": 1.50}}', '{"x":1}')


def test_every_line_stays_json_and_other_lines_stay_byte_for_byte() -> None:
    odd = '{"a":"\\ud83d \\/ \udcff","b":[1,2 ,3]}'
    lines = records(turn_line(PASSAGE), odd, f'{{"deep":{{"list":["x",{json.dumps(PASSAGE)}]}}}}', "")
    left = cut_out(lines, remove, encoding="utf-8-sig", records=True).content.split(b"\n")
    assert left[1] == lines.split(b"\n")[1]
    assert json.loads(left[0])["text"] == f"{MARK}\n"
    assert json.loads(left[2])["deep"]["list"] == ["x", f"{MARK}\n"]


def test_lone_surrogates_and_stray_bytes_beside_it_stay_in_the_string() -> None:
    line = f'{{"text":"\\ud83d {json.dumps(PASSAGE)[1:-1]} \udcff"}}'
    left = cut_out(records(line), remove, encoding="utf-8-sig", records=True)
    assert left.content == records(f'{{"text":"\\ud83d {MARK}\\n \udcff"}}')


def test_a_word_that_says_how_a_record_is_read_stays() -> None:
    line = claude_line([{"type": "text", "text": "text"}], role="assistant", uuid="u-2")
    left = cut_out(records(line), partial(without_texts, texts=["text"]), encoding="utf-8", records=True)
    (block,) = json.loads(left.content)["message"]["content"]
    assert block == {"type": "text", "text": MARK}


def test_a_line_that_is_no_json_loses_it_as_a_text() -> None:
    left = cut_out(
        b'{"text": "a heron', partial(without_texts, texts=["a heron"]), encoding="utf-8", records=True
    )
    assert left.content == b'{"text": "[erased]'


def test_the_strings_of_a_line_are_told_with_the_fields_that_they_stand_in() -> None:
    line = '{"a": "x", "b" : ["y", {"c":"z\\n"}], "d": {"e": "w"}}'
    assert [(name, said) for _, _, name, said in literals(line)] == [
        ("a", "x"),
        (None, "y"),
        ("c", "z\n"),
        ("e", "w"),
    ]
    changes = [(start, end, said.upper()) for start, end, _, said in literals(line)]
    assert rewritten(line, changes) == '{"a": "X", "b" : ["Y", {"c":"Z\\n"}], "d": {"e": "W"}}'


@pytest.mark.parametrize("text", ["plain", 'q"\\', "\n\t\x00", "\u00e4\u2028", "a\ud83d", "b\udcff"])
def test_a_literal_says_its_text(text: str) -> None:
    raw = literal(text).encode("utf-8", "surrogateescape")
    assert json.loads(raw.decode("utf-8", "surrogateescape")) == text


def test_a_capture_leaves_out_secrets_and_erased_passages(tmp_path: Path) -> None:
    clean = cleaning(key_of, redacting=True)
    seen = sighting(tmp_path / "a.turns.jsonl", turn_line(f"It is {TOKEN}."), turn_line(PASSAGE, turn="2"))
    content = seen.content.range(0, seen.content.size)

    left = clean(content, seen, spans(PASSAGE))

    texts = [json.loads(line)["text"] for line in left.content.splitlines()]
    assert texts == ["It is [redacted: github-token].", f"{MARK}\n"]
    assert left.counts == {"github-token": 1, "erased": 1}


def test_a_passage_is_known_as_it_was_stored_without_its_secrets(tmp_path: Path) -> None:
    clean = cleaning(key_of, redacting=True)
    seen = sighting(tmp_path / "note.md", f"Use {TOKEN} for it.")
    left = clean(
        seen.content.range(0, seen.content.size), seen, spans("Use [redacted: github-token] for it.")
    )
    assert left.content == f"{MARK}\n".encode()


def test_without_redaction_only_erased_passages_are_left_out(tmp_path: Path) -> None:
    clean = cleaning(key_of, redacting=False)
    seen = sighting(tmp_path / "note.md", f"{TOKEN} {PASSAGE}")
    content = seen.content.range(0, seen.content.size)
    assert clean(content, seen, spans(PASSAGE)).content == f"{TOKEN} {MARK}\n\n".encode()
    assert clean(content, seen, ()).content is content
    assert clean(content, replace(seen, encoding="utf-8"), spans("another passage")).content is content


def test_the_forms_of_a_text_are_what_any_writer_of_json_makes_of_it_also_within_json() -> None:
    found = forms(PASSAGE, 2)

    for text in (PASSAGE, PASSAGE.replace("\n", "\r\n")):
        for outer in (True, False):
            for inner in (True, False):
                once = json.dumps(text, ensure_ascii=inner)
                assert {text, once[1:-1], json.dumps(once[1:-1], ensure_ascii=outer)[1:-1]} <= found
    assert forms("plain words", 3) == {"plain words"}
