"""How soon `chronofile mcp` lists its tools, and how much memory it takes: `python benchmarks/mcp_startup.py [ROUNDS]`.

The SDK's own client starts the server over a real pipe, with the environment that clients leave, on a temporary
home whose Postgres does not run. Beside it, in turn, a bare `import mcp` in a process of its own, since most of
the start is that. Memory is resident memory of the server's process, Postgres not counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import anyio
from mcp import Client, StdioServerParameters

from chronofile.infra import embedded
from chronofile.infra.wiring import open_memory

ROUNDS = 10
SETTLED_S = 4.0
"""After the list of tools the memory is opened in the background; so long that takes at most."""
COMMAND = "from chronofile.infra.cli import main; main()"
PASSAGES = 200


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="chronofile-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        try:
            fill(home, Path(folder))
            bare, listed = [], []
            for _ in range(rounds):
                bare.append(importing())
                listed.append(anyio.run(listing, home))
            before, opened, after, first, second = anyio.run(searching, home)
        finally:
            embedded.remove(home)
    load = os.getloadavg()[0]
    print(f"{rounds} rounds, {os.cpu_count()} cores, load {load:.1f}\n")
    print("| what | figure |\n|---|---|")
    print(f"| start to first list of tools, median (least, most) | {spread(listed)} |")
    print(f"| a bare `import mcp` beside it, median (least, most) | {spread(bare)} |")
    print(
        f"| memory when the tools are listed, then with the memory open | {before:.0f} MB, {opened:.0f} MB |"
    )
    print(f"| memory after the first search | {after:.0f} MB |")
    print(f"| first search, which loads the models; the second | {first:.2f} s, {second:.3f} s |")


def fill(home: Path, folder: Path) -> None:
    notes = folder / "notes.md"
    notes.write_text(
        "\n\n".join(f"# Note {n}\n\nThe value of parameter {n} is {n * 7}." for n in range(PASSAGES))
    )
    with open_memory({"home": str(home)}, caller="python") as memory:
        memory.ingest([notes], wait="all")


def importing() -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp"], check=True)
    return time.perf_counter() - begun


async def listing(home: Path) -> float:
    begun = time.perf_counter()
    async with served(home) as client:
        await client.list_tools()
        return time.perf_counter() - begun


async def searching(home: Path) -> tuple[float, float, float, float, float]:
    """Return memory in MB when listed, when open and after a search, and seconds of the first and second search."""
    async with served(home) as client:
        await client.list_tools()
        before = memory_mb()
        await anyio.sleep(SETTLED_S)
        await client.call_tool("memory_status", {})
        opened = memory_mb()
        took = []
        for number in (7, 8):
            begun = time.perf_counter()
            found = await client.call_tool(
                "search_memory", {"query": f"What is the value of parameter {number}?"}
            )
            took.append(time.perf_counter() - begun)
            assert not found.is_error
        return before, opened, memory_mb(), took[0], took[1]


@asynccontextmanager
async def served(home: Path) -> AsyncIterator[Client]:
    server = StdioServerParameters(command=sys.executable, args=["-c", COMMAND, "mcp", "--home", str(home)])
    async with Client(server) as client:
        yield client


def memory_mb() -> float:
    """Return the resident memory of this process's only child, the server."""
    listed = subprocess.run(
        ["ps", "-ax", "-o", "ppid=,rss=,command="], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    [resident] = [int(rss) for ppid, rss, command in rows if int(ppid) == os.getpid() and " mcp " in command]
    return resident / 1024


def spread(seconds: list[float]) -> str:
    return f"{median(seconds):.2f} s ({min(seconds):.2f}, {max(seconds):.2f})"


if __name__ == "__main__":
    main()
