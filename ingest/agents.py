"""Agents: which folders the known agents keep their transcripts in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chronofile.domain.errors import BadRequest

ALL, NONE = "all", "none"
LINUX, MACOS, WINDOWS = "linux", "darwin", "win32"
"""As `sys.platform` has them; every other system is taken for a Linux."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where transcripts are: `below` is a path within `base`, or within the folder that `variable` names.

    `base` is a path within the user's home. A variable's folder stands for another part of the path where
    `variable_below` says so.
    """

    base: str
    below: str = ""
    variable: str | None = None
    variable_below: str | None = None

    def path(self, environment: Mapping[str, str], home: Path) -> Path:
        """Return the place's path. An empty variable counts as unset; `~` in one is the home."""
        named = environment.get(self.variable, "") if self.variable else ""
        if not named:
            return home / self.base / self.below
        below = self.below if self.variable_below is None else self.variable_below
        return _within(named, home) / below


@dataclass(frozen=True, slots=True)
class Agent:
    """A known agent: its places on each system; those of Linux hold where a system has none of its own.

    Databases that agents keep beside their transcripts are no text and not among the places.
    """

    name: str
    places: Sequence[Place]
    elsewhere: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    variables: Sequence[str] = ()
    """Environment variables that name a transcript itself; the agent has no other place for it."""

    def paths(self, environment: Mapping[str, str], platform: str, home: Path) -> list[Path]:
        """Return where the agent's transcripts may be, the usual place first."""
        places = self.elsewhere.get(platform, self.places)
        named = [environment[variable] for variable in self.variables if environment.get(variable)]
        found = [place.path(environment, home) for place in places]
        return list(dict.fromkeys([*found, *(_within(path, home) for path in named)]))


AGENTS = (
    Agent(
        "claude-code",
        (
            Place(".claude", "projects", "CLAUDE_CONFIG_DIR"),
            Place(".config/claude", "projects", "CLAUDE_CONFIG_DIR"),
        ),
        {WINDOWS: (Place(".claude", "projects", "CLAUDE_CONFIG_DIR"),)},
    ),
    Agent(
        "codex",
        (Place(".codex", "sessions", "CODEX_HOME"), Place(".codex", "archived_sessions", "CODEX_HOME")),
    ),
    Agent("gemini-cli", (Place("", ".gemini/tmp", "GEMINI_CLI_HOME"),)),
    Agent("cursor", (Place(".cursor", "projects"),)),
    Agent(
        "opencode",
        (Place(".local/share", "opencode/storage", "XDG_DATA_HOME"),),
        {WINDOWS: (Place(".local/share", "opencode/storage"),)},
    ),
    Agent("copilot-cli", (Place(".copilot", "session-state", "COPILOT_HOME"),)),
    # Aider writes into each project, which is watched as a folder like any other.
    Agent("aider", (), variables=("AIDER_CHAT_HISTORY_FILE",)),
)
NAMES = tuple(agent.name for agent in AGENTS)


def named(wanted: str | None) -> list[str] | None:
    """Return the agents that a list such as `codex,claude-code` names; None for `all`, none for `none`.

    Raises BadRequest for a name that is not known.
    """
    if wanted is None or wanted.strip() == ALL:
        return None
    if wanted.strip() == NONE:
        return []
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if unknown := [name for name in names if name not in NAMES]:
        raise BadRequest(f"There is no agent {unknown[0]!r}. Known are {', '.join(NAMES)}.")
    if not names:
        raise BadRequest(f"--agents takes {ALL}, {NONE}, or names such as {NAMES[0]},{NAMES[1]}.")
    return list(dict.fromkeys(names))


def folders(
    names: Sequence[str] | None,
    environment: Mapping[str, str],
    platform: str,
    home: Path,
    exists: Callable[[Path], bool],
) -> dict[str, list[Path]]:
    """Return the paths of the named agents' transcripts, by agent, in the order in which agents are known.

    Without names, of all agents, and only what exists. An agent that is named and has nothing yet gets its usual
    place, so that one can wait for it. Raises BadRequest for a name that is not known.
    """
    if unknown := [name for name in names or () if name not in NAMES]:
        raise BadRequest(f"There is no agent {unknown[0]!r}. Known are {', '.join(NAMES)}.")
    found: dict[str, list[Path]] = {}
    for agent in AGENTS:
        if names is not None and agent.name not in names:
            continue
        paths = agent.paths(environment, platform, home)
        there = [path for path in paths if exists(path)]
        if names is not None and not there:
            there = paths[:1]
        if there:
            found[agent.name] = there
    return found


def _within(named_path: str, home: Path) -> Path:
    """Return a path from the environment; one that is not absolute is meant within the home."""
    if named_path == "~":
        return home
    return home / named_path.removeprefix("~/")
