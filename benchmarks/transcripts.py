"""Capture of a large folder of transcripts, made up from a seed: `python benchmarks/transcripts.py [--megabytes 1000]`.

It captures the folder through the command (`ingest --wait none`), with redaction and without, then again with
nothing changed and after every session grew, and prints seconds, MB/s and the process's peak of memory (that of
PostgreSQL not counted). Beside it runs reading and hashing the same files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

SEED = 20260508
LARGEST_MB = 200
SESSIONS = 120
GROWN_LINES = 20
WORDS = 20_000
LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
FREQUENCIES = (
    127, 91, 82, 75, 70, 67, 63, 61, 60, 43, 40, 28, 28, 24, 24, 22, 20, 20, 19, 15, 10, 8, 2, 2, 1, 1,
)  # fmt: skip
"""How often each letter is met in a thousand of English text."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--megabytes", type=int, default=1_000)
    wanted = parser.parse_args().megabytes
    chance = random.Random(SEED)
    words = ["".join(chance.choices(LETTERS, FREQUENCIES, k=chance.randint(2, 11))) for _ in range(WORDS)]
    with tempfile.TemporaryDirectory() as place:
        folder, home, other = Path(place) / "projects", Path(place) / "home", Path(place) / "other"
        made = [write(folder, number, megabytes, words, chance) for number, megabytes in sizes(wanted)]
        size = sum(path.stat().st_size for path in made)
        print(
            f"{len(made)} transcripts, {size / 1e6:,.0f} MB, the largest {max(p.stat().st_size for p in made) / 1e6:,.0f} MB\n"
        )
        print("| what | seconds | MB/s | peak memory, MB |\n|---|---|---|---|")
        started = time.perf_counter()
        for path in made:
            digest(path)
        told("read and hash the same files", time.perf_counter() - started, size, None)
        for where, redaction in ((other, "off"), (home, "on")):
            chronofile(where, "status")
            told(f"capture, redaction {redaction}", *captured(where, folder, redaction))
        told("capture again, nothing changed", *captured(home, folder, "on"))
        grown = sum(grow(path, words, chance) for path in made)
        seconds, _, peak = captured(home, folder, "on")
        told("capture after each session grew", seconds, grown, peak)


def sizes(megabytes: int) -> Iterator[tuple[int, float]]:
    """Yield a number and a size for each session: one is very large, most are small."""
    yield 0, min(LARGEST_MB, megabytes / 5)
    for number in range(1, SESSIONS):
        yield number, (megabytes - min(LARGEST_MB, megabytes / 5)) / (SESSIONS - 1)


def write(folder: Path, number: int, megabytes: float, words: list[str], chance: random.Random) -> Path:
    path = folder / f"-home-me-project{number % 7}" / f"{chance.getrandbits(128):032x}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        written = 0
        while written < megabytes * 1e6:
            line = record(path.stem, words, chance)
            written += file.write(line)
    settle(path)
    return path


def grow(path: Path, words: list[str], chance: random.Random) -> int:
    before = path.stat().st_size
    with path.open("a", encoding="utf-8") as file:
        file.writelines(record(path.stem, words, chance) for _ in range(GROWN_LINES))
    return path.stat().st_size - before


def settle(path: Path) -> None:
    """Make the file look as if it had rested for an hour, so that a second run need not read it again."""
    hour_ago = time.time() - 3_600
    os.utime(path, (hour_ago, hour_ago))


def record(session: str, words: list[str], chance: random.Random) -> str:
    """Return one line: a prompt, an answer, or the long result of a tool."""
    kind = chance.choice(["user", "assistant", "assistant", "result"])
    text = " ".join(
        chance.choices(words, k=chance.randint(400, 1_200) if kind == "result" else chance.randint(10, 150))
    )
    content: object = text
    if kind == "assistant":
        content = [{"type": "text", "text": text}]
    elif kind == "result":
        lines = text.replace(" the", ".\n").replace(" a", " = a\n    ")
        content = [
            {"type": "tool_result", "tool_use_id": f"toolu_{chance.getrandbits(64):016x}", "content": lines}
        ]
    return (
        json.dumps(
            {
                "type": "assistant" if kind == "assistant" else "user",
                "uuid": f"{chance.getrandbits(128):032x}",
                "sessionId": session,
                "cwd": "/home/me/project",
                "timestamp": "2026-05-08T12:00:00.000Z",
                "message": {"role": "assistant" if kind == "assistant" else "user", "content": content},
            }
        )
        + "\n"
    )


def digest(path: Path) -> str:
    state = blake2b()
    with path.open("rb") as file:
        while block := file.read(8 << 20):
            state.update(block)
    return state.hexdigest()


def captured(home: Path, folder: Path, redaction: str) -> tuple[float, int, float]:
    """Capture the folder and return the seconds, the bytes read, and the peak of memory in MB."""
    started = time.perf_counter()
    printed, peak = measured(home, redaction, "ingest", str(folder), "--wait", "none", "--json")
    return time.perf_counter() - started, int(json.loads(printed)["read_bytes"]), peak


def measured(home: Path, redaction: str, *arguments: str) -> tuple[str, float]:
    """Run a command and return what it printed, and its own peak of memory in MB."""
    watch = (
        "import resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], check=True, capture_output=True, text=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024); print(done.stdout)"
    )
    command = [sys.executable, "-c", watch, sys.executable, "-m", "chronofile.infra.cli", "--home", str(home)]
    environment = {**os.environ, "CHRONOFILE_REDACTION": redaction}
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True, env=environment)
    peak, printed = done.stdout.split("\n", 1)
    return printed, float(peak)


def chronofile(home: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "chronofile.infra.cli", "--home", str(home), *arguments]
    subprocess.run(command, check=True, capture_output=True)


def told(what: str, seconds: float, size: int, peak: float | None) -> None:
    memory = "" if peak is None else f"{peak:,.0f}"
    print(f"| {what} | {seconds:.1f} | {size / 1e6 / seconds:.1f} | {memory} |", flush=True)


if __name__ == "__main__":
    main()
