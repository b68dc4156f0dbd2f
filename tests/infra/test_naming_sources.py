"""Naming a source: by the URI or the path that a list shows, also one conversation of a file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from chronofile.domain.errors import UnknownSource
from chronofile.infra.cli.erasure import preview_lines
from chronofile.infra.cli.hits import place
from chronofile.infra.erasure import COPIES
from chronofile.infra.memory import Memory
from tests.builders import turn_line, write
from tests.infra.erasures import opened
from tests.samples import chatgpt


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


@pytest.fixture
def archive(memory: Memory, tmp_path: Path) -> Path:
    """An export of two conversations that was captured, in a folder with a space and a mark in its name."""
    path = chatgpt.write(tmp_path / "down #1 loads")
    assert memory.ingest([path], wait="words").revisions == 2
    return path


def test_a_conversation_is_named_as_the_list_of_sources_shows_it(
    memory: Memory, archive: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(archive.parent, target_is_directory=True)
    (entry,) = (entry for entry in memory.sources() if entry.session == "c-mulch")
    shown = place(entry.uri)
    assert shown == "down #1 loads/export.zip#c-mulch"

    for name in (entry.uri, shown, str(tmp_path / shown), "link/export.zip#c-mulch", f"./{shown}"):
        hits = memory.search("mulch", source=name).hits
        assert {hit.source.id for hit in hits} == {entry.id}, name
        assert memory.verify(source=name).sources == 1, name
        assert [one.id for one in memory.plan_erasure(sources=[name]).sources] == [entry.id], name
    for name in ("down #1 loads/export.zip#c-mul", "export.zip#c-mulch", "#c-mulch", "#" * 5_000):
        with pytest.raises(UnknownSource):
            memory.search("mulch", source=name)


def test_a_conversation_whose_name_is_encoded_is_named_either_way(memory: Memory, tmp_path: Path) -> None:
    chat = write(
        tmp_path / "chat.turns.jsonl",
        turn_line("A violin.", session="a b#ü"),
        turn_line("A viola.", session="b"),
    )
    memory.ingest([chat], wait="words")

    for name in ("chat.turns.jsonl#a b#ü", "chat.turns.jsonl#a%20b%23%C3%BC"):
        assert [hit.text for hit in memory.search("violin", source=name).hits] == ["A violin."], name


def test_a_file_with_a_mark_in_its_name_is_that_file(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "a#b", "A violin.")
    write(tmp_path / "a", "Another violin.")
    memory.ingest([tmp_path], wait="words")

    assert [hit.source.uri for hit in memory.search("violin", source="a#b").hits] == [
        f"file://{tmp_path}/a%23b"
    ]


def test_a_conversation_that_was_erased_is_known_by_the_name_it_had(memory: Memory, archive: Path) -> None:
    name = f"{archive}#c-mulch"
    report = memory.erase(sources=[name])

    with pytest.raises(Exception, match=report.id):
        memory.plan_erasure(sources=[name])


def test_the_preview_of_an_erasure_names_the_export_on_disk_and_says_what_it_cannot(
    memory: Memory, archive: Path, tmp_path: Path
) -> None:
    note = write(tmp_path / "note.md", "A note.")
    memory.ingest([note], wait="words")

    preview = memory.plan_erasure(sources=[f"{archive}#c-mulch"])
    lines = list(preview_lines(preview, "erased"))

    assert preview.files == (str(archive),)
    assert "1 file on disk would not be touched:" in lines
    assert COPIES in lines
    assert COPIES not in memory.plan_erasure(sources=[str(note)]).stays
    archive.unlink()
    assert memory.plan_erasure(sources=[str(archive)]).files == ()


def test_a_copy_that_brought_nothing_is_no_source_and_the_message_says_why(
    memory: Memory, archive: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copy(archive, tmp_path / "copy.zip"))
    memory.ingest([copy], wait="words")

    with pytest.raises(UnknownSource, match="what it holds was captured from another file before"):
        memory.search("mulch", source="copy.zip")
    with pytest.raises(UnknownSource, match=r"\(none.zip\)"):
        memory.search("mulch", source="none.zip")
