"""Hooks as agents run them: a process of its own that is given JSON, and what it left in the spool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chronofile.ingest import offsets, spool
from chronofile.ingest.sighting import HeldBytes
from chronofile.ingest.spool import Entry

PROGRAM = (sys.executable, "-c", "from chronofile.infra.hook import main; main()")
RUN_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Hooked:
    """What a hook's process came to."""

    status: int
    out: bytes
    err: bytes


@dataclass(frozen=True, slots=True)
class Hooks:
    """Runs hooks on a home, with an environment that has nothing else."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, stdin: bytes = b"", **settings: Any) -> Hooked:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=RUN_TIMEOUT_S,
            env=self.variables,
            **settings,
        )
        return Hooked(done.returncode, done.stdout, done.stderr)

    def tell(
        self, event: str, transcript: Path | str | None, *, agent: str = "claude-code", **fields: Any
    ) -> Hooked:
        """Run the hook as a client does, with the JSON that it writes."""
        told = {"session_id": "s", "hook_event_name": event, "cwd": "/made-up", **fields}
        if transcript is not None:
            told["transcript_path"] = os.fspath(transcript)
        raw = json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogateescape")
        done = self.run(event, "--agent", agent, stdin=raw)
        assert (done.status, done.err) == (0, b"")
        assert done.out.strip() == (b"{}" if agent == "codex" else b"")
        return done

    @property
    def variables(self) -> dict[str, str]:
        return {"CHRONOFILE_HOME": str(self.home), **self.environment}

    @property
    def entries(self) -> list[Entry]:
        found = [spool.read(file) for file in spool.waiting(self.home)]
        return [entry for entry in found if entry is not None]


def left_captured(hooks: Hooks, *transcripts: Path) -> None:
    """Leave for hooks what a capture of the transcripts, as they are now, leaves."""
    offsets.write(hooks.home, {path: HeldBytes(path.read_bytes()) for path in transcripts})
