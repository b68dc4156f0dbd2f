"""The worker: a process that extracts documents, one after the other, under limits of time and memory.

It reads a line of JSON (`format`, `size`) and so many bytes, and answers with a line of JSON and a text. It ends with its
input, or when nobody has asked for a while, and where a document kills it only it is gone.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import sys
from typing import Any, BinaryIO

from chronofile.infra.extraction.assembling import Assembled, Broken, Locked, TooMuchText

MEMORY_BYTES_MAX = 2 << 30
CPU_S_MAX = 60
IDLE_S = 20
READERS = {
    "docx": "word",
    "epub": "books",
    "html": "pages",
    "ipynb": "notebooks",
    "pdf": "pdf",
    "pptx": "slides",
    "xlsx": "sheets",
}


def main() -> None:
    """Answer until nobody asks any more."""
    # What a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit()
    questions = sys.stdin.buffer
    while select.select([questions], [], [], IDLE_S)[0] and (line := questions.readline()):
        asked = json.loads(line)
        content = questions.read(asked["size"])
        _allow_time()
        _answer(answers, *answered(asked["format"], content))


def answered(format_name: str, content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return what is to be said of a document, and its text followed by what stands beside it."""
    try:
        found = _read(format_name, content)
        text, beside = (part.encode("utf-8", "replace") for part in (found.text, found.beside_text))
    except Locked:
        return {"reason": "encrypted", "detail": "It asks for a password."}, b""
    except TooMuchText:
        return {"reason": "document-costly", "detail": "It has more text than is captured of a file."}, b""
    except MemoryError:
        return {"reason": "document-costly", "detail": "Reading it takes too much memory."}, b""
    except Exception as failure:  # noqa: BLE001  # Strangers' documents break their readers in every way.
        if type(failure).__name__ == "Bomb":
            return {"reason": "zip-bomb", "detail": ""}, b""
        detail = str(failure) if isinstance(failure, Broken) else type(failure).__name__
        return {"reason": "document-broken", "detail": detail[:200]}, b""
    omitted = {name: count for name, count in found.omitted.items() if count}
    return {"text": len(text), "beside": len(beside), "omitted": omitted}, text + beside


def _read(format_name: str, content: bytes) -> Assembled:
    reader = importlib.import_module(f"chronofile.infra.extraction.{READERS[format_name]}")
    found = reader.read(content)
    assert isinstance(found, Assembled)
    return found


def _answer(answers: BinaryIO, said: dict[str, Any], content: bytes) -> None:
    answers.write(json.dumps(said).encode("ascii") + b"\n")
    answers.write(content)
    answers.flush()


def _limit() -> None:
    """Let the process neither grow without end nor write files."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES_MAX),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        try:
            resource.setrlimit(what, (most, most))
        except (ValueError, OSError):
            continue  # Some systems know no such limit, or have a lower one.


def _allow_time() -> None:
    """Give the next document its time; a process that takes more is ended by the system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent_s = int(used.ru_utime + used.ru_stime)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (spent_s + CPU_S_MAX + 1, hard))


if __name__ == "__main__":
    main()
