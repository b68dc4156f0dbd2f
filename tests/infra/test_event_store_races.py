"""The log among many: writers and readers at once miss nothing, and nobody waits for ever."""

from __future__ import annotations

import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

from chronofile.domain.envelope import Addition, Recorded
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.infra.event_store import EventStore
from tests.builders import finished, many, started
from tests.infra.test_event_store import opened

WRITERS, EVENTS_EACH = 4, 2_000
SEED = 20260508


def write(conninfo: str, writer: int) -> list[int]:
    """Append in batches of any size, each the start of a stream of its own, and return the positions."""
    chance = random.Random(SEED + writer)
    left, positions = EVENTS_EACH, list[int]()
    with opened(conninfo) as store:
        while left:
            size = min(left, chance.choice((1, 2, 10, 50, 100)))
            positions += store.append([Addition(f"batch-{writer}.{left}", 0, many(size))])
            left -= size
    return positions


def tail(conninfo: str, written: threading.Event) -> list[Recorded]:
    """Follow the log from its beginning until nothing more can come."""
    followed: list[Recorded] = []
    with opened(conninfo) as store:
        while True:
            last = written.is_set()
            page = store.after(followed[-1].position if followed else 0, 500)
            followed += page
            if last and not page:
                return followed


@pytest.mark.timeout(120)
def test_a_reader_that_follows_four_writers_misses_nothing(any_conninfo: str) -> None:
    written = threading.Event()
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        following = threads.submit(tail, any_conninfo, written)
        writing = [threads.submit(write, any_conninfo, writer) for writer in range(WRITERS)]
        positions = sorted(position for future in writing for position in future.result())
        written.set()
        followed = following.result()

    assert [recorded.position for recorded in followed] == positions
    assert len(positions) == WRITERS * EVENTS_EACH
    times = [recorded.recorded_at for recorded in followed]
    assert times == sorted(times)


def test_writers_of_one_stream_decide_again_until_each_event_has_a_version(any_conninfo: str) -> None:
    def insist(writer: int) -> int:
        conflicts = 0
        with opened(any_conninfo) as store:
            for number in range(20):
                while True:
                    after = len(store.read("batch-shared"))
                    try:
                        store.append([Addition("batch-shared", after, [finished(writer * 100 + number)])])
                        break
                    except WrongExpectedVersion:
                        conflicts += 1
        return conflicts

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(insist, range(3)))

    with opened(any_conninfo) as store:
        recorded = store.read("batch-shared")
    assert [one.version for one in recorded] == list(range(1, 61))
    assert {one.event for one in recorded} == {finished(w * 100 + n) for w in range(3) for n in range(20)}


def test_threads_share_one_store(store: EventStore) -> None:
    def append(number: int) -> list[int]:
        text = f"content {number} " * 1_000
        return store.append([Addition(f"batch-{number}", 0, many(3))], contents={f"k{number}": text.encode()})

    with ThreadPoolExecutor(8) as threads:
        positions = [position for found in threads.map(append, range(64)) for position in found]

    assert sorted(positions) == [recorded.position for recorded in store.after(0)]


def test_two_appends_that_would_wait_for_each_other_end_as_one_conflict(any_conninfo: str) -> None:
    meeting = threading.Barrier(2, timeout=10)

    def append(store: EventStore, first: str, second: str) -> list[int]:
        def alongside(cursor: psycopg.Cursor[dict[str, object]]) -> None:
            insert = "INSERT INTO log.directories VALUES (%s, 'project:made-up')"
            cursor.execute(insert, (first.encode(),))
            meeting.wait()
            cursor.execute(insert, (second.encode(),))

        return store.append([Addition(f"batch{first}", 0, [started()])], alongside=alongside)

    with opened(any_conninfo) as one, opened(any_conninfo) as other, ThreadPoolExecutor(2) as threads:
        futures: list[Future[list[int]]] = [
            threads.submit(append, one, "/a", "/b"),
            threads.submit(append, other, "/b", "/a"),
        ]
        outcomes = [future.exception() or future.result() for future in futures]

        assert sorted(map(str, outcomes)) == sorted(["[1]", str(next(o for o in outcomes if o != [1]))])
        assert isinstance(next(outcome for outcome in outcomes if outcome != [1]), WrongExpectedVersion)
        assert one.position() == 1
