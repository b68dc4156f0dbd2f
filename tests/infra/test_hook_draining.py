"""Draining: what hooks noted is captured, once, and found; what cannot be used is set aside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from chronofile.domain.events import BatchStarted, Event
from chronofile.domain.rejection import NotRead
from chronofile.infra.calls import Calls
from chronofile.infra.cli import calls
from chronofile.infra.contents import ContentStore
from chronofile.infra.drain import passes
from chronofile.infra.event_store import EventStore
from chronofile.infra.following import Follower
from chronofile.infra.memory import Memory
from chronofile.ingest import spool
from chronofile.ingest.recovery import live_transcript
from chronofile.ingest.sighting import Looked
from tests.builders import add, claude_line, turn_line, write
from tests.infra.command_line import command_line
from tests.infra.hooks import Hooks, left_captured
from tests.infra.test_memory import opened

OLD, NEW, LATER = "Staging listens on vermilion.", "Production listens on cobalt.", "Backups go to ochre."


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


@pytest.fixture
def hooks(home: Path) -> Hooks:
    return Hooks(home)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return write(tmp_path / "s.jsonl", claude_line(OLD, uuid="u-1"))


def texts(memory: Memory, query: str) -> list[str]:
    """Return the passages that are found and hold the question's last word."""
    memory.catch_up()
    word = query.rsplit(maxsplit=1)[-1].rstrip(".")
    return [hit.text for hit in memory.search(query, scope="all").hits if word in hit.text]


def captured(memory: Memory, hooks: Hooks, transcript: Path) -> None:
    memory.ingest([transcript], wait="words")
    left_captured(hooks, transcript)


def events(store: EventStore) -> list[Event]:
    return [recorded.event for page in store.pages() for recorded in page.events]


def tools(store: EventStore) -> list[str]:
    return [event.tool for event in events(store) if isinstance(event, BatchStarted)]


def test_an_empty_spool_is_no_work(memory: Memory, home: Path) -> None:
    assert memory.drain().entries == 0
    assert not spool.folder(home).exists()


def test_a_noted_transcript_is_captured_as_one_batch_and_found(
    memory: Memory, hooks: Hooks, transcript: Path, store: EventStore
) -> None:
    other = write(transcript.with_name("t.jsonl"), claude_line(NEW, session="t"))
    for path in (transcript, other, transcript):
        hooks.tell("Stop", path)

    drained = memory.drain()

    assert (drained.entries, drained.captured, drained.set_aside, drained.left) == (3, 2, 0, 0)
    assert tools(store) == ["hook:claude-code"]
    assert hooks.entries == []
    assert texts(memory, OLD) == [OLD]
    assert texts(memory, NEW) == [NEW]


def test_draining_again_captures_nothing_again(
    memory: Memory, hooks: Hooks, transcript: Path, store: EventStore
) -> None:
    hooks.tell("Stop", transcript)
    memory.drain()
    before = len(events(store))
    hooks.tell("PreCompact", transcript)
    hooks.tell("Stop", transcript)

    assert (memory.drain().captured, hooks.entries) == (0, [])
    assert len(events(store)) == before


def test_what_a_client_rewrote_right_after_is_found(memory: Memory, hooks: Hooks, transcript: Path) -> None:
    captured(memory, hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    write(transcript, claude_line("The conversation so far was compacted.", uuid="u-3"))

    drained = memory.drain()

    assert (drained.entries, drained.left, drained.set_aside) == (1, 0, 0)
    assert texts(memory, NEW) == [NEW]
    assert texts(memory, "conversation compacted") == ["The conversation so far was compacted."]
    assert memory.verify().disagreements == ()


def test_what_was_captured_before_it_was_spooled_and_is_still_in_the_file_stands_once(
    memory: Memory, hooks: Hooks, transcript: Path, store: EventStore
) -> None:
    captured(memory, hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"), claude_line(LATER, uuid="u-3"))
    hooks.tell("PreCompact", transcript)
    write(transcript, claude_line("Compacted.", uuid="u-4"), claude_line(LATER, uuid="u-3"))

    memory.drain()

    assert [texts(memory, text) for text in (NEW, LATER)] == [[NEW], [LATER]]


def test_a_transcript_that_was_captured_and_then_rewritten_loses_nothing_that_was_spooled_later(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    captured(memory, hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    memory.ingest([transcript], wait="words")
    write(transcript, claude_line("Compacted.", uuid="u-4"))
    memory.ingest([transcript], wait="words")

    memory.drain()

    assert texts(memory, NEW) == [NEW]


def test_a_transcript_that_is_gone_goes_on_as_the_source_that_it_was(
    memory: Memory, hooks: Hooks, transcript: Path, store: EventStore
) -> None:
    captured(memory, hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    left_captured(hooks, transcript)
    add(transcript, claude_line(LATER, uuid="u-3"))
    hooks.tell("SessionEnd", transcript)
    transcript.unlink()

    drained = memory.drain()

    assert (drained.entries, drained.captured) == (2, 2)
    assert [texts(memory, text) for text in (OLD, NEW, LATER)] == [[OLD], [NEW], [LATER]]
    assert len(memory.sources()) == 1
    assert memory.verify().disagreements == ()


def test_a_transcript_that_was_never_captured_and_is_gone_is_captured_from_the_spool(
    memory: Memory, hooks: Hooks, transcript: Path, store: EventStore
) -> None:
    content = transcript.read_bytes()
    hooks.tell("SessionEnd", transcript)
    transcript.unlink()
    assert memory.drain().captured == 1
    transcript.write_bytes(content)
    add(transcript, claude_line(NEW, uuid="u-2"))
    memory.ingest([transcript], wait="words")

    (source,) = memory.sources()
    assert source.revision == 2
    assert [texts(memory, text) for text in (OLD, NEW)] == [[OLD], [NEW]]


def test_spooled_bytes_that_continue_nothing_become_a_source_of_their_own(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    add(transcript, *[claude_line("x" * 1_000, uuid=f"x-{number}") for number in range(300)])
    left_captured(hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    transcript.unlink()

    memory.drain()

    (source,) = memory.sources()
    assert "#spool-" in source.uri
    assert texts(memory, NEW) == [NEW]
    assert memory.search(NEW, scope="all").hits[0].session == "s"


def test_two_copies_of_the_same_lines_are_one_source(memory: Memory, hooks: Hooks, transcript: Path) -> None:
    captured(memory, hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    add(transcript, claude_line(LATER, uuid="u-3"))
    hooks.tell("SessionEnd", transcript)
    write(transcript, claude_line("Compacted.", uuid="u-4"))
    first = spool.waiting(hooks.home)[0]
    content = first.read_bytes()

    memory.drain()
    first.write_bytes(content)

    assert memory.drain().captured == 0
    assert sum("#spool-" in source.uri for source in memory.sources()) == 2
    assert [texts(memory, text) for text in (NEW, LATER)] == [[NEW], [LATER]]


def test_a_secret_that_was_spooled_is_redacted_and_recognised_as_captured(
    memory: Memory, hooks: Hooks, transcript: Path, engine: sa.Engine, contents: ContentStore
) -> None:
    secret = "ghp_" + "Ab1" * 12
    add(transcript, claude_line(f"The token of cobalt is {secret} here.", uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    captured(memory, hooks, transcript)
    transcript.unlink()

    memory.drain()

    assert len(memory.sources()) == 1
    write(transcript, claude_line("Compacted.", uuid="u-4"))
    hooks.tell("PreCompact", transcript)
    memory.drain()
    with engine.connect() as conn:
        keys = [key for (key,) in conn.execute(sa.text("SELECT key FROM log.content"))]
        stored = contents.read(conn, keys).values()
    assert any(b"[redacted" in content for content in stored)
    assert not any(secret.encode() in content for content in stored)


@pytest.mark.parametrize("rewritten", [True, False])
@pytest.mark.parametrize("what", ["source", "passage"])
def test_what_was_erased_does_not_come_back_from_a_copy(
    memory: Memory,
    hooks: Hooks,
    transcript: Path,
    engine: sa.Engine,
    contents: ContentStore,
    what: str,
    rewritten: bool,
) -> None:
    captured(memory, hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    memory.ingest([transcript], wait="words")
    if what == "source":
        memory.erase(sources=[str(transcript)])
    else:
        memory.erase(passages=[hit.id for hit in memory.search("Production").hits if hit.text == NEW])
    transcript.unlink()
    if rewritten:
        write(transcript, claude_line("Compacted.", uuid="u-4"))

    memory.drain()

    assert hooks.entries == []
    with engine.connect() as conn:
        keys = [key for (key,) in conn.execute(sa.text("SELECT key FROM log.content"))]
        assert not any(b"cobalt" in content for content in contents.read(conn, keys).values())
    assert texts(memory, NEW) == []


def test_a_server_that_nobody_calls_captures_what_hooks_noted(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    hooks.tell("Stop", transcript)
    follower = Follower(memory, Calls(), idle_s=0.0)
    follower.start()
    deadline = time.monotonic() + 20
    while hooks.entries and time.monotonic() < deadline:
        time.sleep(0.05)
    follower.stop(10)
    assert texts(memory, OLD) == [OLD]


def test_a_scope_that_was_asked_for_holds_for_spooled_bytes_too(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    memory.ingest([transcript], scope="project:api", wait="words")
    left_captured(hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    write(transcript, claude_line("Compacted.", uuid="u-4"))
    memory.drain()
    assert {source.scope for source in memory.sources()} == {"project:api"}


def test_what_is_no_transcript_is_not_captured(memory: Memory, hooks: Hooks, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    notes = write(tmp_path / "notes.md", "Nothing of an agent.")
    secret = write(hooks.home / "own.jsonl", claude_line("Of the home."))
    for path in (pipe, tmp_path, tmp_path / "gone.jsonl", notes, secret, "/" + "x" * 5_000):
        hooks.tell("PreCompact", path)

    drained = memory.drain()

    assert memory.sources() == []
    assert (drained.entries, drained.set_aside, hooks.entries) == (5, 1, [])
    assert drained.dropped == {"not-regular": 2, "vanished": 1, "home": 1, "path-too-long": 1}
    assert "no transcript" in memory.status().spool.set_aside[0].reason


def test_what_an_agent_keeps_in_its_own_folder_is_captured_whatever_its_format(
    memory: Memory, hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    rollout = write(tmp_path / ".codex" / "sessions" / "r.jsonl", '{"type":"unheard-of","text":"The heron."}')

    hooks.tell("Stop", rollout, agent="codex")
    drained = memory.drain()

    assert (drained.entries, drained.captured) == (1, 1)
    assert [source.uri for source in memory.sources()] == [f"file://{rollout}"]


def test_what_was_captured_before_a_compaction_and_what_was_only_copied_are_found_once(
    memory: Memory, hooks: Hooks, tmp_path: Path
) -> None:
    path = write(tmp_path / "s.jsonl", claude_line("The anchor.", uuid="1"))
    memory.ingest([path], wait="words")
    add(path, claude_line("The beacon.", uuid="2"))
    hooks.tell("PreCompact", path)
    write(path, claude_line("The castle.", uuid="3"))

    memory.drain()

    memory.catch_up()
    found = memory.search("The anchor, the beacon, the castle.", scope="all").hits
    assert sorted(hit.text for hit in found) == ["The anchor.", "The beacon.", "The castle."]


def test_bytes_of_no_transcript_that_are_in_no_file_any_more_are_set_aside(
    memory: Memory, hooks: Hooks, tmp_path: Path
) -> None:
    notes = write(tmp_path / "notes.md", "Nothing of an agent.")
    hooks.tell("PreCompact", notes)
    notes.unlink()
    drained = memory.drain()
    standing = memory.status().spool
    assert (drained.set_aside, standing.waiting, len(standing.set_aside)) == (1, 0, 1)
    assert "no transcript" in standing.set_aside[0].reason


def test_a_poisoned_entry_is_set_aside_with_its_reason_and_the_others_are_captured(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    hooks.tell("Stop", transcript)
    hooks.run("Stop", stdin=b"{broken")
    folder = spool.folder(hooks.home)
    for number, content in enumerate(
        [b"", b"{", b"[]\n", b'{"version": 1}\n', b"\xff\n", b"[" * 200_000 + b"\n", b'{"version": true}\n']
    ):
        (folder / f"0{number}.entry").write_bytes(content)
    (folder / "09.entry").mkdir()
    cut = folder / "08.entry"
    cut.write_bytes(
        json.dumps(_entry(copied={"offset": 0, "spans": [[0, 9]], "left_out": 0})).encode() + b"\n"
    )

    drained = memory.drain()

    assert (drained.entries, drained.set_aside, drained.captured) == (1, 10, 1)
    assert all(found.reason not in {"", "unknown"} for found in memory.status().spool.set_aside)
    assert spool.waiting(hooks.home) == []


def test_an_entry_whose_name_is_no_text_is_set_aside(memory: Memory, hooks: Hooks, transcript: Path) -> None:
    _left(hooks, "0\udcff", _entry(path=str(transcript)))
    assert memory.drain().set_aside == 1
    assert memory.status().spool.set_aside[0].entry == "0\ufffd"


POISONS: list[dict[str, Any]] = [
    {"agent": "x\0y"}, {"agent": "x\ud800"}, {"agent": "A person's words."}, {"agent": 5}, {"event": "stop\0"},
    {"at_ns": float("inf")}, {"at_ns": -1}, {"version": float("inf")},
]  # fmt: skip


@pytest.mark.parametrize("poison", POISONS)
def test_what_no_hook_says_of_itself_gets_into_no_event(
    memory: Memory, hooks: Hooks, transcript: Path, store: EventStore, poison: dict[str, Any]
) -> None:
    hooks.tell("Stop", transcript)
    other = write(transcript.with_name("t.jsonl"), claude_line(NEW, session="t"))
    _left(hooks, "0", _entry(path=str(other)) | poison)

    drained = memory.drain()

    assert (drained.captured, drained.set_aside, drained.left) == (1, 1, 0)
    assert tools(store) == ["hook:claude-code"]
    assert texts(memory, OLD) == [OLD]
    assert all(at.error is None for at in memory.status().projections.values())


@pytest.mark.parametrize("fault", [RuntimeError("odd"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "odd")])
def test_an_entry_that_makes_a_capture_fail_is_set_aside_alone(
    memory: Memory, hooks: Hooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    paths = [
        write(tmp_path / f"s{number}.jsonl", claude_line(f"First word{number}.", session=f"s{number}"))
        for number in range(5)
    ]
    for path in paths:
        hooks.tell("Stop", path)

    def live(path: Path, home: Path, **how: Any) -> Looked | str:
        if path == paths[3]:
            raise fault
        return live_transcript(path, home, **how)

    monkeypatch.setattr(passes, "live_transcript", live)
    drained = memory.drain()

    assert (drained.entries, drained.captured, drained.set_aside) == (4, 4, 1)
    assert memory.status().spool.set_aside[0].reason == f"It could not be captured ({type(fault).__name__})."
    found = [texts(memory, f"First word{number}.") for number in range(5)]
    assert found == [[f"First word{number}."] if number != 3 else [] for number in range(5)]


def test_whatever_prevents_draining_is_a_warning_of_the_command(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(Memory, "drain", fail)
    calls._drain(memory)
    assert "not captured yet" in capsys.readouterr().err


def test_a_transcript_that_was_written_anew_before_it_was_copied_loses_nothing(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    memory.ingest([transcript], wait="words")
    write(
        transcript, *[claude_line(f"Second life, word{number}.", uuid=f"b-{number}") for number in range(8)]
    )
    hooks.tell("PreCompact", transcript)
    write(transcript, claude_line("Third life.", uuid="c-1"))

    memory.drain()

    assert [texts(memory, f"Second word{number}") for number in range(8)] == [
        [f"Second life, word{number}."] for number in range(8)
    ]


def test_what_was_recovered_from_a_copy_is_verified_as_that_and_not_as_changed(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    captured(memory, hooks, transcript)
    add(transcript, claude_line(NEW, uuid="u-2"))
    hooks.tell("PreCompact", transcript)
    write(transcript, claude_line("Compacted.", uuid="u-4"))
    memory.drain()
    memory.catch_up()

    found = memory.verify()

    assert found.disagreements == ()
    listed = {(one.state, (one.uri or "").partition("#")[2].partition("-")[0]) for one in found.listed}
    assert listed == {("recovered", "spool"), ("recovered", "former")}


def test_entries_that_wait_do_not_keep_later_ones_from_being_captured(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    large = write(transcript.with_name("large.jsonl"), claude_line(LATER + "x" * 10_000, session="l"))
    for number in range(1_001):
        _left(hooks, f"0{number:05}", _entry(path=str(large)))
        _left(hooks, f"1{number:05}", _entry() | {"version": 2})
    hooks.tell("Stop", transcript)

    drained = memory.drain(bytes_max=5_000)

    assert (drained.captured, drained.left, drained.entries) == (1, 1, 1_001)
    assert texts(memory, OLD) == [OLD]
    assert memory.status().spool.waiting == 1_002
    assert memory.drain().captured == 1


def test_the_copies_of_a_transcript_that_waits_are_kept(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    for event in ("Stop", "PreCompact", "Stop", "SessionEnd"):
        hooks.tell(event, transcript)
    memory.drain(bytes_max=10)
    assert [entry.event for entry in hooks.entries] == ["stop", "pre-compact", "session-end"]


@pytest.mark.parametrize(("tried", "aside"), [(True, 1), (False, 0)])
def test_an_entry_is_set_aside_after_a_day_only_if_it_was_tried(
    memory: Memory, hooks: Hooks, transcript: Path, monkeypatch: pytest.MonkeyPatch, tried: bool, aside: int
) -> None:
    def live(path: Path, home: Path, **how: Any) -> Looked | str:
        raise NotRead(path, "unreadable", "Made up.")

    monkeypatch.setattr(passes, "live_transcript", live)
    _left(hooks, "0", _entry(path=str(transcript)))

    drained = memory.drain(stopping=lambda: not tried)

    assert (drained.set_aside, drained.left) == (aside, 1 - aside)


def test_thousands_of_entries_are_drained_at_once_and_in_seconds(
    memory: Memory, hooks: Hooks, tmp_path: Path
) -> None:
    for number in range(5_000):
        session = f"s{number % 100}"
        path = tmp_path / f"{session}.jsonl"
        if number < 100:
            write(path, claude_line(f"First {number}.", session=session))
        _left(hooks, f"{number:05}", _entry(path=str(path)))
    began_s = time.monotonic()

    drained = memory.drain()

    assert (drained.entries, drained.captured, len(drained.batches)) == (5_000, 100, 1)
    assert time.monotonic() - began_s < 20


def test_an_entry_of_a_later_version_waits_for_it(memory: Memory, hooks: Hooks, transcript: Path) -> None:
    hooks.tell("Stop", transcript)
    later = spool.folder(hooks.home) / "0.entry"
    later.write_bytes(json.dumps(_entry() | {"version": 2, "transcripts": "elsewhere"}).encode() + b"\n")
    assert memory.drain().entries == 1
    assert spool.waiting(hooks.home) == [later]


def test_a_transcript_with_more_new_bytes_than_there_is_time_for_is_left(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    hooks.tell("Stop", transcript)
    assert (memory.drain(bytes_max=10).left, memory.drain(seconds=0).left) == (1, 1)
    assert memory.status().spool.waiting == 1
    assert memory.drain().captured == 1


def test_while_another_process_drains_nothing_happens(memory: Memory, hooks: Hooks, transcript: Path) -> None:
    hooks.tell("Stop", transcript)
    with spool.locked(hooks.home) as first, spool.locked(hooks.home) as second:
        assert (first, second) == (True, False)
        assert memory.drain().entries == 0
    assert memory.drain().entries == 1


def test_what_a_killed_hook_left_is_deleted_after_a_while(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    hooks.tell("Stop", transcript)
    old, young = (spool.folder(hooks.home) / name for name in (".1.part", ".2.part"))
    for part in (old, young):
        part.write_bytes(b"{")
    hour_ago = time.time() - 3_600
    os.utime(old, (hour_ago, hour_ago))
    memory.drain()
    assert (old.exists(), young.exists()) == (False, True)


def test_entries_of_transcripts_can_be_discarded(memory: Memory, hooks: Hooks, transcript: Path) -> None:
    other = write(transcript.with_name("t.jsonl"), claude_line(NEW, session="t"))
    for path in (transcript, other):
        hooks.tell("PreCompact", path)
    assert spool.discard(hooks.home, frozenset({transcript})) == 1
    assert [entry.mentions[0].path for entry in hooks.entries] == [other]


def test_a_neutral_transcript_is_captured_too(memory: Memory, hooks: Hooks, tmp_path: Path) -> None:
    path = write(tmp_path / "x.turns.jsonl", turn_line(OLD), turn_line(NEW, session="t"))
    hooks.tell("SessionEnd", path)
    assert memory.drain().captured == 2


def test_the_next_command_captures_what_hooks_noted_and_status_tells_what_it_could_not_use(
    tmp_path: Path, transcript: Path
) -> None:
    with command_line(tmp_path) as line:
        hooks = Hooks(line.home)
        hooks.tell("Stop", transcript)
        hooks.run("Stop", stdin=b"{broken")

        first = line.run("search", "--scope", "all", "--json", OLD)

        assert spool.waiting(line.home) == []
        # A search brings the projections forward for a fifth of a second: on a busy machine another one finds it.
        answers = chain([first], (line.run("search", "--scope", "all", "--json", OLD) for _ in range(20)))
        hits = next(ran.json["hits"] for ran in answers if ran.json["hits"])
        assert [hit["text"] for hit in hits] == [OLD]
        told = line.run("status", "--json").json["spool"]
        assert (told["waiting"], [list(one) for one in told["set_aside"]]) == (0, [["entry", "reason"]])
        assert "1 set aside" in line.run("status").out


def test_a_spool_that_cannot_be_drained_is_a_warning_and_no_error(tmp_path: Path, transcript: Path) -> None:
    with command_line(tmp_path) as line:
        Hooks(line.home).tell("Stop", transcript)
        (spool.folder(line.home) / ".lock").mkdir()
        ran = line.run("sources", "--json")
    assert (ran.status, ran.json) == (0, [])
    assert "not captured yet" in ran.err


DRAIN = """
import sys
from chronofile.infra.config import load
from chronofile.infra.wiring import memory_of
from tests.infra.test_memory import models
config = load({"home": sys.argv[1], "database_url": sys.argv[2]}, {})
with memory_of(config, caller="python", models=models()) as memory:
    print("begun", flush=True)
    memory.drain()
"""


@pytest.mark.parametrize("delay_s", [0.03, 0.07, 0.09, 0.11])
def test_a_drain_that_is_killed_loses_nothing_and_doubles_nothing(
    memory: Memory, conninfo: str, hooks: Hooks, tmp_path: Path, delay_s: float
) -> None:
    said = _sessions(memory, hooks, tmp_path)
    command = [sys.executable, "-c", DRAIN, str(hooks.home), conninfo]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
    memory.drain()

    assert hooks.entries == []
    assert [texts(memory, text) for text in said] == [[text] for text in said]


@pytest.mark.parametrize("left", [8, 5, 1])
def test_entries_that_a_drain_did_not_come_to_delete_mean_nothing_new(
    memory: Memory, hooks: Hooks, tmp_path: Path, store: EventStore, left: int
) -> None:
    said = _sessions(memory, hooks, tmp_path)
    entries = {file: file.read_bytes() for file in spool.waiting(hooks.home)[:left]}
    memory.drain()
    before = len(events(store))
    for file, content in entries.items():
        file.write_bytes(content)

    assert (memory.drain().captured, hooks.entries) == (0, [])

    assert len(events(store)) == before
    assert [texts(memory, text) for text in said] == [[text] for text in said]


def _sessions(memory: Memory, hooks: Hooks, folder: Path) -> list[str]:
    """Make eight sessions whose last words are spooled: some files then hold other words, and some are gone."""
    paths = [
        write(folder / f"s{number}.jsonl", claude_line(f"First {number}.", session=f"s{number}"))
        for number in range(8)
    ]
    memory.ingest(paths, wait="words")
    left_captured(hooks, *paths)
    for number, path in enumerate(paths):
        add(path, claude_line(f"Second word{number}.", uuid="u-2", session=f"s{number}"))
        hooks.tell("PreCompact", path)
        if number % 2:
            write(path, claude_line(f"Third {number}.", uuid="u-3", session=f"s{number}"))
        if number % 4 == 2:
            path.unlink()
    return [f"Second word{number}." for number in range(8)]


def _left(hooks: Hooks, name: str, told: dict[str, Any]) -> None:
    """Leave an entry that holds no bytes."""
    folder = spool.folder(hooks.home)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}{spool.SUFFIX}").write_bytes(json.dumps(told).encode() + b"\n")


def _entry(**transcript: Any) -> dict[str, Any]:
    return {
        "version": 1, "event": "stop", "agent": "a", "at_ns": 1, "cwd": "/", "input": "{}", "input_left_out": 0,
        "transcripts": [{"path": "/x", "size": 1} | transcript],
    }  # fmt: skip


def test_status_tells_when_a_hook_last_noted_something_also_where_all_was_captured_before(
    memory: Memory, hooks: Hooks, transcript: Path
) -> None:
    captured(memory, hooks, transcript)
    memory.catch_up()
    assert memory.status().agents["claude-code"].last_hook is None
    before = datetime.now(UTC)

    hooks.tell("Stop", transcript)
    drained = memory.drain()

    assert (drained.entries, drained.captured) == (1, 0)
    last_hook = memory.status().agents["claude-code"].last_hook
    assert last_hook is not None
    assert before <= last_hook <= datetime.now(UTC)
