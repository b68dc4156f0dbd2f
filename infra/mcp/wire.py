"""The wire: the process's standard streams, kept for the protocol alone."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from io import TextIOWrapper
from typing import BinaryIO, TextIO

_ESCAPE = re.compile(
    r"""\\(?: u(?P<pair>d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})
            | u(?P<ill>d[89a-f][0-9a-f]{2}|0000)
            | . )""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Wire:
    """Lines in, lines out, each a JSON-RPC message."""

    incoming: WellFormedLines
    outgoing: TextIO


def claim() -> Wire:
    """Take standard input and output away from everything else in this process and its children.

    Whatever else reads finds the end of the input, and whatever else writes, be it a library's print or a
    child's, goes to standard error.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    incoming, outgoing = os.dup(0), os.dup(1)  # Both are closed in children: dup says so.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nowhere, 1)
    os.close(nowhere)
    return Wire(
        WellFormedLines(os.fdopen(incoming, "rb", closefd=False)),
        TextIOWrapper(os.fdopen(outgoing, "wb", closefd=False), encoding="utf-8", newline="\n"),
    )


class WellFormedLines:
    """The lines of a stream as text, each with its ill-formed characters replaced by U+FFFD."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        from anyio.to_thread import run_sync

        # A read cannot be interrupted, only left alone: else nothing could end before the client says something.
        while line := await run_sync(self._stream.readline, abandon_on_cancel=True):
            yield well_formed(line.decode("utf-8", "replace"))


def well_formed(line: str) -> str:
    r"""Return a line of JSON with `\ufffd` for each escaped NUL and each escaped half of a surrogate pair.

    JavaScript writes half an emoji as `\ud83d` when a text was cut in its middle. The SDK's parser refuses
    such a line, and then nobody would ever answer it; no database takes a NUL in a text.
    """
    if "\\u" not in line:
        return line
    return _ESCAPE.sub(lambda found: "\\ufffd" if found["ill"] else found[0], line)
