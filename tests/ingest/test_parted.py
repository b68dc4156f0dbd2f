"""A file of several sessions is parted into the same bytes, whether it is small enough to be held or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronofile.domain.formats import PARTED, aider
from chronofile.ingest import parted as parting
from chronofile.ingest.capture import GROUP_BYTES_MAX
from chronofile.ingest.parted import SpannedBytes, parted
from chronofile.ingest.reading import RANGE_BYTES
from chronofile.ingest.scan import Found
from tests.builders import turn_line, write
from tests.world import World


def sessions(path: Path, format_name: str = "turns") -> dict[str, bytes]:
    found = Found(path, named=True, root=None)
    return {
        f"{one.scope} {one.session}": one.content.range(0, one.content.size)
        for looked in parted(found, PARTED[format_name])
        for one in looked.sightings
    }


@pytest.fixture
def is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every file for one that is too large to be held."""
    monkeypatch.setattr(parting, "HELD_BYTES_MAX", 0)


def test_a_large_file_gives_the_bytes_that_a_small_one_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        turn_line("One", turn="1"),
        turn_line("Two", turn="2"),
        turn_line("Other", turn="1", session="t") + turn_line("Three", turn="3"),
        "",
        "garbage",
        turn_line("Scoped", turn="4", scope="project:api") + "\r",
        turn_line("Bad scope", turn="5", scope="a\nb"),
        turn_line("One", turn="1"),
    ]
    path = write(tmp_path / "x.turns.jsonl", *lines)
    path.write_bytes(path.read_bytes() + turn_line("Last ü\u2028", turn="9").encode())

    held = sessions(path)
    monkeypatch.setattr(parting, "HELD_BYTES_MAX", 0)
    spanned = sessions(path)

    assert spanned == held
    assert [*held] == ["None s", "project:api s", "None t"]
    assert held["None t"].count(b"\n") == 1


def test_sessions_of_aider_are_parted_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n# aider chat started at 2026-05-0{} 10:00:00\n\n> Aider v1\n\n#### Hi {}  \n\nYes.\n"
    path = tmp_path / ".aider.chat.history.md"
    path.write_text("".join(text.format(day, day) for day in range(1, 5)))

    held = sessions(path, aider.name)
    monkeypatch.setattr(parting, "HELD_BYTES_MAX", 0)

    assert sessions(path, aider.name) == held
    assert len(held) == 4


@pytest.mark.usefixtures("is_large")
def test_ranges_of_spans_end_with_lines_and_cover_everything(tmp_path: Path) -> None:
    long = turn_line("x" * (RANGE_BYTES + 100), turn="long")
    lines = [turn_line("word " * 40_000, turn=str(number)) for number in range(60)]
    other = turn_line("other", session="t")
    path = write(tmp_path / "x.turns.jsonl", *lines[:30], other, long, other, *lines[30:])
    (content, _) = (
        one.content
        for looked in parted(Found(path, named=True, root=None), PARTED["turns"])
        for one in looked.sightings
    )

    assert isinstance(content, SpannedBytes)
    spans = list(content.ranges(0))

    assert [start for start, _ in spans[1:]] == [end for _, end in spans[:-1]]
    assert (spans[0][0], spans[-1][1]) == (0, content.size)
    assert all(content.range(end - 1, end) == b"\n" for _, end in spans)
    assert b"".join(content.range(*span) for span in spans) == "".join(f"{x}\n" for x in (*lines[:30], long, *lines[30:])).encode()  # fmt: skip
    assert list(content.ranges(content.size)) == []


@pytest.mark.usefixtures("is_large")
def test_a_large_file_is_captured_in_parts_and_again_adds_nothing(world: World, tmp_path: Path) -> None:
    sizes = GROUP_BYTES_MAX // 10
    lines = [turn_line("w " * (sizes // 2), turn=f"{turn}", session=f"s{turn % 7}") for turn in range(28)]
    path = write(tmp_path / "x.turns.jsonl", *lines)

    first = world.capture(path)
    again = world.capture(path, again=True)
    write(path, *lines, turn_line("New.", turn="new", session="s3"))
    grown = world.capture(path)

    assert (len(first.sources), again.revisions, grown.revisions) == (7, 0, 1)
    world.catch_up()
    assert [row[0] for row in world.rows("SELECT count(*) FROM {passages}.turn")] == [29]
