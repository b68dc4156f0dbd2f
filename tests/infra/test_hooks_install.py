"""Setting up hooks: an agent's settings get them, and keep everything else that they have."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chronofile.infra.agents.hooks import (
    CLIENTS,
    EVENTS,
    Installation,
    install,
    settings_file,
    uninstall,
)
from chronofile.infra.agents.settings import SettingsUnusable
from chronofile.ingest import spool
from tests.infra.command_line import PROGRAM, RUN_TIMEOUT_S

BOTH = pytest.mark.parametrize("name", sorted(CLIENTS))
FOREIGN = {
    "permissions": {"allow": ["Bash(ls:*)"], "n": 1.5},
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say 'done ü'", "timeout": 3}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}],
        "SessionStart": [{"matcher": "startup", "hooks": []}, "odd", {"hooks": 5}],
    },
    "model": "opus",
}


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for client in CLIENTS.values():
        monkeypatch.delenv(client.variable, raising=False)
    return folder


def installed(name: str, home: Path | None = None, *, write: bool = True) -> Installation:
    return install(CLIENTS[name], home, spool=Path("/home/spool"), write=write)


def settings(name: str) -> Any:
    return json.loads(settings_file(CLIENTS[name]).read_text("utf-8"))


def written(name: str, content: Any) -> Path:
    file = settings_file(CLIENTS[name])
    file.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content, indent=4, ensure_ascii=False) + "\n"
    file.write_text(text, "utf-8")
    return file


def commands(found: Any, event: str) -> list[str]:
    groups = [group for group in found["hooks"][event] if isinstance(group, dict)]
    hooks = [group["hooks"] for group in groups if isinstance(group["hooks"], list)]
    return [hook["command"] for group in hooks for hook in group]


@BOTH
def test_settings_that_are_not_there_are_made_with_every_event(name: str) -> None:
    found = installed(name)

    assert (found.changed, found.written) == (True, True)
    assert settings(name) == {"hooks": found.hooks}
    assert set(found.hooks) == set(EVENTS)
    for event in EVENTS:
        (command,) = commands(settings(name), event)
        words = shlex.split(command)
        assert Path(words[0]).is_absolute()
        assert words[-3:] == [event, "--agent", name]
    assert stat.S_IMODE(settings_file(CLIENTS[name]).stat().st_mode) == 0o600


@BOTH
def test_what_is_shown_is_not_written_unless_it_is_asked_for(name: str) -> None:
    found = installed(name, write=False)
    assert (found.changed, found.written) == (True, False)
    assert not settings_file(CLIENTS[name]).exists()
    assert any("unredacted in /home/spool" in sentence for sentence in found.notes)


@BOTH
def test_others_hooks_and_settings_stay_as_they_are_and_in_their_order(name: str) -> None:
    file = written(name, FOREIGN)
    before = json.loads(file.read_text("utf-8"))

    installed(name)

    after = settings(name)
    assert list(after) == list(before)
    for event, groups in before["hooks"].items():
        assert after["hooks"][event][: len(groups)] == groups
    assert len(after["hooks"]["Stop"]) == 2
    assert '\n    "permissions"' in file.read_text("utf-8")
    assert "done ü" in file.read_text("utf-8")


@BOTH
def test_installing_again_changes_nothing(name: str) -> None:
    file = written(name, FOREIGN)
    installed(name)
    before, status = file.read_bytes(), file.stat()

    again = installed(name)

    assert (again.changed, file.read_bytes(), file.stat().st_ino) == (False, before, status.st_ino)


@BOTH
def test_a_hook_of_ours_that_was_moved_or_changed_is_brought_up_to_date(name: str) -> None:
    old = {
        "type": "command",
        "command": f"/old/bin/chronofile-hook Stop --agent {name}",
        "timeout": 1,
        "x": 2,
    }
    written(name, {"hooks": {"Stop": [{"matcher": "m", "hooks": [old]}]}})
    found = installed(name)
    (group,) = settings(name)["hooks"]["Stop"]
    assert group == {"matcher": "m", "hooks": [{"x": 2, **found.hooks["Stop"][0]["hooks"][0]}]}


@BOTH
def test_a_home_of_ones_own_is_named_and_another_homes_hooks_stay(name: str) -> None:
    installed(name)
    installed(name, Path("/my memory"))
    first, second = commands(settings(name), "Stop")
    assert "--home" not in first
    assert shlex.split(second)[-2:] == ["--home", "/my memory"]


@BOTH
def test_uninstalling_takes_out_what_was_installed_and_nothing_else(name: str) -> None:
    file = written(name, FOREIGN)
    installed(name)
    installed(name, Path("/another"))

    assert uninstall(CLIENTS[name], None, write=False).changed
    assert uninstall(CLIENTS[name], None, write=True).written
    assert len(commands(settings(name), "Stop")) == 2
    uninstall(CLIENTS[name], Path("/another"), write=True)

    assert json.loads(file.read_text("utf-8")) == json.loads(json.dumps(FOREIGN))
    assert not uninstall(CLIENTS[name], None, write=True).changed


@BOTH
def test_uninstalling_from_settings_that_held_nothing_else_leaves_an_empty_object(name: str) -> None:
    installed(name)
    uninstall(CLIENTS[name], None, write=True)
    assert settings(name) == {}


@pytest.mark.parametrize(
    "content",
    [
        "{", "[]", '"x"', '{"a": 1} x', "{'a': 1}", '{"a": 1, // why\n "b": 2}', '{"a": 1, "a": 2}', '{"a": NaN}',
        '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": null}', "[" * 100_000,
    ],
)  # fmt: skip
def test_settings_that_cannot_be_merged_into_are_refused_and_left(content: str) -> None:
    file = written("claude-code", content)
    with pytest.raises(SettingsUnusable, match=r"settings\.json"):
        installed("claude-code")
    assert file.read_text("utf-8") == content


NUMBERS = [
    "1e400",
    "-1E-400",
    "12345678901234567890.123",
    "1.0",
    "1.50",
    "10",
    "-0",
    "-0.0",
    "0.1",
    "1e5",
    "9" * 5_000,
]


@BOTH
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_come_back_as_they_were_spelled(name: str, number: str) -> None:
    foreign = f'{{"type": "command", "command": "say", "timeout": {number}}}'
    file = written(name, f'{{"n": {number}, "hooks": {{"Stop": [{{"hooks": [{foreign}]}}]}}}}')

    installed(name)
    once = file.read_text("utf-8")
    again = installed(name)
    uninstall(CLIENTS[name], None, write=True)

    assert not again.changed
    for text in (once, file.read_text("utf-8")):
        assert f'"n": {number},' in text
        assert f'"timeout": {number}\n' in text


def test_half_a_character_is_written_again_as_an_escape() -> None:
    file = written("claude-code", '{"half": "\\ud83d", "whole": "\\ud83d\\ude00"}')
    installed("claude-code")
    found = json.loads(file.read_bytes().decode("utf-8"))
    assert (found["half"], found["whole"]) == ("\ud83d", "\U0001f600")
    assert not installed("claude-code").changed


def test_settings_that_are_no_utf_8_or_a_folder_are_refused() -> None:
    file = written("claude-code", "")
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(SettingsUnusable):
        installed("claude-code")
    file.unlink()
    file.mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        installed("claude-code")


def test_a_byte_order_mark_line_ends_and_an_empty_file_are_kept() -> None:
    file = written("claude-code", "")
    file.write_bytes(b'\xef\xbb\xbf{\r\n\t"a": 1\r\n}')
    installed("claude-code")
    content = file.read_bytes()
    assert content.startswith(b'\xef\xbb\xbf{\r\n\t"a": 1,\r\n\t"hooks"')
    assert content.endswith(b"}")
    assert b"\n" not in content.replace(b"\r\n", b"")
    file.write_bytes(b" \n")
    assert installed("claude-code").changed


def test_the_files_mode_is_kept_and_a_link_stays_a_link(user: Path) -> None:
    real = user / "dotfiles" / "settings.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    file = settings_file(CLIENTS["claude-code"])
    file.parent.mkdir()
    file.symlink_to(real)

    installed("claude-code")

    assert file.is_symlink()
    assert "hooks" in json.loads(real.read_text())
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert list(real.parent.iterdir()) == [real]


@BOTH
def test_the_agents_own_variable_names_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CLIENTS[name].variable, str(tmp_path / "elsewhere"))
    installed(name)
    assert (tmp_path / "elsewhere" / CLIENTS[name].file).is_file()


def test_hooks_that_codex_has_switched_off_are_told(user: Path) -> None:
    (user / ".codex").mkdir()
    (user / ".codex" / "config.toml").write_text("# mine\n[features]\nhooks = false\n")
    assert any("switched off" in sentence for sentence in installed("codex").notes)
    assert (user / ".codex" / "config.toml").read_text().startswith("# mine")


def test_the_command_that_is_installed_notes_an_event(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    installed("claude-code", home)
    (command,) = commands(settings("claude-code"), "PreCompact")
    done = subprocess.run(["sh", "-c", command], input=b"{}", env={}, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    assert len(spool.waiting(home)) == 1


def test_the_command_line_shows_writes_and_refuses(user: Path) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        environment = {"PATH": os.environ["PATH"], "HOME": str(user)}
        done = subprocess.run(
            [*PROGRAM, "hooks", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_TIMEOUT_S,
        )
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    assert run()[:2][0] == 0
    assert "install" in run()[1]
    status, out, err = run("install", "--for", "claude-code")
    assert (status, set(json.loads(out)["hooks"])) == (0, set(EVENTS))
    assert "unredacted" in err
    status, out, _ = run("install", "--for", "claude-code", "--write", "--json")
    assert (status, json.loads(out)["written"]) == (0, True)
    assert run("install", "--for", "claude-code", "--write")[2].count("has it already") == 1
    assert run("install")[0] == 2
    assert run("install", "--for", "emacs")[0] == 2
    written("claude-code", "{")
    status, out, err = run("install", "--for", "claude-code", "--write")
    assert (status, out) == (1, "")
    assert "left as they are" in err
