"""A watch of conversations whose words are in other files than the one that begins them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.infra.watched import until, watching
from tests.samples import cursor, opencode
from tests.samples.cursor import COMPOSER, bubble, put

WAIT_S = 60.0


def test_a_part_and_a_databases_log_bring_their_conversations_again(
    home: Path, conninfo: str, tmp_path: Path
) -> None:
    folder = tmp_path / "agents"
    storage = opencode.write(folder / "opencode")
    path = cursor.write(folder / "cursor")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        with watching(folder, home=home, conninfo=conninfo) as watch:
            watch.begun()
            assert watch.count("revisions") == 2

            part = storage / "part" / "msg_1" / "prt_msg_1_1.json"
            opencode.put(part, {"type": "text", "text": "Where is the paraffin?"})
            until(lambda: watch.count("revisions") == 3, WAIT_S)
            put(connection, f"bubbleId:{COMPOSER}:b8", bubble("b8", 1, "It stands in the log alone."))
            connection.commit()
            until(lambda: watch.count("revisions") == 4, WAIT_S)

            assert all(not flush["rejected"] for flush in watch.flushes)
