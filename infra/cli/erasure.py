"""Taking out from the command line: `erase`, `scan`, `redact`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofile.domain.errors import BadRequest
from chronofile.domain.wording import counted
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE, FAILED, complain
from chronofile.infra.cli.given import require_words
from chronofile.infra.cli.hits import place
from chronofile.infra.cli.rendering import note, size, table, values_of, write_json, write_lines

if TYPE_CHECKING:
    from chronofile.infra.erasing.report import Concerned, ErasurePreview, ErasureReport
    from chronofile.infra.progress import Progress
    from chronofile.infra.scanning import Secret

SHOWN_MAX = 20
CONTENTS, LOG = "log.content", "log.events"
"""As progress names the contents that are looked through, and the log that an erasure is written to."""

ERASE_EXAMPLES = """
    chronofile erase --source notes/private.md
    chronofile erase --passage 5d41402abc4b2a76b9719d911017c592 --yes --reason "not mine to keep"
    chronofile erase --scope project:old --confirm 3f2a9c81d0e47b650a12
    chronofile erase --finish
"""
SCAN_EXAMPLES = """
    chronofile scan --scope project:api
    chronofile scan --json
"""
REDACT_EXAMPLES = """
    chronofile redact --source notes/deploy.md
    chronofile redact --all --yes
"""

Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source", metavar="URI|PATH", help="A source, by its URI, its path, FILE#ID or its id; repeatable."
    ),
]
Scopes = Annotated[
    list[str] | None, typer.Option("--scope", metavar="S", help="Everything of a scope; repeatable.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do it, without looking first.")]
Token = Annotated[
    str | None,
    typer.Option("--confirm", metavar="TOKEN", help="Do exactly what was shown with this token."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def erase(
    call: Call,
    source: Sources = None,
    passage: Annotated[
        list[str] | None,
        typer.Option("--passage", metavar="ID", help="A passage's text, wherever it stands; repeatable."),
    ] = None,
    memory: Annotated[
        list[str] | None, typer.Option("--memory", metavar="ID", help="A memory; repeatable.")
    ] = None,
    scope: Scopes = None,
    yes: Yes = False,
    confirm: Token = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why, in words that are kept with the receipt.")
    ] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="Finish the erasures that were stopped in the middle.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Remove sources, passages, memories or all of a scope for good, also from what was before.

    Without --yes or --confirm it shows what would go, what other sources hold too, and a token that confirms
    exactly this. Their text goes from the log's contents, from every index and from the questions that were asked;
    the database's files are written anew, which takes a while. A source that was erased is not captured again, but
    for `chronofile ingest --again` with its own path. Files on disk are not touched. Exits with 1 where nothing
    is left to erase, or where something that was erased is still found.
    """
    wanted: dict[str, Any] = {
        "sources": source or (),
        "passages": passage or (),
        "memories": memory or (),
        "scopes": scope or (),
    }
    _require_words(source=source, passage=passage, memory=memory, scope=scope)
    if finish and any(wanted.values()):
        raise BadRequest("--finish goes alone, it finishes every erasure that was stopped.")
    if not finish and not any(wanted.values()):
        raise BadRequest("Name what to erase by --source, --passage, --memory or --scope, or say --finish.")
    from chronofile.infra.erasing.receipts import unfinished

    with call.memory() as opened:
        if finish:
            finished = opened.finish_erasures(_watching())
            return _finished(finished, unfinished(opened.config.home), as_json=as_json)
        if not (yes or confirm):
            return _previewed(opened.plan_erasure(**wanted), "erased", as_json=as_json)
        _warn()
        report = opened.erase(**wanted, reason=reason, token=confirm, progress=_watching())
    return _reported(report, "Erased", as_json=as_json)


def scan(call: Call, source: Sources = None, scope: Scopes = None, as_json: AsJson = False) -> int:
    """Look through everything that is stored for secrets: old revisions, memories and questions too.

    Shows where each is and how it begins, never all of it. With --json one line for each.
    """
    _require_words(source=source, scope=scope)
    found: list[Secret] = []
    with call.memory() as opened:
        for secret in opened.scan(sources=source or (), scopes=scope or (), tick=_ticking()):
            if as_json:
                write_json(values_of(secret))
            else:
                found.append(secret)
    if as_json:
        return DONE
    rows: list[tuple[object, ...]] = [("source", "line", "rule", "secret", "places")]
    rows += [(place(one.uri), one.line, one.rule, one.preview, one.count) for one in found]
    write_lines(table(rows, right=(1, 4)) if found else ())
    note("chronofile redact takes them out." if found else "No secret was found in what is stored.")
    return DONE


def redact(
    call: Call,
    source: Sources = None,
    scope: Scopes = None,
    every: Annotated[
        bool, typer.Option("--all", help="Everything, and the questions that were asked.")
    ] = False,
    yes: Yes = False,
    confirm: Token = None,
    as_json: AsJson = False,
) -> int:
    """Take the secrets out of what is stored: a cleaned revision takes the place of each that held one.

    Without --yes or --confirm it shows what would change. What held a secret is erased for good.
    """
    _require_words(source=source, scope=scope)
    if every == bool(source or scope):
        raise BadRequest("Name what to look through by --source or --scope, or say --all.")
    wanted: dict[str, Any] = {"sources": source or (), "scopes": scope or ()}
    with call.memory() as opened:
        if not (yes or confirm):
            return _previewed(opened.plan_redaction(**wanted), "redacted", as_json=as_json)
        _warn()
        report = opened.redact(**wanted, token=confirm)
    return _reported(report, "Redacted", as_json=as_json)


def _require_words(**named: list[str] | None) -> None:
    for name, values in named.items():
        require_words(f"--{name}", *values or ())


def _previewed(preview: ErasurePreview, verb: str, *, as_json: bool) -> int:
    if as_json:
        write_json(values_of(preview))
        return DONE
    write_lines(preview_lines(preview, verb))
    note("Nothing was changed. --yes does it; so does the token, as long as nothing of this changes.")
    return DONE


def preview_lines(preview: ErasurePreview, verb: str) -> Iterator[str]:
    """Yield the lines that a person is shown before anything is taken out."""
    quoting = [source for source in preview.sources if source.quoted]
    concerned = [source for source in preview.sources if not source.quoted]
    yield f"{counted(len(concerned), 'source')} would be {verb}:"
    yield from _listed(concerned, _concerned)
    if quoting:
        yield f"quoted in {counted(len(quoting), 'source')}, where the quotations would be cut out:"
        yield from _listed(quoting, _concerned)
    yield f"{counted(preview.contents, 'content')} of them would be deleted"
    for name, count in sorted(preview.tables.items()):
        yield f"  {count:,} of {name}"
    if preview.questions:
        yield f"{counted(preview.questions, 'question')} telling of it would be deleted from the ledger"
    if preview.shared:
        yield f"{counted(len(preview.shared), 'content')} would stay, since others hold the same:"
        yield from _listed(preview.shared, lambda shared: ", ".join(map(place, shared.uris)))
    if preview.repeated:
        one = len(preview.repeated) == 1
        says, own = ("it says", "its own") if one else ("they say", "their own")
        yield f"{counted(len(preview.repeated), 'source')} would keep what {says} of it in words of {own}:"
        yield from _listed(preview.repeated, place)
    if preview.files:
        yield f"{counted(len(preview.files), 'file')} on disk would not be touched:"
        yield from _listed(preview.files, str)
    yield from preview.stays
    yield f"token: {preview.token}"


def _concerned(source: Concerned) -> str:
    quoted = f"{counted(source.quoted, 'passage')} quoted, " if source.quoted else ""
    turns = f" of {counted(source.turns, 'turn')}" if source.turns else ""
    cut = f" ({quoted}{counted(source.places, 'place')}{turns} cut out)" if source.places else ""
    return f"{place(source.uri) if source.uri else source.id}{cut}"


def _listed(items: Sequence[Any], line: Callable[[Any], str]) -> Iterator[str]:
    for item in items[:SHOWN_MAX]:
        yield f"  {line(item)}"
    if len(items) > SHOWN_MAX:
        yield f"  and {len(items) - SHOWN_MAX:,} more: --json lists them"


def _reported(report: ErasureReport, verb: str, *, as_json: bool) -> int:
    if as_json:
        write_json(values_of(report))
    else:
        sources, contents = counted(len(report.sources), "source"), counted(report.contents, "content")
        write_lines(
            [
                f"{verb}: {contents} of {sources}, {counted(report.questions, 'question')} (erasure {report.id})",
                f"{size(report.reclaimed_bytes)} reclaimed",
            ]
        )
    for stream in report.repeated[:SHOWN_MAX]:
        category, _, identifier = stream.partition("-")
        note(f"Some of it is said there too: chronofile erase --{category} {identifier}")
    if len(report.repeated) > SHOWN_MAX:
        note(f"And in {len(report.repeated) - SHOWN_MAX:,} more sources, which the receipt names.")
    for erasure in report.finished:
        note(f"The erasure {erasure} had been stopped in the middle, and is finished now.")
    for sentence in (*report.left, *report.impossible):
        note(sentence)
    if report.left:
        note("chronofile erase --finish makes up for what is left to do.")
    if not report.verified:
        complain(f"Something that was erased is still found in {', '.join(report.found_in)}.")
        return FAILED
    return DONE


def _finished(erasures: Sequence[str], left: Sequence[str], *, as_json: bool) -> int:
    if as_json:
        write_json({"finished": list(erasures), "left": list(left)})
    else:
        write_lines([f"Finished: erasure {erasure}" for erasure in erasures])
        if not (erasures or left):
            note("No erasure was left unfinished.")
    for sentence in left:
        complain(sentence)
    return FAILED if left else DONE


def _warn() -> None:
    if sys.stderr.isatty():
        note(
            "The tables are written anew, so this takes a while. Ctrl-C leaves it to chronofile erase --finish."
        )


def _watching() -> Progress:
    """Return what shows how far an erasure is, on a terminal alone."""
    from chronofile.infra.progress import UNWATCHED, Progress

    def applied(what: str, done: int) -> None:
        shown = {CONTENTS: f"{done:,} of {what} looked through", LOG: f"erased up to position {done:,}"}
        sys.stderr.write(f"\r{shown.get(what, '')}\x1b[K")
        sys.stderr.flush()

    return Progress(applied=applied) if sys.stderr.isatty() else UNWATCHED


def _ticking() -> Callable[[int, int], None]:
    """Return what shows how far a scan is, on a terminal alone."""

    def tick(done: int, of: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done:,} of {counted(of, 'source')} looked through" + "\n" * (done >= of))
            sys.stderr.flush()

    return tick
