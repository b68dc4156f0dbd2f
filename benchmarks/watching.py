"""Change to searchable, idle cost, a flood of events and a storm of kills: `python benchmarks/watching.py [PART...] [--kills 100]`.

The parts are `latency`, `idle`, `flood` and `kills`; all of them without a name. Each runs `chronofile watch` as a
process of its own on a new home. Latency is from the last change until the index of words holds all of them.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from chronofile.infra import embedded
from chronofile.infra.config import load
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore
from chronofile.infra.event_store import EventStore
from chronofile.infra.memory import Memory
from chronofile.infra.migrate import store_key
from chronofile.infra.wiring import memory_of
from tests.builders import write
from tests.infra.storms import Storm
from tests.infra.watched import Kept, Watch, until, watching

WAIT_S = 600.0
IDLE_S = 60.0
EVENTS = 1_000_000
ROUNDS = {1: 20, 100: 5, 10_000: 1}
"""How often each number of changes is measured."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name in options.parts or PARTS:
        print(f"{name} (load average {os.getloadavg()[0]:.1f})", flush=True)
        PARTS[name](options)


@contextmanager
def home_and_folder() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as named:
        base = Path(named).resolve()
        (base / "notes").mkdir()
        write(base / "notes" / "first.md", "The first note.")
        yield base / "home", base / "notes"
        embedded.remove(base / "home")


def latency(_options: argparse.Namespace) -> None:
    with home_and_folder() as (home, folder), watching(folder, home=home) as watch:
        until(lambda: watch.flushes, WAIT_S)
        with memory_of(load({"home": str(home)}, {}), caller="python") as memory:
            for count, rounds in ROUNDS.items():
                took = [searchable_after_s(memory, folder, count, turn) for turn in range(rounds)]
                longest_s = max(last_s for _, last_s in took)
                print(
                    f"  {count:>6,} changes, {rounds} times: {median(last for _, last in took):.2f} s after the last"
                    f" (longest {longest_s:.2f}), {median(first for first, _ in took):.2f} s after the first",
                    flush=True,
                )


def searchable_after_s(memory: Memory, folder: Path, count: int, turn: int) -> tuple[float, float]:
    """Change so many files, and return how long after the first and after the last all were searchable."""
    wanted = passages(memory) + count
    first_s = time.monotonic()
    for number in range(count):
        write(
            folder / f"{count}-{turn}" / f"{number % 100}" / f"{number}.md",
            f"Change {turn} {number} of {count}.",
        )
    last_s = time.monotonic()
    while passages(memory) < wanted:
        assert time.monotonic() < last_s + WAIT_S
        time.sleep(0.01 if count < 1_000 else 0.2)
    ended_s = time.monotonic()
    time.sleep(2)
    return ended_s - first_s, ended_s - last_s


def passages(memory: Memory) -> int:
    """Return how many passages the index of words holds: none of what it has not seen."""
    found = memory.status()
    lexical = found.projections["lexical"]
    return found.passages if lexical.position >= found.projections["passages"].position else 0


def idle(_options: argparse.Namespace) -> None:
    with home_and_folder() as (home, folder):
        for number in range(1_000):
            write(folder / f"{number % 100}" / f"{number}.md", f"Note {number}.")
        with watching(folder, home=home) as watch:
            until(lambda: watch.flushes, WAIT_S)
            settle(watch)
            began_s, cpu_s = time.monotonic(), watch.cpu_s
            time.sleep(IDLE_S)
            share = (watch.cpu_s - cpu_s) / (time.monotonic() - began_s)
            print(f"  {share:.2%} of a processor over {IDLE_S:.0f} s, {resident_mb(watch):.0f} MB")


def settle(watch: Watch) -> None:
    """Wait until it has computed nothing for a while: vectors come after the captures."""
    quiet = 0
    while quiet < 4:
        cpu_s = watch.cpu_s
        time.sleep(3)
        quiet = quiet + 1 if watch.cpu_s - cpu_s < 0.1 else 0


def flood(_options: argparse.Namespace) -> None:
    """Write files over and over: each time is three events, most of which the system drops."""
    with home_and_folder() as (home, folder), watching(folder, home=home) as watch:
        until(lambda: watch.flushes, WAIT_S)
        settle(watch)
        before = resident_mb(watch)
        files = [folder / f"{number}.md" for number in range(1_000)]
        began_s, most = time.monotonic(), before
        for number in range(EVENTS // 3):
            files[number % 1_000].write_text(f"Write {number}.")
            if number % 5_000 == 0:
                most = max(most, resident_mb(watch))
        flooded_s = time.monotonic() - began_s
        conninfo = embedded_conninfo(home)
        rested_s = until(lambda: not lost(conninfo, folder), WAIT_S)
        print(
            f"  {EVENTS:,} events in {flooded_s:.0f} s: {before:.0f} MB before, {max(most, resident_mb(watch)):.0f} MB at"
            f" most, all captured {rested_s:.1f} s after the last, {len(watch.flushes)} captures"
        )


def kills(options: argparse.Namespace) -> None:
    chance = random.Random(options.seed)
    with home_and_folder() as (home, folder), embedded.start(home) as server:
        storm = Storm(folder, options.seed)
        with storm.raging():
            for kill in range(options.kills):
                with watching(folder, home=home) as watch:
                    if kill % 2:
                        until(lambda watch=watch: watch.flushes, WAIT_S)  # type: ignore[misc]
                    time.sleep(chance.uniform(0, 2))
        with watching(folder, home=home) as watch:
            until(lambda: watch.flushes, WAIT_S)
            until(lambda: not lost(server.conninfo, folder), WAIT_S)
        with Datastore(server.conninfo) as datastore:
            contents = ContentStore(store_key(server.conninfo))
            found = Kept.of(EventStore(datastore, contents), contents)
            doubled = storm.doubled_passages(datastore)
        print(
            f"  {options.kills} kills in {storm.number:,} changes: {len(found.missing(folder))} files lost,"
            f" {found.doubled} revisions and {len(doubled)} passages twice"
        )


def lost(conninfo: str, folder: Path) -> list[str]:
    contents = ContentStore(store_key(conninfo))
    with Datastore(conninfo) as datastore:
        return Kept.of(EventStore(datastore, contents), contents).missing(folder)


def embedded_conninfo(home: Path) -> str:
    with embedded.start(home) as server:
        return server.conninfo


def resident_mb(watch: Watch) -> float:
    pages = int(Path(f"/proc/{watch.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "latency": latency,
    "idle": idle,
    "flood": flood,
    "kills": kills,
}

if __name__ == "__main__":
    main()
