"""Where the home is, found as every command finds it but without an import that takes long."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


class Refused(Exception):
    """The event cannot be noted."""


def home_of(flag: str | None) -> str:
    """Return the home: flag over environment over the user's data folder. Raises Refused where there is none."""
    named = flag or os.environ.get("CHRONOFILE_HOME")
    if not named:
        return default_home(os.environ, sys.platform)
    folder = os.path.expanduser(named)
    if folder.startswith("~") and named.startswith("~"):
        raise Refused(f"there is no user's folder {named[:80]!r}.")
    return os.path.join(working_directory(), folder)


def default_home(environment: Mapping[str, str], platform: str) -> str:
    """Return the folder that is the home where none is named: the same as `platformdirs` has it, without its import.

    Raises Refused where the user has no folder.
    """
    if platform == "win32":
        local = environment.get("LOCALAPPDATA") or environment.get("USERPROFILE", "") + r"\AppData\Local"
        return local.rstrip("\\") + r"\chronofile"
    if (named := environment.get("XDG_DATA_HOME", "")).startswith("/"):
        return os.path.join(named, "chronofile")
    folder = "Library/Application Support" if platform == "darwin" else ".local/share"
    return os.path.join(_user_folder(environment), folder, "chronofile")


def _user_folder(environment: Mapping[str, str]) -> str:
    home = environment.get("HOME", "")
    if home.startswith("/"):
        return home
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        raise Refused("no HOME is set, and the system knows no folder of this user.") from None


def working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/"
