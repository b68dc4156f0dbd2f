"""An agent's settings: a file of JSON that is changed in place, with all that is not meant left as it is spelled."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from chronofile.domain.errors import ChronofileError

SETTINGS_BYTES_MAX = 16 << 20
NUMBER_CHARS_MAX = 30
"""A longer number is kept as it is spelled, and not understood."""

Settings = dict[str, Any]


class SettingsUnusable(ChronofileError):
    """The agent's settings cannot be changed, and were left as they are:"""


def read(file: Path) -> Settings:
    """Return the settings, with lists by event under "hooks" if anything. Raises as `change` does."""
    return _parsed(file, _content(file), token_hex(16))


def change(file: Path, apply: Callable[[Settings], None], *, write: bool) -> bool:
    """Change the settings, in the file if that is wanted; tell whether they differ.

    Raises SettingsUnusable, and OSError where the system refuses.
    """
    # A link leads to where somebody keeps the file, and is kept.
    file = Path(os.path.realpath(file))
    before = _content(file)
    mark = token_hex(16)
    settings = _parsed(file, before, mark)
    apply(settings)
    if settings == _parsed(file, before, mark):
        return False
    if write:
        _write(file, _spelled(settings, before, mark), before)
    return True


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            content = opened.read(SETTINGS_BYTES_MAX + 1)
    except FileNotFoundError:
        return b""
    if len(content) > SETTINGS_BYTES_MAX:
        raise SettingsUnusable(f"{file} is larger than {SETTINGS_BYTES_MAX} bytes.")
    return content


def _parsed(file: Path, content: bytes, mark: str) -> Settings:
    """Return the settings, numbers as `_as_spelled` has them. What cannot be read, or would not be written again as it was, is refused."""
    try:
        text = content.decode("utf-8-sig")
        found = _as_spelled(text, mark) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise SettingsUnusable(f"{file} is no JSON that can be merged into ({error}).") from error
    if not isinstance(found, dict):
        raise SettingsUnusable(f"{file} holds no JSON object.")
    events = found.get("hooks", {})
    if not isinstance(events, dict) or not all(isinstance(groups, list) for groups in events.values()):
        raise SettingsUnusable(f'{file} has something else under "hooks" than lists by event.')
    return found


def _as_spelled(text: str, mark: str) -> Any:
    """Return what JSON says; a number that would be spelled otherwise is its spelling behind the mark."""

    def number(kind: type[int] | type[float], spelling: str) -> int | float | str:
        found = kind(spelling) if len(spelling) <= NUMBER_CHARS_MAX else None
        return found if found is not None and repr(found) == spelling else mark + spelling

    return json.loads(
        text,
        object_pairs_hook=_once,
        parse_constant=_refuse,
        parse_float=partial(number, float),
        parse_int=partial(number, int),
    )


def _once(pairs: list[tuple[str, Any]]) -> Settings:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _spelled(settings: Settings, before: bytes, mark: str) -> bytes:
    """Return the settings as text, indented and ended as the file was; what stands behind the mark is a number."""
    indent = re.match(rb"\s*\{\s*?\r?\n([ \t]+)", before.removeprefix(b"\xef\xbb\xbf"))
    text = json.dumps(settings, ensure_ascii=False, indent=indent[1].decode() if indent else 2)
    text = re.sub(rf'"{mark}([^"]*)"', r"\1", text)
    if not before or before.endswith(b"\n"):
        text += "\n"
    # Half a character, which no UTF-8 has, is spelled as JSON spells it.
    content = text.encode("utf-8", "backslashreplace")
    if b"\r\n" in before:
        content = content.replace(b"\n", b"\r\n")
    return (b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b"") + content


def _write(file: Path, content: bytes, before: bytes) -> None:
    """Put the content in the file's place at once, with its mode; refuse if somebody changed it meanwhile."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    temporary = Path(name)
    try:
        with open(descriptor, "wb") as opened:  # noqa: PTH123  # It is a descriptor.
            with suppress(FileNotFoundError):
                status = file.stat()
                os.fchmod(descriptor, status.st_mode & 0o7777)
                if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(descriptor, status.st_uid, status.st_gid)
            opened.write(content)
            opened.flush()
            os.fsync(descriptor)
        if _content(file) != before:
            raise SettingsUnusable(f"{file} was changed by another program just now; try again.")
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
