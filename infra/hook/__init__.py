"""The hook: what an agent's client runs at its events; it notes the event in the spool and is gone.

It imports the standard library alone, since a client waits for it, ends with status 0 whatever happens, since a
client may take another for an order, and prints nothing that a client acts on.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chronofile.infra.hook.entry import VERSION, append, copied, spool_in, without_bytes
from chronofile.infra.hook.home import Refused, home_of, working_directory

INPUT_BYTES_MAX = 8 << 20
INPUT_KEPT_BYTES_MAX = 64 << 10
INPUT_WAIT_S = 1.0
USAGE = """\
Usage: chronofile-hook EVENT [--agent NAME] [--home FOLDER]

Note an agent's event in the spool: the hook's JSON from standard input, and the transcript's path and size.
EVENT is SessionStart, UserPromptSubmit, Stop, SubagentStop, PreCompact or SessionEnd, in any spelling; the last
two also copy what was not captured yet. Always exits with 0. `chronofile hooks install` sets it up.
"""

_COPYING = ("pre-compact", "session-end")
_PATH_FIELDS = ("transcript_path", "agent_transcript_path")
_EVENT = re.compile(r"[A-Za-z][A-Za-z_ -]{0,63}")
_AGENT = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class Call(NamedTuple):
    """What the command line says."""

    event: str
    agent: str | None
    home: str | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Note an event, and end the process with status 0."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if {"-h", "--help"} & {*words}:
            _say(sys.stdout, 1, USAGE)
        else:
            _note(words)
    except BaseException as error:  # noqa: BLE001  # Whatever it is, the agent must not hear of it.
        _say(sys.stderr, 2, f"chronofile-hook: {_reason(error)}\n")
    if "codex" in words or "--agent=codex" in words:
        # Its documentation asks for JSON at some events; an empty object orders nothing. Others want no output.
        _say(sys.stdout, 1, "{}\n")
    os._exit(0)


def _note(arguments: Sequence[str]) -> None:
    """Note the event that the arguments and standard input tell of."""
    # It is read whatever the arguments are: a client that cannot write it would see an error.
    raw = _input()
    call = _call(arguments)
    told = _told(raw)
    spool = spool_in(home_of(call.home))
    cwd = told.get("cwd")
    entry: dict[str, Any] = {
        "version": VERSION,
        "event": call.event,
        "agent": call.agent or _agent_of(told),
        "at_ns": time.time_ns(),
        "cwd": cwd if isinstance(cwd, str) and _is_path(cwd) else working_directory(),
        "input": raw[:INPUT_KEPT_BYTES_MAX].decode("utf-8", "surrogateescape"),
        "input_left_out": max(0, len(raw) - INPUT_KEPT_BYTES_MAX),
    }
    paths = _paths(told, entry["cwd"])
    copies = [copied(spool, path) if call.event in _COPYING else None for path in paths]
    try:
        append(spool, entry, paths, copies)
    except OSError:
        if not any(copies):
            raise
        # The disk may have room for the path and not for the bytes.
        append(spool, entry, paths, [without_bytes(copy) for copy in copies])


def _call(arguments: Sequence[str]) -> Call:
    given: dict[str, str] = {}
    words: list[str] = []
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=")
        if name in {"--home", "--agent"}:
            given[name] = value if equals else next(left, "")
        else:
            words.append(argument)
    if len(words) != 1 or not _EVENT.fullmatch(words[0]):
        raise Refused(f"it takes one EVENT, such as Stop, and not {' '.join(words)[:80] or 'none'!r}.")
    event = re.sub(r"(?<=[a-z])(?=[A-Z])|[_ ]", "-", words[0]).lower()
    agent = given.get("--agent")
    if agent is not None and not _AGENT.fullmatch(agent):
        raise Refused(f"--agent is a name such as claude-code, and not {agent[:80]!r}.")
    return Call(event, agent, given.get("--home"))


def _input() -> bytes:
    """Return what the client wrote, up to its end, to the end of its JSON, or for so long as is waited."""
    if sys.stdin is None or os.isatty(0):
        return b""
    got = bytearray()
    deadline = time.monotonic() + INPUT_WAIT_S
    while (left_s := deadline - time.monotonic()) > 0 and _has_input(left_s):
        block = os.read(0, 1 << 16)
        if not block:
            break
        got += block[: INPUT_BYTES_MAX - len(got)]
        if block.rstrip().endswith(b"}") and not _has_input(0) and _object_of(bytes(got)) is not None:
            break
    return bytes(got)


def _has_input(wait_s: float) -> bool:
    import select

    try:
        return bool(select.select([0], [], [], wait_s)[0])
    except (OSError, ValueError):
        # Windows cannot wait for a pipe: there it is read to its end.
        return os.name == "nt" and wait_s > 0


def _told(raw: bytes) -> dict[str, Any]:
    """Return the fields of the client's JSON; of broken JSON the paths that can be made out in it."""
    found = _object_of(raw)
    if found is not None:
        return found
    text = raw.decode("utf-8", "surrogateescape")
    told: dict[str, Any] = {}
    for name in _PATH_FIELDS:
        if match := re.search(rf'"{name}"\s*:\s*("(?:[^"\\]|\\.)*")', text):
            try:
                told[name] = json.loads(match[1])
            except ValueError:
                continue
    return told


def _object_of(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _agent_of(told: Mapping[str, Any]) -> str:
    path = str(told.get("transcript_path", "")).replace("\\", "/")
    marks = {"/.codex/": "codex", "/.claude/": "claude-code"}
    return next((agent for mark, agent in marks.items() if mark in path), "unknown")


def _paths(told: Mapping[str, Any], cwd: str) -> list[str]:
    """Return the transcripts that the client names, absolute and without links, each once."""
    named = [path for name in _PATH_FIELDS if isinstance(path := told.get(name), str) and _is_path(path)]
    return list(
        dict.fromkeys(os.path.realpath(os.path.join(cwd, os.path.expanduser(path))) for path in named)
    )


def _is_path(name: str) -> bool:
    try:
        return bool(name) and b"\0" not in os.fsencode(name)
    except UnicodeError:
        return False


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or type(error).__name__} ({error.filename or 'the spool'})"
    return str(error) if isinstance(error, Refused) else f"something is wrong ({type(error).__name__})"


def _say(stream: object, descriptor: int, text: str) -> None:
    """Write to a standard stream, unless whoever started us closed it: its number may be another file's by now."""
    try:
        if stream is not None:
            os.write(descriptor, text.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        pass
