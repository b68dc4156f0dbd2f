"""Undo from the command line: `undo` hides what a batch captured, or lists the last batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from chronofile.domain.errors import BadRequest
from chronofile.domain.wording import counted
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE, FAILED, complain
from chronofile.infra.cli.given import require_words
from chronofile.infra.cli.progress import watched
from chronofile.infra.cli.rendering import note, table, values_of, write_json, write_lines

if TYPE_CHECKING:
    from chronofile.infra.undo import BatchEntry, UndoReport

EXAMPLES = """
    chronofile undo
    chronofile undo 9f2c41d0 --dry-run
    chronofile undo 9f2c41d0
"""
ID_CHARS = 12
"""So much of an id is typed again: two batches that begin alike are not to be expected."""
BATCH_HELP = "A batch's id, or a beginning of it that no other has; without one the last batches are listed."


def undo(
    call: Call,
    batch: Annotated[str | None, typer.Argument(metavar="BATCH", help=BATCH_HELP)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be hidden or restored.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Hide what a batch captured from now on; undoing the undo restores it.

    Nothing is deleted: a search as of before finds all of it. The same bytes are not captured again until they
    change, or `ingest --again` asks for them. The undo is a batch of its own, whose id is printed.
    """
    if batch is None:
        if dry_run:
            raise BadRequest("--dry-run needs a BATCH.")
        return _list(call, as_json=as_json)
    require_words("BATCH", batch)
    with call.memory() as memory, watched() as progress:
        report = memory.undo(batch, dry_run=dry_run, progress=progress)
    if as_json:
        write_json(values_of(report))
    else:
        write_lines(_lines(report))
        if report.note and not report.stopped:
            note(report.note)
    if report.stopped:
        complain(f"It is undone, but searches do not show it yet. {report.note}")
    return FAILED if report.stopped else DONE


def _list(call: Call, *, as_json: bool) -> int:
    with call.memory() as memory:
        found = memory.batches()
    if as_json:
        write_json(values_of(found))
        return DONE
    write_lines(_table(found) if found else ())
    if not found:
        note("No batches yet. chronofile ingest PATH captures some.")
    return DONE


def _table(found: Sequence[BatchEntry]) -> list[str]:
    rows: list[tuple[object, ...]] = [("batch", "time", "tool", "revisions", "rejected", "state")]
    for entry in found:
        time = entry.started_at.astimezone().isoformat(sep=" ", timespec="seconds")
        counts = (entry.revisions, entry.rejected) if entry.of is None else (None, None)
        rows.append((entry.id, time, entry.tool, *counts, _state(entry)))
    return table(rows, right=(3, 4))


def _state(entry: BatchEntry) -> str:
    if entry.reverted:
        return f"hidden by {entry.changed_by}"
    if entry.of is not None:
        return f"undid {entry.of}"
    ended = "" if entry.finished_at else "it did not end by itself"
    restored = f"restored by {entry.changed_by}" if entry.changed_by else ""
    return ", ".join(filter(None, (restored, ended)))


def _lines(report: UndoReport) -> Iterator[str]:
    done = report.batch is not None
    if report.action == "hidden":
        yield f"{'Hidden' if done else 'This would hide'} what batch {report.captured_by} captured."
    else:
        yield f"{'Restored' if done else 'This would restore'} what batch {report.captured_by} captured."
    changes = _changes("revision", report.revisions_hidden, report.revisions_shown)
    sources = counted(report.sources, "source")
    yield (
        f"  {sources}: {changes}" if changes else "  Nothing else is shown: every source has newer revisions."
    )
    if passages := _changes("passage", report.passages_hidden, report.passages_shown):
        yield f"  {passages}"
    if report.batch is not None:
        yield f"This undo is batch {report.batch}, and `chronofile undo {report.batch[:ID_CHARS]}` takes it back."


def _changes(noun: str, hidden: int | None, shown: int | None) -> str:
    changes = ((hidden, "hidden"), (shown, "shown again"))
    return ", ".join(f"{counted(number, noun)} {name}" for number, name in changes if number)
