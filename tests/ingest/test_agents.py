"""Where the known agents keep their conversations, and that nothing else of theirs is taken."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pytest

from chronofile.domain.errors import BadRequest
from chronofile.domain.rejection import Omitted
from chronofile.ingest.agents import (
    LINUX,
    MACOS,
    NAMES,
    VARIABLES,
    WINDOWS,
    kept,
    named,
    paths,
    selections,
)
from chronofile.ingest.scan import Found, scan

HOME = Path("/home/ann")

# What agents keep on every system, by agent: files with conversations.
EVERYWHERE: Mapping[str, Collection[str]] = {
    "claude-code": (
        ".claude/projects/-home-ann-api/5e55.jsonl",
        ".claude/projects/-home-ann-api/5e55/subagents/agent-a1.jsonl",
        ".config/claude/projects/-home-ann-web/6e66.jsonl",
    ),
    "codex": (
        ".codex/sessions/2026/05/08/rollout-2026-05-08T12-00-00-5e55.jsonl",
        ".codex/sessions/rollout-2025-04-20-5e55.json",
        ".codex/archived_sessions/rollout-2026-01-01T00-00-00-6e66.jsonl",
    ),
    "gemini-cli": (
        ".gemini/tmp/4f1c/chats/session-2026-05-08T12-00-5e55.json",
        ".gemini/tmp/4f1c/chats/session-2026-05-08T12-00-6e66.jsonl",
        ".gemini/tmp/4f1c/chats/6e66/sub.jsonl",
        ".gemini/tmp/4f1c/checkpoint-before-lunch.json",
    ),
    "cursor": (
        ".cursor/projects/home-ann-api/agent-transcripts/5e55/5e55.jsonl",
        ".cursor/projects/home-ann-api/agent-transcripts/4e44.txt",
        ".cursor/chats/77aa/5e55/store.db",
    ),
    "opencode": (
        ".local/share/opencode/storage/session/4f1c/ses_5e55.json",
        ".local/share/opencode/project/home-ann-api/storage/session/info/ses_4e44.json",
        ".local/share/opencode/opencode.db",
        ".local/share/opencode/opencode-dev.db",
    ),
    "copilot-cli": (
        ".copilot/session-state/5e55/events.jsonl",
        ".copilot/session-state/4e44.jsonl",
        ".copilot/history-session-state/session_3e33_17.json",
    ),
    "copilot-vscode": (
        ".vscode-server/data/User/workspaceStorage/99ff/chatSessions/5e55.json",
        ".vscode-server/data/User/globalStorage/emptyWindowChatSessions/6e66.jsonl",
    ),
    "kimi": (
        ".kimi/sessions/4f1c/5e55/wire.jsonl",
        ".kimi/sessions/4f1c/4e44.jsonl",
        ".kimi-code/sessions/api_4f1c/session_5e55/agents/main/wire.jsonl",
    ),
    "qwen": (".qwen/projects/-home-ann-api/chats/5e55.jsonl", ".qwen/tmp/4f1c/chats/session-1.json"),
    "droid": (".factory/sessions/-home-ann-api/5e55.jsonl", ".factory/projects/-home-ann-api/4e44.jsonl"),
    "grok": (".grok/sessions/%2Fhome%2Fann%2Fapi/5e55/chat_history.jsonl",),
    "openclaw": (".openclaw/agents/main/sessions/5e55.jsonl", ".clawdbot/agents/main/sessions/4e44.jsonl"),
    "pi": (".pi/agent/sessions/--home-ann-api--/2026-05-08T12-00-00_5e55.jsonl",),
    "vibe": (
        ".vibe/logs/session/session_20260508_120000_5e55/messages.jsonl",
        ".vibe/logs/session/session_20250508_120000_4e44.json",
    ),
    "hermes": (".hermes/sessions/session_20260508_5e55.json", ".hermes/sessions/20260508_5e55.jsonl"),
    "antigravity": (
        ".gemini/antigravity/brain/5e55/.system_generated/logs/transcript.jsonl",
        ".gemini/antigravity-cli/brain/4e44/.system_generated/logs/transcript.jsonl",
        ".gemini/antigravity-ide/brain/3e33/.system_generated/logs/transcript.jsonl",
    ),
}

# What applications with a window keep, below the folder where each system has such.
APPLICATIONS: Mapping[str, Collection[str]] = {
    "claude-code": (
        "Claude/local-agent-mode-sessions/a/o/local_5e55/.claude/projects/-sessions-x/5e55.jsonl",
        "Claude/local-agent-mode-sessions/a/o/agent/local_4e44/.claude/projects/-sessions-y/4e44.jsonl",
    ),
    "cursor": (
        "Cursor/User/globalStorage/state.vscdb",
        "Cursor/User/workspaceStorage/99ff/state.vscdb",
        "cursor/chats/77aa/5e55/store.db",
    ),
    "copilot-vscode": (
        "Code/User/workspaceStorage/99ff/chatSessions/5e55.json",
        "Code/User/workspaceStorage/99ff/chatSessions/6e66.jsonl",
        "Code/User/globalStorage/emptyWindowChatSessions/5e55.json",
        "Code - Insiders/User/workspaceStorage/99ff/chatSessions/5e55.jsonl",
        "VSCodium/User/workspaceStorage/99ff/chatSessions/5e55.json",
    ),
}
FOLDERS = {LINUX: ".config", MACOS: "Library/Application Support", WINDOWS: "AppData/Roaming"}

# Settings, caches, logs and credentials that stand beside.
DECOYS = (
    ".claude/.credentials.json",
    ".claude/settings.json",
    ".claude/history.jsonl",
    ".claude/todos/5e55.json",
    ".claude/shell-snapshots/s.sh",
    ".claude/projects/-home-ann-api/sessions-index.json",
    ".claude/projects/-home-ann-api/memory/MEMORY.md",
    ".claude/projects/-home-ann-api/5e55/tool-results/t1.txt",
    ".codex/auth.json",
    ".codex/config.toml",
    ".codex/history.jsonl",
    ".codex/log/codex-tui.log",
    ".codex/sessions/2026/05/08/notes.txt",
    ".gemini/oauth_creds.json",
    ".gemini/settings.json",
    ".gemini/tmp/4f1c/logs.json",
    ".gemini/tmp/4f1c/shell_history",
    ".gemini/tmp/bin/rg",
    ".cursor/mcp.json",
    ".cursor/cli-config.json",
    ".cursor/extensions/e/package.json",
    ".cursor/projects/home-ann-api/mcps/m/tools/t.json",
    ".cursor/projects/home-ann-api/terminals/1.txt",
    ".cursor/projects/home-ann-api/.workspace-trusted",
    ".local/share/opencode/auth.json",
    ".local/share/opencode/log/dev.log",
    ".local/share/opencode/snapshot/4f1c/config",
    ".local/share/opencode/storage/message/ses_5e55/msg_1.json",
    ".local/share/opencode/storage/part/msg_1/prt_1.json",
    ".local/share/opencode/storage/session_diff/ses_5e55.json",
    ".copilot/config.json",
    ".copilot/logs/process.log",
    ".copilot/session-state/5e55/workspace.yaml",
    ".copilot/session-state/5e55/files/plan.md",
    ".vscode-server/data/User/workspaceStorage/99ff/state.vscdb",
    ".vscode-server/data/logs/l.log",
    ".kimi/config.json",
    ".kimi/credentials/kimi-code.json",
    ".kimi/sessions/4f1c/5e55/state.json",
    ".qwen/oauth_creds.json",
    ".qwen/projects/-home-ann-api/meta.json",
    ".factory/auth.json",
    ".factory/sessions/-home-ann-api/5e55.settings.json",
    ".grok/auth.json",
    ".grok/sessions/%2Fhome%2Fann%2Fapi/5e55/summary.json",
    ".openclaw/openclaw.json",
    ".openclaw/agents/main/agent/auth-profiles.json",
    ".openclaw/agents/main/sessions/sessions.json",
    ".pi/agent/auth.json",
    ".vibe/.env",
    ".vibe/logs/session/session_20260508_120000_5e55/meta.json",
    ".hermes/.env",
    ".hermes/sessions/sessions.json",
    ".gemini/antigravity/brain/5e55/task.md",
)
APPLICATION_DECOYS = (
    "Claude/config.json",
    "Claude/local-agent-mode-sessions/a/o/local_5e55/audit.jsonl",
    "Claude/local-agent-mode-sessions/a/o/local_5e55/.claude/.credentials.json",
    "Claude/local-agent-mode-sessions/a/o/local_5e55/outputs/report.jsonl",
    "Cursor/User/settings.json",
    "Cursor/User/globalStorage/storage.json",
    "Cursor/User/globalStorage/state.vscdb.backup",
    "Cursor/User/workspaceStorage/99ff/workspace.json",
    "Cursor/Cookies",
    "Code/User/settings.json",
    "Code/User/globalStorage/state.vscdb",
    "Code/User/workspaceStorage/99ff/workspace.json",
    "Code/User/workspaceStorage/99ff/chatEditingSessions/5e55/state.json",
    "Code/logs/main.log",
)


def found(
    *there: str, names: Collection[str] | None = None, platform: str = LINUX, **environment: str
) -> dict[str, list[str]]:
    """Return the agents' places where the paths `there` exist, as texts."""
    existing = set(map(Path, there))
    listed = kept(None if names is None else list(names), environment, platform, HOME, existing.__contains__)
    return {name: list(map(str, paths(places))) for name, places in listed.items()}


def touch(home: Path, names: Iterable[str]) -> None:
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n", encoding="utf-8")


def everything_on(platform: str) -> dict[str, set[str]]:
    """Return every file with conversations on a system, by agent."""
    wanted = {name: set(files) for name, files in EVERYWHERE.items()}
    for name, files in APPLICATIONS.items():
        wanted[name] |= {f"{FOLDERS[platform]}/{file}" for file in files}
    return wanted


def taken(home: Path, platform: str, **environment: str) -> dict[str, set[str]]:
    """Return the files that are taken of a home, by agent."""
    places = kept(None, environment, platform, home, Path.exists)
    return {
        name: {
            item.path.relative_to(home).as_posix()
            for item in scan(paths(listed), home=home / "nowhere", selected=selections(listed))
            if isinstance(item, Found)
        }
        for name, listed in places.items()
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path)) / "ann"


@pytest.mark.parametrize("platform", [LINUX, MACOS, WINDOWS])
def test_of_a_home_every_conversation_is_taken_and_nothing_else(home: Path, platform: str) -> None:
    wanted = everything_on(platform)
    touch(home, (name for names in wanted.values() for name in names))
    touch(home, DECOYS)
    touch(home, (f"{FOLDERS[platform]}/{name}" for name in APPLICATION_DECOYS))

    assert taken(home, platform) == wanted
    assert set(wanted) == set(NAMES) - {"aider"}


@pytest.mark.parametrize("platform", [LINUX, MACOS, WINDOWS])
def test_without_conversations_nothing_is_taken(home: Path, platform: str) -> None:
    touch(home, DECOYS)
    touch(home, (f"{FOLDERS[platform]}/{name}" for name in APPLICATION_DECOYS))

    assert set().union(*taken(home, platform).values()) == set()


def test_what_is_left_out_beside_conversations_is_told(home: Path) -> None:
    touch(home, [*EVERYWHERE["gemini-cli"], *DECOYS])
    (listed,) = (places for name, places in kept(["gemini-cli"], {}, LINUX, home, Path.exists).items())

    left_out = [
        item.path.relative_to(home).as_posix()
        for item in scan(paths(listed), home=home / "nowhere", selected=selections(listed))
        if isinstance(item, Omitted) and item.reason == "beside-conversations"
    ]
    assert left_out == [f".gemini/tmp/{name}" for name in ("4f1c/logs.json", "4f1c/shell_history", "bin/rg")]


def test_what_a_user_ignores_is_not_taken_and_rules_of_git_do_not_count(home: Path) -> None:
    touch(home, [*EVERYWHERE["codex"], ".git/HEAD"])
    (home / ".gitignore").write_text("*\n", encoding="utf-8")
    (home / ".codex/sessions/.gitignore").write_text("*\n", encoding="utf-8")
    (home / ".codex/.chronofileignore").write_text("archived_sessions/*\n", encoding="utf-8")

    assert taken(home, LINUX)["codex"] == {name for name in EVERYWHERE["codex"] if "archived" not in name}


def test_links_among_conversations_are_not_followed(home: Path) -> None:
    touch(home, [".codex/sessions/2026/rollout-1.jsonl", "elsewhere/secret.jsonl"])
    (home / ".codex/sessions/2026/linked").symlink_to(home / "elsewhere")
    (home / ".codex/sessions/2026/linked.jsonl").symlink_to(home / "elsewhere/secret.jsonl")

    assert taken(home, LINUX) == {"codex": {".codex/sessions/2026/rollout-1.jsonl"}}


def test_without_names_an_agent_is_found_where_its_folder_exists() -> None:
    assert found("/home/ann/.claude/projects", "/home/ann/.codex/sessions", "/home/ann/.vimrc") == {
        "claude-code": ["/home/ann/.claude/projects"],
        "codex": ["/home/ann/.codex/sessions"],
    }
    assert found() == {}


def test_an_agent_has_each_of_its_folders_that_exists() -> None:
    there = ["/home/ann/.codex/sessions", "/home/ann/.codex/archived_sessions"]

    assert found(*there) == {"codex": there}


def test_an_agent_that_is_named_and_has_nothing_yet_gets_its_usual_place() -> None:
    assert found(names=["gemini-cli", "claude-code"]) == {
        "claude-code": ["/home/ann/.claude/projects"],
        "gemini-cli": ["/home/ann/.gemini/tmp"],
    }


@pytest.mark.parametrize(
    ("variables", "name", "path"),
    [
        ({"CLAUDE_CONFIG_DIR": "/etc/claude"}, "claude-code", "/etc/claude/projects"),
        ({"CLAUDE_CONFIG_DIR": "~/other"}, "claude-code", "/home/ann/other/projects"),
        ({"CLAUDE_CONFIG_DIR": ""}, "claude-code", "/home/ann/.claude/projects"),
        ({"CODEX_HOME": "/var/codex"}, "codex", "/var/codex/sessions"),
        ({"GEMINI_CLI_HOME": "/var/g"}, "gemini-cli", "/var/g/.gemini/tmp"),
        ({"CURSOR_DATA_DIR": "/var/cu"}, "cursor", "/var/cu/projects"),
        ({"XDG_CONFIG_HOME": "/var/x"}, "cursor", "/var/x/Cursor/User"),
        ({"XDG_DATA_HOME": "/var/x"}, "opencode", "/var/x/opencode/storage"),
        ({"OPENCODE_DB": "/var/o.db"}, "opencode", "/var/o.db"),
        ({"COPILOT_HOME": "/var/c"}, "copilot-cli", "/var/c/session-state"),
        ({"XDG_STATE_HOME": "/var/s"}, "copilot-cli", "/var/s/.copilot/session-state"),
        ({"VSCODE_PORTABLE": "/var/v"}, "copilot-vscode", "/var/v/user-data/User"),
        ({"AIDER_CHAT_HISTORY_FILE": "/var/a.md"}, "aider", "/var/a.md"),
        ({"KIMI_SHARE_DIR": "/var/k"}, "kimi", "/var/k/sessions"),
        ({"QWEN_RUNTIME_DIR": "/var/q"}, "qwen", "/var/q/projects"),
        ({"QWEN_HOME": "/var/q"}, "qwen", "/var/q/projects"),
        ({"GROK_HOME": "/var/gr"}, "grok", "/var/gr/sessions"),
        ({"OPENCLAW_STATE_DIR": "/var/oc"}, "openclaw", "/var/oc/agents"),
        ({"PI_CODING_AGENT_DIR": "/var/p"}, "pi", "/var/p/sessions"),
        ({"PI_CODING_AGENT_SESSION_DIR": "/var/p"}, "pi", "/var/p"),
        ({"VIBE_HOME": "/var/vb"}, "vibe", "/var/vb/logs/session"),
        ({"HERMES_HOME": "/var/h"}, "hermes", "/var/h/sessions"),
        ({}, "cursor", "/home/ann/.cursor/projects"),
    ],
)
def test_an_environment_variable_moves_an_agents_folder(
    variables: dict[str, str], name: str, path: str
) -> None:
    assert found(path, **variables) == {name: [path]}
    assert set(variables) <= VARIABLES


def test_an_application_of_windows_is_where_windows_says() -> None:
    path = "/mnt/d/roaming/Code/User"

    assert found(path, platform=WINDOWS, APPDATA="/mnt/d/roaming") == {"copilot-vscode": [path]}


@pytest.mark.parametrize("platform", [LINUX, MACOS, WINDOWS, "freebsd14"])
def test_every_agent_but_aider_has_a_place_on_every_system(platform: str) -> None:
    assert {name for name, places in found(names=NAMES, platform=platform).items() if places} == (
        set(NAMES) - {"aider"}
    )


def test_a_list_of_names_is_read_as_it_is_typed() -> None:
    assert named("codex, claude-code,codex") == ["codex", "claude-code"]
    assert named("all") is None
    assert named(None) is None
    assert named("none") == []


@pytest.mark.parametrize("wanted", ["clyppy", "codex,clyppy"])
def test_an_unknown_name_is_refused_with_the_known_ones(wanted: str) -> None:
    with pytest.raises(BadRequest, match=r"'clyppy'. Known are claude-code, codex, .*aider"):
        named(wanted)
    with pytest.raises(BadRequest, match="Known are"):
        found(names=["clyppy"])


def test_the_page_about_agents_tells_of_each_and_of_every_variable() -> None:
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")

    assert [name for name in (*NAMES, *sorted(VARIABLES)) if f"`{name}`" not in page] == []
