"""Slack's exports as they are captured: a source for each day of a channel, whatever way the export comes in."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from chronofile.ingest.capture import Captured
from chronofile.projections.projection import FOREVER
from tests.samples import slack as sample
from tests.samples.slack import BOB, OPS, PAIR, files, message, person, write_files, write_zip
from tests.world import World

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "data" / "transcripts" / "slack"
DAYS = {
    (OPS, f"slack:{OPS}/2026-01-02"),
    (OPS, f"slack:{OPS}/2026-01-03"),
    (PAIR, f"slack:{PAIR}/2026-01-02"),
}


def days(world: World) -> set[tuple[str, str]]:
    world.catch_up()
    rows = world.rows("SELECT session, uri FROM {sources}.source WHERE format = 'slack'")
    return {(session, f"slack:{unquote(uri.decode().partition('#')[2])}") for session, uri in rows}


def texts(world: World) -> list[str]:
    world.catch_up()
    rows = world.rows("SELECT text FROM {passages}.passage WHERE recorded_to = %s ORDER BY no", FOREVER)
    return [text.decode() for (text,) in rows]


def titles(world: World) -> set[str]:
    return {title.decode() for (title,) in world.rows("SELECT DISTINCT title FROM {passages}.source")}


def revisions(captured: Captured) -> tuple[int, int]:
    return captured.revisions, len(captured.rejected)


def test_an_export_is_captured_day_by_day_with_the_names_of_people(world: World, tmp_path: Path) -> None:
    captured = world.capture(sample.write(tmp_path))

    assert revisions(captured) == (3, 0)
    assert captured.omitted == {"archive-entry": 6}
    assert days(world) == DAYS
    said = {text: about for *about, text in world.rows("SELECT speaker, role, text FROM {passages}.passage")}
    assert said["@Bob Invented: is #ops down? a < b && Zürich \U0001f335".encode()] == ["Ada Made-Up", "user"]
    assert titles(world) == {"ops", "Ada Made-Up, Bob Invented"}
    assert "Keeping things up" in " ".join(texts(world))


def test_a_folder_and_an_archive_of_one_export_are_the_same(world: World, tmp_path: Path) -> None:
    first = world.capture(write_files(tmp_path / "unpacked", files()))
    again = world.capture(sample.write(tmp_path))

    assert revisions(first) == (3, 0)
    assert first.omitted == {"part-of-conversation": 6}
    assert revisions(again) == (0, 0)
    assert days(world) == DAYS


def test_a_second_capture_and_another_name_change_nothing(world: World, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    world.capture(path)
    position = world.store.position()

    assert world.capture(path).revisions == 0
    assert world.store.position() == position
    assert world.capture(path.rename(tmp_path / "other.zip")).revisions == 0
    assert days(world) == DAYS


def test_a_later_export_brings_only_the_days_that_changed(world: World, tmp_path: Path) -> None:
    world.capture(sample.write(tmp_path))
    later = files()
    later["channels.json"][0]["members"].append("U0000NEW1")
    later["users.json"].append(person("U0000NEW1", "New Comer", "new"))
    later["ops/2026-01-03.json"].append(
        message("Thanks!", "1767434500.000100", thread_ts="1767434400.000100")
    )
    later["ops/2026-01-04.json"] = [message("A new day", "1767520800.000100")]

    assert revisions(world.capture(write_zip(tmp_path / "later.zip", later))) == (2, 0)
    assert {"Thanks!", "A new day"} < set(texts(world))
    older = world.capture(write_zip(tmp_path / "older.zip", files()))
    assert (older.revisions, older.omitted["older-copy"]) == (0, 1)
    assert "Thanks!" in texts(world)


def test_a_reaction_that_was_added_is_a_revision_and_no_new_text(world: World, tmp_path: Path) -> None:
    folder = write_files(tmp_path / "e", files())
    world.capture(folder)
    before = texts(world)
    later = files()
    later["ops/2026-01-03.json"][0]["reactions"] = [{"name": "tada", "users": [BOB], "count": 1}]

    assert revisions(world.capture(write_files(folder, later))) == (1, 0)
    assert texts(world) == before


def test_a_channel_that_was_renamed_is_the_same_channel(world: World, tmp_path: Path) -> None:
    world.capture(sample.write(tmp_path))
    later = {name.replace("ops/", "platform/"): value for name, value in files().items()}
    later["channels.json"][0]["name"] = "platform"
    world.capture(write_zip(tmp_path / "later.zip", later))

    assert days(world) == DAYS
    assert "platform" in titles(world)


def test_an_archive_may_have_a_folder_around_all_and_names_without_a_flag(
    world: World, tmp_path: Path
) -> None:
    made = {f"Export/{name}": value for name, value in files().items()}
    made["Export/FC:F1:\U0001f517 Links/2026-01-05.json"] = [message("On a canvas", "1767600000.000100")]
    made["Export/file_conversations.json"] = [sample.channel("C0000CAN1", "FC:F1:\U0001f517 Links")]
    path = write_zip(tmp_path / "e.zip", made)
    flagged = path.read_bytes()
    # Bit 11 of the flags says that a name is UTF-8: some archives leave it out.
    for mark, at in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        pieces = flagged.split(mark)
        flagged = mark.join([pieces[0], *(one[: at - 4] + b"\x00" + one[at - 3 :] for one in pieces[1:])])
    path.write_bytes(flagged)

    assert revisions(world.capture(path)) == (4, 0)
    assert days(world) == DAYS | {("C0000CAN1", "slack:C0000CAN1/2026-01-05")}


def test_days_without_any_lists_are_named_by_their_folder(world: World, tmp_path: Path) -> None:
    made = {name: value for name, value in files().items() if "/" in name}

    assert revisions(world.capture(write_files(tmp_path / "e", made))) == (3, 0)
    assert ("ops", "slack:ops/2026-01-02") in days(world)
    assert "@U0000BOB1: is #ops down? a < b && Zürich \U0001f335" in texts(world)


def test_a_folder_that_merely_has_a_list_of_channels_stays_files(world: World, tmp_path: Path) -> None:
    folder = write_files(tmp_path / "app", {"channels.json": [sample.channel()], "src/index.json": [1]})
    captured = world.capture(folder)

    assert (captured.revisions, captured.omitted) == (2, {})
    assert days(world) == set()


def test_odd_messages_do_not_keep_the_others_from_being_found(world: World, tmp_path: Path) -> None:
    made = files()
    odd: list[Any] = [
        None,
        7,
        [],
        {},
        {"type": "message", "user": BOB, "text": "when?"},
        message("ok", subtype=["x"]),
    ]
    made["ops/odd name.json"] = [
        message("fine", "1767434400.000200"),
        message("fine too", "1767434400.000300"),
        *odd,
    ]
    assert world.capture(write_zip(tmp_path / "e.zip", made)).rejected == []

    assert {"fine", "fine too", "when?", "ok"} < set(texts(world))
    assert (OPS, f"slack:{OPS}/odd name") in days(world)


def test_damaged_and_locked_parts_are_told_and_the_rest_is_captured(world: World, tmp_path: Path) -> None:
    path = tmp_path / "e.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in files().items():
            text = json.dumps(value)
            archive.writestr(name, text[:-30] if name == "ops/2026-01-02.json" else text)
        archive.writestr("channels.json.zip", b"PK")
        archive.writestr("../out.json", json.dumps([message("out")]))
    captured = world.capture(path)

    assert captured.revisions == 3
    assert sorted(one.reason for one in captured.rejected) == ["damaged", "nested-archive", "unsafe-name"]


def test_lists_that_cannot_be_read_are_told(world: World, tmp_path: Path) -> None:
    path = tmp_path / "e.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in files().items():
            archive.writestr(name, "[{" if name == "users.json" else json.dumps(value))
    captured = world.capture(path)

    assert [(one.reason, one.detail) for one in captured.rejected] == [("damaged", "users.json")]
    assert captured.revisions == 3


def test_a_secret_in_a_message_is_not_stored(world: World, tmp_path: Path) -> None:
    made = files()
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    made["ops/2026-01-03.json"] = [message(f"token {secret}", "1767434400.000100")]
    captured = world.capture(write_zip(tmp_path / "e.zip", made))

    assert sum(captured.redactions.values()) == 1
    assert not any(secret in text for text in texts(world))


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="../shared/data/transcripts is not here")
def test_every_sample_is_read_whole(world: World) -> None:
    archive = world.capture(SAMPLES / "testarchive.zip")
    folder = world.capture(SAMPLES / "testarchive")

    assert archive.rejected == []
    assert archive.revisions == 17
    assert folder.revisions == 0
    world.catch_up()
    assert world.rows("SELECT count(*) FROM {passages}.turn") == [(160,)]
