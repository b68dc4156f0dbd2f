"""Requests: what a caller asks for, in a person's words, becomes a question about one store."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote_to_bytes

from chronofile.domain.errors import BadRequest, UnknownSource
from chronofile.domain.identity import storable
from chronofile.domain.scopes import ALL, NAME_CHARS_MAX, is_scope_name
from chronofile.domain.times import parse_bound
from chronofile.ingest import known
from chronofile.ingest.sighting import uri_of
from chronofile.query import catalogue
from chronofile.query.question import LIMIT_DEFAULT, Filters, Question

if TYPE_CHECKING:
    import sqlalchemy as sa

    from chronofile.infra.event_store import EventStore

LIMIT_MAX = 1_000_000
FILE_SCHEME = "file://"
COPY = "was read, but brought no source: what it holds was captured from another file before, or is erased"
"""What is said of a file that holds several sources, none of them captured from it."""
MARKS_MAX = 8
"""How many `#` of a name are tried as the one between a file and a conversation in it."""


def question_of(
    query: str,
    fields: Mapping[str, Any],
    *,
    scopes_here: Callable[[], tuple[str, ...] | None],
    store: EventStore,
    engine: sa.Engine,
    now: datetime,
) -> Question:
    """Return the question that the fields of `Memory.search` mean; `scopes_here` are those asked when none is named.

    Raises BadRequest, UnknownSource, UnreadableTime.
    """
    limit = fields.get("limit", LIMIT_DEFAULT)
    if not 0 <= limit <= LIMIT_MAX:
        raise BadRequest(f"--limit is a number from 0 to {LIMIT_MAX}, not {limit}.")
    source = fields.get("source")
    wanted = fields.get("scope")
    return Question(
        text=query,
        filters=Filters(
            scopes=scopes_here() if wanted is None else _scopes(wanted),
            topic=storable(fields.get("topic")),
            kind=storable(fields.get("kind")),
            session=storable(fields.get("session")),
            speaker=storable(fields.get("speaker")),
            source_ids=None if source is None else sources_named(source, store, engine),
            since=_moment(fields.get("since"), end=False),
            until=_moment(fields.get("until"), end=True),
        ),
        at=_moment(fields.get("at"), end=False) or now,
        as_of=_position(fields.get("as_of"), store),
        limit=limit,
        explain=bool(fields.get("explain")),
    )


def require_scope_name(scope: str | None) -> None:
    """Raise BadRequest for what cannot be the name of a scope."""
    if scope is not None and not is_scope_name(scope):
        rule = f"a name is one line of 1 to {NAME_CHARS_MAX} characters other than {ALL!r}"
        raise BadRequest(f"{scope[:NAME_CHARS_MAX]!r} is no name for a scope; {rule}.")


def sources_named(source: str, store: EventStore, engine: sa.Engine) -> tuple[str, ...]:
    """Return the sources that a URI or a path means, one of a conversation too; raises UnknownSource."""
    paths = _paths_of(source)
    with store.cursor() as cursor:
        read = known.files(cursor, [Path(path) for path in paths]).values()
    also = {file.source for file in read if file.source is not None}
    try:
        return catalogue.source_ids(engine, _uris_of(source, paths), paths, also)
    except UnknownSource as error:
        if any(file.sources > 1 for file in read):
            raise UnknownSource(f"({source} {COPY})") from error
        raise


def names_of(source: str) -> list[str]:
    """Return the URIs and paths that a source's URI or a path may mean."""
    paths = _paths_of(source)
    return list(dict.fromkeys([*_uris_of(source, paths), *paths]))


def file_of(uri: str) -> Path | None:
    """Return the file that a source's URI names, or says to hold it; None of a source that is in no file."""
    if not uri.startswith(FILE_SCHEME):
        return None
    return Path(os.fsdecode(unquote_to_bytes(uri.removeprefix(FILE_SCHEME).partition("#")[0])))


def working_directory() -> Path | None:
    """Return where this process is, None when somebody deleted that under it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _scopes(wanted: str | Sequence[str]) -> tuple[str, ...] | None:
    names = [wanted] if isinstance(wanted, str) else wanted
    return None if ALL in names else tuple(storable(name) or "" for name in names)


def _paths_of(source: str) -> list[str]:
    """Return the paths that a source's URI or a path may mean, as it is and without links; none for one session."""
    is_uri = source.startswith(FILE_SCHEME)
    if is_uri and "#" in source:
        return []
    try:
        path = os.fsdecode(unquote_to_bytes(source.removeprefix(FILE_SCHEME))) if is_uri else source
        return list(dict.fromkeys([str(Path(path).absolute()), os.path.realpath(path)]))
    except ValueError:  # No file can be called so.
        return []


def _uris_of(source: str, paths: Sequence[str]) -> list[str]:
    """Return the URIs that a source's URI or a path may mean.

    `file#id` means a conversation in a file, as a list of sources shows it; not where a file is called so.
    """
    uris = [source, *(uri_of(Path(path)) for path in paths)]
    if source.startswith(FILE_SCHEME) or any(map(os.path.lexists, paths)):
        return uris
    for at in [at for at, letter in enumerate(source) if letter == "#"][-MARKS_MAX:]:
        file, name = source[:at], source[at + 1 :]
        names = dict.fromkeys([name, quote(name, errors="surrogatepass")])
        uris += [f"{uri_of(Path(path))}#{one}" for path in _paths_of(file) for one in names if file]
    return uris


def _position(as_of: str | int | datetime | None, store: EventStore) -> int | None:
    if as_of is None or isinstance(as_of, int):
        return as_of
    if isinstance(as_of, str) and as_of.strip().isdecimal():
        return int(as_of)
    moment = _moment(as_of, end=True)
    return None if moment is None else store.position_at(moment)


def _moment(value: str | datetime | None, *, end: bool) -> datetime | None:
    """Return a point in time; one without an offset is local time."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return None if value is None else parse_bound(value, end=end)
