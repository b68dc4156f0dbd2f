"""The place of an embedded Postgres: its data folder, its socket and the account that it runs as."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from chronofile.infra.embedded.errors import (
    DataFolderMissing,
    DataFolderOfAnotherHome,
    NoPermission,
    SocketFolderUnsafe,
)

ROOT_FOLDER = Path("/var/lib/chronofile")
"""Where root's data folders are: PostgreSQL refuses to run as root, and no other account may enter root's home."""

PORT = 5432
"""Only a part of the socket's name: the server listens on no network address."""

SOCKET_NAME = f".s.PGSQL.{PORT}"
SOCKET_PATH_BYTES_MAX = 103
"""`sun_path` holds 107 bytes and a zero on Linux, 103 and a zero on macOS."""

# A comma separates folders for libpq and the server, quotes and backslashes would need escaping in both.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._@+=~ -]+")
_ACCOUNTS = ("chronofile", "postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """The operating system's account that the server runs as and that owns its files."""

    uid: int
    gid: int

    @property
    def names(self) -> list[str]:
        """The names that may connect: the account's own and root's, which may read its files anyway."""
        return [name for uid in sorted({0, self.uid}) if (name := _name(uid)) is not None]

    @property
    def is_other(self) -> bool:
        """Whether child processes have to change to it, which only root can do."""
        return os.geteuid() == 0 and self.uid != 0


@dataclass(frozen=True, slots=True)
class Place:
    """Everything about one home's server that can be said before it runs."""

    home: Path
    data_folder: Path
    account: Account

    @property
    def socket_folder(self) -> Path:
        """The data folder, or a folder named by its hash in /tmp where that path is too long or not plain.

        It depends on no environment variable, since MCP clients strip those: every process finds the same.
        """
        own = str(self.data_folder / SOCKET_NAME)
        if len(os.fsencode(own)) <= SOCKET_PATH_BYTES_MAX and _PLAIN_PATH.fullmatch(own):
            return self.data_folder
        return Path("/tmp") / f"chronofile-{self.account.uid}-{_hash(self.data_folder)}"

    @property
    def socket(self) -> Path:
        return self.socket_folder / SOCKET_NAME

    @property
    def startup_log(self) -> Path:
        """What the server and initdb say before the log in the data folder exists."""
        return self.home / "postgres.log"


def place_for(home: Path) -> Place:
    """Make the home where it is missing (mode 0700) and say where its server is or will be."""
    home = home.expanduser().resolve()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    data_folder = data_folder_for(home)
    if data_folder.parent == ROOT_FOLDER:
        _make_root_folder()
    return Place(home, data_folder, _account(home, data_folder))


def data_folder_for(home: Path) -> Path:
    """Return the data folder of a home; nothing is created.

    It is `home/postgres`, which may be a link. In a home that root owns, used by root, it is
    `/var/lib/chronofile/<hash of the home's path>`, since the server cannot run as root and nobody else may be
    able to enter the home. A home of a user, used by root, stays the user's.
    """
    home = home.expanduser().resolve()
    inside, own = home / "postgres", ROOT_FOLDER / _hash(home)
    if inside.is_symlink():
        target = inside.resolve()
        if not target.exists():
            raise DataFolderMissing(inside, target)
        if target.parent == ROOT_FOLDER.resolve() and target.name != own.name:
            raise DataFolderOfAnotherHome(inside, target, own)
        return own if target.parent == ROOT_FOLDER.resolve() else target
    if os.geteuid() != 0 or inside.exists() or (home.exists() and home.stat().st_uid != 0):
        return inside
    return own


def link_from_home(place: Place) -> None:
    """Leave a link in the home to a data folder elsewhere, once that exists.

    People find their data by it, and a folder that is lost is then an error and no silent, empty store.
    """
    if place.data_folder.parent == ROOT_FOLDER and not _link(place).is_symlink():
        _link(place).symlink_to(place.data_folder)


def is_left(place: Place) -> bool:
    """Whether the data folder is one of root's that an earlier home at the same path left: our home has no link.

    Whoever deletes a home expects an empty store at the next start.
    """
    is_outside = place.data_folder.parent == ROOT_FOLDER
    return is_outside and place.data_folder.exists() and not _link(place).is_symlink()


def set_aside(place: Place) -> None:
    """Move a data folder that was left to `<name>.left`, over what was left before."""
    if is_left(place):
        shutil.rmtree(left_from(place), ignore_errors=True)
        place.data_folder.rename(left_from(place))


def left_from(place: Place) -> Path:
    """Return where `set_aside` moves a data folder to."""
    return place.data_folder.with_name(f"{place.data_folder.name}.left")


def prepare_socket_folder(place: Place) -> None:
    """Make the socket's folder, for the account alone; refuse one that somebody else prepared.

    Anybody can make folders in /tmp, so a link, a foreign owner or an open mode is an attack or an accident.
    """
    folder = place.socket_folder
    if folder == place.data_folder:
        return
    try:
        folder.mkdir(mode=0o700)
        if place.account.is_other:
            os.chown(folder, place.account.uid, place.account.gid, follow_symlinks=False)
    except FileExistsError:
        pass
    found = folder.lstat()
    if (
        not stat.S_ISDIR(found.st_mode)
        or found.st_uid != place.account.uid
        or stat.S_IMODE(found.st_mode) & 0o077
    ):
        raise SocketFolderUnsafe(folder)


def open_in_home(path: Path, flags: int) -> int:
    """Open a file in the home by descriptor, made where it is missing (mode 0600) and not through a link.

    Where root works in a user's home the file becomes the user's, who must be able to open it afterwards.
    """
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    home = path.parent.stat()
    if os.geteuid() == 0 and os.fstat(descriptor).st_uid != home.st_uid:
        os.fchown(descriptor, home.st_uid, home.st_gid)
    return descriptor


def write_for_account(path: Path, text: str, account: Account) -> None:
    """Replace a file by one with this text that only the account can read; unchanged text is not written.

    A new file takes the name, so that root never writes through a link that the account has planted.
    """
    try:
        if path.read_text("utf-8") == text:
            return
    except FileNotFoundError:
        pass
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        if account.is_other:
            os.fchown(descriptor, account.uid, account.gid)
    Path(name).replace(path)


def _link(place: Place) -> Path:
    return place.home / "postgres"


def _account(home: Path, data_folder: Path) -> Account:
    from pwd import getpwnam

    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for folder in (data_folder, home):
        if folder.exists() and (found := folder.stat()).st_uid != 0:
            return Account(found.st_uid, found.st_gid)
    for name in _ACCOUNTS:
        with suppress(KeyError):
            entry = getpwnam(name)
            return Account(entry.pw_uid, entry.pw_gid)
    raise NoPermission(
        data_folder, f"PostgreSQL cannot run as root and no account {' or '.join(_ACCOUNTS)} exists"
    )


def _make_root_folder() -> None:
    try:
        ROOT_FOLDER.mkdir(parents=True)
        # The umask may have taken what the server's account needs to reach its own folder.
        ROOT_FOLDER.chmod(0o755)
    except FileExistsError:
        pass
    found = ROOT_FOLDER.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0:
        raise NoPermission(ROOT_FOLDER, "it must be a folder of root")


def _hash(path: Path) -> str:
    return blake2b(os.fsencode(path), digest_size=8).hexdigest()


def _name(uid: int) -> str | None:
    from pwd import getpwuid

    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return None
