"""Watching from the command line: `watch`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from chronofile.domain.errors import ChronofileError
from chronofile.infra.agents import agents_places
from chronofile.infra.cli.calls import CALLER, Call
from chronofile.infra.cli.failures import DONE, interrupted
from chronofile.infra.cli.given import require_words
from chronofile.infra.cli.rendering import note, write_json

if TYPE_CHECKING:
    from chronofile.infra.config import Config
    from chronofile.infra.watch.flush import Flush
    from chronofile.infra.watch.watcher import Watcher
    from chronofile.ingest.agents import Kept

EXAMPLES = """
    chronofile watch
    chronofile watch ~/notes ~/work/api
    chronofile watch ~/notes --agents none --json
"""

AGENTS_HELP = (
    "Whose transcripts to watch too, by name: those that are or come to be there unless named; none."
)


class NothingToWatch(ChronofileError):
    """Nothing that could be watched is there; name a folder or a file that exists."""


def watch(
    call: Call,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Folders and files to watch, beside agents' transcripts."),
    ] = None,
    agents: Annotated[str | None, typer.Option("--agents", metavar="A,B", help=AGENTS_HELP)] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each capture that came to something.")
    ] = False,
) -> int:
    """Capture changes in folders and files within two seconds, until it is stopped.

    Everything is looked through at the start and now and then, so what happened meanwhile is captured too. SIGTERM
    and Ctrl-C stop it after the capture that it is at; nothing is lost. One watch runs per home.
    """
    from chronofile.infra.watch.lease import lease
    from chronofile.infra.watch.watcher import Watcher
    from chronofile.infra.wiring import open_memory

    require_words("PATH", *paths or ())
    call.configure_logs()
    config = call.config()
    given = [Path(path).absolute() for path in paths or ()]
    found = agents_places(agents)
    _require_something(given, found)
    with lease(config.home):
        watcher = Watcher(
            given,
            lambda: open_memory(call.flags, caller=CALLER),
            home=config.home,
            spared=_spared(config),
            told=lambda flush: _tell(flush, as_json=as_json),
            say=note,
            more=lambda: [place for places in agents_places(agents).values() for place in places],
        )
        _say_what_is_watched(given, found)
        _leave(_run(watcher))


def _run(watcher: Watcher) -> int:
    try:
        with _stopping(watcher):
            watcher.run()
    except BrokenPipeError:
        return DONE  # Whoever read our output has gone.
    except KeyboardInterrupt:
        return interrupted()
    return DONE


def _leave(status: int) -> NoReturn:
    """End the process although a thread may be loading a model, which nothing can interrupt and exit cannot bear.

    The database is let go of by now, and the system frees the lease.
    """
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _require_something(given: Sequence[Path], found: Mapping[str, Sequence[Kept]]) -> None:
    if given and not any(map(os.path.lexists, given)):
        raise NothingToWatch(f"(not there: {', '.join(map(str, given))})")
    if not given and not found:
        raise NothingToWatch("(no known agent has transcripts here)")


def _spared(config: Config) -> list[Path]:
    """Return where a capture itself writes, beside the home: there is no end to watching that."""
    from chronofile.infra.embedded import data_folder_for

    return [config.home.resolve(), *([] if config["database_url"] else [data_folder_for(config.home)])]


def _say_what_is_watched(given: Sequence[Path], found: Mapping[str, Sequence[Kept]]) -> None:
    for path in given:
        note(f"Watching {path}")
    for agent, places in found.items():
        for path in dict.fromkeys(place.path for place in places):
            note(f"Watching {path} ({agent})")


def _tell(flush: Flush, *, as_json: bool) -> None:
    if as_json:
        write_json(flush.values())
    note(flush.sentence())


@contextmanager
def _stopping(watcher: Watcher) -> Iterator[None]:
    """Let signals stop the watch after the capture that it is at; a second one stops it at once."""
    told = False

    def stop(_number: int, _frame: Any) -> None:
        nonlocal told
        if told:
            raise KeyboardInterrupt
        told = True
        watcher.stop()

    names = [name for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    former = {name: signal.signal(getattr(signal, name), stop) for name in names}
    try:
        yield
    finally:
        for name, handling in former.items():
            signal.signal(getattr(signal, name), handling)
