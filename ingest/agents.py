"""Agents: where the known agents keep their conversations on each system, as declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chronofile.domain.errors import BadRequest
from chronofile.ingest.selections import Selection, merged

ALL, NONE = "all", "none"
LINUX, MACOS, WINDOWS = "linux", "darwin", "win32"
"""As `sys.platform` has them; every other system is taken for a Linux."""

_LINES = "**/*.jsonl"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in which `patterns` name the files that hold conversations.

    It is the path `below` within `base`, which is within the user's home, or within the folder that `variable` names,
    where `variable_below` may say another path. Without a base it is only where the variable says. A place is `sparse`
    where most of what lies below it is something else.
    """

    base: str | None
    below: str
    patterns: tuple[str, ...] = (_LINES,)
    variable: str | None = None
    variable_below: str | None = None
    sparse: bool = False

    def path(self, environment: Mapping[str, str], home: Path) -> Path | None:
        """Return the place's path. An empty variable counts as unset; `~` in one is the home."""
        named = environment.get(self.variable, "") if self.variable else ""
        if not named:
            return None if self.base is None else home / self.base / self.below
        below = self.below if self.variable_below is None else self.variable_below
        return _within(named, home) / below


@dataclass(frozen=True, slots=True)
class Kept:
    """Where an agent of this user keeps conversations: a file, or what is selected of a folder.

    It is `sparse` where most of what lies below the folder is something else.
    """

    path: Path
    selection: Selection | None = None
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """A known agent: its places on every system, and those that only one system has."""

    name: str
    places: Sequence[Place] = ()
    on: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    variables: Sequence[str] = ()
    """Environment variables that name a file with conversations."""

    def kept(self, environment: Mapping[str, str], platform: str, home: Path) -> Iterator[Kept]:
        """Yield where the agent's conversations may be, the usual place first."""
        system = platform if platform in self.on else LINUX
        for place in (*self.places, *self.on.get(system, ())):
            path = place.path(environment, home)
            if path is not None:
                yield Kept(path, Selection(place.patterns), place.sparse)
        for variable in self.variables:
            if named_path := environment.get(variable):
                yield Kept(_within(named_path, home))


def _application(name: str, below: str, *patterns: str, sparse: bool = True) -> dict[str, tuple[Place, ...]]:
    """Return the places of an application with a window, which keeps its files where each system has them."""
    homes = {
        LINUX: (".config", "XDG_CONFIG_HOME"),
        MACOS: ("Library/Application Support", None),
        WINDOWS: ("AppData/Roaming", "APPDATA"),
    }
    return {
        system: (Place(base, f"{name}/{below}", patterns, variable, sparse=sparse),)
        for system, (base, variable) in homes.items()
    }


def _joined(*found: Mapping[str, Sequence[Place]]) -> dict[str, tuple[Place, ...]]:
    return {
        system: tuple(place for places in found for place in places.get(system, ()))
        for system in (LINUX, MACOS, WINDOWS)
    }


# Chats of a window with a folder, and of one without.
_CODE_CHATS = tuple(
    f"{folder}/{name}"
    for folder in ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    for name in ("*.json", "*.jsonl")
)
_CODE_PRODUCTS = ("Code", "Code - Insiders", "VSCodium")
_CODE_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server")

AGENTS = (
    Agent(
        "claude-code",
        (
            Place(".claude", "projects", (_LINES,), "CLAUDE_CONFIG_DIR"),
            Place(".config/claude", "projects", (_LINES,), "CLAUDE_CONFIG_DIR"),
        ),
        # The desktop application gives each session of its own a home for the agent.
        _application(
            "Claude",
            "local-agent-mode-sessions",
            "*/*/local_*/.claude/projects/**/*.jsonl",
            "*/*/agent/local_*/.claude/projects/**/*.jsonl",
        ),
    ),
    Agent(
        "codex",
        (
            Place(".codex", "sessions", (_LINES, "**/rollout-*.json"), "CODEX_HOME"),
            Place(".codex", "archived_sessions", (_LINES,), "CODEX_HOME"),
        ),
    ),
    Agent(
        "gemini-cli",
        (
            Place(
                "",
                ".gemini/tmp",
                ("*/chats/**/*.json", "*/chats/**/*.jsonl", "*/checkpoint-*.json"),
                "GEMINI_CLI_HOME",
            ),
        ),
    ),
    Agent(
        "cursor",
        (
            Place(
                ".cursor",
                "projects",
                ("*/agent-transcripts/**/*.jsonl", "*/agent-transcripts/**/*.txt"),
                "CURSOR_DATA_DIR",
            ),
            Place(".cursor", "chats", ("*/*/store.db",), "CURSOR_DATA_DIR", sparse=True),
        ),
        _joined(
            _application("Cursor", "User", "globalStorage/state.vscdb", "workspaceStorage/*/state.vscdb"),
            _application("cursor", "chats", "*/*/store.db"),
        ),
    ),
    Agent(
        "opencode",
        (
            Place(".local/share", "opencode/storage", ("session/**/*.json",), "XDG_DATA_HOME", sparse=True),
            Place(
                ".local/share",
                "opencode/project",
                ("*/storage/session/info/*.json",),
                "XDG_DATA_HOME",
                sparse=True,
            ),
            Place(".local/share", "opencode", ("opencode.db", "opencode-*.db"), "XDG_DATA_HOME", sparse=True),
        ),
        variables=("OPENCODE_DB",),
    ),
    Agent(
        "copilot-cli",
        (
            Place(".copilot", "session-state", ("*.jsonl", "*/events.jsonl"), "COPILOT_HOME"),
            Place(".copilot", "history-session-state", ("*.json",), "COPILOT_HOME"),
            Place(None, ".copilot/session-state", ("*.jsonl", "*/events.jsonl"), "XDG_STATE_HOME"),
        ),
    ),
    Agent(
        "copilot-vscode",
        (
            Place(None, "user-data/User", _CODE_CHATS, "VSCODE_PORTABLE", sparse=True),
            *(Place(server, "data/User", _CODE_CHATS, sparse=True) for server in _CODE_SERVERS),
        ),
        _joined(*(_application(product, "User", *_CODE_CHATS) for product in _CODE_PRODUCTS)),
    ),
    # Aider writes into each project, which is watched as a folder like any other.
    Agent("aider", variables=("AIDER_CHAT_HISTORY_FILE",)),
    Agent(
        "kimi",
        (
            Place(".kimi", "sessions", ("*/*/wire.jsonl", "*/*.jsonl"), "KIMI_SHARE_DIR"),
            Place(".kimi-code", "sessions", ("*/*/agents/*/wire.jsonl",), "KIMI_CODE_HOME"),
        ),
    ),
    Agent(
        "qwen",
        (
            Place(".qwen", "projects", ("*/chats/*.jsonl",), "QWEN_RUNTIME_DIR"),
            Place(".qwen", "tmp", ("*/chats/*.json", "*/chats/*.jsonl"), "QWEN_RUNTIME_DIR"),
            Place(None, "projects", ("*/chats/*.jsonl",), "QWEN_HOME"),
        ),
    ),
    Agent("droid", (Place(".factory", "sessions"), Place(".factory", "projects"))),
    Agent("grok", (Place(".grok", "sessions", ("*/*/chat_history.jsonl",), "GROK_HOME"),)),
    Agent(
        "openclaw",
        (
            Place(".openclaw", "agents", ("*/sessions/*.jsonl",), "OPENCLAW_STATE_DIR"),
            Place(".clawdbot", "agents", ("*/sessions/*.jsonl",), "CLAWDBOT_STATE_DIR"),
        ),
    ),
    Agent(
        "pi",
        (
            Place(".pi/agent", "sessions", (_LINES,), "PI_CODING_AGENT_DIR"),
            Place(None, "", (_LINES,), "PI_CODING_AGENT_SESSION_DIR"),
        ),
    ),
    Agent("vibe", (Place(".vibe", "logs/session", ("*/messages.jsonl", "session_*.json"), "VIBE_HOME"),)),
    Agent("hermes", (Place(".hermes", "sessions", ("session_*.json", "*.jsonl"), "HERMES_HOME"),)),
    Agent(
        "antigravity",
        tuple(
            Place(f".gemini/{product}", "brain", ("*/.system_generated/logs/transcript.jsonl",), sparse=True)
            for product in ("antigravity", "antigravity-cli", "antigravity-ide")
        ),
    ),
)
NAMES = tuple(agent.name for agent in AGENTS)
VARIABLES = frozenset(
    name
    for agent in AGENTS
    for places in (agent.places, *agent.on.values())
    for name in (*(place.variable for place in places), *agent.variables)
    if name is not None
)
"""The environment variables that move an agent's conversations."""


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


def kept(
    names: Sequence[str] | None,
    environment: Mapping[str, str],
    platform: str,
    home: Path,
    exists: Callable[[Path], bool],
) -> dict[str, list[Kept]]:
    """Return where the named agents keep conversations, by agent, in the order in which agents are known.

    Without names, of all agents, and only what exists. An agent that is named and has nothing yet gets its usual
    place, so that one can wait for it. Raises BadRequest for a name that is not known.
    """
    if unknown := [name for name in names or () if name not in NAMES]:
        raise BadRequest(f"There is no agent {unknown[0]!r}. Known are {', '.join(NAMES)}.")
    found: dict[str, list[Kept]] = {}
    for agent in AGENTS:
        if names is not None and agent.name not in names:
            continue
        places = list(dict.fromkeys(agent.kept(environment, platform, home)))
        there = [place for place in places if exists(place.path)]
        if names is not None and not there:
            there = places[:1]
        if there:
            found[agent.name] = there
    return found


def paths(places: Iterable[Kept]) -> list[Path]:
    return list(dict.fromkeys(place.path for place in places))


def selections(places: Iterable[Kept]) -> dict[Path, Selection]:
    """Return what is to be taken of each folder."""
    return merged((place.path, place.selection) for place in places if place.selection is not None)


def _within(named_path: str, home: Path) -> Path:
    """Return a path from the environment; one that is not absolute is meant within the home."""
    if named_path == "~":
        return home
    return home / named_path.removeprefix("~/")
