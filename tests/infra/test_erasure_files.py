"""Erasure on a home's own server: no file of the database holds the text, also after a kill or a restart."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import string
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from chronofile.infra.embedded import start
from chronofile.infra.erasing.carrying import STREAMS_MAX
from tests.builders import add, claude_line, turn_line, write
from tests.infra.command_line import CommandLine, command_line
from tests.infra.erasures import files_with, tables_with

PROSE = "The heron lands on the frozen reservoir every Tuesday at dawn."
NAME = "confidential-heron"


def marker(seed: int, chars: int = 4_000) -> str:
    """Return letters and digits that no compression makes shorter in a way that hides them."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=chars))


@pytest.fixture
def line(tmp_path: Path) -> Iterator[CommandLine]:
    with command_line(tmp_path) as found:
        yield found


def capture(line: CommandLine) -> Path:
    """Capture files and transcripts, also such as grow, and search for what will be erased."""
    notes = line.directory / "notes"
    secret = write(notes / f"{NAME}.md", "# Birds", "", PROSE, "", marker(1), "", f"{PROSE} {marker(2, 40)}")
    write(notes / "other.md", "# Other", "", "The kettle is in the kitchen.")
    session = write(line.directory / "chat" / "s.jsonl", claude_line("Where is the kettle?"))
    assert line.run("ingest", "--wait", "all", "notes", "chat").status == 0
    add(session, claude_line("In the kitchen.", role="assistant", uuid="u-2"))
    write(secret, "# Birds", "", PROSE, "", marker(3), "", "A later revision.")
    assert line.run("ingest", "--wait", "all", "notes", "chat").status == 0
    assert "heron" in line.run("search", "--all", "frozen reservoir heron").out
    assert line.run("search", "--all", PROSE).status == 0
    with psycopg.connect(conninfo(line), autocommit=True) as conn:
        conn.execute("ANALYZE")  # As the server does by itself; its statistics hold samples of values.
    return secret


def erased_texts() -> list[str]:
    return ["frozen reservoir", marker(1)[:200], marker(1)[-200:], marker(2, 40), marker(3)[50:100], NAME]


def data_folder(line: CommandLine) -> Path:
    with start(line.home) as server:
        return server.data_folder


def conninfo(line: CommandLine) -> str:
    with start(line.home) as server:
        return server.conninfo


def test_after_an_erasure_no_file_of_the_database_holds_the_text_also_after_a_restart(
    line: CommandLine,
) -> None:
    secret = capture(line)
    data = data_folder(line)
    assert files_with(data, marker(1)[:200]), "what is looked for can be found"

    ran = line.run("erase", "--source", str(secret), "--yes", "--json")

    assert ran.status == 0, ran.err
    report = ran.json
    assert (report["verified"], report["state"], report["left"]) == (True, "finished", [])
    assert files_with(data, *erased_texts()) == set()
    assert tables_with(conninfo(line), *erased_texts()) == set()
    receipt = line.home / "receipts" / f"{report['id']}.json"
    assert stat.S_IMODE(receipt.stat().st_mode) == 0o600
    assert not any(text in receipt.read_text() for text in erased_texts())
    restart(data)
    assert "kettle" in line.run("search", "--all", "Where is the kettle?").out
    assert "heron" not in line.run("search", "--all", "frozen heron").out
    assert files_with(data, "frozen reservoir", marker(1)[:200], NAME) == set()


@pytest.mark.parametrize("projections_past", [0, 5])
def test_an_erasure_that_was_killed_is_known_and_finished(line: CommandLine, projections_past: int) -> None:
    secret = capture(line)
    data = data_folder(line)
    with psycopg.connect(conninfo(line)) as reader:
        # The erasure waits before it gives back the room, because somebody may still see what was there.
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM log.events").fetchone()
        process = line.started("erase", "--source", str(secret), "--yes")
        wait_for_erasure(conninfo(line), projections_past)
        process.send_signal(signal.SIGKILL)
        process.communicate()

    status = line.run("status", "--json").json
    assert any("--finish" in note for note in status["notes"])
    finished = line.run("erase", "--finish", "--json")

    assert finished.status == 0, finished.err
    assert len(finished.json["finished"]) == 1
    assert line.run("status", "--json").json["notes"] == []
    assert files_with(data, *erased_texts()) == set()
    assert tables_with(conninfo(line), *erased_texts()) == set()
    again = line.run("erase", "--source", str(secret), "--yes")
    assert again.status == 1
    assert finished.json["finished"][0] in again.err
    assert "already" in again.err


def test_an_erasure_that_was_killed_between_two_appends_is_carried_on_when_it_is_asked_for_again(
    line: CommandLine,
) -> None:
    for number in range(STREAMS_MAX + 100):
        write(line.directory / "notes" / f"{number}.md", f"Number {number}. {PROSE}")
    assert line.run("ingest", "notes").status == 0
    data = data_folder(line)
    process = line.started("erase", "--scope", "global", "--yes")
    wait_for_erasure(conninfo(line), 0)
    process.send_signal(signal.SIGKILL)
    process.communicate()

    again = line.run("erase", "--scope", "global", "--yes")

    assert again.status == 0, again.err
    assert "had been stopped in the middle" in again.err
    assert line.run("status", "--json").json["notes"] == []
    assert {source["state"] for source in line.run("sources", "--json").json} == {"erased"}
    assert files_with(data, "frozen reservoir") == set()


def test_without_yes_it_is_only_shown_and_the_token_confirms_exactly_that(line: CommandLine) -> None:
    secret = capture(line)

    shown = line.run("erase", "--source", str(secret))

    assert shown.status == 0
    assert NAME in shown.out
    assert "token:" in shown.out
    token = shown.out.rpartition("token: ")[2].strip()
    assert line.run("erase", "--source", str(secret), "--confirm", "0" * 20).status == 1
    write(secret, "# Birds", "", "One more revision, which the token does not know of.")
    line.run("ingest", "notes")
    assert line.run("erase", "--source", str(secret), "--confirm", token).status == 1
    fresh = line.run("erase", "--source", str(secret), "--json").json["token"]
    assert line.run("erase", "--source", str(secret), "--confirm", fresh).status == 0
    assert "heron" not in line.run("sources", "--json").out


@pytest.mark.parametrize("words", [["erase"], ["erase", "--finish", "--scope", "a"], ["redact"]])
def test_what_to_erase_has_to_be_named(line: CommandLine, words: list[str]) -> None:
    assert line.run(*words).status == 2


def test_an_erased_source_is_not_captured_again_until_it_is_asked_for_by_name(line: CommandLine) -> None:
    secret = capture(line)
    session = write(line.directory / "chat" / "t.turns.jsonl", turn_line(PROSE, session="t"))
    line.run("ingest", "chat")
    assert line.run("erase", "--source", str(secret), "--source", str(session), "--yes").status == 0

    add(session, turn_line("And it goes on.", session="t", turn="2"))
    copy = write(line.directory / "notes" / "copy.md", *secret.read_text().splitlines())
    report = line.run("ingest", "notes", "chat", "--json").json

    assert report["revisions"] == 0
    rejected = {Path(found["path"]).name: found["reason"] for found in report["rejected"]}
    assert rejected == {secret.name: "erased", session.name: "erased", copy.name: "erased"}
    assert "heron" not in line.run("search", "--all", "--scope", "all", "frozen heron").out

    report = line.run("ingest", "--again", str(secret), str(session), "--json").json
    assert report["revisions"] == 2, report
    assert "heron" in line.run("search", "--all", "--scope", "all", "frozen heron").out


def restart(data: Path) -> None:
    pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)


def wait_for_erasure(database: str, projections_past: int) -> None:
    """Wait until the log tells of an erasure, and so many projections have been brought past it."""
    query = (
        "SELECT count(*) FILTER (WHERE position >= event) FROM control.generation JOIN control.active ON generation = id,"
        " (SELECT min(notification_id) AS event FROM log.events WHERE originator_id LIKE 'erasure-%') AS erasure"
        " HAVING min(event) IS NOT NULL"
    )
    deadline = time.monotonic() + 60
    with psycopg.connect(database, autocommit=True) as conn:
        while (row := conn.execute(query).fetchone()) is None or row[0] < projections_past:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_receipts_are_json(line: CommandLine) -> None:
    secret = capture(line)
    report = line.run(
        "erase", "--source", str(secret), "--yes", "--reason", "Not mine to keep.", "--json"
    ).json
    stored = json.loads((line.home / "receipts" / f"{report['id']}.json").read_text())
    assert stored == report
    assert stored["actor"] == "cli"
    assert stored["tables_before"]["passages.passage"] > 0
    assert stored["tables_after"].get("passages.passage", 0) == 0


def test_a_passage_that_was_erased_is_no_secret_where_its_file_is_captured_again(line: CommandLine) -> None:
    note = write(line.directory / "notes" / "a.md", "# Birds", "", PROSE, "", "Something else.")
    write(
        line.directory / "notes" / "a.turns.jsonl", turn_line(PROSE), turn_line("Something else.", turn="2")
    )
    line.run("ingest", "notes", "--wait", "words")
    hits = line.run("search", "frozen heron", "--scope", "all", "--json").json["hits"]
    passage = next(hit["id"] for hit in hits if hit["text"].strip() == PROSE)
    assert line.run("erase", "--passage", passage, "--yes").status == 0

    add(note, "", "And it goes on.")
    ran = line.run("ingest", "notes", "--wait", "none")
    add(note, "", "And on.")
    report = line.run("ingest", "notes", "--wait", "none", "--json").json

    assert "1 erased passage left out" in ran.out
    assert "secret" not in ran.out
    assert (report["redactions"], report["erased_passages"]) == (0, 1)
