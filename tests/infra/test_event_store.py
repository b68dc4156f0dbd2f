"""The log: what is appended comes back, in the order of its commit, all of it or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from chronofile.domain.codec import UnknownEvent
from chronofile.domain.envelope import Addition, Recorded
from chronofile.domain.errors import LogBusy, WrongExpectedVersion
from chronofile.domain.events import SearchServed
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore
from chronofile.infra.event_store import EventStore
from tests.builders import OBSERVED_AT, finished, many, registered, revised, started
from tests.infra.proxy import proxy_before

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)


@dataclass(slots=True)
class Clock:
    """A clock that shows the given times in turn, then the last of them for ever."""

    times: list[datetime] = field(default_factory=lambda: [NOON])

    def __call__(self) -> datetime:
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]


@contextmanager
def opened(conninfo: str, *, lock_timeout_s: float = 30, **options: Any) -> Iterator[EventStore]:
    with Datastore(conninfo, lock_timeout_s=lock_timeout_s) as datastore:
        yield EventStore(datastore, ContentStore(bytes(32)), **options)


@pytest.fixture
def any_store(any_conninfo: str) -> Iterator[EventStore]:
    """The log on each kind of server in turn."""
    with opened(any_conninfo) as store:
        yield store


def counted(conninfo: str, table: str) -> int:
    queries = {
        "events": b"SELECT count(*) FROM log.events",
        "content": b"SELECT count(*) FROM log.content",
        "directories": b"SELECT count(*) FROM log.directories",
    }
    with psycopg.connect(conninfo) as conn:
        row = conn.execute(queries[table]).fetchone()
    assert row is not None
    return int(row[0])


def test_events_come_back_as_they_were_appended(any_conninfo: str) -> None:
    first, second, third = registered(), revised(redactions={"token": 2}), started("watch")

    with opened(any_conninfo, clock=Clock(), new_id=lambda: "made-up") as store:
        positions = store.append([Addition("source-a", 0, [first, second]), Addition("batch-b", 0, [third])])

        assert positions == [1, 2, 3]
        assert store.after(0) == [
            Recorded(1, "source-a", 1, "made-up.0", NOON, first),
            Recorded(2, "source-a", 2, "made-up.1", NOON, second),
            Recorded(3, "batch-b", 1, "made-up.2", NOON, third),
        ]
        assert store.read("source-a") == store.after(0)[:2]
        assert store.read_many(["batch-b", "source-none"]) == {"batch-b": store.after(2), "source-none": []}
        assert store.position() == 3


def test_an_empty_log_has_position_zero_and_no_pages(store: EventStore) -> None:
    assert (store.position(), store.after(0), list(store.pages())) == (0, [], [])
    assert store.append([]) == store.append([Addition("batch-b", 0, [])]) == []
    assert store.position() == 0


def test_pages_partition_the_log(store: EventStore) -> None:
    store.append([Addition("batch-b", 0, many(25))])

    pages = list(store.pages(3, size=10))

    assert [(page.after, page.position, len(page.events)) for page in pages] == [
        (3, 13, 10),
        (13, 23, 10),
        (23, 25, 2),
    ]


@pytest.mark.timeout(60)
def test_an_event_of_five_megabytes_and_a_batch_of_twenty_thousand_return(any_store: EventStore) -> None:
    passages = tuple(f"{number:040x}" for number in range(120_000))
    large = SearchServed("q", "cli", ("all",), "standard", 1, None, True, passages, 3, OBSERVED_AT)

    any_store.append([Addition("search-large", 0, [large])])
    positions = any_store.append([Addition("batch-b", 0, many(20_000))])

    assert sum(map(len, passages)) + 3 * len(passages) > 5_000_000
    assert any_store.read("search-large")[0].event == large
    assert positions == list(range(2, 20_002))
    assert [recorded.event for recorded in any_store.read("batch-b")] == many(20_000)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_stream_that_stands_elsewhere_is_a_conflict(any_store: EventStore, after: int) -> None:
    any_store.append([Addition("batch-b", 0, [started(), finished()])])

    with pytest.raises(WrongExpectedVersion) as conflict:
        any_store.append([Addition("batch-b", after, [finished()]), Addition("batch-c", 0, [started()])])

    assert conflict.value.streams == ("batch-b",)
    assert any_store.position() == 2


def test_a_conflict_names_every_stream_that_stands_elsewhere(store: EventStore) -> None:
    store.append([Addition("batch-new", 0, [started()]), Addition("batch-grown", 0, [started()])])
    wrong = [Addition("batch-new", 0, [started()]), Addition("batch-grown", 7, [finished()])]

    with pytest.raises(WrongExpectedVersion, match="batch-new, batch-grown") as conflict:
        store.append([*wrong, Addition("batch-right", 0, [started()])])

    assert conflict.value.streams == ("batch-new", "batch-grown")


def test_an_append_to_several_streams_is_all_or_nothing(conninfo: str, store: EventStore) -> None:
    store.append([Addition("batch-taken", 0, [started()])])
    others = [Addition(f"batch-{number}", 0, [started()]) for number in range(5)]

    with pytest.raises(WrongExpectedVersion):
        store.append([*others, Addition("batch-taken", 0, [started()])])

    assert counted(conninfo, "events") == 1


def test_contents_and_what_goes_alongside_are_there_exactly_when_the_events_are(
    conninfo: str, store: EventStore
) -> None:
    contents = {"key-1": b"The port is 5432."}

    def alongside(cursor: psycopg.Cursor[dict[str, Any]]) -> None:
        cursor.execute("INSERT INTO log.directories VALUES ('/made-up', 'project:made-up')")

    with pytest.raises(WrongExpectedVersion):
        store.append([Addition("batch-b", 7, [started()])], contents=contents, alongside=alongside)
    assert (counted(conninfo, "content"), counted(conninfo, "directories")) == (0, 0)

    store.append([Addition("batch-b", 0, [started()])], contents=contents, alongside=alongside)
    assert (counted(conninfo, "content"), counted(conninfo, "directories")) == (1, 1)

    # Somebody else mapped the directory meanwhile: what was decided no longer holds, whatever the streams say.
    with pytest.raises(WrongExpectedVersion):
        store.append([Addition("batch-c", 0, [started()])], alongside=alongside)
    assert counted(conninfo, "events") == 1


def test_what_goes_alongside_and_cannot_be_written_is_no_conflict(store: EventStore) -> None:
    def alongside(cursor: psycopg.Cursor[dict[str, Any]]) -> None:
        cursor.execute("INSERT INTO log.directories VALUES ('/made-up', NULL)")

    with pytest.raises(psycopg.errors.NotNullViolation):
        store.append([Addition("batch-b", 0, [started()])], alongside=alongside)


def test_a_repeated_token_returns_the_positions_of_the_first_time(any_store: EventStore) -> None:
    additions = [Addition("batch-z", 0, [started()]), Addition("batch-a", 0, [started(), finished()])]

    positions = any_store.append(additions, token="try")

    assert any_store.append(additions, token="try") == positions == [1, 2, 3]
    assert any_store.position() == 3
    with pytest.raises(WrongExpectedVersion):
        any_store.append(additions, token="another try")
    with pytest.raises(WrongExpectedVersion):
        any_store.append([*additions, Addition("batch-n", 0, [started()])], token="try")


def test_an_append_whose_acknowledgement_was_lost_recognises_itself(any_conninfo: str) -> None:
    additions = [Addition("batch-b", 0, [started(), finished()])]

    with proxy_before(any_conninfo) as proxy, opened(proxy.conninfo) as store:
        assert store.append([Addition("batch-a", 0, [started()])]) == [1]
        proxy.losing = b"COMMIT"
        with pytest.raises(Exception, match="does not answer"):
            store.append(additions, token="try")
        assert proxy.lost.is_set()

        assert store.append(additions, token="try") == [2, 3]
    assert counted(any_conninfo, "events") == 3


def test_recorded_at_never_runs_backwards(conninfo: str) -> None:
    day = timedelta(days=1)

    with opened(conninfo, clock=Clock([NOON, NOON - day, NOON + day, NOON])) as store:
        for number in range(4):
            store.append([Addition("batch-b", number, [finished(number)])])

        assert [recorded.recorded_at for recorded in store.after(0)] == [NOON, NOON, NOON + day, NOON + day]


def test_an_append_sees_what_was_committed_before_it_got_the_lock(conninfo: str) -> None:
    later = NOON + timedelta(days=1)
    # A server may prefer snapshots that are as old as their transaction.
    stale = f"{conninfo} options='-c default_transaction_isolation=repeatable\\\\ read'"

    with opened(stale, clock=Clock()) as store, opened(conninfo, clock=Clock([later])) as other:

        def overtake(cursor: object) -> None:
            other.append([Addition("batch-c", 0, [started()])])

        contents = {"key": b"Writing this begins the transaction."}
        store.append([Addition("batch-b", 0, [started()])], contents=contents, alongside=overtake)

        assert [recorded.recorded_at for recorded in store.after(0)] == [later, later]


def test_a_lock_that_is_not_to_be_had_is_busy_and_writes_nothing(any_conninfo: str) -> None:
    with psycopg.connect(any_conninfo) as conn, opened(any_conninfo, lock_timeout_s=0.2) as store:
        conn.execute("LOCK TABLE log.events IN EXCLUSIVE MODE")
        with pytest.raises(LogBusy):
            store.append([Addition("batch-b", 0, [started()])], contents={"key": b"Kept by nobody."})
        conn.rollback()

        assert (store.position(), counted(any_conninfo, "content")) == (0, 0)
        assert store.append([Addition("batch-b", 0, [started()])])


def test_the_ledger_has_its_own_lock_and_its_own_positions(conninfo: str, store: EventStore) -> None:
    store.append([Addition("batch-b", 0, many(3))])

    with psycopg.connect(conninfo) as conn, opened(conninfo, table="ledger", lock_timeout_s=0.2) as ledger:
        conn.execute("LOCK TABLE log.events IN EXCLUSIVE MODE")
        assert ledger.append([Addition("search-s", 0, [finished()])]) == [1]

        assert (ledger.position(), store.position()) == (1, 3)
        assert ledger.channel != store.channel


def test_a_notification_comes_only_when_the_events_are_committed(any_conninfo: str) -> None:
    early: list[object] = []
    with psycopg.connect(any_conninfo, autocommit=True) as conn:
        conn.execute("LISTEN events")

        def clock() -> datetime:
            # The log asks for the time when it holds the lock.
            early.extend(conn.notifies(timeout=0.2))
            return NOON

        with opened(any_conninfo, clock=clock) as store:
            store.append([Addition("batch-b", 0, many(3))])

        assert early == []
        assert [notify.channel for notify in conn.notifies(timeout=10, stop_after=1)] == [store.channel]


def test_the_position_at_a_time_is_the_last_recorded_by_then(conninfo: str) -> None:
    minutes = [NOON + timedelta(minutes=number) for number in (0, 1, 1, 1, 5)]
    with opened(conninfo, clock=Clock(list(minutes))) as store:
        assert store.position_at(NOON) == 0
        for number in range(5):
            store.append([Addition("batch-b", number, [finished(number)])])
            if number in (0, 3):
                # An append that is undone leaves a gap.
                with store.cursor() as cursor:
                    cursor.execute(
                        "SELECT nextval('log.events_notification_id_seq') FROM generate_series(1, 7)"
                    )
        positions = [recorded.position for recorded in store.after(0)]

        def at(minute: float) -> int:
            return store.position_at(NOON + timedelta(minutes=minute))

        assert positions == [1, 9, 10, 11, 19]
        assert [at(minute) for minute in (-1, 0, 0.5, 1, 3, 5, 9)] == [0, 1, 1, 11, 11, 19, 19]


def test_an_event_of_a_newer_version_stops_readers_and_not_writers(store: EventStore) -> None:
    store.append([Addition("batch-b", 0, [started()])])
    with store.cursor() as cursor:
        cursor.execute("UPDATE log.events SET topic = 'DreamRemembered'")

    assert store.append([Addition("batch-c", 0, [started()])]) == [2]
    assert store.position_at(datetime.max.replace(tzinfo=UTC)) == 2
    with pytest.raises(UnknownEvent, match="upgrade Chronofile"):
        store.after(0)
