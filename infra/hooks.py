"""Hooks in agents' settings: what they must say there, merged in and taken out with all else left as it is."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from secrets import token_hex
from typing import Any

from chronofile.domain.errors import ChronofileError

SCRIPT = "chronofile-hook"
MODULE = "chronofile.infra.hook"
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
TIMEOUT_S = 10
SETTINGS_BYTES_MAX = 16 << 20
NUMBER_CHARS_MAX = 30
"""A longer number is kept as it is spelled, and not understood."""
UNREDACTED = (
    "What hooks note waits unredacted in {spool}, for you alone, until `chronofile watch`, an idle "
    "`chronofile mcp` or the next command captures it and deletes it there."
)

Settings = dict[str, Any]


class SettingsUnusable(ChronofileError):
    """The agent's settings cannot be changed, and were left as they are:"""


@dataclass(frozen=True, slots=True)
class Client:
    """An agent's client: the file with its hooks, and for how many seconds at most it waits for one at each event.

    `variable` names its folder in place of `folder` in the user's own.
    """

    name: str
    folder: str
    variable: str
    file: str
    timeouts_s: Mapping[str, int]


CLIENTS = {
    client.name: client
    for client in (
        # https://code.claude.com/docs/en/hooks
        Client("claude-code", ".claude", "CLAUDE_CONFIG_DIR", "settings.json", dict.fromkeys(EVENTS, TIMEOUT_S)),
        # https://developers.openai.com/codex/hooks; at the end of a session it waits for 3 seconds at most.
        Client("codex", ".codex", "CODEX_HOME", "hooks.json", {**dict.fromkeys(EVENTS, TIMEOUT_S), "SessionEnd": 3}),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Installation:
    """What the settings are to say, or no more: `changed` is whether they differ from what is there.

    `hooks` are the entries by event, as the client reads them. `written` is whether the file has them now.
    """

    client: str
    file: str
    hooks: Mapping[str, Any]
    changed: bool
    written: bool
    notes: tuple[str, ...]


def install(client: Client, home: Path | None, *, spool: Path, write: bool) -> Installation:
    """Return what the client's settings need, and with `write` merge it into them.

    `home` is named to the hook unless it is None. Raises SettingsUnusable, and OSError where the system refuses.
    """
    wanted = {event: _hook(client, event, home) for event in client.timeouts_s}
    changed = _change(client, lambda settings: _merge(settings, wanted), write=write)
    shown = {event: [{"hooks": [hook]}] for event, hook in wanted.items()}
    notes = (*_notes(client, write and changed), UNREDACTED.format(spool=spool))
    return Installation(client.name, str(settings_file(client)), shown, changed, write, notes)


def uninstall(client: Client, home: Path | None, *, write: bool) -> Installation:
    """Take the hooks of this home out of the client's settings; raises as `install` does."""
    changed = _change(client, lambda settings: _take_out(settings, home), write=write)
    return Installation(client.name, str(settings_file(client)), {}, changed, write, ())


def own_commands(client: Client) -> dict[str, str]:
    """Return the commands of our hooks in the client's settings, each with the home that it names.

    It is empty for the default one. Raises as `install` does.
    """
    file = settings_file(client)
    events = _parsed(file, _read(file), token_hex(16)).get("hooks", {})
    hooks = [hook for groups in events.values() for hook in _hooks_in(groups)]
    return {hook["command"]: home for hook in hooks if (home := _home_of(hook)) is not None}


def settings_file(client: Client) -> Path:
    """Return the file of the user's settings that holds the client's hooks."""
    named = os.environ.get(client.variable)
    try:
        folder = Path(named).expanduser() if named else Path.home() / client.folder
    except RuntimeError as error:
        raise SettingsUnusable(f"nobody knows where they are: set HOME or {client.variable}.") from error
    return folder.absolute() / client.file


def _change(client: Client, change: Callable[[Settings], None], *, write: bool) -> bool:
    """Change the settings, in the file if that is wanted; tell whether they differ."""
    # A link leads to where somebody keeps the file, and is kept.
    file = Path(os.path.realpath(settings_file(client)))
    before = _read(file)
    mark = token_hex(16)
    settings = _parsed(file, before, mark)
    change(settings)
    if settings == _parsed(file, before, mark):
        return False
    if write:
        _write(file, _spelled(settings, before, mark), before)
    return True


def _hook(client: Client, event: str, home: Path | None) -> Settings:
    words = [*_program(), event, "--agent", client.name]
    if home is not None:
        words += ["--home", str(home)]
    return {"type": "command", "command": shlex.join(words), "timeout": client.timeouts_s[event]}


def _program() -> list[str]:
    """Return how the hook is started, by whole paths: clients have a PATH of their own."""
    beside = Path(sys.executable).with_name(SCRIPT)
    found = str(beside) if beside.is_file() else shutil.which(SCRIPT)
    return [str(Path(found).absolute())] if found else [sys.executable, "-m", MODULE]


def _merge(settings: Settings, wanted: Mapping[str, Settings]) -> None:
    """Add each hook as a group of its own behind those that are there, or bring it up to date where it is."""
    events = settings.setdefault("hooks", {})
    for event, hook in wanted.items():
        groups = events.setdefault(event, [])
        own = [found for found in _hooks_in(groups) if _is_same(found, hook)]
        if own:
            own[0].update(hook)
        else:
            groups.append({"hooks": [hook]})


def _take_out(settings: Settings, home: Path | None) -> None:
    """Take out what `_merge` put in; groups and events that hold nothing else go too."""
    events = settings.get("hooks", {})
    for event, groups in list(events.items()):
        if not any(_home_of(found) == _home_text(home) for found in _hooks_in(groups)):
            continue
        for group in [group for group in groups if isinstance(group, dict)]:
            hooks = group.get("hooks")
            if isinstance(hooks, list):
                left = [hook for hook in hooks if _home_of(hook) != _home_text(home)]
                if hooks and not left:
                    groups.remove(group)
                else:
                    group["hooks"] = left
        if not groups:
            del events[event]
    if "hooks" in settings and not events:
        del settings["hooks"]


def _hooks_in(groups: Any) -> Iterator[Settings]:
    for group in groups:
        hooks = group.get("hooks") if isinstance(group, dict) else None
        yield from (hook for hook in hooks or () if isinstance(hook, dict)) if isinstance(hooks, list) else ()


def _is_same(found: Settings, hook: Settings) -> bool:
    """Tell whether a hook is ours and notes in the same home, by whatever path it is started."""
    home = _home_of(found)
    return home is not None and home == _home_of(hook)


def _home_of(hook: Any) -> str | None:
    """Return the home that a hook of ours names, empty for the default one; None for another's hook."""
    command = hook.get("command") if isinstance(hook, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    is_ours = bool(words) and (Path(words[0]).name == SCRIPT or words[1:3] == ["-m", MODULE])
    if not is_ours:
        return None
    return next((after for word, after in pairwise(words) if word == "--home"), "")


def _home_text(home: Path | None) -> str:
    return "" if home is None else str(home)


def _notes(client: Client, changed: bool) -> Sequence[str]:
    if client.name != "codex":
        return (
            ["A session that is running may have to be started anew before it runs them."] if changed else []
        )
    notes = ["Codex runs a new hook only once you have trusted it: open /hooks in Codex."]
    config = settings_file(client).with_name("config.toml")
    with suppress(OSError, ValueError):
        features = tomllib.loads(config.read_text("utf-8")).get("features", {})
        if False in (features.get("hooks"), features.get("codex_hooks")):
            notes.append(f"Hooks are switched off in {config}: set `hooks = true` under [features].")
    return notes


def _read(file: Path) -> bytes:
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
        if _read(file) != before:
            raise SettingsUnusable(f"{file} was changed by another program just now; try again.")
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
