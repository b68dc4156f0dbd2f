"""Capture of a source tree through the public commands: `python benchmarks/capture.py FOLDER`.

It ingests FOLDER into a new home without projections (`--wait none`), again with nothing changed, then makes
it searchable by words, and prints seconds and rates as a Markdown table. Beside it runs what the machine
does at best: reading and hashing the same files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import TypeVar

ROUNDS = 3
T = TypeVar("T")


def main() -> None:
    folder = Path(sys.argv[1])
    timings: dict[str, list[float]] = {}
    first, again, words = dict[str, int](), dict[str, int](), dict[str, int]()
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            home = Path(place) / "home"
            chronofile(home, "status")  # The database's first start is not what is measured.
            run(timings, "read and hash the same files", partial(read_all, folder))
            first = run(timings, "capture", partial(ingest, home, folder, "none"))
            again = run(timings, "capture again, nothing changed", partial(ingest, home, folder, "none"))
            words = run(timings, "searchable by words", partial(ingest, home, folder, "words"))
    mb = first["read_bytes"] / 1e6
    print(
        f"{first['sources']} files, {mb:.1f} MB, {words['passages']} passages; unchanged: {again['unchanged']}\n"
    )
    print("| what | seconds, median | MB/s |\n|---|---|---|")
    for name, seconds in timings.items():
        print(f"| {name} | {median(seconds):.2f} | {mb / median(seconds):.1f} |")


def run(timings: dict[str, list[float]], name: str, call: Callable[[], T]) -> T:
    started = time.perf_counter()
    result = call()
    timings.setdefault(name, []).append(time.perf_counter() - started)
    return result


def ingest(home: Path, folder: Path, wait: str) -> dict[str, int]:
    return dict(json.loads(chronofile(home, "ingest", str(folder), "--wait", wait, "--json")))


def chronofile(home: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "chronofile.infra.cli", "--home", str(home), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_all(folder: Path) -> int:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return len({blake2b(path.read_bytes()).digest() for path in files})


if __name__ == "__main__":
    main()
