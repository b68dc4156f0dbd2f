"""The first run: capture a folder into a throwaway home, show what came of it, and ask it something."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
CHRONOFILE = Path(sys.executable).parent / "chronofile"
TRANSCRIPTS = Path("~/.claude/projects")
OWN_QUESTION = "what happens when the reply to a commit is lost?"
ANY_QUESTION = "how is this built and tested?"
NEXT_STEPS = """
The throwaway home is deleted now. To go on for good, with a memory that stays:

    export PATH="{folder}:$PATH"
    chronofile ingest {source}
    chronofile ingest ~/.claude/projects     # what you and your agent said
    chronofile search "what did we decide about retries?"

README.md tells the rest: how an agent asks over MCP, and the Python calls."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tour and return its exit status."""
    asked = _parser().parse_args(arguments)
    source = Path(asked.source).expanduser().resolve()
    paths = [source, *_transcripts()] if asked.agents else [source]
    question = asked.question or (OWN_QUESTION if source == REPOSITORY else ANY_QUESTION)
    started = time.monotonic()
    with throwaway_home() as home:
        for command in _tour(paths, question):
            if (status := _show(command, home)) != 0:
                return status
        print(f"\nThat took {time.monotonic() - started:.0f} seconds.")
    print(NEXT_STEPS.format(folder=CHRONOFILE.parent, source=shlex.quote(str(source))))
    return 0


@contextmanager
def throwaway_home() -> Iterator[Path]:
    """Yield an empty home; delete it afterwards, and its database, which is elsewhere when root runs this."""
    from chronofile.infra import embedded

    home = Path(tempfile.mkdtemp(prefix="chronofile-try-"))
    try:
        yield home
    finally:
        embedded.remove(home)
        shutil.rmtree(home)


def _tour(paths: Sequence[Path], question: str) -> list[list[str]]:
    # By words and instant vectors everything is found at once; the slower vectors are for a memory that stays.
    return [
        ["ingest", *map(str, paths), "--wait", "words"],
        ["topics"],
        ["search", question, "--scope", "all", "--limit", "3", "--all"],
    ]


def _show(command: Sequence[str], home: Path) -> int:
    """Print a command as one would type it, run it, and return its exit status."""
    print(f"\n$ {shlex.join(['chronofile', *command])}", flush=True)
    return subprocess.run([CHRONOFILE, *command], env=_environment(os.environ, home), check=False).returncode


def _environment(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return the environment without settings that would lead to a memory that is already there."""
    kept = {name: value for name, value in environment.items() if not name.startswith("CHRONOFILE_")}
    return {**kept, "CHRONOFILE_HOME": str(home)}


def _transcripts() -> list[Path]:
    folder = TRANSCRIPTS.expanduser()
    if folder.is_dir():
        return [folder]
    print(f"There are no agent transcripts in {folder}.")
    return []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="the folder to capture")
    parser.add_argument("--agents", action="store_true", help=f"add the transcripts in {TRANSCRIPTS}")
    parser.add_argument("--question", help="what to ask")
    return parser


if __name__ == "__main__":
    sys.exit(main())
