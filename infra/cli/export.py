"""Exporting from the command line: `export`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chronofile.domain.wording import counted
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE
from chronofile.infra.cli.given import require_words
from chronofile.infra.cli.rendering import note, size, unread, values_of

if TYPE_CHECKING:
    from chronofile.infra.export import Exported

STANDARD_OUTPUT = "-"

EXAMPLES = """
    chronofile export conversations.turns.jsonl --format turns
    chronofile export --format turns --scope project:api | gzip > api.turns.jsonl.gz
    chronofile export april.turns.jsonl --format turns --as-of 2026-04-30
"""


class Format(StrEnum):
    """What can be written."""

    turns = "turns"


def export(
    call: Call,
    form: Annotated[Format, typer.Option("--format", help="turns: each message a line of JSON.")],
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Where to write it; standard output if not given.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(metavar="S", help="The conversations of this scope alone.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME|POSITION", help="What was shown then, but for what was erased since."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE where it is there already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> int:
    """Write all conversations, of whatever format, as neutral turns: one message a line, word for word.

    chronofile ingest takes such a file and gives the same turns. FILE appears when it is complete. Files and
    memories are no conversations and are counted. The counts go to standard error, and with --json to standard
    output where there is a FILE. Changes nothing.
    """
    require_words("FILE", file)
    require_words("--scope", scope)
    require_words("--as-of", as_of)
    to_output = file in (None, STANDARD_OUTPUT)
    with call.memory() as memory:
        found = memory.export(
            sys.stdout.buffer if file is None or to_output else Path(file),
            format=form.value,
            scope=scope,
            as_of=as_of,
            force=force,
            tick=_ticking(),
        )
    if as_json:
        (sys.stderr if to_output else sys.stdout).write(json.dumps(values_of(found)) + "\n")
    else:
        for sentence in _sentences(found):
            note(sentence)
    return DONE


def _sentences(found: Exported) -> Iterator[str]:
    turns, conversations = counted(found.turns, "turn"), counted(found.conversations, "conversation")
    yield f"{turns} of {conversations} written ({size(found.bytes)}, {found.took_s:.1f} s)."
    memories = "1 memory" if found.memories == 1 else counted(found.memories, "memorie")
    left_out = [counted(found.files, "file")] * bool(found.files) + [memories] * bool(found.memories)
    if left_out:
        alone = found.files + found.memories == 1
        are = "is no conversation and was" if alone else "are no conversations and were"
        yield f"{' and '.join(left_out)} {are} left out."
    if found.renamed:
        yield f"{counted(found.renamed, 'turn')} got longer ids, since several sources have their session."
    if found.omitted:
        yield unread(found.omitted)
    if found.unread:
        yield f"{counted(found.unread, 'conversation')} could not be read as a whole: chronofile verify looks closer."


def _ticking() -> Callable[[int, int], None]:
    """Return what shows how far an export is, on a terminal alone."""

    def tick(done: int, of: int) -> None:
        if sys.stderr.isatty() and not sys.stdout.isatty():
            sys.stderr.write(f"\r{done:,} of {counted(of, 'source')} exported" + "\n" * (done >= of))
            sys.stderr.flush()

    return tick
