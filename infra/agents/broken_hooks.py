"""Broken hooks: those in agents' settings whose program is gone, as after a new install elsewhere."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chronofile.infra.agents.hooks import CLIENTS, own_commands, settings_file
from chronofile.infra.agents.settings import SettingsUnusable

FIRST_LINE_BYTES_MAX = 4 << 10


@dataclass(frozen=True, slots=True)
class BrokenHook:
    """A hook of ours in a client's settings that cannot run, since `program` is not there or is none.

    `home` is the one that it names, None for the default one.
    """

    client: str
    file: str
    program: str
    home: str | None

    @property
    def detail(self) -> str:
        return f"{self.client}: the hook in {self.file} cannot run, there is no program {self.program}"

    @property
    def remedy(self) -> str:
        home = f" --home {shlex.quote(self.home)}" if self.home else ""
        return f"chronofile hooks install --for {self.client}{home} --write"

    @property
    def sentence(self) -> str:
        return f"{self.detail}. {self.remedy} mends it."


def broken_hooks() -> list[BrokenHook]:
    """Return our hooks that cannot run. Nothing is said of settings that cannot be read."""
    return [hook for name in CLIENTS for hook in _of_client(name)]


def _of_client(name: str) -> Iterator[BrokenHook]:
    with suppress(SettingsUnusable, OSError):
        file = str(settings_file(CLIENTS[name]))
        ours = own_commands(CLIENTS[name])
        programs = dict.fromkeys((shlex.split(command)[0], home) for command, home in ours.items())
        for program, home in programs:
            if (missing := _missing(program)) is not None:
                yield BrokenHook(name, file, missing, home or None)


def _missing(program: str) -> str | None:
    """Return what is not there of a program: itself, or what runs the script that it is; None where all is there."""
    found = shutil.which(program)
    if found is None:
        return program
    runner = _runner(Path(found))
    return None if runner is None or shutil.which(runner) is not None else runner


def _runner(script: Path) -> str | None:
    try:
        with script.open("rb") as opened:
            first = opened.read(FIRST_LINE_BYTES_MAX).split(b"\n", 1)[0]
    except OSError:
        return None  # What may be run need not be readable.
    words = first.removeprefix(b"#!").split() if first.startswith(b"#!") else ()
    return os.fsdecode(words[0]) if words else None
