"""The tally of what was captured and parsed, what failed, and when each agent was captured last."""

from __future__ import annotations

from pathlib import Path

from chronofile.query.tally import CapturedCount, ParsedCount, Tally, tally
from tests.builders import add, claude_line, turn_line, write
from tests.world import World


def test_nothing_captured_is_an_empty_tally(world: World) -> None:
    assert tally(world.engine) == Tally()


def test_what_is_captured_parsed_and_rejected_is_counted(world: World, tmp_path: Path) -> None:
    path = write(tmp_path / "main.jsonl", claude_line("First."))
    world.capture(path)
    add(path, claude_line("Second.", uuid="u-2"))
    write(tmp_path / "chat.turns.jsonl", turn_line("Third."))
    (tmp_path / "empty.md").write_bytes(b"")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    world.capture(tmp_path)
    world.catch_up()

    found = tally(world.engine)

    sizes = sum(p.stat().st_size for p in tmp_path.iterdir() if p.suffix == ".jsonl")
    assert found.captured == CapturedCount(sources=3, revisions=4, bytes=sizes)
    assert found.parsed == ParsedCount(sources=2, passages=3)
    assert found.rejections == {"binary": 1}
    assert found.failed == {}


def test_failures_are_counted_by_reason(world: World, tmp_path: Path) -> None:
    world.capture(write(tmp_path / "a.md", "Words."))
    world.catch_up()
    world.rows(
        "INSERT INTO {passages}.failure VALUES ('1', 1, 'one', 1), ('2', 1, 'one', 1), ('3', 1, 'other', 1)"
        " RETURNING source"
    )

    assert tally(world.engine).failed == {"one": 2, "other": 1}


def test_each_agent_has_its_last_capture_its_last_event_and_its_last_hook(
    world: World, tmp_path: Path
) -> None:
    first = write(tmp_path / "one.jsonl", claude_line("First.", session="one", at="2026-05-08T12:00:00.000Z"))
    second = write(
        tmp_path / "two.jsonl", claude_line("Second.", session="two", at="2026-05-07T12:00:00.000Z")
    )
    world.capture(first, tool="hook:claude-code")
    world.capture(second, tool="watch")
    world.capture(write(tmp_path / "a.turns.jsonl", turn_line("Nobody's.", at="2027-01-01T00:00:00Z")))
    world.catch_up()

    found = tally(world.engine)

    assert list(found.agents) == ["claude-code"]
    agent = found.agents["claude-code"]
    assert (agent.sources, agent.last_event_time) == (2, "2026-05-08T12:00:00.000Z")
    assert agent.last_capture is not None
    assert agent.last_hook == found.batches["hook:claude-code"] < agent.last_capture
    assert {"ingest", "watch", "hook:claude-code"} <= found.batches.keys()


def test_what_is_captured_from_an_agents_folder_is_the_agents_also_in_a_format_that_is_not_known(
    world: World, tmp_path: Path
) -> None:
    rollout = write(tmp_path / "sessions" / "2026" / "rollout.jsonl", '{"kind": "made-up"}')
    write(tmp_path / "sessions-of-others" / "rollout.jsonl", '{"kind": "else"}')
    chat = write(tmp_path / "claude" / "s.jsonl", claude_line("First."))
    world.capture(tmp_path)
    world.catch_up()
    folders = {"kimi": [str(tmp_path / "sessions")], "claude-code": [str(tmp_path)], "cursor": []}

    found = tally(world.engine, folders).agents

    assert {name: (count.sources, count.bytes) for name, count in found.items()} == {
        "claude-code": (1, chat.stat().st_size),
        "kimi": (1, rollout.stat().st_size),
    }
    assert found["kimi"].last_capture is not None
