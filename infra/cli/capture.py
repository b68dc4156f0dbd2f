"""Capture from the command line: `ingest`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chronofile.domain.rejection import OMISSION_SENTENCES
from chronofile.domain.wording import counted
from chronofile.infra.agents import agents_places
from chronofile.infra.cli.agents import nothing_kept
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE, FAILED, complain
from chronofile.infra.cli.given import require_words
from chronofile.infra.cli.progress import sizes, watched
from chronofile.infra.cli.rendering import note, size, unread, values_of, write_json, write_lines
from chronofile.ingest.agents import paths as paths_of
from chronofile.ingest.agents import selections

if TYPE_CHECKING:
    from chronofile.infra.agents.found import Found
    from chronofile.infra.reports import IngestReport, RejectedPath
    from chronofile.ingest.agents import Kept
    from chronofile.ingest.selections import Selection

REJECTED_SHOWN_MAX = 5


class Wait(StrEnum):
    """How far a capture is waited for."""

    auto = "auto"
    words = "words"
    all = "all"
    none = "none"


EXAMPLES = """
    chronofile ingest notes/ ~/.claude/projects
    chronofile ingest --scope project:api --wait words --json docs/
    chronofile ingest --agents
    chronofile ingest --agents claude-code,codex
"""


Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Files and folders; the working directory where none is given."),
]
SCOPE_HELP = "The scope to capture into, instead of the directory's own."
AGENTS_HELP = "Take in what these agents kept on this machine; alone, every agent that is known."
FORMAT_HELP = "What the files are, instead of what they look like."
WAIT_HELP = (
    "What to wait for: words and instant vectors; all vectors; all where they are fewer than 2,000; nothing."
)


def ingest(
    call: Call,
    paths: Paths = None,
    agents: Annotated[str | None, typer.Option(metavar="[A,B]", help=AGENTS_HELP)] = None,
    scope: Annotated[str | None, typer.Option(metavar="S", help=SCOPE_HELP)] = None,
    format_name: Annotated[str | None, typer.Option("--format", metavar="F", help=FORMAT_HELP)] = None,
    wait: Annotated[Wait, typer.Option(help=WAIT_HELP)] = Wait.auto,
    again: Annotated[bool, typer.Option("--again", help="Read also what looks unchanged.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be captured.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Capture files, folders and agents' transcripts, and make them searchable.

    Bytes that were captured before are not captured again, and a file that grew costs what it grew by.
    Ctrl-C stops it and loses nothing. Exits with 1 where a path is missing, nothing could be read, or what was
    captured could not be made searchable as far as --wait says; the result is printed all the same.
    """
    require_words("PATH", *paths or ())
    places = {} if agents is None else agents_places(agents)
    named, selected = _named(paths, places, agents)
    with call.memory() as memory, watched(lambda: sizes(named, memory.config.home, selected)) as progress:
        report = memory.ingest(
            named,
            scope=scope,
            format=format_name,
            wait=wait.value,
            again=again,
            dry_run=dry_run,
            selected=selected,
            progress=progress,
        )
        there = _there(places, memory.config.home) if dry_run else {}
    if as_json:
        write_json(values_of(report) | ({"agents": values_of(there)} if there else {}))
    else:
        write_lines(_agents(there))
        write_lines(_lines(report, dry_run=dry_run, every=bool(call.verbose)))
        _write_notes(report)
    if report.unreadable:
        complain("A path that was named is missing, or nothing could be read.")
    if report.stopped:
        complain(f"What was captured is kept, but not all of it is searchable yet. {report.note}")
    return FAILED if report.failed else DONE


def _named(
    paths: Sequence[str] | None, places: Mapping[str, Sequence[Kept]], agents: str | None
) -> tuple[list[Path], dict[Path, Selection]]:
    """Return what is to be captured, and of agents' folders what there is to be taken; a path that is given is whole."""
    if agents is None:
        return [Path(path) for path in paths or ["."]], {}
    if not places:
        note(nothing_kept(agents))
    given = [Path(path).absolute() for path in paths or ()]
    kept = [place for found in places.values() for place in found if place.path not in given]
    return [*given, *paths_of(kept)], selections(kept)


def _there(places: Mapping[str, Sequence[Kept]], home: Path) -> dict[str, Found]:
    from chronofile.infra.agents.found import found_in

    return {name: found_in(kept, home) for name, kept in places.items()}


def _agents(there: Mapping[str, Found]) -> Iterator[str]:
    for name, found in there.items():
        yield f"{name}: {counted(found.files, 'file')} with conversations, {size(found.bytes)}"
        yield from (f"  {folder}" for folder in found.folders)


def _lines(report: IngestReport, *, dry_run: bool, every: bool) -> Iterator[str]:
    """Yield what was left out and why, then the summary, which stays in sight; `every` names each rejected path."""
    for reason, meaning in OMISSION_SENTENCES.items():
        if count := report.omitted.get(reason):
            yield f"{count:,} left out: {reason}. {meaning}"
    yield from _rejections(report.rejected, every=every)
    yield from _summary(report, dry_run=dry_run)


def _rejections(rejected: Sequence[RejectedPath], *, every: bool) -> Iterator[str]:
    by_reason: dict[str, list[RejectedPath]] = {}
    for found in rejected:
        by_reason.setdefault(found.reason, []).append(found)
    for reason, alike in by_reason.items():
        yield f"{len(alike):,} rejected: {reason}. {alike[0].sentence}"
        shown = alike if every else alike[:REJECTED_SHOWN_MAX]
        for one in shown:
            yield f"  {one.path}" + (f" ({one.detail})" if one.detail else "")
        if left := len(alike) - len(shown):
            yield f"  and {left:,} more: -v or --json lists them"


def _summary(report: IngestReport, *, dry_run: bool) -> Iterator[str]:
    verb = "would be captured" if dry_run else "captured"
    revisions, sources = counted(report.revisions, "revision"), counted(report.sources, "source")
    batch = f", batch {report.batch}" if report.batch else ""
    yield f"{revisions} of {sources} {verb} ({size(report.read_bytes)} read{batch})"
    others = {"unchanged": report.unchanged, "moved": report.moved, "removed": report.removed}
    if any(others.values()):
        yield "  " + ", ".join(f"{count:,} {name}" for name, count in others.items() if count)
    if report.redactions:
        yield f"  {counted(report.redactions, 'secret')} redacted"
    if report.erased_passages:
        yield f"  {counted(report.erased_passages, 'erased passage')} left out"
    if report.waiting_bytes:
        yield f"  {size(report.waiting_bytes)} wait for the end of their line"
    if report.unread_records:
        yield f"  {unread(report.unread_records)}"
    if not dry_run and report.passages is not None and report.pending_vectors is not None:
        with_vectors = report.passages - report.pending_vectors
        yield f"{counted(report.passages, 'passage')} in all, {max(0, with_vectors):,} with vectors"


def _write_notes(report: IngestReport) -> None:
    for sentence in (None if report.stopped else report.note, _nothing_found(report)):
        if sentence:
            note(sentence)


def _nothing_found(report: IngestReport) -> str | None:
    older = report.omitted.get("older-copy", 0)
    counts = (report.sources, report.unchanged, report.moved, report.removed, len(report.rejected), older)
    return None if any(counts) else "Nothing to capture was found there."
