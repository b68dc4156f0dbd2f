"""Database errors: what the libraries raise, in Chronofile's own words where a person can do something about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from chronofile.domain.errors import ChronofileError, DatabaseUnavailable, LogBusy


class DiskFull(ChronofileError):
    """The database's disk is full; nothing was written: make room on it, then try again."""


def is_away(sqlstate: str | None) -> bool:
    """Whether an error's code says that the database does not answer.

    A connection that fails or breaks has no code; 08 and 57P are the server's words for the same.
    """
    return sqlstate is None or sqlstate.startswith(("08", "57P"))


def named(error: BaseException, advice: str = "") -> ChronofileError | None:
    """Return the error that a person understands, None where the library's own says more.

    SQLAlchemy's errors count as what they wrap; `advice` follows where the database does not answer.
    """
    # Whoever only asks whether a code means away need not load the libraries.
    import psycopg
    from psycopg_pool import PoolTimeout

    cause = getattr(error, "orig", None) or error
    if not isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return None
    if isinstance(cause, psycopg.errors.LockNotAvailable | PoolTimeout):
        return LogBusy()
    said = str(cause).strip().split("\n", 1)[0]
    if isinstance(cause, psycopg.errors.DiskFull):
        return DiskFull(f"({said})")
    return DatabaseUnavailable(f"({said}) {advice}".strip()) if is_away(cause.sqlstate) else None


@contextmanager
def naming_database_errors() -> Iterator[None]:
    """Raise what `named` returns, whichever library says it, and how to go on; other errors pass."""
    import psycopg
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except (psycopg.Error, DBAPIError) as error:
        found = named(error, "An embedded one starts when the memory is opened anew.")
        if found is None:
            raise
        raise found from error
