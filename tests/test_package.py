"""The package: what a wheel holds, and the first run that the front page promises."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import chronofile
from tests.documents import REPOSITORY

LAYERS = ("domain", "infra", "ingest", "projections", "query")
NO_COPY = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "tests")


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["version"] == chronofile.__version__


def test_a_wheel_holds_every_file_of_the_layers(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY, tmp_path / "copy", symlinks=True, ignore=NO_COPY)
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        tmp_path,
        tmp_path / "copy",
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution found for setuptools" in built.stderr:
        pytest.skip("setuptools cannot be had to build a wheel")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("chronofile/")}
    files = {
        f"chronofile/{path.relative_to(REPOSITORY)}"
        for layer in LAYERS
        for path in (REPOSITORY / layer).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == files | {"chronofile/__init__.py", "chronofile/py.typed"}


def test_the_first_run_captures_a_folder_answers_and_leaves_nothing_behind(tmp_path: Path) -> None:
    source, temporary = tmp_path / "source", tmp_path / "temporary"
    source.mkdir()
    temporary.mkdir()
    temporary.chmod(0o777)
    (source / "servers.md").write_text("The staging server uses port 8443.\n")
    command: list[str | Path] = [
        sys.executable,
        REPOSITORY / "scripts" / "try.py",
        source,
        "--question",
        "which port is staging on?",
    ]
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "CHRONOFILE_DATABASE_URL": "postgresql://nowhere.invalid/",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 revision of 1 source captured" in done.stdout
    assert "The staging server uses port 8443." in done.stdout
    assert "chronofile ingest ~/.claude/projects" in done.stdout
    assert list(temporary.iterdir()) == []
