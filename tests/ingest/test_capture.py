"""Capture as a whole: runs that find nothing new, runs that are cut off, and what could not be captured."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path

import pytest

from chronofile.domain import streams
from chronofile.domain.events import (
    BatchFinished,
    BatchReverted,
    BatchStarted,
    CaptureRejected,
    RevisionCaptured,
    SourceRegistered,
)
from chronofile.ingest.capture import GROUP_FILES_MAX, Capture, Captured, Request
from tests.builders import OBSERVED_AT, add, claude_line, repository, turn_line, write
from tests.world import World

NOBODY = 65_534
LONG = "A sentence that is long enough for a file of it to be told from another one."

# It captures a folder and says after each file that it has looked at it.
PROGRAM = """
import sys, uuid
from datetime import UTC, datetime
from pathlib import Path
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore
from chronofile.infra.event_store import EventStore
from chronofile.ingest.capture import Capture, Request
conninfo, key, home, folder = sys.argv[1:]
contents = ContentStore(bytes.fromhex(key))
with Datastore(conninfo) as datastore:
    run = Capture(
        EventStore(datastore, contents), contents.key, home=Path(home), store_key=bytes.fromhex(key),
        now=datetime.now(UTC), new_id=lambda: uuid.uuid4().hex, tick=lambda path, _: print(path, flush=True),
    )
    run.run(Request([Path(folder)]))
"""


class CutOff(Exception):
    """The run ends here."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


@pytest.fixture
def many(folder: Path) -> Path:
    """A folder of so many files that they make more than two groups."""
    for number in range(2 * GROUP_FILES_MAX + 50):
        write(folder / f"{number:03}.md", f"{LONG} This is the {number}th.")
    return folder


def later(world: World) -> None:
    """Let so much time pass that no file may have changed within the same tick of its clock."""
    world.now = datetime.now(UTC) + timedelta(hours=1)


def capture_with(world: World, folder: Path, tick: Callable[[Path, Captured], None]) -> Captured:
    run = Capture(
        world.store,
        world.contents.key,
        home=world.home,
        store_key=world.store_key,
        now=datetime.now(UTC),
        new_id=lambda: uuid.uuid4().hex,
        tick=tick,
    )
    return run.run(Request([folder]))


def captured_once(world: World) -> int:
    """Return how many sources there are, each registered once and captured or rejected once."""
    registered = [r.stream for r in world.store.after(0) if isinstance(r.event, SourceRegistered)]
    taken = (RevisionCaptured, CaptureRejected)
    captured = [r.stream for r in world.store.after(0) if isinstance(r.event, taken)]
    assert len(set(registered)) == len(registered)
    assert sorted(registered) == sorted(captured)
    keys = [event.key for event in world.events() if isinstance(event, SourceRegistered)]
    assert len(set(keys)) == len(keys)
    return len(registered)


class TestUnchanged:
    @pytest.fixture(autouse=True)
    def tree(self, folder: Path) -> None:
        write(folder / "README.md", "# Title", LONG)
        write(folder / "src" / "main.py", "def main(): ...")
        write(folder / "empty.txt")
        write(folder / "s.jsonl", claude_line("one"), claude_line("two", uuid="u-2"))
        write(folder / "t.turns.jsonl", turn_line("one", session="t"), turn_line("x", session="u"))
        (folder / "picture.bin").write_bytes(b"\x00\x01\x02" * 50)

    def test_a_second_run_appends_nothing(self, world: World, folder: Path) -> None:
        later(world)
        first = world.capture(folder)
        assert (first.revisions, len(first.sources), first.unchanged) == (6, 6, 0)

        second = world.capture(folder)

        assert second.position == first.position
        assert (second.batch, second.revisions, second.unchanged, second.read_bytes) == (None, 0, 6, 0)
        assert [r.reason for r in second.rejected] == ["binary"]

    def test_files_that_were_only_touched_are_read_and_nothing_is_appended(
        self, world: World, folder: Path
    ) -> None:
        later(world)
        first = world.capture(folder)
        for path in folder.rglob("*.*"):
            os.utime(path, (1_700_000_000, 1_700_000_000))

        second = world.capture(folder)

        assert second.position == first.position
        assert (second.batch, second.unchanged) == (None, 6)
        assert second.read_bytes > 0

    def test_a_change_within_the_same_tick_of_the_clock_is_not_missed(
        self, world: World, folder: Path
    ) -> None:
        path = folder / "README.md"
        status = path.stat()
        world.capture(folder)
        path.write_bytes(path.read_bytes().replace(b"Title", b"Tytle"))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

        assert world.capture(folder).revisions == 1

    def test_overlapping_paths_and_single_files_are_captured_once(self, world: World, folder: Path) -> None:
        one = world.capture(folder / "README.md")
        assert (one.revisions, one.removed) == (1, 0)

        captured = world.capture(folder / "src", folder, folder / "src" / "main.py")

        assert captured.revisions == 5
        assert captured_once(world) == 7

    def test_a_dry_run_tells_what_would_be_captured_and_appends_nothing(
        self, world: World, folder: Path
    ) -> None:
        add(folder / "s.jsonl", *(claude_line("x" * 90_000, uuid=f"v-{number}") for number in range(100)))

        dry = world.capture(folder, dry_run=True)
        assert (dry.position, dry.batch) == (0, None)
        assert world.rows("SELECT count(*) FROM log.content") == [(0,)]
        assert world.rows("SELECT count(*) FROM log.files") == [(0,)]

        wet = world.capture(folder)
        assert (dry.revisions, len(dry.sources), len(dry.rejected)) == (7, 6, 1)
        assert (wet.revisions, len(wet.sources), len(wet.rejected)) == (7, 6, 1)
        assert dry.sources == wet.sources

    def test_a_dry_run_of_a_rewritten_large_transcript_ends(self, world: World, folder: Path) -> None:
        lines = [claude_line(f"{number}" + "x" * 90_000, uuid=f"v-{number}") for number in range(100)]
        path = write(folder / "s.jsonl", *lines)
        world.capture(folder)
        write(path, claude_line("Anew."), *lines)
        write(folder / "z.jsonl", claude_line("Another."), *lines)

        dry = world.capture(folder, dry_run=True, again=True)

        assert dry.revisions == 4

    def test_a_batch_frames_the_run(self, world: World, folder: Path) -> None:
        captured = world.capture(folder, tool="watch")

        events = [r.event for r in world.store.read(f"batch-{captured.batch}")]
        assert [type(event) for event in events] == [BatchStarted, BatchFinished]
        assert isinstance(events[0], BatchStarted)
        assert events[0].tool == "watch"
        assert isinstance(events[1], BatchFinished)
        assert (events[1].revisions, events[1].rejected) == (6, 1)


class TestRejections:
    def test_they_are_recorded_once_for_each_state_and_reported_at_each_run(
        self, world: World, folder: Path
    ) -> None:
        binary, large = folder / "picture.bin", folder / "large.log"
        binary.write_bytes(b"\x00\x01\x02" * 50)
        with large.open("wb") as file:
            file.truncate(200_000_000)

        first = world.capture(folder)
        # The large one was not read, and what was not read is not counted.
        assert first.read_bytes == 150
        os.utime(binary, (1_700_000_000, 1_700_000_000))
        for again in (False, True):
            captured = world.capture(folder, again=again)
            assert sorted((r.path.name, r.reason) for r in captured.rejected) == [
                ("large.log", "too-large"),
                ("picture.bin", "binary"),
            ]
            assert captured.position == first.position
        binary.write_bytes(b"\x00\x01\x02" * 60)
        world.capture(folder)

        rejected = [event for event in world.events() if isinstance(event, CaptureRejected)]
        assert sorted(event.reason for event in rejected) == ["binary", "binary", "too-large"]

    def test_a_file_that_turns_binary_keeps_what_it_said_and_its_source(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "a.md", LONG)
        world.capture(folder)
        path.write_bytes(b"\x00\x01\x02" * 50)
        world.capture(folder)
        write(path, LONG, "More.")

        world.capture(folder)

        streams = {r.stream for r in world.store.after(0) if r.stream.startswith("source-")}
        assert len(streams) == 1
        assert sum(isinstance(event, RevisionCaptured) for event in world.events()) == 2

    def test_what_is_not_there_is_missing_and_the_rest_is_captured(self, world: World, folder: Path) -> None:
        write(folder / "a.md", LONG)

        captured = world.capture(folder, folder / "b.md")

        assert [(r.path, r.reason) for r in captured.rejected] == [(folder / "b.md", "missing")]
        assert captured.revisions == 1

    def test_a_file_that_vanishes_while_it_is_looked_at_is_a_rejection_and_no_omission(
        self, world: World, folder: Path
    ) -> None:
        first, second = write(folder / "a.md", LONG), write(folder / "b.md", LONG)

        captured = capture_with(
            world, folder, lambda path, _: second.unlink(missing_ok=True) if path == first else None
        )

        assert [(r.path, r.reason) for r in captured.rejected] == [(second, "vanished")]
        assert captured.omitted == {"tool-folder": 1}

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
    def test_an_unreadable_transcript_is_rejected_with_its_own_source_and_captured_once_it_can_be_read(
        self, world: World
    ) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            session = write(folder / "s.jsonl", claude_line("one"))
            unread = write(folder / "z.md", LONG)
            world.capture(folder)
            before = world.store.position()
            for path in (session, unread):
                add(path, claude_line("two", uuid="u-2"))
                path.chmod(0)

            os.seteuid(NOBODY)
            try:
                captured = world.capture(folder)
            finally:
                os.seteuid(0)

            assert [r.reason for r in captured.rejected] == ["unreadable", "unreadable"]
            assert [type(r.event) for r in world.store.after(before)][1:3] == [CaptureRejected] * 2
            assert {r.stream for r in world.store.after(before)[1:3]} < {
                r.stream for r in world.store.after(0)[:before]
            }
            for path in (session, unread):
                path.chmod(0o644)
            assert world.capture(folder).revisions == 2

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not look")
    def test_what_is_below_a_folder_that_cannot_be_entered_is_not_gone(self, world: World) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            folder.chmod(0o755)
            write(folder / "inner" / "a.md", LONG)
            before = world.capture(folder).position
            (folder / "inner").chmod(0)

            os.seteuid(NOBODY)
            try:
                captured = world.capture(folder)
            finally:
                os.seteuid(0)

            assert [r.reason for r in captured.rejected] == ["unreadable-folder"]
            assert (captured.removed, captured.position) == (0, before)


class TestInterrupted:
    def test_a_run_that_fails_in_the_middle_is_gone_on_with(self, world: World, many: Path) -> None:
        looked: list[Path] = []

        def tick(path: Path, captured: Captured) -> None:
            looked.append(path)
            if len(looked) == GROUP_FILES_MAX + 100:
                raise CutOff

        with pytest.raises(CutOff):
            capture_with(world, many, tick)
        assert captured_once(world) == GROUP_FILES_MAX

        captured = world.capture(many)

        assert captured.revisions == GROUP_FILES_MAX + 50
        assert captured_once(world) == 2 * GROUP_FILES_MAX + 50
        assert world.capture(many).position == captured.position

    def test_a_run_that_is_killed_is_gone_on_with(self, world: World, many: Path) -> None:
        arguments = [world.conninfo, world.store_key.hex(), str(world.home), str(many)]
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, text=True
        ) as running:
            assert running.stdout is not None
            for _ in range(GROUP_FILES_MAX + 20):
                assert running.stdout.readline()
            running.send_signal(signal.SIGKILL)
        assert running.returncode == -signal.SIGKILL

        captured = world.capture(many)

        assert 0 < captured.revisions <= GROUP_FILES_MAX + 50
        assert captured_once(world) == 2 * GROUP_FILES_MAX + 50
        assert world.capture(many).position == captured.position

    def test_two_runs_at_once_capture_everything_once(self, world: World, folder: Path) -> None:
        for number in range(30):
            write(folder / f"{number}.md", f"{LONG} This is the {number}th.")
        write(folder / "s.jsonl", claude_line("one", cwd=str(folder)))
        write(folder / "t.turns.jsonl", turn_line("one", session="t"), turn_line("x", session="u", scope="x"))
        both = threading.Barrier(2)

        def run() -> Captured:
            first = iter([True])

            def tick(path: Path, captured: Captured) -> None:
                if next(first, False):
                    both.wait(30)

            return capture_with(world, folder, tick)

        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(run) for _ in range(2)]
        assert sum(len(run.result().sources) for run in runs) >= 33

        assert captured_once(world) == 33
        kinds = [type(event).__name__ for event in world.events()]
        assert (kinds.count("DirectoryMapped"), kinds.count("ScopeCreated")) == (1, 2)
        assert world.capture(folder, again=True).batch is None


class TestNames:
    def test_no_text_is_in_the_log(self, world: World, tmp_path: Path) -> None:
        folder = repository(tmp_path / "quagmire" / "api")
        write(folder / "zephyr" / "wombat.md", "# Xylophone", f"Marmalade {LONG}")
        write(folder / "s.jsonl", claude_line("Marmalade", cwd=str(folder)))
        write(folder / "t.turns.jsonl", turn_line("Marmalade", speaker="Xylophone"), "Xylophone")
        (folder / "wombat.bin").write_bytes(b"\x00Marmalade")
        world.capture(folder)
        (folder / "zephyr" / "wombat.md").rename(folder / "zephyr" / "marmalade.md")
        (folder / "s.jsonl").rename(folder / "wombat.jsonl")
        world.capture(folder)
        (folder / "zephyr" / "marmalade.md").unlink()
        world.capture(folder)

        states = [bytes(state).lower() for (state,) in world.rows("SELECT state FROM log.events")]

        assert len(states) > 15
        for word in (b"quagmire", b"zephyr", b"wombat", b"xylophone", b"marmalade", b"sentence", b"file://"):
            assert not [state for state in states if word in state]

    def test_a_name_that_is_no_utf8_comes_back_as_it_was(self, world: World, folder: Path) -> None:
        path = folder / os.fsdecode(b"caf\xe9") / os.fsdecode(b"\xff.md")
        write(path, LONG)
        write(path.with_suffix(".turns.jsonl"), turn_line("one"))

        captured = world.capture(folder)
        world.catch_up()

        assert captured.revisions == 2
        assert world.capture(folder, again=True).batch is None
        with world.engine.connect() as conn:
            texts = world.contents.read(
                conn, [e.file for e in world.events() if isinstance(e, RevisionCaptured)]
            )
        assert path in {Path(text.decode("utf-8", "surrogatepass")) for text in texts.values()}
        assert world.rows("SELECT title, topic FROM {passages}.passage WHERE turn IS NULL") == [
            ("caf\ufffd/\ufffd.md".encode(), "caf\ufffd")
        ]
        path.rename(folder / "cafe.md")
        assert world.capture(folder).moved == 1

    def test_a_path_and_a_repository_longer_than_an_index_takes_are_captured_moved_and_removed(
        self, world: World, tmp_path: Path
    ) -> None:
        # Random, since what compresses well would fit.
        names = [os.urandom(110).hex() for _ in range(14)]
        top = tmp_path / names[0]
        folder = top.joinpath(*names[1:])
        folder.mkdir(parents=True)
        (folder / ".git").mkdir()
        path, other = write(folder / "a.md", LONG), write(folder / "b.md", f"{LONG} Another.")
        sibling = write(folder.with_name("sibling") / "c.md", f"{LONG} A third.")
        assert len(os.fsencode(path)) > 2_704

        assert world.capture(top).revisions == 3
        assert world.capture(top).position == world.capture(top, again=True).position
        assert world.rows("SELECT octet_length(directory) > 2704 FROM log.directories") == [(True,)]
        path.rename(folder / "moved.md")
        assert world.capture(top).moved == 1
        other.unlink()
        sibling.unlink()
        assert world.capture(folder).removed == 1
        assert world.capture(top).removed == 1
        assert world.rows("SELECT count(*) FROM log.files") == [(1,)]

    def test_session_ids_and_scopes_with_nul_and_lone_surrogates_are_captured(
        self, world: World, tmp_path: Path
    ) -> None:
        session = write(tmp_path / "s.jsonl", r'{"type":"user","uuid":"u","sessionId":"a\u0000b\ud800",'
                        r'"cwd":"/x\u0000\ud800","message":{"role":"user","content":"one\u0000\ud800"}}')  # fmt: skip
        turns = write(
            tmp_path / "t.turns.jsonl",
            r'{"session":"a\u0000b\udc00","turn":"\u0000","role":"user","text":"two","scope":"s\u0000"}',
        )

        captured = world.capture(session, turns)
        world.catch_up()

        assert captured.revisions == 2
        assert sorted(world.rows("SELECT session, text FROM {passages}.passage")) == [
            ("a\ufffdb\ufffd", b"one\x00\xed\xa0\x80"),
            ("a\ufffdb\ufffd", b"two"),
        ]
        assert world.capture(session, turns, again=True).position == captured.position

    def test_the_home_is_never_captured(self, world: World, tmp_path: Path) -> None:
        write(world.home / "notes.md", LONG)
        write(tmp_path / "a.md", LONG)

        captured = world.capture(tmp_path, world.home / "notes.md")

        assert (captured.revisions, captured.omitted["home"]) == (1, 2)


def test_a_batch_that_is_undone_while_it_is_captured_ends_like_any_other(world: World, folder: Path) -> None:
    def undo(_path: Path, captured: Captured) -> None:
        if captured.batch is None:
            return
        stream = streams.batch(captured.batch)
        if len(world.store.read(stream)) == 1:
            world.given(stream, BatchReverted("undo", OBSERVED_AT))

    for number in range(GROUP_FILES_MAX + 50):
        write(folder / f"{number:03}.md", f"{LONG} This is the {number}th.")

    captured = capture_with(world, folder, undo)

    told = [type(r.event).__name__ for r in world.store.read(streams.batch(captured.batch or ""))]
    assert told == ["BatchStarted", "BatchReverted", "BatchFinished"]


def test_a_hook_can_read_how_far_a_transcript_is_captured(world: World, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(claude_line("What is the port?"), encoding="utf-8")

    world.capture(path)

    offset = world.home / "captured" / blake2b(os.fsencode(path), digest_size=16).hexdigest()
    assert int(offset.read_text(encoding="ascii").split()[0]) == path.stat().st_size


def test_only_what_was_named_is_looked_at_and_by_the_same_rules(world: World, folder: Path) -> None:
    write(folder / ".gitignore", "ignored.md\n")
    for name in ("one.md", "two.md", "ignored.md"):
        write(folder / name, LONG + name)

    captured = world.capture(folder, only=frozenset({folder / "one.md", folder / "ignored.md"}))

    assert captured.revisions == 1
    (folder / "one.md").unlink()
    assert world.capture(folder, only=frozenset({folder / "two.md"})).removed == 0
    assert world.capture(folder, only=frozenset({folder / "one.md"})).removed == 1


def test_an_empty_folder_on_another_device_is_a_disk_that_is_away(world: World, folder: Path) -> None:
    write(folder / "disk" / "one.md", LONG)
    world.capture(folder)
    with world.store.cursor() as cursor:
        cursor.execute("UPDATE log.files SET device = device + 1")
    (folder / "disk" / "one.md").unlink()

    captured = world.capture(folder)

    assert (captured.removed, captured.omitted["disk-away"]) == (0, 1)
    write(folder / "disk" / "two.md", f"{LONG} Another.")
    assert world.capture(folder).removed == 1


def test_a_folder_that_was_replaced_loses_the_files_that_are_no_longer_in_it(
    world: World, folder: Path
) -> None:
    for name in ("one.md", "two.md"):
        write(folder / "notes" / name, LONG + name)
    world.capture(folder)
    (folder / "notes" / "one.md").unlink()

    captured = world.capture(folder, only=frozenset({folder / "notes"}))

    assert (captured.removed, captured.unchanged) == (1, 1)
