"""Undo: what a batch captured is hidden, stays hidden until it changes, and is restored by undoing the undo."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from chronofile.domain import streams
from chronofile.domain.batches import AmbiguousBatch, NothingToUndo, UndoneAlready, UnknownBatch
from chronofile.domain.envelope import Addition
from chronofile.domain.events import BatchFinished, BatchRestored, BatchReverted, BatchStarted, Event
from chronofile.infra.memory import Memory
from chronofile.infra.undo import UndoReport
from tests.builders import add, claude_line, finished, registered, revised, started, write
from tests.infra.proxy import proxy_before
from tests.infra.test_memories import opened

KILLED = """
import os, signal, sys
from chronofile import connect
from chronofile.infra.progress import Progress
def tick(path, captured):
    if captured.batch is not None:
        os.kill(os.getpid(), signal.SIGKILL)
home, url, folder = sys.argv[1:]
connect(home, url).ingest([folder], wait="none", progress=Progress(captured=tick))
"""
"""A capture that is killed as soon as its first files are in the log."""


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return write(tmp_path / "notes" / "ports.md", "Staging listens on port 5433.")


def ingest(memory: Memory, *paths: Path, again: bool = False) -> str:
    """Capture, and return the batch, "" where nothing was appended."""
    return memory.ingest(paths, again=again).batch or ""


def texts(memory: Memory, query: str = "staging port", **fields: object) -> list[str]:
    found = memory.search(query, scope="all", **fields)  # type: ignore[arg-type]
    return [hit.text.strip() for hit in found.hits]


def events(memory: Memory, batch: str) -> list[Event]:
    return [recorded.event for recorded in memory._parts.store.read(streams.batch(batch))]


def reverted(memory: Memory) -> list[str]:
    with memory._parts.store.cursor() as cursor:
        cursor.execute("SELECT batch FROM log.reverted ORDER BY batch")
        return [row["batch"] for row in cursor]


def test_an_undo_is_a_batch_of_its_own_that_hides_what_the_other_captured(memory: Memory, note: Path) -> None:
    batch = ingest(memory, note)
    before = memory._parts.store.position()
    report = memory.undo(batch)

    assert report.batch is not None
    assert report == UndoReport(
        report.batch,
        batch,
        batch,
        "hidden",
        1,
        1,
        0,
        report.passages_hidden,
        report.passages_shown,
        report.position,
    )
    assert [type(event) for event in events(memory, batch)] == [BatchStarted, BatchFinished, BatchReverted]
    begun, ended = events(memory, report.batch)
    assert isinstance(begun, BatchStarted)
    assert (begun.tool, begun.of, ended) == ("undo", batch, BatchFinished(0, 0, begun.observed_at))
    assert reverted(memory) == [batch]
    assert memory._parts.store.position() == before + 3


def test_what_is_undone_is_found_as_of_before_only(memory: Memory, note: Path) -> None:
    batch = ingest(memory, note)
    before = memory._parts.store.position()
    report = memory.undo(batch)

    assert (report.passages_hidden, report.passages_shown) == (1, 0)
    assert texts(memory) == []
    assert texts(memory, as_of=before) == ["Staging listens on port 5433."]


def test_the_same_bytes_are_not_captured_again_until_they_change(memory: Memory, note: Path) -> None:
    memory.undo(ingest(memory, note))

    assert ingest(memory, note) == ""
    touched = write(note, "Staging listens on port 5433.")
    assert ingest(memory, touched) == ""
    assert texts(memory) == []
    assert ingest(memory, write(note, "Staging listens on port 6543.")) != ""
    assert texts(memory) == ["Staging listens on port 6543."]


def test_an_ingest_that_is_asked_for_again_captures_what_was_undone(memory: Memory, note: Path) -> None:
    memory.undo(ingest(memory, note))

    again = ingest(memory, note, again=True)

    assert again
    assert texts(memory) == ["Staging listens on port 5433."]
    memory.undo(again)
    assert texts(memory) == []


def test_undoing_an_undo_restores_and_undoing_that_hides_again(memory: Memory, note: Path) -> None:
    batch = ingest(memory, note)
    first = memory.undo(batch)
    second = memory.undo(first.batch or "")
    shown = texts(memory)
    third = memory.undo(second.batch or "")

    assert [(report.of, report.captured_by, report.action) for report in (first, second, third)] == [
        (batch, batch, "hidden"),
        (first.batch, batch, "restored"),
        (second.batch, batch, "hidden"),
    ]
    assert shown == ["Staging listens on port 5433."]
    assert texts(memory) == []
    assert [type(event) for event in events(memory, batch)[2:]] == [
        BatchReverted,
        BatchRestored,
        BatchReverted,
    ]
    assert reverted(memory) == [batch]


def test_after_a_restoration_the_same_bytes_are_still_not_captured_twice(memory: Memory, note: Path) -> None:
    memory.undo(memory.undo(ingest(memory, note)).batch or "")

    assert ingest(memory, note, again=True) == ""
    assert texts(memory) == ["Staging listens on port 5433."]
    assert reverted(memory) == []


def test_what_is_undone_already_is_an_error_that_names_the_undo(memory: Memory, note: Path) -> None:
    batch = ingest(memory, note)
    undone = memory.undo(batch).batch or ""
    position = memory._parts.store.position()

    with pytest.raises(UndoneAlready, match=undone):
        memory.undo(batch)
    restored = memory.undo(undone).batch or ""
    with pytest.raises(UndoneAlready, match=restored):
        memory.undo(undone)
    assert memory._parts.store.position() == position + 3


def test_the_revision_before_is_shown_again(memory: Memory, note: Path) -> None:
    ingest(memory, note)
    second = ingest(memory, write(note, "Staging listens on port 6543."))

    report = memory.undo(second)

    assert (report.sources, report.revisions_hidden, report.revisions_shown) == (1, 1, 1)
    assert texts(memory) == ["Staging listens on port 5433."]
    memory.undo(report.batch or "")
    assert texts(memory) == ["Staging listens on port 6543."]


def test_an_older_revision_is_undone_under_a_newer_one(memory: Memory, note: Path) -> None:
    first = ingest(memory, note)
    second = ingest(memory, write(note, "Staging listens on port 6543."))

    report = memory.undo(first)
    assert (report.sources, report.revisions_hidden, report.revisions_shown) == (0, 0, 0)
    assert texts(memory) == ["Staging listens on port 6543."]
    memory.undo(second)
    assert texts(memory) == []


def test_a_removal_is_undone_too(memory: Memory, note: Path) -> None:
    ingest(memory, note.parent)
    note.unlink()
    removal = ingest(memory, note.parent)
    assert texts(memory) == []

    report = memory.undo(removal)

    assert (report.sources, report.revisions_hidden, report.revisions_shown) == (1, 0, 1)
    assert texts(memory) == ["Staging listens on port 5433."]


def test_ranges_after_one_that_is_undone_are_hidden_with_it_and_come_back_with_it(
    memory: Memory, tmp_path: Path
) -> None:
    transcript = write(tmp_path / "s.jsonl", claude_line("Staging is at port one.", uuid="u-1"))
    ingest(memory, transcript)
    second = ingest(memory, add(transcript, claude_line("Staging is at port two.", uuid="u-2")))
    undone = memory.undo(second)
    third = ingest(memory, add(transcript, claude_line("Staging is at port three.", uuid="u-3")))
    hidden = texts(memory)
    report = memory.undo(undone.batch or "")

    assert third != ""
    assert hidden == ["Staging is at port one."]
    assert report.revisions_shown == 2
    assert sorted(texts(memory)) == [f"Staging is at port {number}." for number in ("one", "three", "two")]


def test_a_batch_that_was_killed_in_the_middle_can_be_undone(memory: Memory, tmp_path: Path) -> None:
    for number in range(450):
        write(tmp_path / "many" / f"{number}.md", f"Staging number {number}.")
    arguments = [str(memory.config.home), memory._parts.conninfo, str(tmp_path / "many")]
    run = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    (entry,) = memory.batches()

    report = memory.undo(entry.id)

    assert run.returncode == -signal.SIGKILL
    assert (entry.finished_at, entry.revisions) == (None, None)
    assert (report.action, report.sources, report.revisions_hidden) == ("hidden", 200, 200)
    assert texts(memory) == []
    assert [found.reverted for found in memory.batches()] == [False, True]


def test_a_batch_is_named_by_a_beginning_that_no_other_has(memory: Memory, note: Path) -> None:
    batch = ingest(memory, note)

    assert memory.undo(batch[:6].upper(), dry_run=True).of == batch
    for wrong in ("", "   ", batch[:3], "z" * 32, f"{batch}0", f"{batch[:8]}%", "source-1"):
        with pytest.raises(UnknownBatch, match="chronofile undo"):
            memory.undo(wrong)


def test_a_beginning_that_several_have_is_refused_with_their_ids(memory: Memory) -> None:
    for batch in ("abcd1", "abcd12", "abcd2"):
        memory._parts.store.append([Addition(streams.batch(batch), 0, [started()])])

    with pytest.raises(AmbiguousBatch, match=r"abcd may be abcd1, abcd12, abcd2\."):
        memory.undo("abcd")
    with pytest.raises(NothingToUndo):
        memory.undo("abcd1")


def test_a_batch_that_captured_nothing_has_nothing_to_undo(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "picture.bin"
    path.write_bytes(bytes(range(256)) * 8)
    rejecting = ingest(memory, path)
    position = memory._parts.store.position()

    assert rejecting != ""
    with pytest.raises(NothingToUndo):
        memory.undo(rejecting)
    assert memory._parts.store.position() == position


def test_a_dry_run_tells_what_an_undo_would_do_and_appends_nothing(memory: Memory, note: Path) -> None:
    batch = ingest(memory, note)
    position = memory._parts.store.position()

    report = memory.undo(batch, dry_run=True)

    assert (report.batch, report.action, report.sources, report.revisions_hidden) == (None, "hidden", 1, 1)
    assert report.passages_hidden is None
    assert memory._parts.store.position() == position
    assert texts(memory) != []


def test_the_last_batches_are_listed_newest_first_with_what_became_of_them(
    memory: Memory, note: Path
) -> None:
    batch = ingest(memory, note)
    undone = memory.undo(batch).batch

    newest, oldest = memory.batches()
    (only,) = memory.batches(1)

    assert only == newest
    assert (newest.id, newest.tool, newest.of, newest.reverted) == (undone, "undo", batch, False)
    assert (oldest.id, oldest.tool, oldest.revisions, oldest.rejected) == (batch, "ingest", 1, 0)
    assert (oldest.reverted, oldest.changed_by) == (True, undone)


def test_two_undos_at_once_hide_a_batch_once(memory: Memory, note: Path) -> None:
    batch = ingest(memory, note)
    start = threading.Barrier(4)
    outcomes: list[object] = []

    def undo() -> None:
        start.wait()
        try:
            outcomes.append(memory.undo(batch).batch)
        except UndoneAlready as error:
            outcomes.append(error)

    threads = [threading.Thread(target=undo) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (won,) = [outcome for outcome in outcomes if isinstance(outcome, str)]
    assert {error.by for error in outcomes if isinstance(error, UndoneAlready)} == {won}
    assert len(outcomes) == 4
    assert [type(event) for event in events(memory, batch)].count(BatchReverted) == 1


def test_an_undo_whose_acknowledgement_is_lost_is_done_once(
    memory: Memory, conninfo: str, home: Path, note: Path
) -> None:
    batch = ingest(memory, note)
    with proxy_before(conninfo) as proxy, opened(proxy.conninfo, home) as remote:
        remote.search("opens the connections")
        proxy.losing = b"COMMIT"
        report = remote.undo(batch)
        assert proxy.lost.is_set()

    reverting = [event for event in events(memory, batch) if isinstance(event, BatchReverted)]
    assert [event.by for event in reverting] == [report.batch]


def test_a_batch_of_ten_thousand_sources_is_undone_in_one_go(memory: Memory) -> None:
    batch = "f" * 32
    text = "Staging listens on a port."
    key = memory._parts.contents.text_key(text)
    sources = [
        Addition(
            streams.source(f"{number:032x}"),
            0,
            [registered(key, batch=batch), revised(key, end=len(text), batch=batch, file=key)],
        )
        for number in range(10_000)
    ]
    memory._parts.store.append([Addition(streams.batch(batch), 0, [started()])])
    memory._parts.store.append(sources, contents={key: text.encode()})
    memory._parts.store.append([Addition(streams.batch(batch), 1, [finished(10_000)])])

    begun = time.monotonic()
    report = memory.undo(batch, dry_run=True)

    assert (report.sources, report.revisions_hidden) == (10_000, 10_000)
    assert time.monotonic() - begun < 10


def test_a_beginning_is_looked_up_by_the_index(memory: Memory, conninfo: str) -> None:
    query = (
        "EXPLAIN SELECT DISTINCT originator_id FROM log.events WHERE originator_id BETWEEN 'batch-abcd'"
        " AND 'batch-abcdg' AND starts_with(originator_id, 'batch-abcd')"
    )
    with psycopg.connect(conninfo) as conn:
        conn.execute("SET enable_seqscan = off")
        plan = "\n".join(row[0] for row in conn.execute(query))

    assert "Index Cond" in plan
