"""Unpacked exports: what stands beside the conversations is passed over, and only there."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from chronofile.domain.identity import decoded
from chronofile.ingest.archives.exports import BESIDE
from tests.builders import write
from tests.samples import chatgpt, claude_ai
from tests.world import World


def unpacked(archive: Path) -> Path:
    """Unpack an export beside itself, and return the folder."""
    folder = archive.with_suffix("")
    with zipfile.ZipFile(archive) as shelf:
        shelf.extractall(folder)
    return folder


def texts(world: World) -> list[str]:
    world.catch_up()
    return [decoded(text) for (text,) in world.rows("SELECT text FROM {passages}.passage")]


@pytest.mark.parametrize("format_name", ["chatgpt", "claude-ai"])
def test_an_unpacked_export_is_captured_as_the_archive_is(
    world: World, tmp_path: Path, format_name: str
) -> None:
    archive = {"chatgpt": chatgpt, "claude-ai": claude_ai}[format_name].write(tmp_path)
    folder = unpacked(archive)
    for name in BESIDE[format_name]:
        write(folder / name, '{"email": "made-up@example.invalid"}')

    first, again = world.capture(folder), world.capture(archive)

    assert (first.rejected, first.omitted) == ([], {"part-of-conversation": len(BESIDE[format_name])})
    assert (first.revisions > 1, again.revisions, again.unchanged) == (True, 0, first.revisions)
    assert "made-up@example.invalid" not in "".join(texts(world))


def test_a_second_run_passes_over_it_again_and_appends_nothing(world: World, tmp_path: Path) -> None:
    folder = unpacked(chatgpt.write(tmp_path))
    first = world.capture(folder)
    position = world.store.position()

    again = world.capture(folder)

    assert (again.omitted, again.revisions, world.store.position()) == (first.omitted, 0, position)


def test_a_page_of_an_export_is_passed_over_where_documents_are_read(world: World, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra [documents] is not installed")
    from chronofile.infra.extraction import Extraction

    folder = unpacked(chatgpt.write(tmp_path))
    write(folder / "chat.html", "<html><body><p>The same words once more, as a page.</p></body></html>")
    world.extractor = Extraction()
    try:
        captured = world.capture(folder)
    finally:
        world.extractor.close()

    assert (captured.revisions, captured.omitted) == (2, {"part-of-conversation": 2})


@pytest.mark.parametrize("conversations", [None, "[]", '[{"id": 1, "rows": []}]', '{"conversations'])
def test_files_of_these_names_elsewhere_are_files_as_any(
    world: World, tmp_path: Path, conversations: str | None
) -> None:
    for name in ("chat.html", "user.json", "users.json"):
        write(tmp_path / "site" / name, '"Somebody made up"')
    if conversations is not None:
        write(tmp_path / "site" / "conversations.json", conversations)

    captured = world.capture(tmp_path / "site")

    assert (captured.revisions, dict(captured.omitted)) == (3 + (conversations is not None), {})


def test_other_attachments_of_an_unpacked_export_are_files_as_any(world: World, tmp_path: Path) -> None:
    folder = unpacked(chatgpt.write(tmp_path))
    write(folder / "file-made-up.txt", "A text that was attached.")

    world.capture(folder)

    assert "A text that was attached." in "".join(texts(world))


def test_what_somebody_calls_a_text_is_captured_as_one(world: World, tmp_path: Path) -> None:
    folder = unpacked(chatgpt.write(tmp_path))

    captured = world.capture(folder / "chat.html", format_name="text")

    assert (captured.revisions, dict(captured.omitted)) == (1, {})


def test_an_archive_without_a_conversation_is_told_as_such_and_not_read_again(
    world: World, tmp_path: Path
) -> None:
    path = tmp_path / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("main.py", "print('Hello.')")

    rejected = [world.capture(path).rejected, world.capture(path, format_name="chatgpt").rejected]
    position = world.store.position()
    world.capture(path)

    assert [one.reason for found in rejected for one in found] == ["no-conversation", "no-conversation"]
    assert world.store.position() == position
