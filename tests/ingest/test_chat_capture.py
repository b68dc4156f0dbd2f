"""Chats as text as they are captured: a file in which people take turns is a transcript."""

from __future__ import annotations

from pathlib import Path

from tests.samples import chat as sample
from tests.world import World


def test_a_chat_is_captured_as_turns_and_a_file_next_to_it_as_a_file(world: World, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    (tmp_path / "notes.md").write_text("# Notes\n\nHyacinths: October.\n")
    captured = world.capture(tmp_path)
    world.catch_up()

    assert (captured.revisions, captured.rejected) == (2, [])
    assert world.rows("SELECT format, session FROM {sources}.source ORDER BY format") == [
        ("chat", "hyacinths"),
        ("text", None),
    ]
    rows = world.rows("SELECT speaker, text FROM {passages}.passage WHERE session = 'hyacinths'")
    texts = [text.decode() for _, text in rows]
    assert sum("\u201cwrap the pot\u201d below -10 °C." in text for text in texts) == 1
    assert world.capture(path).revisions == 0


def test_a_chat_that_was_renamed_or_goes_on_is_the_same_source(world: World, tmp_path: Path) -> None:
    path = sample.write(tmp_path).rename(tmp_path / "first.md")
    world.capture(path)
    path = path.rename(tmp_path / "second.md")
    assert world.capture(path).revisions == 0

    path.write_bytes(path.read_bytes() + b"\n## User\n\nThanks!\n")
    assert world.capture(path).revisions == 1
    world.catch_up()
    assert world.rows("SELECT count(*) FROM {sources}.source") == [(1,)]


def test_a_chat_in_another_encoding_is_read(world: World, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(
        "[13/05/2023, 10:11:12] Ada: Grüße\n[13/05/2023, 10:12:12] Bob: Ça va?\n".encode("utf-16")
        + "[14/05/2023, 10:12:12] Ada: Ja\n".encode("utf-16-le")
    )
    world.capture(path)
    world.catch_up()

    rows = world.rows("SELECT speaker, event_time, text FROM {passages}.passage WHERE speaker = 'Bob'")
    assert [(speaker, text.decode()) for speaker, _, text in rows] == [("Bob", "Ça va?")]
