"""Records: the JSON objects of a line-delimited file, read without trust in what stands there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Record = Mapping[str, Any]

BYTE_ORDER_MARK = "\ufeff"
_GARBAGE_WEIGHT = 0.25
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_MAX = 1e11
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def is_blank(line: str) -> bool:
    """Return whether the line holds nothing but white space (and perhaps a byte order mark)."""
    return not line.removeprefix(BYTE_ORDER_MARK).strip()


def read_record(line: str) -> Record | None:
    """Return the JSON object that the line holds, None where it holds anything else.

    A byte order mark before it and a carriage return after it are allowed.
    """
    try:
        value = json.loads(line.removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        # ValueError also covers numbers with more digits than Python reads.
        return None
    return value if isinstance(value, dict) else None


def read_pieces(line: str) -> Iterator[tuple[str, Record | None]]:
    """Yield the record of a line with its text, None for an unreadable one; nothing where the line is blank.

    Two programs that write one file may leave several records on a line, one right after the other. They are
    yielded one by one, and what is left of the line as an unreadable one.
    """
    if is_blank(line):
        return
    record = read_record(line)
    if record is not None or not line.removeprefix(BYTE_ORDER_MARK).lstrip().startswith("{"):
        yield line, record
        return
    at = len(line) - len(line.removeprefix(BYTE_ORDER_MARK))
    while (at := _after_space(line, at)) < len(line):
        try:
            found, end = _DECODER.raw_decode(line, at)
        except (ValueError, RecursionError):
            found, end = None, len(line)
        if not isinstance(found, dict):
            yield line[at:], None
            return
        yield line[at:end], found
        at = end


def read_line(line: str) -> Iterator[Record | None]:
    """Yield the records of a line, None for an unreadable one; nothing where the line is blank."""
    return (record for _, record in read_pieces(line))


def read_records(lines: Iterable[str]) -> Iterator[Record | None]:
    """Yield the records of all lines, None for each that is unreadable."""
    return (record for line in lines for record in read_line(line))


def text_field(record: Record, name: str) -> str | None:
    """Return a field that is a string with something in it, else None."""
    value = record.get(name)
    return value if isinstance(value, str) and value else None


def time_field(record: Record, name: str) -> str | None:
    """Return a field that is an ISO-8601 time, as it stands there, else None."""
    value = text_field(record, name)
    if value is None:
        return None
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return None
    return value


def epoch_time(value: object) -> str | None:
    """Return a time that is counted from 1970 as ISO-8601 in UTC, else None; a string of digits counts too.

    By its size it is taken for seconds, milliseconds, microseconds or nanoseconds: no other reading of any of
    them falls between 1973 and 5138.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    for _ in range(3):
        if abs(value) < _SECONDS_MAX:
            break
        value /= 1_000
    try:
        return (_EPOCH + timedelta(seconds=value)).isoformat()
    except OverflowError:
        return None


def compact_json(value: object) -> str:
    """Return the value as JSON on one line, with its letters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def confidence(own: int, foreign: int, unreadable: int) -> float:
    """Return how surely a file is of a format, 0 to 1, from counts of its first lines.

    Lines that are no JSON object count a quarter: they are damage in a file of the format more often
    than they are a sign of another format.
    """
    return own / (own + foreign + _GARBAGE_WEIGHT * unreadable) if own else 0.0


def _after_space(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return at if found is None else found.end()
