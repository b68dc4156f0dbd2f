"""Sessions of OpenCode in folders of small files: captured with the file that begins them, whichever changes."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from chronofile.domain.formats import FORMATS
from chronofile.domain.identity import decoded
from chronofile.ingest.archives import companions, storages
from chronofile.ingest.scan import Found, scan
from tests.samples import opencode
from tests.samples.opencode import SESSION, put, put_message, session
from tests.world import World

_SAMPLES = Path(__file__).parents[2].parent / "shared" / "data" / "transcripts" / "opencode"


def told(world: World) -> list[str]:
    world.catch_up()
    return [decoded(bytes(text)) for (text,) in world.rows("SELECT text FROM {passages}.passage")]


def said(identifier: str, words: str, **fields: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {"id": identifier, "role": "user"} | fields, [{"type": "text", "text": words}]


def part_of(storage: Path, message: str = "msg_1") -> Path:
    return storage / "part" / message / f"prt_{message}_1.json"


def settle(storage: Path) -> None:
    """Let the files look as if they had rested for long."""
    for path in storage.rglob("*.json"):
        os.utime(path, (time.time() - 60, time.time() - 60))


def test_a_session_is_captured_once_with_its_messages_and_parts(world: World, tmp_path: Path) -> None:
    storage = opencode.write(tmp_path)

    captured = world.capture(tmp_path)

    assert (captured.revisions, captured.rejected) == (1, [])
    assert captured.omitted["part-of-conversation"] == 10
    assert any("forty barrels" in text for text in told(world))
    assert world.rows("SELECT count(*) FROM {sources}.source") == [(1,)]
    assert world.rows("SELECT key FROM {passages}.turn WHERE superseded") == [(b"msg_3",)]
    assert world.capture(storage, again=True).revisions == 0


def test_an_unchanged_session_is_not_read_again(world: World, tmp_path: Path) -> None:
    storage = opencode.write(tmp_path)
    settle(storage)
    world.capture(storage)
    time.sleep(2.1)
    world.capture(storage)

    captured = world.capture(storage)

    assert (captured.unchanged, captured.read_bytes) == (1, 0)


@pytest.mark.parametrize("only", [False, True])
def test_a_changed_part_brings_its_session_again(world: World, tmp_path: Path, only: bool) -> None:
    storage = opencode.write(tmp_path)
    settle(storage)
    world.capture(storage)
    part = put(part_of(storage), {"type": "text", "text": "Where is the paraffin?"})

    captured = world.capture(storage, only=frozenset({part}) if only else None)

    assert captured.revisions == 1
    assert any("paraffin" in text for text in told(world))


def test_a_new_message_and_one_that_is_gone_bring_the_session_again(world: World, tmp_path: Path) -> None:
    storage = opencode.write(tmp_path)
    world.capture(storage)
    put_message(storage, *said("msg_4", "And the wick?"))
    assert (
        world.capture(storage, only=frozenset({storage / "message" / SESSION / "msg_4.json"})).revisions == 1
    )

    gone = storage / "message" / SESSION / "msg_4.json"
    gone.unlink()
    assert world.capture(storage, only=frozenset({gone})).revisions == 1


def test_a_part_that_is_named_stands_for_its_session(world: World, tmp_path: Path) -> None:
    storage = opencode.write(tmp_path)

    captured = world.capture(part_of(storage))

    assert captured.revisions == 1
    assert any("forty barrels" in text for text in told(world))


def test_a_renamed_storage_holds_the_same_sessions(world: World, tmp_path: Path) -> None:
    storage = opencode.write(tmp_path)
    world.capture(storage)

    captured = world.capture(storage.rename(tmp_path / "renamed"))

    assert (captured.revisions, captured.rejected) == (0, [])


def test_ids_of_folders_stand_in_where_records_lack_them(world: World, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    times = {"created": 1_780_000_000_000, "updated": 1_780_000_000_000}
    put(storage / "session" / "p" / "ses_1.json", {"directory": "/made-up", "time": times, "id": "s1"})
    put(
        storage / "message" / "s1" / "0001.json",
        {"id": "m1", "sessionID": "s1", "role": "user", "time": times},
    )
    part = put(storage / "part" / "m1" / "001.json", {"type": "text", "text": "No ids in here."})

    captured = world.capture(storage)

    assert captured.revisions == 1
    assert any("No ids in here." in text for text in told(world))
    assert companions.Companions().leader(part) == storage / "session" / "p" / "ses_1.json"
    assert not captured.rejected


def test_the_oldest_storage_is_read(world: World, tmp_path: Path) -> None:
    base = tmp_path / "project" / "p" / "storage" / "session"
    info = put(base / "info" / "ses_1.json", session("ses_1"))
    put(base / "message" / "ses_1" / "msg_1.json", {"id": "msg_1", "role": "user", "time": {"created": 1_780_000_000_000},
                                                   "sessionID": "ses_1"})  # fmt: skip
    text = {
        "id": "prt_1",
        "sessionID": "ses_1",
        "messageID": "msg_1",
        "type": "text",
        "text": "From the oldest.",
    }
    part = put(base / "part" / "ses_1" / "msg_1" / "prt_1.json", text)

    captured = world.capture(tmp_path)

    assert captured.revisions == 1
    assert any("From the oldest." in text for text in told(world))
    assert companions.Companions().leader(part) == info


def test_folders_that_are_only_called_so_are_captured_as_files(world: World, tmp_path: Path) -> None:
    put(tmp_path / "session" / "web" / "index.json", {"route": "/"})
    put(tmp_path / "message" / "en" / "greetings.json", {"hello": "Good day, keeper."})
    put(tmp_path / "part" / "door" / "hinge.json", {"steel": True})

    captured = world.capture(tmp_path)

    assert len(captured.sources) == 3
    assert not captured.omitted["part-of-conversation"]


def test_broken_and_half_written_files_are_told_and_the_rest_is_captured(
    world: World, tmp_path: Path
) -> None:
    storage = opencode.write(tmp_path)
    part_of(storage).write_bytes(b'{"id": "prt_1", "type": "te')
    (storage / "part" / "msg_2" / "pipe.json").mkdir()
    put(storage / "part" / "msg_3" / "prt_9.json", None)

    captured = world.capture(storage)

    assert captured.revisions == 1
    assert any("forty barrels" in text for text in told(world))


def test_an_id_that_leads_out_of_the_storage_is_not_followed(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    secret = put(tmp_path / "secret" / "a.json", {"id": "x"})
    path = put(storage / "session" / "p" / "s.json", session("../../secret"))

    found = storages.Storage.of_session(path)

    assert found is not None
    assert found.messages("../../secret", "s") == []
    assert [status.st_ino for status in found.companions(path)] != [secret.stat().st_ino]


def test_a_scan_of_ten_thousand_parts_reads_none_of_them(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    put(storage / "session" / "p" / f"{SESSION}.json", session())
    for number in range(1_000):
        message = {"id": f"msg_{number:04}", "role": "user", "sessionID": SESSION}
        put(storage / "message" / SESSION / f"{message['id']}.json", message)
        for part in range(10):
            put(storage / "part" / str(message["id"]) / f"prt_{part}.json", {"type": "text", "text": "x"})
    read: list[str] = []
    watched = [str(storage)]
    # A hook stays for as long as the process; without anything to watch it hears nothing.
    sys.addaudithook(lambda event, given: read.extend(_opened(event, given, watched)))

    began_s = time.monotonic()
    found = list(scan([storage], home=tmp_path / "home"))
    took_s = time.monotonic() - began_s
    watched.clear()

    assert [one.path.name for one in found if isinstance(one, Found)] == [f"{SESSION}.json"]
    assert len(found) == 11_001
    assert not read
    assert took_s < 10


def _opened(event: str, given: tuple[object, ...], watched: list[str]) -> list[str]:
    """Return the path of a file that was opened, if it is below one that is watched."""
    path = str(given[0]) if event == "open" and watched else ""
    return [path] if any(path.startswith(above) for above in watched) else []


@pytest.mark.skipif(not _SAMPLES.is_dir(), reason="the shared samples are not there")
def test_every_sample_is_captured(world: World) -> None:
    captured = world.capture(_SAMPLES)
    world.catch_up()

    assert not captured.rejected
    assert world.rows("SELECT count(*) FROM {sources}.source WHERE format = 'opencode'") == [(4,)]
    assert FORMATS["opencode"].is_json


def test_an_export_of_a_session_is_the_same_session(world: World, tmp_path: Path) -> None:
    storage = opencode.write(tmp_path / "here")
    held = [{"info": info, "parts": parts} for info, parts in opencode.MESSAGES]
    export = tmp_path / "export.json"
    export.write_text(json.dumps({"info": session(), "messages": held}), encoding="utf-8")
    world.capture(storage)
    world.capture(export)
    world.catch_up()

    assert world.rows("SELECT count(*) FROM {sources}.source") == [(1,)]
