"""Logs: on standard error alone, warnings by default, and nothing of what people wrote."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.infra.command_line import CommandLine, command_line

SECRET = "sk-made-up-0123456789abcdef"
QUESTION = "what is the key of the made-up thing?"

# Logs of every kind, as another program that uses the package would see them.
PROGRAM = """
import logging, sys, warnings, structlog
from chronofile.infra import logs
if len(sys.argv) > 1:
    logs.configure(int(sys.argv[1]), sys.argv[2])
else:
    logs.adopt()
log = structlog.get_logger("chronofile.made.up")
log.debug("a step", count=1); log.info("an event", count=2); log.warning("a warning", count=3)
logging.getLogger("sqlalchemy.engine").info("SELECT people's text")
logging.getLogger("psycopg").warning("a warning of a library")
warnings.warn("a warning for programmers", RuntimeWarning)
try:
    text = "people's text"
    raise ValueError("broken")
except ValueError:
    log.error("an error", exc_info=True)
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    with command_line(tmp_path_factory.mktemp("work")) as found:
        yield found


def logged(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )


def test_a_program_that_uses_us_sees_warnings_alone_and_on_standard_error() -> None:
    ran = logged()

    assert ran.stdout == ""
    assert "a warning count=3" in ran.stderr
    assert "an event" not in ran.stderr
    assert "a step" not in ran.stderr


@pytest.mark.parametrize(
    ("verbosity", "expected"), [(0, {"warning", "error"}), (1, {"info", "warning", "error"})]
)
def test_json_logs_are_one_object_a_line_of_the_levels_asked_for(verbosity: int, expected: set[str]) -> None:
    ran = logged(str(verbosity), "json")
    lines = [json.loads(line) for line in ran.stderr.splitlines()]

    assert ran.stdout == ""
    assert {line["level"] for line in lines} == expected
    assert {"event", "level", "logger", "timestamp"} <= set(lines[0])
    assert any(line["logger"] == "psycopg" for line in lines)


def test_what_libraries_warn_their_programmers_of_is_a_step() -> None:
    for log_format in ("console", "json"):
        assert "for programmers" not in logged("0", log_format).stderr + logged("1", log_format).stderr
        assert "for programmers" in logged("2", log_format).stderr


def test_libraries_that_would_write_texts_stay_silent_at_every_level() -> None:
    for log_format in ("console", "json"):
        ran = logged("2", log_format)

        assert "a step" in ran.stderr
        assert "SELECT" not in ran.stderr
        assert "ValueError: broken" in ran.stderr
        assert "people's text'" not in ran.stderr.replace('text = "people\'s text"', "")


def test_nothing_that_people_wrote_is_logged(line: CommandLine) -> None:
    line.write("notes/keys.md", f"The key of the made-up thing is {SECRET}.\n")

    runs = [
        line.run("-v", "ingest", "notes"),
        line.run("search", QUESTION, "-v", "--log-format", "json"),
    ]

    assert "captured" in runs[0].err
    assert "answered" in runs[1].err
    assert all(SECRET not in ran.err and QUESTION not in ran.err for ran in runs)
    assert all(json.loads(line)["level"] for line in runs[1].err.splitlines())


def test_the_package_is_quiet_unless_something_is_wrong(line: CommandLine, tmp_path: Path) -> None:
    program = f"""
from chronofile import connect
with connect({str(line.home)!r}) as memory:
    memory.ingest([{str(line.directory)!r}])
    memory.search("key")
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert (ran.stdout, ran.stderr) == ("", "")


def test_importing_the_package_configures_nothing() -> None:
    program = (
        "import chronofile, logging, sys; print(logging.getLogger().handlers, 'structlog' in sys.modules)"
    )

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout == "[] False\n"
    assert logging.getLogger("chronofile").level == logging.NOTSET
