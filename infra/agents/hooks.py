"""Hooks in agents' settings: what they must say there, merged in and taken out with all else left as it is."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from chronofile.infra.agents.settings import Settings, SettingsUnusable, change, read

SCRIPT = "chronofile-hook"
MODULE = "chronofile.infra.hook"
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
TIMEOUT_S = 10
UNREDACTED = (
    "What hooks note waits unredacted in {spool}, for you alone, until `chronofile watch`, an idle "
    "`chronofile mcp` or the next command captures it and deletes it there."
)


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
    changed = change(settings_file(client), lambda settings: _merge(settings, wanted), write=write)
    shown = {event: [{"hooks": [hook]}] for event, hook in wanted.items()}
    notes = (*_notes(client, write and changed), UNREDACTED.format(spool=spool))
    return Installation(client.name, str(settings_file(client)), shown, changed, write, notes)


def uninstall(client: Client, home: Path | None, *, write: bool) -> Installation:
    """Take the hooks of this home out of the client's settings; raises as `install` does."""
    changed = change(settings_file(client), lambda settings: _take_out(settings, home), write=write)
    return Installation(client.name, str(settings_file(client)), {}, changed, write, ())


def own_commands(client: Client) -> dict[str, str]:
    """Return the commands of our hooks in the client's settings, each with the home that it names.

    It is empty for the default one. Raises as `install` does.
    """
    events = read(settings_file(client)).get("hooks", {})
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
