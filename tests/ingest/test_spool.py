"""The spool's entries: what they hold of a transcript, and where that ends."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.rejection import NotRead
from chronofile.ingest import offsets, spool
from chronofile.ingest.reading import RANGE_BYTES
from chronofile.ingest.sighting import FileBytes, HeldBytes
from chronofile.ingest.spool import Unusable
from chronofile.ingest.spooled import SpooledBytes

LINE = b'{"text": "A line."}\n'


def entry(home: Path, content: bytes, spans: list[tuple[int, int]], offset: int, **fields: Any) -> Path:
    """Write an entry that holds spans of a transcript with this content."""
    copied = {"offset": offset, "spans": spans, "left_out": 0}
    told = {
        "version": 1, "event": "pre-compact", "agent": "a", "at_ns": 1, "cwd": "/", "input": "{}",
        "input_left_out": 0, "transcripts": [{"path": "/x.jsonl", "size": len(content), "copied": copied}],
    }  # fmt: skip
    spool.folder(home).mkdir(exist_ok=True)
    file = spool.folder(home) / "1.entry"
    blocks = [content[start:end] for start, end in spans]
    file.write_bytes(json.dumps(told | fields).encode() + b"\n" + b"".join(blocks))
    return file


def held_in(file: Path) -> SpooledBytes:
    found = spool.read(file)
    assert found is not None
    held = found.mentions[0].held
    assert held is not None
    return held


def test_bytes_that_an_entry_does_not_hold_are_not_read(home: Path) -> None:
    content = LINE * 10_000
    held = held_in(entry(home, content, [(0, 1_000), (50_000, 200_000)], 100_000))
    assert held.range(10, 1_000) == content[10:1_000]
    assert held.range(60_000, 150_000) == content[60_000:150_000]
    for span in ((0, 1_001), (999, 50_001), (40_000, 60_000), (150_000, 200_001)):
        with pytest.raises(NotRead, match="does not hold"):
            held.range(*span)


@pytest.mark.parametrize(
    ("content", "offset", "start", "size"),
    [
        (LINE * 3, 0, 0, 60),
        (LINE * 3, 20, 20, 60),
        (LINE * 3 + b'{"half', 20, 20, 60),
        (LINE * 3 + b'{"whole": 1}', 20, 20, 72),
        (LINE * 3, 25, 20, 60),
        (b'{"half', 0, 0, 0),
    ],
)
def test_new_lines_begin_and_end_with_complete_ones(
    home: Path, content: bytes, offset: int, start: int, size: int
) -> None:
    held = held_in(entry(home, content, [(0, len(content))], offset))
    assert (held.start, held.size) == (start, size)
    assert held.lines() == content[start:size].removesuffix(b"\n").split(b"\n")


def test_a_large_copy_is_cut_into_ranges_that_end_with_a_line(home: Path) -> None:
    content = b'{"text": "%s"}\n' % (b"x" * 300_000) * 60
    held = held_in(entry(home, content, [(0, len(content))], 0))
    ranges = list(held.ranges(0))
    assert [start for start, _ in ranges[1:]] == [end for _, end in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, len(content))
    assert all(end - start <= RANGE_BYTES and content[end - 1 : end] == b"\n" for start, end in ranges)


@given(content=st.lists(st.sampled_from([LINE, b"\n", b"\xff\xfe\n", b"{}"])).map(b"".join), data=st.data())
def test_the_lines_of_a_copy_are_those_of_the_transcript(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("home")
    offset = data.draw(st.integers(0, len(content)))
    held = held_in(entry(home, content, [(0, len(content))], offset))
    assert content[: held.start].endswith(b"\n") or held.start == 0
    assert held.start <= offset or held.start == held.size
    assert content[held.size :].count(b"\n") == 0
    assert held.range(held.start, held.size) == content[held.start : held.size]


@pytest.mark.parametrize(
    "fields",
    [
        {"transcripts": [{"path": "relative", "size": 1}]},
        {"transcripts": [{"path": "/nul\0", "size": 1}]},
        {"transcripts": ["/x"]},
        {"transcripts": [{"path": "/x", "size": 1, "copied": {"offset": 0, "spans": [[5, 1]]}}]},
        {"transcripts": [{"path": "/x", "size": 1, "copied": {"offset": 0, "spans": [["a", "b"]]}}]},
        {"transcripts": [{"path": "/x", "size": 1, "copied": {"spans": [[0, 60]]}}]},
        {"transcripts": [{"path": "/x\ud800", "size": 1}]},
        {"transcripts": [{"path": "/x", "size": float("inf")}]},
        {"transcripts": [{"path": "/x", "size": 1, "copied": {"offset": 1e999, "spans": [[0, 60]]}}]},
        {"transcripts": [{"path": "/x", "size": 1, "copied": {"offset": 0, "spans": [[0, 60.0]]}}]},
        {
            "transcripts": [
                {"path": "/x", "size": 1, "copied": {"offset": 0, "spans": [[0, 60]], "left_out": -1}}
            ]
        },
        {"version": "1"},
        {"version": 1e999},
        {"at_ns": "now"},
        {"at_ns": 1e999},
        {"at_ns": float("nan")},
        {"at_ns": 1 << 64},
        {"agent": "x\ud800"},
        {"agent": "x\0y"},
        {"agent": "What a person said."},
        {"agent": ["a"]},
        {"event": "e\0"},
        {"event": "Stop it."},
    ],
)
def test_an_entry_that_no_hook_wrote_is_unusable(home: Path, fields: dict[str, Any]) -> None:
    file = entry(home, LINE * 3, [(0, 60)], 0, **fields)
    with pytest.raises(Unusable):
        spool.read(file)


def test_an_entry_that_is_cut_is_unusable(home: Path) -> None:
    file = entry(home, LINE * 3, [(0, 60)], 0)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(Unusable, match="should have"):
        spool.read(file)


def test_an_entry_that_is_set_aside_has_its_reason_beside_it(home: Path) -> None:
    file = entry(home, LINE, [(0, 20)], 0)
    size = file.stat().st_size
    spool.set_aside(file, "It is odd.")
    standing = spool.standing(home)
    assert (standing.waiting, standing.bytes) == (0, size)
    assert [(found.entry, found.reason) for found in standing.set_aside] == [("1", "It is odd.")]


def test_offsets_are_for_the_user_alone_and_replaced_at_once(home: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b\udcff.jsonl"]
    offsets.write(home, dict.fromkeys(paths, HeldBytes(b"12345")))
    offsets.write(home, {paths[0]: HeldBytes(b"123456")})
    files = sorted((home / "captured").iterdir())
    assert [offsets.read(home, path) for path in (*paths, Path("/x"))] == [6, 5, 0]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((home / "captured").stat().st_mode) == 0o700


def test_offsets_that_cannot_be_written_do_no_harm(home: Path) -> None:
    offsets.write(home, {Path("/x"): FileBytes(Path("/gone.jsonl"), 5)})
    (home / "captured").rmdir()
    (home / "captured").write_text("")
    offsets.write(home, {Path("/x"): HeldBytes(b"12345")})


def test_a_transcript_of_which_much_is_new_is_told_while_it_waits(home: Path, tmp_path: Path) -> None:
    large, small, captured = (tmp_path / f"{name}.jsonl" for name in ("large", "small", "captured"))
    for path in (large, captured):
        with path.open("wb") as file:
            file.truncate(33 << 20)
    small.write_bytes(LINE)
    entry(home, b"", [], 0, transcripts=[{"path": str(path), "size": 1} for path in (large, small, captured)])
    offsets.write(home, {captured: FileBytes(captured, 2 << 20)})

    found = spool.standing(home)

    assert found.large == (str(large),)
    assert "large.jsonl: so much of it is new that only `chronofile watch`" in found.notes[0]


def test_a_home_without_a_spool_has_an_empty_one(home: Path) -> None:
    assert (spool.waiting(home), spool.standing(home).waiting, spool.discard(home, frozenset())) == ([], 0, 0)
