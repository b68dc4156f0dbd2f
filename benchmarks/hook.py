"""How long an agent waits for its hook: `python benchmarks/hook.py [RUNS]`.

Each figure is the whole process, from its start to its end, on a home and a transcript of its own on the temporary
folder's disk. Beside it, in turn, an interpreter that does nothing, since much of the time is that.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

RUNS = 200
LINE = (
    json.dumps({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "x" * 900}}) + "\n"
)
COPY_BYTES = 16 << 20
HOOK = "from chronofile.infra.hook import main; main()"
COMMAND = "from chronofile.infra.cli import main; main()"


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory(prefix="chronofile-bench-") as folder:
        home, transcript = Path(folder) / "home", Path(folder) / "s.jsonl"
        with transcript.open("w", encoding="utf-8") as file:
            for _ in range(COPY_BYTES // len(LINE)):
                file.write(LINE)
        told = json.dumps({"session_id": "s", "transcript_path": str(transcript), "cwd": folder}).encode()
        ways = {
            "an interpreter that does nothing": (["-c", "pass"], runs),
            "chronofile-hook Stop": (["-c", HOOK, "Stop"], runs),
            "chronofile hook Stop": (["-c", COMMAND, "hook", "Stop"], runs),
            # More would fill the spool.
            "chronofile-hook PreCompact, 16 MB not captured yet": (["-c", HOOK, "PreCompact"], min(runs, 25)),
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        used = dict.fromkeys(ways, 0.0)
        for number in range(runs):
            for name, (arguments, count) in ways.items():
                if number < count:
                    before = children_s()
                    took[name].append(ran(arguments, told, home))
                    used[name] += children_s() - before
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}\n")
    print("| what | runs | median | p95 | most | processor time, mean |\n|---|---|---|---|---|---|")
    for name, found in took.items():
        p95, mean = quantiles(found, n=20)[-1], used[name] * 1_000 / len(found)
        figures = f"{median(found):.0f} ms | {p95:.0f} ms | {max(found):.0f} ms | {mean:.0f} ms"
        print(f"| {name} | {len(found)} | {figures} |")


def ran(arguments: list[str], told: bytes, home: Path) -> float:
    """Run a process with this input and return its milliseconds; one that does not end with 0 is an error."""
    environment = {**os.environ, "CHRONOFILE_HOME": str(home)}
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], input=told, env=environment, check=True)
    return (time.perf_counter() - began) * 1_000


def children_s() -> float:
    """Return the processor seconds of all processes that were waited for, which load on the machine leaves alone."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
