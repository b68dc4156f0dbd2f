"""Broken hooks: commands in agents' settings that cannot run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from chronofile.infra.agents.broken_hooks import BrokenHook, broken_hooks
from chronofile.infra.agents.hooks import CLIENTS, SCRIPT, install


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with nothing but an empty folder."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def settings(user: Path, command: str, file: str = ".claude/settings.json") -> Path:
    path = user / file
    path.parent.mkdir(exist_ok=True)
    hook = {"type": "command", "command": command}
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}], "SessionEnd": [{"hooks": [hook]}]}}))
    return path


def script(path: Path, first_line: str, mode: int = 0o700) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{first_line}\n")
    path.chmod(mode)
    return path


def test_hooks_that_were_just_installed_can_run(user: Path) -> None:
    for client in CLIENTS.values():
        install(client, None, spool=user / "spool", write=True)

    assert broken_hooks() == []


def test_no_settings_and_settings_that_cannot_be_read_have_no_broken_hook(user: Path) -> None:
    assert broken_hooks() == []
    settings(user, "x").write_text("{")
    assert broken_hooks() == []


@pytest.mark.parametrize(
    ("client", "file"), [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")]
)
def test_a_program_that_is_gone_is_told_once_with_what_mends_it(user: Path, client: str, file: str) -> None:
    path = settings(user, f"/gone/{SCRIPT} stop --agent {client} --home '/made up'", file)

    (hook,) = broken_hooks()
    assert hook == BrokenHook(client, str(path), f"/gone/{SCRIPT}", "/made up")
    assert f"chronofile hooks install --for {client} --home '/made up' --write mends it" in hook.sentence


def test_a_script_whose_interpreter_is_gone_or_that_may_not_be_run_is_told(user: Path) -> None:
    settings(user, f"{script(user / 'bin' / SCRIPT, '#!/gone/bin/python')} stop")
    assert [hook.program for hook in broken_hooks()] == ["/gone/bin/python"]

    script(user / "bin" / SCRIPT, "#!/bin/sh")
    assert broken_hooks() == []

    script(user / "bin" / SCRIPT, "#!/bin/sh", 0o600)
    assert [hook.program for hook in broken_hooks()] == [str(user / "bin" / SCRIPT)]


def test_hooks_of_others_are_none_of_ours(user: Path) -> None:
    settings(user, "/gone/linter --fix")

    assert broken_hooks() == []


def test_a_python_that_is_gone_is_told(user: Path) -> None:
    settings(user, "/gone/python -m chronofile.infra.hook stop")

    assert [hook.program for hook in broken_hooks()] == [os.fspath(Path("/gone/python"))]
