"""When each agent's hook last noted something, as a drain leaves it."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chronofile.ingest import hooked
from chronofile.ingest.spool import Entry


def entry(agent: str, second: int) -> Entry:
    return Entry(Path("/made-up"), "stop", agent, second * 10**9, (), True)


def at(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def test_the_newest_entry_of_each_agent_is_kept(tmp_path: Path) -> None:
    hooked.note(tmp_path, [entry("codex", 5), entry("claude-code", 7), entry("claude-code", 6)])
    hooked.note(tmp_path, [entry("codex", 4), entry("claude-code", 8)])
    hooked.note(tmp_path, [])

    assert hooked.last(tmp_path) == {"codex": at(5), "claude-code": at(8)}
    (file,) = (tmp_path / "captured").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_home_without_any_has_none(tmp_path: Path) -> None:
    assert hooked.last(tmp_path) == {}
    hooked.note(tmp_path / "gone", [entry("codex", 5)])


@pytest.mark.parametrize(
    "broken", ["", "{", "[1]", '{"codex": 1e999}', '{"codex": -1}', '{"A b": 1}', "[" * 100_000]
)
def test_a_file_that_somebody_broke_is_taken_for_none_and_written_anew(tmp_path: Path, broken: str) -> None:
    (tmp_path / "captured").mkdir()
    (tmp_path / "captured" / "hooks.json").write_text(broken)

    assert hooked.last(tmp_path) == {}
    hooked.note(tmp_path, [entry("codex", 5)])
    assert hooked.last(tmp_path) == {"codex": at(5)}
