"""Wake-ups: whoever follows the log hears of each append, or the clock wakes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from chronofile.domain.envelope import Addition
from chronofile.infra.event_store import EventStore
from chronofile.infra.wakeups import wakeups
from tests.builders import started
from tests.infra.test_event_store import opened
from tests.servers import Server, wait_until

NEVER_S = 3_600.0
SOON_S = 20.0
"""A bound for a busy machine; a wake-up takes milliseconds."""


@pytest.fixture
def any_store(any_conninfo: str) -> Iterator[EventStore]:
    with opened(any_conninfo) as store:
        yield store


@pytest.mark.timeout(60)
def test_an_append_after_the_first_wake_up_is_heard(any_conninfo: str, any_store: EventStore) -> None:
    waking = wakeups(any_conninfo, any_store.channel, every_s=NEVER_S)
    next(waking)
    # Here a follower catches up; what is appended meanwhile must not sleep until the next append.
    for number in range(5):
        any_store.append([Addition(f"batch-{number}", 0, [started()])])
        begun = time.monotonic()
        next(waking)
        assert time.monotonic() - begun < SOON_S


@pytest.mark.timeout(60)
def test_an_append_wakes_whoever_waits(any_conninfo: str, any_store: EventStore) -> None:
    waking = wakeups(any_conninfo, any_store.channel, every_s=NEVER_S)
    next(waking)
    appended: list[float] = []

    def append() -> None:
        any_store.append([Addition("batch-b", 0, [started()])])
        appended.append(time.monotonic())

    later = threading.Timer(0.5, append)
    later.start()
    next(waking)

    later.join()
    assert time.monotonic() - appended[0] < SOON_S


@pytest.mark.timeout(60)
def test_the_clock_wakes_where_nothing_is_heard(conninfo: str, store: EventStore) -> None:
    waking = wakeups(conninfo, "another-channel", every_s=0.3)
    next(waking)
    store.append([Addition("batch-b", 0, [started()])])

    begun = time.monotonic()
    next(waking)

    assert 0.25 < time.monotonic() - begun < SOON_S


@pytest.mark.timeout(60)
def test_a_listener_whose_connection_was_cut_listens_again_and_wakes_once(
    any_conninfo: str, any_store: EventStore
) -> None:
    waking = wakeups(any_conninfo, any_store.channel, every_s=NEVER_S)
    next(waking)
    with psycopg.connect(any_conninfo, autocommit=True) as conn:
        cut = conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        ).fetchall()
    any_store.append([Addition("batch-unheard", 0, [started()])])

    next(waking)
    any_store.append([Addition("batch-heard", 0, [started()])])
    next(waking)

    assert cut == [(True,)]


@pytest.mark.timeout(120)
def test_a_listener_survives_the_server(any_postgres: Server) -> None:
    if any_postgres.stop is None or any_postgres.start is None:
        pytest.skip("the server is not ours to stop")
    with any_postgres.database() as conninfo, opened(conninfo) as store:
        waking = wakeups(conninfo, store.channel, every_s=NEVER_S)
        next(waking)
        any_postgres.stop()
        woken = threading.Thread(target=lambda: next(waking))
        woken.start()
        woken.join(1.5)
        assert woken.is_alive()

        any_postgres.start()
        woken.join(SOON_S)
        store.append([Addition("batch-b", 0, [started()])])
        next(waking)

        assert not woken.is_alive()


@pytest.mark.timeout(60)
def test_a_follower_stops_when_it_is_told_to(conninfo: str) -> None:
    stop = threading.Event()
    woken: list[None] = []

    def follow() -> None:
        woken.extend(wakeups(conninfo, "events", every_s=NEVER_S, stopping=stop.is_set))

    follower = threading.Thread(target=follow)
    follower.start()
    wait_until(lambda: bool(woken) or not follower.is_alive(), 20)
    stop.set()
    follower.join(SOON_S)

    assert not follower.is_alive()
