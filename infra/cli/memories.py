"""Memories from the command line: `remember` and `forget`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from chronofile.domain.errors import BadRequest
from chronofile.domain.memories import KIND_DEFAULT
from chronofile.domain.wording import counted
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE
from chronofile.infra.cli.given import require_words
from chronofile.infra.cli.rendering import age, indented, note, values_of, write_json, write_lines

if TYPE_CHECKING:
    from chronofile.infra.memories import Corrected, Entry, Forgetting, Remembered

REMEMBER_EXAMPLES = """
    chronofile remember "The staging server listens on 8443." --kind decision
    chronofile remember --key staging-port - < port.txt
    chronofile remember --correct 8bd3df25cb93bdc26cfc02dae2061cb8 "The staging server listens on 9443."
"""
FORGET_EXAMPLES = """
    chronofile forget 8bd3df25cb93bdc26cfc02dae2061cb8 --reason "The server is gone."
"""
STDIN = "-"
KEY_HELP = "Names the memory: the same key with the same text does nothing, with another text it is an error."

Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="What to remember; - reads it from standard input.")
]
ScopeOption = Annotated[
    str | None, typer.Option(metavar="S", help="The scope, instead of the working directory's or global.")
]
Kind = Annotated[
    str | None, typer.Option(metavar="K", help=f"What it is: a word, {KIND_DEFAULT} if none is given.")
]
Key = Annotated[str | None, typer.Option(metavar="KEY", help=KEY_HELP)]
Correct = Annotated[
    str | None, typer.Option(metavar="ID", help="The memory whose text this one takes the place of.")
]
Ids = Annotated[
    list[str], typer.Argument(metavar="ID", help="Memories, by their own ids or by those of their passages.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def remember(
    call: Call,
    text: Text,
    scope: ScopeOption = None,
    kind: Kind = None,
    key: Key = None,
    correct: Correct = None,
    as_json: AsJson = False,
) -> int:
    """Remember a text, or with --correct put it in a memory's place.

    Secrets in it are taken out first. A text that is remembered already is not remembered twice, and one that
    was forgotten is there again. After a correction the former text is still found as of before.
    """
    if correct is not None and (scope, kind, key) != (None, None, None):
        raise BadRequest("--correct keeps the memory's scope, kind and key, so none of them can be given.")
    require_words("--correct", correct)
    said = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\r\n") if text == STDIN else text
    with call.memory() as memory:
        if correct is not None:
            corrected = memory.correct(correct, said)
            _write(corrected, "Corrected" if corrected.changed else "It says that already", as_json=as_json)
        else:
            found = memory.remember(said, scope=scope, kind=KIND_DEFAULT if kind is None else kind, key=key)
            _write(found, "Remembered" if found.created else "Remembered already", as_json=as_json)
            if found.scope_created:
                note(f"The scope {found.scope} is new.")
    return DONE


def forget(
    call: Call,
    identifiers: Ids,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for whoever looks later.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be forgotten.")] = False,
    as_json: AsJson = False,
) -> int:
    """Forget memories: hide them from now on. As of before they are still there; `erase` removes for good.

    Where one of the ids means nothing, none is forgotten.
    """
    require_words("ID", *identifiers)
    with call.memory() as memory:
        found = memory.forget(identifiers, reason=reason, dry_run=dry_run)
    if as_json:
        write_json(values_of(found))
    else:
        write_lines(_lines(found, dry_run=dry_run))
    return DONE


def _write(found: Remembered | Corrected, verb: str, *, as_json: bool) -> None:
    if as_json:
        write_json(values_of(found))
        return
    write_lines([f"{verb}: {found.id} ({found.kind} in {found.scope}, position {found.position:,})"])
    if found.redactions:
        write_lines([f"  {counted(found.redactions, 'secret')} redacted"])


def _lines(found: Forgetting, *, dry_run: bool) -> Iterator[str]:
    for entry in found.memories:
        if entry.id in found.already:
            verb = "Forgotten before"
        else:
            verb = "Would be forgotten" if dry_run else "Forgotten"
        yield f"{verb}: {_label(entry)}"
        yield from indented("[erased]" if entry.text is None else entry.text)


def _label(entry: Entry) -> str:
    return f"{entry.id} ({entry.kind} in {entry.scope}, {age(entry.age_s)})"
