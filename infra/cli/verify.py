"""Verifying from the command line: `verify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from chronofile.domain.rejection import REJECTION_SENTENCES
from chronofile.domain.wording import counted
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE, FAILED, complain
from chronofile.infra.cli.hits import place
from chronofile.infra.cli.rendering import size, values_of, write_json, write_lines

if TYPE_CHECKING:
    from chronofile.infra.reports import Listed, Verified

LISTED_SHOWN_MAX = 5

EXAMPLES = """
    chronofile verify
    chronofile verify --scope project:api --json
    chronofile verify --source notes/ports.md
"""

MEANINGS: Mapping[str, str] = {
    "behind": "files grew since they were captured; chronofile ingest captures the rest",
    "changed": "files changed since they were captured; chronofile ingest captures what they are now",
    "gone": "files are not there any more; what was captured of them is",
    "recovered": "sources hold what no file has any more; there is nothing to compare them with",
    "unreadable": "files cannot be read now",
    "waiting": "transcripts end in a line that is not complete; it is captured when it is",
    "undone": "sources have captures that were undone",
    "erased": "sources have contents that were erased",
    "failed": "revisions could not be turned into passages; their bytes are kept",
    "omitted": "kinds of records gave no turn or text; their bytes are kept",
    "rejected": "sources could not be captured",
    "set-aside": "entries of hooks could not be captured; they are kept in the spool",
}
_IN_BYTES = frozenset({"behind", "waiting"})


def verify(
    call: Call,
    scope: Annotated[str | None, typer.Option(metavar="S", help="The sources of this scope alone.")] = None,
    source: Annotated[
        str | None, typer.Option(metavar="URI", help="This source alone; a path is taken too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Prove that nothing that was captured is lost: read all of it and compare.

    Of every source the stored bytes must be those that their keys name, the ranges must follow one another, and
    the passages must be the text's. Files are compared with what was captured of them: one that grew or changed
    is listed and no fault. Exits with 1 only where bytes, ranges or passages disagree. Changes nothing.
    """
    with call.memory() as memory:
        found = memory.verify(scope=scope, source=source)
    if as_json:
        write_json(values_of(found))
    else:
        write_lines(_lines(found, every=bool(call.verbose)))
    if found.disagreements:
        complain(f"{counted(len(found.disagreements), 'disagreement')}: not all is as it was captured.")
        return FAILED
    return DONE


def _lines(found: Verified, *, every: bool) -> Iterator[str]:
    """Yield what disagrees, what else there is to know, and the summary; `every` names each that is listed."""
    for one in found.disagreements:
        yield f"DISAGREES  {one.problem}: {place(one.uri or one.source)} (source {one.source})"
        yield f"           {one.detail}"
        yield f"        -> {one.remedy}"
    for state, meaning in MEANINGS.items():
        alike = [one for one in found.listed if one.state == state]
        if not alike:
            continue
        yield f"{len(alike):,} {state}: {meaning}."
        yield from (_line(one) for one in (alike if every else alike[:LISTED_SHOWN_MAX]))
        if not every and len(alike) > LISTED_SHOWN_MAX:
            yield f"  and {len(alike) - LISTED_SHOWN_MAX:,} more: -v or --json lists them"
    for name, at in found.projections.items():
        if at.lag or at.error:
            stopped = f", stopped by {at.error}" if at.error else ""
            yield f"{name} is {counted(at.lag, 'event')} behind{stopped}"
    rate = f", {size(found.bytes / found.took_s)} a second" if found.took_s else ""
    verdict = "all there" if not found.disagreements else "not all as captured"
    sources, contents = counted(found.sources, "source"), counted(found.contents, "content")
    yield (
        f"{sources}, {contents} ({size(found.bytes)}), {counted(found.passages, 'passage')}: {verdict}"
        f" as of position {found.position} ({found.took_s:.1f} s{rate})"
    )


def _line(one: Listed) -> str:
    how = size(one.count) if one.state in _IN_BYTES else f"{one.count:,} times" if one.count > 1 else ""
    meaning = REJECTION_SENTENCES.get(one.detail) if one.state == "rejected" else None  # type: ignore[call-overload]
    detail = "; ".join(part for part in (how, one.detail, meaning) if part)
    return f"  {place(one.uri or one.source or '')}" + (f" ({detail})" if detail else "")
