"""Extraction: the text of documents, had from a process of its own, since what strangers wrote may hang or kill it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from hashlib import blake2b
from importlib.util import find_spec
from threading import Lock
from typing import Any

from chronofile.domain.documents import Extracted, NotExtracted

EXTRA = "pip install 'chronofile[documents]'"
LIBRARIES = ("lxml", "pypdfium2", "python_calamine")
WALL_S_MAX = 180
"""How long a document may take by the clock; the worker's own limit is in processor seconds."""
WORKED_MAX = 200
"""A worker that has read so many documents is replaced."""
KEPT_CHARS_MAX = 16_000_000
_CHUNK_BYTES = 1 << 20


def is_installed() -> bool:
    """Tell whether the extra `documents` is there; nothing is imported."""
    return all(find_spec(name) is not None for name in LIBRARIES)


class Extraction:
    """Extracts documents. One at a time; what was extracted last is kept, for it is asked for again soon.

    `close` ends its process, which also ends by itself.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._worker: _Worker | None = None
        self._kept: OrderedDict[bytes, Extracted] = OrderedDict()

    def extract(self, content: bytes, format_name: str) -> Extracted:
        """Return a document's text. Raises NotExtracted."""
        key = blake2b(content, digest_size=16, person=format_name.encode()[:16]).digest()
        with self._lock:
            if (found := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return found
            found = self._asked(content, format_name)
            self._kept[key] = found
            while len(self._kept) > 1 and sum(map(_chars, self._kept.values())) > KEPT_CHARS_MAX:
                self._kept.popitem(last=False)
            return found

    def close(self) -> None:
        with self._lock:
            self._let_go()
            self._kept.clear()

    def _asked(self, content: bytes, format_name: str) -> Extracted:
        """Ask the worker; one that ended while it was idle is replaced first."""
        if self._worker is not None and (self._worker.worked >= WORKED_MAX or not self._worker.is_alive):
            self._let_go()
        for is_last in (self._worker is None, True):
            worker = self._worker = self._worker or _Worker()
            try:
                return worker.ask(content, format_name)
            except _NeverHeard:
                self._let_go()
                if is_last:
                    # It says nothing of the document, which is read again by the next run.
                    raise NotExtracted("documents-extra", "Its reader could not be started.") from None
            except NotExtracted as failure:
                if not worker.is_alive or failure.reason == "document-costly":
                    self._let_go()
                raise
        raise AssertionError("it is tried at least once")

    def _let_go(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None


class _NeverHeard(Exception):
    """The worker had ended before it read the question."""


class _Worker:
    """A running worker process."""

    def __init__(self) -> None:
        # -P: the folder that it runs in is not where modules come from.
        command = [sys.executable, "-P", "-m", f"{__name__}.worker"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            # Ctrl-C is for whoever asks, who goes on to the end of what it is at.
            start_new_session=True,
        )
        self.worked = 0

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, content: bytes, format_name: str) -> Extracted:
        """Return what the worker answers. Raises NotExtracted, and _NeverHeard."""
        deadline = time.monotonic() + WALL_S_MAX
        self._send(json.dumps({"format": format_name, "size": len(content)}).encode() + b"\n", content)
        said, rest = self._line(deadline)
        self.worked += 1
        if "reason" in said:
            raise NotExtracted(said["reason"], said["detail"])
        text = self._exactly(said["text"], rest, deadline)
        beside = self._exactly(said["beside"], rest, deadline)
        return Extracted(text.decode(), beside.decode(), said["omitted"])

    def end(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def _send(self, *parts: bytes) -> None:
        assert self._process.stdin is not None
        try:
            for part in parts:
                self._process.stdin.write(part)
            self._process.stdin.flush()
        except OSError:
            raise _NeverHeard from None

    def _line(self, deadline: float) -> tuple[dict[str, Any], bytearray]:
        rest = bytearray()
        while b"\n" not in rest:
            rest += self._more(deadline, is_first=not rest)
        line, _, left = rest.partition(b"\n")
        return json.loads(line), bytearray(left)

    def _exactly(self, size: int, rest: bytearray, deadline: float) -> bytes:
        while len(rest) < size:
            rest += self._more(deadline)
        found = bytes(rest[:size])
        del rest[:size]
        return found

    def _more(self, deadline: float, *, is_first: bool = False) -> bytes:
        assert self._process.stdout is not None
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not select.select([self._process.stdout], [], [], left_s)[0]:
            raise NotExtracted("document-costly", f"It takes more than {WALL_S_MAX} seconds.")
        found = os.read(self._process.stdout.fileno(), _CHUNK_BYTES)
        if found:
            return found
        status = self._process.wait()
        if is_first and status == 0:
            raise _NeverHeard
        if status == -signal.SIGXCPU:
            raise NotExtracted("document-costly", "Reading it takes too long.")
        if status in (-signal.SIGKILL, -signal.SIGABRT):
            raise NotExtracted("document-costly", "Reading it takes too much memory.")
        raise NotExtracted("document-broken", "It ends the program that reads it.")


def _chars(found: Extracted) -> int:
    return len(found.text) + len(found.beside)
