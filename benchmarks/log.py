"""Append and read rates of the log beside a raw COPY of the same rows: `python benchmarks/log.py [EVENTS]`.

It starts an embedded server in a temporary home with the settings that users have, and prints a Markdown
table of medians. Rounds of COPY and append alternate, so that both meet the same machine.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import psycopg

from chronofile.domain.envelope import Addition
from chronofile.domain.events import CaptureRejected, Event
from chronofile.infra import embedded
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore
from chronofile.infra.event_store import EventStore
from chronofile.infra.migrate import migrate

BATCH_EVENTS = 1_000
SINGLES = 300
ROUNDS = 5
HASH = "0123456789abcdef0123456789abcdef01234567"

COPY = "COPY bare (originator_id, originator_version, topic, state) FROM STDIN (FORMAT binary)"
T = TypeVar("T")
Row = tuple[Any, ...]

COPY_TYPES = ["text", "int8", "text", "bytea"]


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with embedded.start(home) as server:
            migrate(server.conninfo)
            with Datastore(server.conninfo) as datastore:
                print_table(measured(server.conninfo, EventStore(datastore, ContentStore(bytes(32))), events))
        embedded.remove(home)


def measured(conninfo: str, store: EventStore, events: int) -> dict[str, list[float]]:
    """Return the rates of each round, in events per second."""
    streams = (f"source-{number:032x}" for number in count())
    rates: dict[str, list[float]] = {
        name: [] for name in ("raw COPY", "append", "append, one by one", "read")
    }
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("CREATE TABLE bare (LIKE log.events INCLUDING ALL)")
        conn.execute("CREATE SEQUENCE bare_no")
        conn.execute("ALTER TABLE bare ALTER notification_id SET DEFAULT nextval('bare_no')")
        for _ in range(ROUNDS):
            batches = [batch(streams) for _ in range(events // BATCH_EVENTS)]
            begun = store.position()
            rates["append"].append(rate(batches, lambda additions: store.append(additions)))
            rates["append, one by one"].append(
                rate([[one] for one in batch(streams, SINGLES)], lambda additions: store.append(additions))
            )
            rates["read"].append(read_rate(store, begun))
            rates["raw COPY"].append(rate(rows_of(conn, begun, events), lambda rows: copy(conn, rows)))
    return rates


def batch(streams: Iterator[str], size: int = BATCH_EVENTS) -> list[Addition]:
    """Return one small event for each of so many new streams: about 350 bytes as stored."""
    return [Addition(next(streams), 0, [small(number)]) for number in range(size)]


def small(number: int) -> Event:
    return CaptureRejected("too-large", f"{number}:{HASH}", HASH, HASH, "2026-05-08T12:00:00.000000+00:00")


def rate(batches: Sequence[Sequence[T]], act: Callable[[Sequence[T]], object]) -> float:
    """Return how many things a second `act` takes, batch by batch."""
    begun = time.perf_counter()
    for items in batches:
        act(items)
    return sum(map(len, batches)) / (time.perf_counter() - begun)


def read_rate(store: EventStore, after: int) -> float:
    begun = time.perf_counter()
    events = sum(len(page.events) for page in store.pages(after, BATCH_EVENTS))
    return events / (time.perf_counter() - begun)


def rows_of(conn: psycopg.Connection, after: int, events: int) -> list[list[Row]]:
    """Return the rows that were just appended, in the same batches."""
    query = "SELECT originator_id, originator_version, topic, state FROM log.events WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
    rows = conn.execute(query, (after, events)).fetchall()
    return [rows[start : start + BATCH_EVENTS] for start in range(0, len(rows), BATCH_EVENTS)]


def copy(conn: psycopg.Connection, rows: Sequence[Row]) -> None:
    with conn.cursor().copy(COPY) as copying:
        copying.set_types(COPY_TYPES)
        for row in rows:
            copying.write_row(row)


def print_table(rates: dict[str, list[float]]) -> None:
    bare = median(rates["raw COPY"])
    print("| what | per second, median | lowest | highest | of raw COPY |\n|---|---|---|---|---|")
    for name, found in rates.items():
        print(
            f"| {name} | {median(found):,.0f} | {min(found):,.0f} | {max(found):,.0f} | {median(found) / bare:.2f} |"
        )


if __name__ == "__main__":
    main()
