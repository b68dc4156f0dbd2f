"""Append to searchable by words, with a worker following: `python benchmarks/freshness.py [TIMES]`.

It starts `chronofile worker` on a new home, captures one new turn at a time without waiting, and measures from
the moment that the events are committed until the words' checkpoint has passed them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from chronofile.infra import embedded
from chronofile.infra.config import load
from chronofile.infra.memory import Memory
from chronofile.infra.wiring import memory_of
from chronofile.query import catalogue

POLL_S = 0.001


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        home, file = Path(folder) / "home", Path(folder) / "talk.turns.jsonl"
        with memory_of(load({"home": str(home)}, {}), caller="python") as memory:
            command = [sys.executable, "-m", "chronofile.infra.cli", "--home", str(home), "worker"]
            worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            try:
                took = [visible_after_s(memory, file, number) * 1000 for number in range(times)][5:]
            finally:
                worker.terminate()
                worker.wait()
        embedded.remove(home)
    print(f"load average {os.getloadavg()[0]:.1f}; {len(took)} turns")
    print(f"visible after {median(took):.0f} ms (median), {quantiles(took, n=20)[-1]:.0f} ms (p95)")


def visible_after_s(memory: Memory, file: Path, number: int) -> float:
    turn = {
        "session": "talk",
        "turn": str(number),
        "role": "user",
        "text": f"The number of today is {number}.",
    }
    with file.open("a", encoding="utf-8") as talk:
        talk.write(json.dumps(turn) + "\n")
    position = memory.ingest([file], wait="none").position
    engine = memory._parts.engine
    started = time.perf_counter()
    while catalogue.projection_status(engine, position)["lexical"].position < position - 1:
        time.sleep(POLL_S)
    took = time.perf_counter() - started
    time.sleep(0.2)  # The worker embeds what it found before it listens again.
    return took


if __name__ == "__main__":
    main()
