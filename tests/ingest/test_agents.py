"""Where the known agents keep their transcripts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from chronofile.domain.errors import BadRequest
from chronofile.ingest.agents import LINUX, MACOS, NAMES, WINDOWS, folders, named

HOME = Path("/home/ann")


def found(
    *there: str, names: Collection[str] | None = None, platform: str = LINUX, **environment: str
) -> dict[str, list[str]]:
    """Return the folders where the paths `there` exist, as texts."""
    existing = set(map(Path, there))
    listed = folders(
        None if names is None else list(names), environment, platform, HOME, existing.__contains__
    )
    return {name: list(map(str, paths)) for name, paths in listed.items()}


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
        ({"XDG_DATA_HOME": "/var/x"}, "opencode", "/var/x/opencode/storage"),
        ({"COPILOT_HOME": "/var/c"}, "copilot-cli", "/var/c/session-state"),
        ({"AIDER_CHAT_HISTORY_FILE": "/var/a.md"}, "aider", "/var/a.md"),
        ({}, "cursor", "/home/ann/.cursor/projects"),
    ],
)
def test_an_environment_variable_moves_an_agents_folder(
    variables: dict[str, str], name: str, path: str
) -> None:
    assert found(path, **variables) == {name: [path]}


@pytest.mark.parametrize("platform", [LINUX, MACOS, WINDOWS, "freebsd14"])
def test_every_agent_but_aider_has_a_place_on_every_system(platform: str) -> None:
    assert set(found(names=NAMES, platform=platform)) == set(NAMES) - {"aider"}


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
