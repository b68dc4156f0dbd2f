"""Append and read rates of the log beside a raw COPY of the same rows: `python benchmarks/log.py [BATCHES]`.

It starts an embedded server in a temporary home, with the settings that users have, and prints a Markdown
table. Every batch is appended, copied and read in turn, so that all of them meet the same machine; rates
are of the median batch.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psycopg

from chronofile.domain.envelope import Addition
from chronofile.domain.events import CaptureRejected, Event
from chronofile.infra import embedded
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore, connected
from chronofile.infra.event_store import EventStore
from chronofile.infra.migrate import migrate

BATCHES = 100
BATCH_EVENTS = 1_000
SINGLES = 300
HASH = "0123456789abcdef0123456789abcdef01234567"

Row = tuple[Any, ...]

BARE = """
    CREATE SEQUENCE bare_position;
    CREATE TABLE bare (LIKE log.events INCLUDING ALL);
    ALTER TABLE bare ALTER notification_id SET DEFAULT nextval('bare_position')
"""
COPY = "COPY bare (originator_id, originator_version, topic, state) FROM STDIN (FORMAT binary)"
APPENDED = """
    SELECT originator_id, originator_version, topic, state FROM log.events
    WHERE notification_id > %s ORDER BY notification_id
"""


def main() -> None:
    batches = int(sys.argv[1]) if len(sys.argv) > 1 else BATCHES
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with embedded.start(home) as server:
            migrate(server.conninfo)
            with Datastore(server.conninfo) as datastore, connected(server.conninfo) as conn:
                conn.execute(BARE)
                store = EventStore(datastore, ContentStore(bytes(32)))
                print(
                    f"Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, PostgreSQL {server_version(conn)}\n"
                )
                for size, times in ((BATCH_EVENTS, batches), (1, SINGLES)):
                    print_table(size, measured(conn, store, size, times))
        embedded.remove(home)


def measured(
    conn: psycopg.Connection[Row], store: EventStore, size: int, times: int
) -> dict[str, list[float]]:
    """Return the seconds that each batch took, by what was done with it."""
    streams = new_streams(size)
    took: dict[str, list[float]] = {"raw COPY": [], "append": [], "read": []}
    for _ in range(times):
        begun, additions = store.position(), [Addition(next(streams), 0, [small(n)]) for n in range(size)]
        took["append"].append(seconds(partial(store.append, additions)))
        rows = conn.execute(APPENDED, (begun,)).fetchall()
        took["raw COPY"].append(seconds(partial(copy, conn, rows)))
        took["read"].append(seconds(partial(store.after, begun, size)))
    return took


def new_streams(size: int) -> Iterator[str]:
    return (f"source-{size:016x}{number:016x}" for number in count())


def small(number: int) -> Event:
    """Return an event that takes about 300 bytes as stored."""
    return CaptureRejected("too-large", f"{number}:{HASH}", HASH, HASH, "2026-05-08T12:00:00.000000+00:00")


def copy(conn: psycopg.Connection[Row], rows: Sequence[Row]) -> None:
    with conn.cursor().copy(COPY) as copying:
        copying.set_types(["text", "int8", "text", "bytea"])
        for row in rows:
            copying.write_row(row)


def seconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def server_version(conn: psycopg.Connection[Row]) -> str:
    return str(conn.info.parameter_status("server_version"))


def print_table(size: int, took: dict[str, list[float]]) -> None:
    bare = median(took["raw COPY"])
    print(
        f"| batches of {size:,} | events per second | median | p95 | rate of raw COPY's |\n|---|---|---|---|---|"
    )
    for name, found in took.items():
        middle, slow = median(found), quantiles(found, n=20)[-1]
        cells = (
            name,
            f"{size / middle:,.0f}",
            f"{middle * 1e3:.2f} ms",
            f"{slow * 1e3:.2f} ms",
            f"{bare / middle:.2f}",
        )
        print("| " + " | ".join(cells) + " |")
    print()


if __name__ == "__main__":
    main()
