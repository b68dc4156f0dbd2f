"""The command line as its users run it: a process of its own on a real home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chronofile.infra.embedded import start
from tests.infra.embedded_home import Operator, temporary_home

PROGRAM = (sys.executable, "-c", "from chronofile.infra.cli import main; main()")
RUN_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command came to."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A home and a working directory to run commands in, with an environment that has little else."""

    home: Path
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str | bytes, stdin: bytes = b"", **variables: str) -> Ran:
        with self.started(*arguments, **variables) as process:
            out, err = process.communicate(stdin, RUN_TIMEOUT_S)
        ran = Ran(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
        assert "Traceback" not in ran.err
        return ran

    def started(self, *arguments: str | bytes, **variables: str) -> subprocess.Popen[bytes]:
        base = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "CHRONOFILE_HOME": str(self.home)}
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.directory,
            env={**base, **self.environment, **variables},
        )

    def write(self, name: str, text: str) -> Path:
        """Write a file in the working directory."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path


@contextmanager
def command_line(directory: Path, *, server: bool = True) -> Iterator[CommandLine]:
    """Yield a command line on a new home; `server` keeps its database running in between, to save time."""
    homes = temporary_home(Operator(os.geteuid(), os.getegid()))
    home = next(homes)
    try:
        with start(home) if server else nullcontext():
            yield CommandLine(home, directory)
    finally:
        next(homes, None)
