"""Looking around from the command line: `sources`, `topics`, `status`, `doctor`, `config`, `version`."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chronofile.domain.wording import counted
from chronofile.infra.cli.calls import Call
from chronofile.infra.cli.failures import DONE, FAILED
from chronofile.infra.cli.hits import place
from chronofile.infra.cli.rendering import note, size, table, unread, values_of, write_json, write_lines
from chronofile.infra.failures import masked, sentence_of

if TYPE_CHECKING:
    from datetime import datetime

    from chronofile.query.catalogue import SourceEntry
    from chronofile.query.tally import AgentCount

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

SOURCES_EXAMPLES = """
    chronofile sources --scope project:api
"""
TOPICS_EXAMPLES = """
    chronofile topics --json
"""
STATUS_EXAMPLES = """
    chronofile status
"""
DOCTOR_EXAMPLES = """
    chronofile doctor
"""
CONFIG_EXAMPLES = """
    chronofile --home ~/memory config
"""
VERSION_EXAMPLES = """
    chronofile version --json
"""


def sources(
    call: Call,
    scope: Annotated[str | None, typer.Option(metavar="S", help="The sources of this scope alone.")] = None,
    as_json: AsJson = False,
) -> int:
    """List the sources that were captured, with what went wrong with them."""
    with call.memory() as memory:
        found = memory.sources(scope)
    if as_json:
        write_json(values_of(found))
        return DONE
    rows: list[tuple[object, ...]] = [("scope", "format", "kind", "revision", "size", "state", "source")]
    for entry in found:
        state = f"{entry.state}: {entry.failure}" if entry.failure else entry.state
        name = place(entry.uri)
        kind = ", ".join(filter(None, (entry.kind_of_file, entry.language))) or "-"
        form = entry.format or "-"
        rows.append((entry.scope, form, kind, entry.revision, size(entry.bytes), state, name))
    write_lines(_with_omissions(table(rows, right=(3, 4)), found) if found else ())
    if not found:
        note(f"No sources{f' in {scope}' if scope else ''}. chronofile ingest PATH captures some.")
    return DONE


def _with_omissions(lines: Sequence[str], entries: Sequence[SourceEntry]) -> Iterator[str]:
    """Yield the lines of a table of sources, each with a line for what gave no turn below it."""
    heading, *rows = lines
    yield heading
    for row, entry in zip(rows, entries, strict=True):
        yield row
        if entry.omissions:
            named = ", ".join(f"{count:,} {record}" for record, count in entry.omissions.items())
            yield f"    without turn or text: {named}"


def topics(call: Call, as_json: AsJson = False) -> int:
    """Count the passages of each topic in each scope."""
    with call.memory() as memory:
        found = memory.topics()
    if as_json:
        write_json(values_of(found))
        return DONE
    rows: list[tuple[object, ...]] = [("scope", "topic", "passages")]
    rows += [(count.scope, count.topic or "-", f"{count.passages:,}") for count in found]
    write_lines(table(rows, right=(2,)) if found else ())
    if not found:
        note("No topics yet. chronofile ingest PATH captures some.")
    return DONE


def status(call: Call, as_json: AsJson = False) -> int:
    """Show where everything stands: what was captured and parsed, the projections, the agents, the database."""
    with call.memory() as memory:
        found = memory.status()
    if as_json:
        write_json(values_of(found))
        return DONE
    database = found.database
    where = database.mode if database.data_folder is None else f"{database.mode}, {database.data_folder}"
    pending = f", {found.pending_vectors:,} pending" if found.pending_vectors else ""
    vectors = f"{counted(found.vectors, 'vector')} of {found.embedder}{pending}"
    facts: list[tuple[object, ...]] = [
        ("home", found.home),
        ("database", where),
        ("position", f"{found.position:,}"),
        ("sources", f"{found.sources:,}" + (f", {found.rejected:,} rejected" if found.rejected else "")),
        ("captured", f"{counted(found.captured.revisions, 'revision')}, {size(found.captured.bytes)}"),
        ("parsed", f"{counted(found.parsed.sources, 'source')} with passages"),
        ("passages", f"{found.passages:,}"),
        ("omissions", unread(found.omissions) if found.omissions else "0"),
        ("vectors", vectors),
    ]
    if found.spool.waiting or found.spool.set_aside:
        aside = len(found.spool.set_aside)
        set_aside = f", {aside:,} set aside: status --json says why" if aside else ""
        facts.append(
            ("hooks' spool", f"{found.spool.waiting:,} waiting, {size(found.spool.bytes)}{set_aside}")
        )
    facts += [("failed", f"{count:,}: {reason}") for reason, count in found.failed.items()]
    facts += [("rejected", f"{count:,}: {reason}") for reason, count in found.rejections.items()]
    facts += [(f"bytes in {scope}", size(count)) for scope, count in sorted(found.bytes.items())]
    facts += [(f"last {tool}", _moment(last)) for tool, last in found.batches.items()]
    rows: list[tuple[object, ...]] = [
        ("projection", "position", "lag", "failures", "generation", "stopped by")
    ]
    for name, at in found.projections.items():
        rows.append((name, at.position, at.lag, at.failures, at.generation, at.error))
    write_lines([*table(facts), *_agents(found.agents), "", *table(rows, right=(1, 2, 3, 4))])
    for sentence in found.notes:
        note(sentence)
    if found.pending_vectors:
        note("chronofile worker --drain computes the vectors that are pending.")
    return DONE


def _agents(agents: Mapping[str, AgentCount]) -> Iterator[str]:
    """Yield a table of the agents whose transcripts were captured, after an empty line; nothing where none were."""
    if not agents:
        return
    rows: list[tuple[object, ...]] = [("agent", "sources", "size", "last capture", "last event", "last hook")]
    rows += [
        (
            name,
            f"{count.sources:,}",
            size(count.bytes),
            _moment(count.last_capture),
            count.last_event_time or "-",
            _moment(count.last_hook),
        )
        for name, count in agents.items()
    ]
    yield ""
    yield from table(rows, right=(1, 2))


def _moment(moment: datetime | None) -> str:
    return "-" if moment is None else moment.isoformat(" ", "seconds")


def doctor(call: Call, as_json: AsJson = False) -> int:
    """Look for what is wrong, and name the command that mends it. Exits with 1 where something is."""
    from chronofile.infra.doctor import examine

    call.configure_logs()
    findings = examine(call.flags, os.environ, sentence_of)
    if as_json:
        write_json(values_of(findings))
    else:
        for found in findings:
            mark = "ok      " if found.ok else "FINDING "
            write_lines([f"{mark}{found.check}: {found.detail}"])
            if found.remedy:
                write_lines([f"        -> {found.remedy}"])
    return DONE if all(found.ok for found in findings) else FAILED


def config(call: Call, as_json: AsJson = False) -> int:
    """Show every setting, its value, and where that came from; passwords are masked."""
    effective = call.config()
    values: dict[str, Any] = {"home": {"value": str(effective.home), "from": effective.home_origin}}
    for name, found in effective.values.items():
        value = None if found.value is None else masked(found.value)
        values[name] = {"value": value, "from": found.origin}
    if as_json:
        write_json(values)
        return DONE
    rows: list[tuple[object, ...]] = [("setting", "value", "from")]
    rows += [(name, found["value"] or "-", found["from"]) for name, found in values.items()]
    write_lines(table(rows))
    return DONE


def version(call: Call, as_json: AsJson = False) -> int:
    """Show the version, with --json also those of what it runs on."""
    from chronofile import __version__

    if not as_json:
        write_lines([f"chronofile {__version__}"])
        return DONE
    from chronofile.infra.doctor import binaries_version
    from chronofile.infra.embedders import DEFAULT, embedder

    name = call.config()["embedder"] or DEFAULT
    write_json(
        {
            "chronofile": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "postgres": binaries_version(),
            "embedder": embedder(name).identity if name == DEFAULT else name,
        }
    )
    return DONE
