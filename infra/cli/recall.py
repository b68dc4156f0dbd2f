"""Questions from the command line: `search` and `get`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofile.domain.errors import BadRequest
from chronofile.infra.cli.batch import run_batch
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE
from chronofile.infra.cli.given import require_words
from chronofile.infra.cli.hits import context_lines, conversation_lines, hit_lines
from chronofile.infra.cli.rendering import note, values_of, write_json, write_lines

if TYPE_CHECKING:
    from chronofile.query.answer import Answer

SEARCH_EXAMPLES = """
    chronofile search "which port does the staging server use?"
    chronofile search --scope all --since 2026-05-01 --explain "staging port"
    chronofile search --batch questions.jsonl --limit 100 > answers.jsonl
"""
GET_EXAMPLES = """
    chronofile get 5f0c2f8de1a94a4bb1a7e3e0a4f7c1d2 --context 2
"""
STDIN = "-"


Query = Annotated[
    str | None, typer.Argument(metavar="QUERY", help="What to look for; - reads it from standard input.")
]
BATCH_HELP = (
    'Answer many: lines {"id", "query", "scope"?, "at"?} in, a JSON line each out; - is standard input.'
)
Batch = Annotated[str | None, typer.Option(metavar="FILE.jsonl", help=BATCH_HELP)]
SCOPE_HELP = "A scope, several, or all; those of the working directory if none is given."
Scopes = Annotated[list[str] | None, typer.Option("--scope", metavar="S", help=SCOPE_HELP)]
Topic = Annotated[str | None, typer.Option(metavar="T", help="Passages of this topic alone.")]
Kind = Annotated[str | None, typer.Option(metavar="K", help="Passages of this kind alone.")]
Session = Annotated[str | None, typer.Option(metavar="ID", help="Passages of this session alone.")]
Speaker = Annotated[str | None, typer.Option(metavar="P", help="What this person said alone.")]
Source = Annotated[
    str | None, typer.Option(metavar="URI", help="A source by URI or path, a conversation as FILE#ID.")
]
Since = Annotated[str | None, typer.Option(metavar="T", help="What happened at this time or later.")]
Until = Annotated[str | None, typer.Option(metavar="T", help="What happened by then.")]
AsOf = Annotated[str | None, typer.Option(metavar="TIME|POSITION", help="What was known then.")]
Limit = Annotated[int, typer.Option(metavar="N", help="How many hits at most.")]
ShowAll = Annotated[bool, typer.Option("--all", help="Show the nearest also when nothing matches.")]
Explain = Annotated[bool, typer.Option("--explain", help="Show what each stage said of each hit.")]
Around = Annotated[
    int, typer.Option("--context", metavar="N", min=0, help="How many passages to show before and after it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def search(
    call: Call,
    query: Query = None,
    batch: Batch = None,
    scope: Scopes = None,
    topic: Topic = None,
    kind: Kind = None,
    session: Session = None,
    speaker: Speaker = None,
    source: Source = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    limit: Limit = 10,
    show_all: ShowAll = False,
    explain: Explain = False,
    as_json: AsJson = False,
) -> int:
    """Find passages, best first: verbatim text with where it is from and when.

    Times are ISO-8601, such as 2026-05-08 or 2026-05-08T14:30. Without a match nothing is shown but with --all;
    JSON always has the ranked hits. With --batch the flags hold for every line, and a line's scope wins.
    """
    if (query is None) == (batch is None):
        raise BadRequest("give either QUERY or --batch FILE.jsonl.")
    fields: dict[str, Any] = {"scope": scope or None, "topic": topic, "kind": kind, "session": session}
    fields |= {"speaker": speaker, "source": source, "since": since, "until": until, "as_of": as_of}
    fields |= {"limit": limit, "explain": explain}
    if batch is not None:
        with call.memory() as memory:
            return run_batch(memory, batch, fields)
    from chronofile.infra.requests import working_directory

    question = _read_question() if query == STDIN else str(query)
    with call.memory() as memory:
        answer = memory.search(question, **fields)
        here = None if answer.matched or scope else working_directory()
        is_of_here = here is not None and memory.scopes_here(here) is not None
    if as_json:
        write_json(values_of(answer))
    else:
        _write(answer, show_all=show_all, explain=explain, is_of_here=is_of_here)
    return DONE


def get(
    call: Call,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="A passage's id, from a hit.")],
    context: Around = 0,
    source: Annotated[bool, typer.Option("--source", help="Show the whole text of its source.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show a passage, those around it, or the whole source that it is from."""
    require_words("ID", identifier)
    with call.memory() as memory:
        found = memory.get(identifier, context=context, source=source)
        by_turn = source and not as_json and found.hit.session is not None
        turns = memory.turns(identifier) if by_turn else ()
    if as_json:
        write_json(values_of(found))
    else:
        write_lines(conversation_lines(found.hit, turns) if by_turn else context_lines(found))
    return DONE


def _read_question() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").strip()


def _write(answer: Answer, *, show_all: bool, explain: bool, is_of_here: bool) -> None:
    """Print the hits that match; `is_of_here` tells that the working directory's scopes alone were asked."""
    for sentence in answer.degraded:
        note(f"Degraded: {sentence}")
    shown = answer.hits if answer.matched or show_all else ()
    for rank, hit in enumerate(shown, start=1):
        write_lines(hit_lines(hit, rank, explain=explain))
    if not answer.matched:
        where = ", ".join(answer.scopes) or "any scope"
        hint = "" if show_all or not answer.hits else " --all shows the nearest passages."
        hint += " --scope all looks everywhere." if is_of_here else ""
        note(f"Nothing in {where} matches.{hint}")
