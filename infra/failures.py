"""Failures: what a person is told of an error, wherever it is told."""

from __future__ import annotations

import re
import sys

from chronofile.domain.errors import ChronofileError
from chronofile.infra.database_errors import is_away

_PASSWORD_IN_URL = re.compile(r"(?<=://)([^/?#@:\s]*):(.*)@")
_PASSWORD_BY_NAME = re.compile(r"(password\s*=\s*)('(?:\\.|[^'])*'|[^\s&]+)", re.IGNORECASE)


def sentence_of(error: BaseException) -> str:
    """Return what an error means and what to do about it; nothing of passages, questions or passwords is in it."""
    if isinstance(error, ChronofileError):
        return masked(str(error))
    if _is_database_error(error):
        return _database_sentence(error)
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"The system says: {error.strerror or error}{where}."
    if type(error).__module__.startswith("chronofile."):
        return str(error)
    return f"Something is wrong in Chronofile itself ({type(error).__name__}); -vv shows where."


def is_expected(error: BaseException) -> bool:
    """Whether an error is the world's and not ours."""
    ours = type(error).__module__.startswith("chronofile.")
    return ours or isinstance(error, OSError) or _is_database_error(error)


def masked(text: str) -> str:
    """Return a text without the passwords of the connection strings in it."""
    return _PASSWORD_BY_NAME.sub(r"\1***", _PASSWORD_IN_URL.sub(r"\1:***@", text))


def _is_database_error(error: BaseException) -> bool:
    # A library that was not imported cannot have raised anything, and importing all three takes a third of a second.
    names = (
        ("psycopg", "Error"),
        ("sqlalchemy.exc", "DBAPIError"),
        ("eventsourcing.persistence", "PersistenceError"),
    )
    found = (getattr(sys.modules.get(module), name, None) for module, name in names)
    return isinstance(error, tuple(kind for kind in found if kind is not None))


def _database_sentence(error: BaseException) -> str:
    """The libraries wrap one another's errors; the innermost has what the server said."""
    cause: BaseException = error
    while (inner := getattr(cause, "orig", None) or cause.__cause__) is not None:
        cause = inner
    sqlstate = getattr(cause, "sqlstate", None)
    if is_away(sqlstate):
        said = masked(str(cause)).strip().split("\n", 1)[0] or type(cause).__name__
        return (
            f"The database does not answer ({said}). Nothing that was captured is lost: see that it runs and "
            "that CHRONOFILE_DATABASE_URL names it, then try again; `chronofile doctor` looks closer."
        )
    said = getattr(getattr(cause, "diag", None), "message_primary", None) or type(cause).__name__
    return f"The database refuses: {said} ({sqlstate}). `chronofile doctor` looks closer."
