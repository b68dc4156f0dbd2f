"""Writing: a file that appears as a whole under its name, or not at all, and takes no other's place unasked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from chronofile.domain.errors import ChronofileError


class FileIsThere(ChronofileError):
    """There is something of this name, and it is left as it is:"""

    def __init__(self, path: Path, *, replaceable: bool) -> None:
        advice = "--force replaces it." if replaceable else "It is no regular file."
        super().__init__(f"{path}. {advice}")
        self.path = path


@contextmanager
def new_file(path: Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for writing beside `path`, for its owner alone, and move it there at the end.

    Where anything goes wrong, an interrupt too, nothing is left of it. With `force` it takes the place of a
    regular file, also of one that a link leads to. Raises FileIsThere, OSError.
    """
    _require_free(path, force=force)
    path = Path(os.path.realpath(path))
    path.parent.stat()
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=".chronofile-", suffix=".part")
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123  # It is open already.
            yield file
            file.flush()
            os.fsync(descriptor)
        _move(Path(beside), path, force=force)
    finally:
        Path(beside).unlink(missing_ok=True)


def _require_free(path: Path, *, force: bool) -> None:
    if os.path.lexists(path):
        replaceable = path.is_file() or not path.exists()
        if not (force and replaceable):
            raise FileIsThere(path, replaceable=replaceable)


def _move(beside: Path, path: Path, *, force: bool) -> None:
    if not force:
        try:
            # Unlike a renaming this fails where somebody else has made the file meanwhile.
            os.link(beside, path)
        except FileExistsError as error:
            raise FileIsThere(path, replaceable=path.is_file()) from error
        except OSError:
            # Not every file system has links.
            _require_free(path, force=False)
        else:
            return
    beside.replace(path)
