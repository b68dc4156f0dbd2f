"""Erasure while others capture, search and die: no text comes back, and no event is left without its content."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from chronofile.infra.erasing.carrying import Words
from chronofile.infra.erasing.losses import Occasion
from chronofile.infra.erasing.plan import Plan
from chronofile.infra.erasing.pursuing import UNLOCKED_TRIES_MAX, ErasureOutrun, carried_out
from chronofile.infra.erasing.surveys import surveying
from chronofile.infra.erasing.wanted import Wanted
from chronofile.infra.memory import Memory
from chronofile.infra.progress import UNWATCHED
from tests.builders import add, turn_line, write
from tests.infra.erasures import dumped, opened, rebuilt, tables_with

SECRET = "The heron lands on the frozen reservoir every Tuesday at dawn."


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


def missing(memory: Memory) -> set[str]:
    """Return the contents that an event names, that are not there and that no erasure tells of."""
    with psycopg.connect(memory._parts.conninfo) as conn:
        rows = conn.execute(
            "SELECT DISTINCT key FROM (SELECT (regexp_matches(convert_from(state, 'UTF8'),"
            " '\"(?:content|text|uri|file|directory|receipt)\":\"([0-9a-f]{40})\"', 'g'))[1] AS key FROM log.events) AS n"
            " WHERE NOT EXISTS (SELECT FROM log.content AS c WHERE c.key = n.key) AND NOT EXISTS (SELECT FROM"
            " log.events WHERE originator_id LIKE 'erasure-%' AND convert_from(state, 'UTF8') LIKE '%' || n.key || '%')"
        )
        return {row[0] for row in rows}


def test_captures_in_the_very_moment_bring_nothing_back(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path
) -> None:
    chat = write(tmp_path / "a.turns.jsonl", turn_line(SECRET))
    note = write(tmp_path / "notes" / "n.md", SECRET)
    memory.ingest([chat, note], wait="all")
    stopped = threading.Event()
    failures: list[BaseException] = []

    def capture(number: int) -> None:
        with opened(conninfo, home) as other:
            turn = 0
            while not stopped.is_set():
                turn += 1
                add(chat, turn_line(f"{SECRET} {number}", turn=f"{number}.{turn}"))
                write(tmp_path / "notes" / f"copy-{number}-{turn % 3}.md", SECRET)
                try:
                    other.ingest([chat, tmp_path / "notes"], wait="none")
                except BaseException as error:
                    failures.append(error)
                    raise

    threads = [threading.Thread(target=capture, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        report = memory.erase(sources=[str(chat), str(note)])
    finally:
        stopped.set()
        for thread in threads:
            thread.join()

    assert failures == []
    assert missing(memory) == set()
    memory.catch_up()
    closed = {stream.removeprefix("source-") for stream in report.sources}
    with psycopg.connect(conninfo) as conn:
        late = conn.execute(
            "SELECT count(*) FROM log.events WHERE originator_id = ANY(%s) AND topic = 'RevisionCaptured'"
            " AND notification_id > (SELECT min(notification_id) FROM log.events WHERE originator_id LIKE 'erasure-%%')",
            (list(report.sources),),
        ).fetchone()
    assert late == (0,)
    assert closed == {entry.id for entry in memory.sources() if entry.state == "erased"}
    memory.embed()
    live = dumped(memory)
    assert live == rebuilt(memory)


def test_a_capture_that_read_before_the_erasure_and_appends_after_it_captures_nothing(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path
) -> None:
    chat = write(tmp_path / "a.turns.jsonl", turn_line(SECRET))
    memory.ingest([chat], wait="all")
    add(chat, turn_line(f"{SECRET} Again.", turn="2"))
    with opened(conninfo, home) as other, psycopg.connect(conninfo) as holder:
        # Whoever appends waits for this lock; the erasure asks for it first.
        holder.execute("LOCK TABLE log.events IN EXCLUSIVE MODE")
        erasure = threading.Thread(target=memory.erase, kwargs={"sources": [str(chat)]})
        erasure.start()
        wait_for_waiters(conninfo, 1)
        capture = threading.Thread(target=other.ingest, args=([chat],), kwargs={"wait": "none"})
        capture.start()
        wait_for_waiters(conninfo, 2)
        holder.rollback()
        capture.join()
        erasure.join()

    memory.catch_up()
    assert missing(memory) == set()
    assert tables_with(conninfo, "heron") == set()
    assert [entry.state for entry in memory.sources()] == ["erased"]


def test_an_erasure_that_a_capture_came_before_plans_anew(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path
) -> None:
    one = write(tmp_path / "one.md", SECRET)
    memory.ingest([one], wait="all")
    two = write(tmp_path / "two.md", SECRET)
    with opened(conninfo, home) as other, psycopg.connect(conninfo) as holder:
        holder.execute("LOCK TABLE log.events IN EXCLUSIVE MODE")
        capture = threading.Thread(target=other.ingest, args=([two],), kwargs={"wait": "none"})
        capture.start()
        wait_for_waiters(conninfo, 1)
        erasure = threading.Thread(target=memory.erase, kwargs={"sources": [str(one)]})
        erasure.start()
        wait_for_waiters(conninfo, 2)
        holder.rollback()
        capture.join()
        erasure.join()

    memory.catch_up()
    assert missing(memory) == set()
    assert [hit.source.uri for hit in memory.search("heron", scope="all").hits] == [f"file://{two}"]
    assert tables_with(conninfo, "one.md") == set()


def test_a_session_that_goes_on_while_its_erasure_is_planned_is_erased_with_that(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path
) -> None:
    chat = write(tmp_path / "a.turns.jsonl", turn_line(SECRET))
    memory.ingest([chat], wait="all")
    add(chat, turn_line("And the egret joins it.", turn="2"))
    with opened(conninfo, home) as other, psycopg.connect(conninfo) as holder:
        # The capture has the lock first; the erasure has read the session by then.
        holder.execute("LOCK TABLE log.events IN EXCLUSIVE MODE")
        capture = threading.Thread(target=other.ingest, args=([chat],), kwargs={"wait": "none"})
        capture.start()
        wait_for_waiters(conninfo, 1)
        erasure = threading.Thread(target=memory.erase, kwargs={"sources": [str(chat)]})
        erasure.start()
        wait_for_waiters(conninfo, 2)
        holder.rollback()
        capture.join()
        erasure.join()

    memory.catch_up()
    assert missing(memory) == set()
    assert tables_with(conninfo, "heron", "egret") == set()
    memory.embed()
    live = dumped(memory)
    assert live == rebuilt(memory)


def test_what_was_asked_while_it_was_erased_is_erased_too(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path
) -> None:
    note = write(tmp_path / "n.md", SECRET)
    memory.ingest([note], wait="all")
    stopped = threading.Event()

    def ask() -> None:
        with opened(conninfo, home) as other:
            while not stopped.is_set():
                other.search("heron on the frozen reservoir", scope="all")

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        report = memory.erase(sources=[str(note)])
    finally:
        stopped.set()
        thread.join()

    assert report.questions > 0
    memory.catch_up()
    assert "heron" not in "".join(hit.text for hit in memory.search("frozen", scope="all").hits)


def test_a_passage_goes_from_a_transcript_that_grows_faster_than_it_can_be_planned(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path
) -> None:
    chats = [tmp_path / f"{name}.turns.jsonl" for name in ("a", "b", "c")]
    for chat in chats:
        write(chat, turn_line(SECRET, session=chat.name))
    memory.ingest(chats, wait="all")
    passage = next(hit.id for hit in memory.search("heron", scope="all").hits if hit.text == SECRET)
    parts = memory._parts
    found = surveying(Wanted(passages=[passage]))(parts, UNWATCHED)
    turn = 0

    with opened(conninfo, home) as other:

        def decide(now: Occasion, only: Collection[str] | None = None) -> Plan:
            """Plan, but be overtaken by a capture, until nobody else may append."""
            nonlocal turn
            plan = found.decide(now, only)
            if only is None:
                turn += 1
                for chat in chats:
                    add(chat, turn_line(f"{SECRET} {turn}", turn=f"t{turn}", session=chat.name))
                other.ingest(chats, wait="none")
            return plan

        now = Occasion(parts.new_id(), "python", "2026-01-01T00:00:00.000000+00:00")
        outrun = replace(found, decide=decide)
        position = carried_out(parts, outrun, decide(now), Words(None, {}), now)

    assert turn == UNLOCKED_TRIES_MAX
    assert position > 0
    memory.catch_up()
    assert not any("heron" in hit.text for hit in memory.search("heron", scope="all", limit=100).hits)
    assert tables_with(conninfo, "frozen reservoir") == set()
    assert missing(memory) == set()
    memory.embed()
    live = dumped(memory)
    assert live == rebuilt(memory)


def test_an_erasure_that_is_outrun_to_the_end_says_so(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path
) -> None:
    chat = write(tmp_path / "a.turns.jsonl", turn_line(SECRET))
    memory.ingest([chat], wait="all")
    passage = next(hit.id for hit in memory.search("heron", scope="all").hits if hit.text == SECRET)
    parts = memory._parts
    found = surveying(Wanted(passages=[passage]))(parts, UNWATCHED)
    now = Occasion(parts.new_id(), "python", "2026-01-01T00:00:00.000000+00:00")
    plan = found.decide(now)
    add(chat, turn_line("And so on.", turn="2"))
    memory.ingest([chat], wait="all")
    stale = replace(found, decide=lambda now, only=None: plan)

    with pytest.raises(ErasureOutrun):
        carried_out(parts, stale, plan, Words(None, {}), now)

    assert "heron" in memory.search("heron", scope="all").hits[0].text


def wait_for_waiters(conninfo: str, count: int) -> None:
    """Wait until so many wait for the log's lock."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'log.events'::regclass"
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for _ in range(600):
            if conn.execute(waiting).fetchone() == (count,):
                return
            threading.Event().wait(0.05)
    raise AssertionError("nobody waits for the log")
