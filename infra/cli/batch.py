"""Batches: many questions as JSON Lines, answered one by one in one process."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from chronofile.domain.errors import ChronofileError
from chronofile.domain.wording import counted
from chronofile.infra.cli.failures import DONE, FAILED, complain
from chronofile.infra.cli.rendering import values_of, write_json
from chronofile.infra.failures import sentence_of

if TYPE_CHECKING:
    from chronofile.infra.memory import Memory
    from chronofile.query.answer import Answer

STDIN = "-"
LINE_BYTES_MAX = 16 << 20


class BadLine(ChronofileError):
    """The line is no question:"""

    def __init__(self, identifier: Any, reason: str) -> None:
        super().__init__(reason)
        self.identifier, self.reason = identifier, reason


@dataclass(frozen=True, slots=True)
class Line:
    """A question of a batch; `fields` are those of a search that the line itself sets."""

    identifier: Any
    query: str
    fields: Mapping[str, Any]


def run_batch(memory: Memory, file_name: str, fields: Mapping[str, Any]) -> int:
    """Answer the questions of a file, each on a line of its own and at once, and return the exit status.

    A line that cannot be answered gives `{"id", "line", "error"}` in its place; the others are answered.
    """
    wrong = 0
    with _opened(file_name) as file:
        for number, line in _lines(file):
            identifier, answer = _answered(memory, line, fields)
            if isinstance(answer, ChronofileError):
                wrong += 1
                write_json({"id": identifier, "line": number, "error": sentence_of(answer)})
            else:
                write_json({"id": identifier, **values_of(answer)})
    if wrong:
        complain(f"{counted(wrong, 'line')} could not be answered; each says why.")
    return FAILED if wrong else DONE


def _answered(memory: Memory, line: bytes, fields: Mapping[str, Any]) -> tuple[Any, Answer | ChronofileError]:
    """Return a line's id and its answer, or why it has none."""
    try:
        asked = read_line(line)
    except BadLine as error:
        return error.identifier, error
    try:
        return asked.identifier, memory.search(asked.query, **{**fields, **asked.fields})
    except ChronofileError as error:
        return asked.identifier, error


def read_line(line: bytes) -> Line:
    """Return the question on a line; raises BadLine."""
    if len(line) > LINE_BYTES_MAX:
        raise BadLine(None, f"it is longer than {LINE_BYTES_MAX >> 20} MB.")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(None, f"it is not JSON ({type(error).__name__}: {error}).") from error
    if not isinstance(found, dict):
        raise BadLine(None, 'it is not an object such as {"id": 1, "query": "which port?"}.')
    identifier = found.get("id")
    query, scope, at = found.get("query"), found.get("scope"), found.get("at")
    if not isinstance(query, str):
        raise BadLine(identifier, '"query" must be a string.')
    if not (scope is None or isinstance(scope, str) or _are_strings(scope)):
        raise BadLine(identifier, '"scope" must be a string or a list of strings.')
    if not (at is None or isinstance(at, str)):
        raise BadLine(identifier, '"at" must be a time as a string.')
    own = {"scope": scope, "at": at}
    return Line(identifier, query, {name: value for name, value in own.items() if value})


@contextmanager
def _opened(file_name: str) -> Iterator[BinaryIO]:
    if file_name == STDIN:
        yield sys.stdin.buffer
        return
    with Path(file_name).open("rb") as file:
        yield file


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hold something, numbered from 1."""
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        whole = line
        while not line.endswith(b"\n") and (line := file.readline(LINE_BYTES_MAX + 1)):
            continue  # The rest of a line that is too long is read past.
        text = whole.removeprefix(b"\xef\xbb\xbf") if number == 1 else whole
        if text.strip():
            yield number, text


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
