"""The commands, in the order in which help lists them."""

from __future__ import annotations

from typing import Annotated

import typer

from chronofile.infra.cli import (
    capture,
    erasure,
    export,
    hooks,
    look,
    memories,
    recall,
    undo,
    verify,
    watch,
    work,
)
from chronofile.infra.cli.agents import BareAgents
from chronofile.infra.cli.calls import Call, DatabaseUrl, Embedder, Home, Logs, Verbose, add
from chronofile.infra.cli.rendering import write_lines

# Help is plain text: it is read in pipes too, and boxes would cost every call a tenth of a second.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from chronofile import __version__

        write_lines([f"chronofile {__version__}"])
        raise typer.Exit


@app.callback(
    epilog='\b\nExamples:\nchronofile ingest notes/ ~/.claude/projects\nchronofile search "which port?"'
)
def chronofile(
    context: typer.Context,
    home: Home = None,
    database_url: DatabaseUrl = None,
    embedder: Embedder = None,
    verbose: Verbose = 0,
    log_format: Logs = None,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Memory for AI agents, kept on this machine: what was said and written, verbatim, and found again."""
    context.obj = Call(home, database_url, embedder, verbose, log_format)


add(app, "ingest", capture.ingest, examples=capture.EXAMPLES, cls=BareAgents)
add(app, "search", recall.search, examples=recall.SEARCH_EXAMPLES)
add(app, "get", recall.get, examples=recall.GET_EXAMPLES)
add(app, "remember", memories.remember, examples=memories.REMEMBER_EXAMPLES)
add(app, "forget", memories.forget, examples=memories.FORGET_EXAMPLES)
add(app, "sources", look.sources, examples=look.SOURCES_EXAMPLES)
add(app, "topics", look.topics, examples=look.TOPICS_EXAMPLES)
add(app, "status", look.status, examples=look.STATUS_EXAMPLES)
add(app, "verify", verify.verify, examples=verify.EXAMPLES)
add(app, "export", export.export, examples=export.EXAMPLES)
add(app, "undo", undo.undo, examples=undo.EXAMPLES)
add(app, "erase", erasure.erase, examples=erasure.ERASE_EXAMPLES)
add(app, "scan", erasure.scan, examples=erasure.SCAN_EXAMPLES)
add(app, "redact", erasure.redact, examples=erasure.REDACT_EXAMPLES)
add(app, "doctor", look.doctor, examples=look.DOCTOR_EXAMPLES)
add(app, "config", look.config, examples=look.CONFIG_EXAMPLES)
add(app, "version", look.version, examples=look.VERSION_EXAMPLES)
add(app, "watch", watch.watch, examples=watch.EXAMPLES)
add(app, "hooks", hooks.hooks, examples=hooks.HOOKS_EXAMPLES, cls=hooks.HelpAlone)
add(app, "hook", hooks.hook, examples=hooks.HOOK_EXAMPLES)
add(app, "worker", work.worker, examples=work.WORKER_EXAMPLES)
add(app, "mcp", work.mcp, examples=work.MCP_EXAMPLES)
