"""Databases that conversations are kept in: read while they are in use, locked, broken or huge, and never touched."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from chronofile.domain.identity import decoded
from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives import companions, databases
from chronofile.ingest.archives.databases import opened_database
from tests.samples import cursor, opencode
from tests.samples.cursor import COMPOSER, bubble, composer, put
from tests.world import World

_WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA wal_autocheckpoint = 0")
print("ready", flush=True)
for line in sys.stdin:
    connection.execute(*eval(line))
    print("done", flush=True)
"""


class Writer:
    """Another process that has a database open, as a tool has, and writes to it."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._heard()

    def run(self, statement: str, *values: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{(statement, values)!r}\n")
        self.process.stdin.flush()
        self._heard()

    def put(self, key: str, value: object) -> None:
        self.run("INSERT INTO cursorDiskKV VALUES (?, ?)", key, json.dumps(value))

    def _heard(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() in ("ready", "done")


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """Have another process keep the database open; it is killed at the end, as a tool may be."""
    writer = Writer(path)
    try:
        yield writer
    finally:
        writer.process.kill()
        writer.process.communicate()


def told(world: World) -> list[str]:
    """Return the texts of all passages."""
    world.catch_up()
    return [decoded(bytes(text)) for (text,) in world.rows("SELECT text FROM {passages}.passage")]


def traces(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_a_conversation_of_a_database_is_captured_once(world: World, tmp_path: Path) -> None:
    path = cursor.write(tmp_path / "cursor")

    first, second, again = world.capture(path), world.capture(path), world.capture(path, again=True)

    assert (first.revisions, second.revisions, again.revisions) == (1, 0, 0)
    assert not first.rejected
    assert any("forty barrels" in text for text in told(world))
    assert world.rows("SELECT count(*) FROM {sources}.source WHERE format = 'cursor'") == [(1,)]


def test_a_renamed_database_holds_the_same_conversations(world: World, tmp_path: Path) -> None:
    path = cursor.write(tmp_path / "cursor")
    world.capture(path)

    captured = world.capture(path.rename(tmp_path / "renamed.vscdb"))

    assert captured.revisions == 0


def test_a_grown_conversation_is_captured_again_and_others_are_not(world: World, tmp_path: Path) -> None:
    path = cursor.write(tmp_path / "cursor")
    with closing(sqlite3.connect(path)) as connection:
        put(connection, "composerData:other", composer("o1", identifier="other", name="Other"))
        put(connection, "bubbleId:other:o1", bubble("o1", 1, "Nothing new here."))
        connection.commit()
    world.capture(path)
    with closing(sqlite3.connect(path)) as connection:
        grown = composer("b1", "b2", "b3", "b4", "b5", lastUpdatedAt=1_780_000_200_000)
        put(connection, f"composerData:{COMPOSER}", grown)
        put(connection, f"bubbleId:{COMPOSER}:b5", bubble("b5", 1, "And the spare wick?"))
        connection.commit()

    captured = world.capture(path)

    assert (captured.revisions, captured.unchanged) == (1, 1)
    assert any("spare wick" in text for text in told(world))


def test_what_another_program_has_written_is_seen_and_nothing_is_touched(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "cursor"
    path = cursor.write(folder)
    with writing(path) as writer:
        writer.put(f"bubbleId:{COMPOSER}:b6", bubble("b6", 1, "It stands in the log alone."))
        assert (folder / "state.vscdb-wal").stat().st_size > 0
        before = traces(folder)

        captured = world.capture(path)

        assert not captured.rejected
        assert traces(folder) == before
        writer.put(f"bubbleId:{COMPOSER}:b7", bubble("b7", 1, "It came while we were away."))
        assert world.capture(folder).revisions == 1
    texts = told(world)
    assert any("stands in the log alone" in text for text in texts)
    assert any("came while we were away" in text for text in texts)


@pytest.mark.parametrize("index_stays", [True, False])
def test_a_log_that_a_killed_program_left_is_read(world: World, tmp_path: Path, index_stays: bool) -> None:
    folder = tmp_path / "cursor"
    path = cursor.write(folder)
    with writing(path) as writer:
        writer.put(f"bubbleId:{COMPOSER}:b6", bubble("b6", 1, "It stands in the log alone."))
    if not index_stays:
        (folder / "state.vscdb-shm").unlink()
    before = traces(folder)

    captured = world.capture(folder)

    assert not captured.rejected
    assert traces(folder) == before
    assert any("stands in the log alone" in text for text in told(world))


@pytest.mark.parametrize("log", [b"", b"no log", b"\x37\x7f\x06\x82" + bytes(4_000)])
def test_a_log_without_a_transaction_is_no_part_of_the_database(
    world: World, tmp_path: Path, log: bytes
) -> None:
    folder = tmp_path / "cursor"
    path = cursor.write(folder)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    (folder / "state.vscdb-wal").write_bytes(log)
    before = traces(folder)

    captured = world.capture(folder)

    assert (captured.revisions, captured.rejected) == (1, [])
    assert traces(folder) == before


def test_a_folder_that_may_not_be_written_to_is_read(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "cursor"
    path = cursor.write(folder)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    folder.chmod(0o500)
    try:
        assert world.capture(path).revisions == 1
        assert [one.name for one in folder.iterdir()] == ["state.vscdb"]
    finally:
        folder.chmod(0o700)


def test_a_locked_database_is_rejected_for_now(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "BUSY_S", 0.1)
    path = cursor.write(tmp_path / "cursor")
    os.utime(path, (1_780_000_000, 1_780_000_000))
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        captured = world.capture(path)
        other.rollback()

    assert [one.reason for one in captured.rejected] == ["locked"]
    assert world.capture(path).revisions == 1


def test_a_reader_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = cursor.write(tmp_path / "cursor")

    with opened_database(path) as database:
        assert list(database.rows("SELECT count(*) FROM cursorDiskKV")) == [(6,)]
        with closing(sqlite3.connect(path, timeout=0)) as other:
            other.execute("DELETE FROM cursorDiskKV")
            other.commit()


def test_of_a_broken_database_what_can_be_read_is_captured(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "cursor"
    path = cursor.write(folder)
    with closing(sqlite3.connect(path)) as connection:
        for number in range(40):
            owner = f"composer-{number:02}"
            put(
                connection, f"composerData:{owner}", composer("b1", identifier=owner, name=f"Number {number}")
            )
            put(
                connection,
                f"bubbleId:{owner}:b1",
                bubble("b1", 1, f"Words of {number}. " + "barrel " * 3_000),
            )
        connection.commit()
    content = bytearray(path.read_bytes())
    middle = content.index(b"Words of 20.") // 4096 * 4096
    content[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(content)

    captured = world.capture(folder)

    assert {one.reason for one in captured.rejected} == {"damaged"}
    assert 20 < captured.revisions < 41


@pytest.mark.parametrize("size", [16, 60, 4_096, 5_000])
def test_a_database_that_is_cut_off_is_damaged(world: World, tmp_path: Path, size: int) -> None:
    path = cursor.write(tmp_path / "cursor")
    path.write_bytes(path.read_bytes()[:size])

    captured = world.capture(path)

    assert captured.revisions == 0
    assert {one.reason for one in captured.rejected} == {"damaged"}


def test_an_encrypted_database_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    path.write_bytes(databases.MAGIC + os.urandom(8_176))

    with pytest.raises(NotRead) as raised, opened_database(path):
        pass

    assert raised.value.reason == "damaged"


def test_an_empty_file_called_as_a_database_breaks_nothing(world: World, tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    path.touch()

    assert not world.capture(path).rejected


def test_a_locked_database_that_is_read_later_is_rejected_no_more(world: World, tmp_path: Path) -> None:
    path = cursor.write(tmp_path / "cursor")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        locked = world.capture(path)
        connection.execute("ROLLBACK")
    captured = world.capture(path)
    world.catch_up()

    assert [one.reason for one in locked.rejected] == ["locked"]
    assert (captured.revisions, captured.rejected) == (1, [])
    assert world.rows("SELECT count(*) FROM {sources}.source WHERE rejection IS NOT NULL") == [(0,)]


def test_a_database_of_another_format_than_was_asked_for_is_told_and_read_the_next_time(
    world: World, tmp_path: Path
) -> None:
    path = cursor.write(tmp_path / "cursor")
    other = world.capture(path, format_name="opencode")

    assert [one.reason for one in other.rejected] == ["other-format"]
    assert (world.store.position(), world.capture(path).revisions) == (0, 1)


def test_a_database_of_another_program_is_a_file_like_any_other(world: World, tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE invoice (id INTEGER, amount REAL)")

    assert [one.reason for one in world.capture(path).rejected] == ["no-conversation"]


def test_a_database_without_conversations_is_passed_over(world: World, tmp_path: Path) -> None:
    path = cursor.database(tmp_path / "state.vscdb", composer(), {})

    captured = world.capture(path)

    assert (captured.rejected, captured.revisions) == ([], 0)
    assert captured.omitted["archive-entry"]


def test_strange_values_are_kept_and_raise_nothing(world: World, tmp_path: Path) -> None:
    path = cursor.write(tmp_path / "cursor")
    strange = [
        None,
        "",
        "no JSON",
        b"\xff\xfe{",
        "{",
        "[1, 2]",
        "{}",
        '{"type": 1, "text": "fine"}',
        "7",
        "{" * 50_000,
    ]
    with closing(sqlite3.connect(path)) as connection:
        for number, value in enumerate(strange):
            put(connection, f"bubbleId:{COMPOSER}:s{number}", value)
            put(connection, f"composerData:strange-{number}", value)
            put(connection, f"composerData::{number}", value)
        put(connection, "composerData:", None)
        put(connection, "bubbleId:", "{}")
        put(connection, "bubbleId:gone:b1", bubble("b1", 1, "Its composer is gone."))
        connection.commit()

    captured = world.capture(path)

    assert captured.revisions == 2
    texts = told(world)
    assert any("forty barrels" in text for text in texts)
    assert any("Its composer is gone." in text for text in texts)


def test_the_older_chat_of_a_workspace_is_captured_by_tabs(world: World, tmp_path: Path) -> None:
    path = cursor.database(tmp_path / "hash" / "state.vscdb", composer(), {})
    (path.parent / "workspace.json").write_text('{"folder": "file:///made-up/light%20house"}')
    tabs = [
        {"tabId": f"tab-{number}", "chatTitle": f"Chat {number}", "lastSendTime": 1_700_000_000_000 + number,
         "bubbles": [{"type": "user", "id": "u1", "text": f"Question {number}?"},
                     {"type": "ai", "id": "a1", "rawText": f"Answer {number}."}]}
        for number in range(2)
    ]  # fmt: skip
    old = {
        "composerId": "old",
        "conversation": [{"type": 1, "bubbleId": "x", "text": "From the oldest composer."}],
    }
    with closing(sqlite3.connect(path)) as connection:
        chat = "workbench.panel.aichat.view.aichat.chatdata"
        put(connection, chat, {"tabs": [*tabs, {"tabId": "empty", "bubbles": []}]}, "ItemTable")
        put(connection, "composer.composerData", {"allComposers": [old, {"composerId": "bare"}]}, "ItemTable")
        connection.commit()

    captured = world.capture(path)

    assert captured.revisions == 3
    texts = told(world)
    assert any("Answer 1." in text for text in texts)
    assert any("From the oldest composer." in text for text in texts)


def test_a_chat_of_the_command_line_is_captured_in_the_order_of_its_root(
    world: World, tmp_path: Path
) -> None:
    path = tmp_path / "chats" / "hash" / "chat-1" / "store.db"
    path.parent.mkdir(parents=True)
    said = {
        "11": {
            "role": "user",
            "content": [{"type": "text", "text": "<user_query>\nWhere is the wick?\n</user_query>"}],
        },
        "22": {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "In the drawer."},
                {"type": "tool-call", "toolName": "Shell", "args": {"command": "ls drawer"}},
            ],
        },
        "33": {
            "role": "tool",
            "content": [{"type": "tool-result", "toolName": "Shell", "result": "wick.txt"}],
        },
        "44": {"role": "user", "content": "It was taken back."},
    }
    order = ["11", "22", "33", "11"]
    root = b"".join(b"\x0a\x20" + bytes.fromhex(one * 32) for one in order) + b"\x4a\x03abc"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        for key, message in reversed(said.items()):
            connection.execute("INSERT INTO blobs VALUES (?, ?)", (key * 32, json.dumps(message).encode()))
        connection.execute("INSERT INTO blobs VALUES ('root', ?)", (root,))
        meta = {
            "agentId": "chat-1",
            "name": "Wick",
            "createdAt": 1_780_000_000_000,
            "latestRootBlobId": "root",
        }
        connection.execute("INSERT INTO meta VALUES ('0', ?)", (json.dumps(meta).encode().hex(),))
        connection.commit()

    captured = world.capture(path)
    world.catch_up()

    assert captured.revisions == 1
    turns = world.rows("SELECT key, superseded FROM {passages}.turn ORDER BY ordinal")
    keys = [decoded(bytes(key))[:2] for key, _ in turns]
    assert keys == ["ti", "11", "22", "33", "11", "44"]
    assert [left for _, left in turns] == [False] * 5 + [True]


def test_a_session_in_a_folder_and_in_a_database_is_one_source(world: World, tmp_path: Path) -> None:
    storage = opencode.write(tmp_path / "opencode")
    path = opencode.database(tmp_path / "opencode" / "opencode.db")
    world.capture(storage)
    world.capture(path)
    world.catch_up()

    assert world.rows("SELECT count(*) FROM {sources}.source WHERE format = 'opencode'") == [(1,)]
    assert world.capture(storage, path, again=True).revisions == 0


def test_a_database_of_a_later_version_is_read_as_far_as_it_goes(world: World, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE session (id TEXT PRIMARY KEY, title TEXT, version TEXT, novel BLOB)")
        connection.execute(
            "CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INT, data TEXT)"
        )
        connection.execute("INSERT INTO session VALUES ('s1', 'Later', '7.0.0', x'ff00')")
        for number, (kind, value) in enumerate(
            [
                ("user", {"text": "Is it later?"}),
                ("riddle", {"text": "?"}),
                ("compaction", {"summary": "It was."}),
            ]
        ):
            row = (f"m{number}", "s1", kind, number, json.dumps(value))
            connection.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()

    captured = world.capture(path)

    assert captured.revisions == 1
    assert any("Is it later?" in text for text in told(world))


def test_files_beside_a_database_are_parts_of_it(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "cursor"
    path = cursor.write(folder)
    for suffix in ("-journal", "-shm"):
        databases.beside(path, suffix).touch()

    captured = world.capture(folder)

    assert captured.omitted["part-of-conversation"] == 2
    assert not captured.rejected


def test_a_change_of_the_log_leads_to_the_database(tmp_path: Path) -> None:
    path = cursor.write(tmp_path / "cursor")
    found = companions.Companions()

    assert found.leader(databases.beside(path, "-wal")) == path
    assert found.leader(path) is None
    assert found.leader(tmp_path / "notes-wal") is None
