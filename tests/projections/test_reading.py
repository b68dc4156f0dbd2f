"""A reading: what a fold cannot take in is a reason and no exception, and leaves the state as it was."""

from __future__ import annotations

import json
from pathlib import Path

from structlog.testing import capture_logs

from chronofile.projections.reading import Reading
from tests.builders import add, claude_line, revised, turn_line, write
from tests.world import World

LINE = claude_line("Where is the tide table?").encode()
FOREIGN = {"kept": "by a version that is gone"}
"""A state that no fold can go on from."""


def test_an_exception_of_a_fold_is_a_reason_without_a_word_of_the_source() -> None:
    reading = Reading(FOREIGN)

    with capture_logs() as logs:
        reason = reading.read(LINE, revised(start=10, format="claude-code"), is_file=False)

    assert reason == "its records cannot be read as claude-code: KeyError"
    assert (reading.state, reading.turns, reading.title) == (FOREIGN, {}, None)
    (logged,) = logs
    assert logged["log_level"] == "warning"
    assert (logged["format"], logged["error"]) == ("claude-code", "KeyError")
    assert logged["at"].startswith("draft.py:")
    assert "tide" not in str(logged)


def test_a_reading_goes_on_after_a_range_that_cannot_be_read() -> None:
    reading = Reading(FOREIGN)
    reading.read(LINE, revised(start=10, format="claude-code"), is_file=False)
    reading.state = None

    assert reading.read(LINE, revised(format="claude-code"), is_file=False) is None
    assert [turn.text for turn in reading.turns.values()] == ["Where is the tide table?"]


def test_a_range_that_makes_a_fold_raise_stops_no_other_source(world: World, tmp_path: Path) -> None:
    ill = write(tmp_path / "ill.jsonl", claude_line("The first words", session="ill"))
    world.capture(tmp_path)
    world.catch_up()
    change = "UPDATE {passages}.source SET fold_state = convert_to(%s, 'UTF8')"
    with world.engine.begin() as conn:
        change = change.replace("{passages}", world.schemas()["passages"])
        conn.exec_driver_sql(change, (json.dumps(FOREIGN),))

    add(ill, claude_line("The second words", session="ill"))
    write(tmp_path / "well.jsonl", turn_line("Of another source", session="well"))
    world.capture(tmp_path)
    world.catch_up()

    texts = [bytes(text).decode() for (text,) in world.rows("SELECT text FROM {passages}.passage")]
    assert sorted(texts) == ["Of another source", "The first words"]
    assert [reason for (reason,) in world.rows("SELECT reason FROM {passages}.failure")] == [
        "its records cannot be read as claude-code: KeyError"
    ]
