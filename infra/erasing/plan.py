"""The plan of an erasure: what each stream loses and gets, decided from the log as it stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from chronofile.domain import streams
from chronofile.domain.envelope import Recorded
from chronofile.domain.events import Event
from chronofile.domain.identity import digest
from chronofile.infra.erasing.chains import Read
from chronofile.infra.erasing.losses import Loss, Occasion, redacted, whole, without
from chronofile.infra.erasing.tables import written
from chronofile.ingest import erased

if TYPE_CHECKING:
    from chronofile.infra.erasing.wanted import Found
    from chronofile.infra.parts import Parts

TOKEN_BYTES = 10
STREAMS_READ_MAX = 500

# What a closed source said up to its erasure keeps nothing: it shows nothing of it.
_REFERENCES = """
    WITH closed AS (
        SELECT gone.source, max(erasure.notification_id) AS position
        FROM log.erased_source AS gone JOIN log.events AS erasure ON originator_id = 'erasure-' || gone.erasure
        GROUP BY gone.source
    ), named AS (
        SELECT originator_id AS stream, (regexp_matches(convert_from(state, 'UTF8'), '[0-9a-f]{40}', 'g'))[1] AS key
        FROM log.events LEFT JOIN closed ON substr(originator_id, strpos(originator_id, '-') + 1) = closed.source
        WHERE notification_id > %s AND originator_id NOT LIKE 'erasure-%%' AND originator_id <> ALL(%s)
        AND (closed.position IS NULL OR notification_id > closed.position)
    )
    SELECT key, array_agg(DISTINCT stream ORDER BY stream) AS streams FROM named WHERE key = ANY(%s) GROUP BY key
"""


_CLOSED = """
    WITH named AS (
        SELECT originator_id AS stream, (regexp_matches(convert_from(state, 'UTF8'), '[0-9a-f]{40}', 'g'))[1] AS key
        FROM log.events JOIN log.erased_source ON substr(originator_id, strpos(originator_id, '-') + 1) = source
    )
    SELECT key, array_agg(DISTINCT stream ORDER BY stream) AS streams FROM named WHERE key = ANY(%s) GROUP BY key
"""


_NAMED_SINCE = """
    SELECT DISTINCT (regexp_matches(convert_from(state, 'UTF8'), '[0-9a-f]{40}', 'g'))[1] AS key
    FROM log.events WHERE notification_id > %s AND originator_id NOT LIKE 'erasure-%%'
"""


_VERSIONS = """
    SELECT originator_id AS stream, max(originator_version) AS version
    FROM log.events WHERE originator_id = ANY(%s) GROUP BY originator_id
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that an erasure would do to the log; `position` is where the log was read up to.

    `kept` are contents that other streams name too, by key, and `closed` the streams that were erased before and
    named a content that goes only now.
    """

    losses: tuple[Loss, ...]
    kept: Mapping[str, tuple[str, ...]]
    closed: Mapping[str, tuple[str, ...]]
    position: int

    @property
    def streams(self) -> list[str]:
        return [loss.stream for loss in self.losses]

    @property
    def deleted(self) -> set[str]:
        return {key for loss in self.losses for key in loss.keys} - self.kept.keys()

    def repeated(self, repeating: Mapping[str, Collection[str]], lines: Collection[str]) -> list[str]:
        """Return the streams that would still say one of the lines in words of their own, after this plan.

        `repeating` are the contents that say one now, each with the streams that name it. Those that are kept are told
        of by themselves.
        """
        cut = {key for loss in self.losses for key in loss.keys}
        found = {stream for key, named in repeating.items() if key not in cut for stream in named}
        forms = {form for line in lines for form in written(line)}
        for loss in self.losses if repeating else ():
            if any(form in content for content in loss.contents.values() for form in forms):
                found.add(loss.stream)
        return sorted(found)

    def token(self, store_key: bytes) -> str:
        """Return what binds a confirmation to exactly this plan."""
        fields: list[str | int] = []
        for loss in self.losses:
            fields += [
                loss.stream,
                loss.version,
                int(loss.closes),
                *sorted(loss.keys),
                *sorted(loss.contents),
            ]
        return digest("erase", *fields, *sorted(self.kept), key=store_key, size=TOKEN_BYTES)


Decide = Callable[[str, Sequence[Event], Read], Loss | None]


@dataclass(slots=True)
class Namers:
    """Which streams name a content, as far as the log was looked through: who asks again is told what came since."""

    _found: dict[str, set[str]] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)
    _but: frozenset[str] = frozenset()
    _position: int = 0

    def of(
        self, cursor: Any, keys: Collection[str], but: Collection[str], head: int
    ) -> dict[str, tuple[str, ...]]:
        """Return the streams that name each key, of all but the given ones; `head` is a position of just before."""
        if self._but != frozenset(but):
            self._found, self._asked, self._but = {}, set(), frozenset(but)
        for chosen, after in ((set(keys) - self._asked, 0), (self._asked & set(keys), self._position)):
            for key, named in references(cursor, chosen, but, after).items():
                self._found.setdefault(key, set()).update(named)
        self._asked, self._position = set(keys), head
        return {key: tuple(sorted(self._found[key])) for key in keys if key in self._found}


def plan_erasure(parts: Parts, found: Found, now: Occasion, namers: Namers | None = None) -> Plan:
    """Plan what is erased as a whole, and what is taken out of what else holds or quotes it. Raises NotCutOut."""
    position = parts.store.position()
    # What is quoted is known by what is whole: should this end in the middle, the quotations can be found again.
    losses = list(_losses(parts, found.quoting, partial(without, parts, now, found.long_texts, found.names)))
    losses += _losses(parts, found.whole, partial(whole, parts, now))
    losses += _losses(parts, found.holders, partial(without, parts, now, found.texts, found.names))
    return _settled(parts, losses, position, namers or Namers())


def plan_redaction(
    parts: Parts, wanted: Collection[str], now: Occasion, namers: Namers | None = None
) -> Plan:
    """Plan taking the secrets out of every revision of these streams."""
    position = parts.store.position()
    losses = list(_losses(parts, wanted, partial(redacted, parts, now)))
    return _settled(parts, losses, position, namers or Namers())


def references(
    cursor: Any, keys: Collection[str], but: Collection[str], after: int = 0
) -> dict[str, tuple[str, ...]]:
    """Return the streams that name each key in any event after a position, of all but the given ones."""
    if not keys:
        return {}
    cursor.execute(_REFERENCES, (after, list(but), list(keys)))
    return {row["key"]: tuple(row["streams"]) for row in cursor}


def named_since(cursor: Any, position: int) -> set[str]:
    """Return the keys that events after a position name."""
    cursor.execute(_NAMED_SINCE, (position,))
    return {row["key"] for row in cursor}


def _settled(parts: Parts, losses: Sequence[Loss], position: int, namers: Namers) -> Plan:
    """Return the plan without what is over already, with what others keep, and with the streams as they stand now.

    Looking through the log takes a while, in which a session goes on. What it says meanwhile is not in the plan,
    and is erased by the next one: from this one on the stream is closed.
    """
    # Empty bytes hold nothing, and many files are empty.
    nothing = parts.contents.key(b"")
    with parts.store.cursor() as cursor:
        cursor.execute("SELECT key FROM log.content WHERE key = ANY(%s)", (_keys(losses),))
        there = {row["key"] for row in cursor} - {nothing}
        closed = erased.of_sources(cursor, [streams.id_of(loss.stream) for loss in losses]).sources
        losses = [replace(loss, keys=loss.keys & there) for loss in losses]
        losses = [loss for loss in losses if not _is_over(loss, closed, ())]
        cursor.execute(_CLOSED, (list(there),))
        before = {row["key"]: tuple(row["streams"]) for row in cursor}
        named = namers.of(cursor, _keys(losses), [loss.stream for loss in losses], position)
        losses = [loss for loss in losses if not _is_over(loss, closed, named)]
        cursor.execute(_VERSIONS, ([loss.stream for loss in losses],))
        versions = {row["stream"]: row["version"] for row in cursor}
    settled = [
        replace(
            loss,
            version=versions.get(loss.stream, loss.version) if loss.closes else loss.version,
            originals=loss.originals - named.keys() - {nothing},
        )
        for loss in losses
    ]
    kept = {key: found for key, found in named.items() if any(key in loss.keys for loss in settled)}
    return Plan(tuple(settled), kept, before, position)


def _keys(losses: Sequence[Loss]) -> list[str]:
    return list({key for loss in losses for key in loss.keys | loss.originals})


def _is_over(loss: Loss, closed: Collection[str], kept: Collection[str]) -> bool:
    """Tell whether a stream was erased before and has come to nothing new since, but for what others keep."""
    return loss.closes and streams.id_of(loss.stream) in closed and loss.keys <= set(kept)


def _losses(parts: Parts, wanted: Collection[str], decide: Decide) -> Iterator[Loss]:
    names = list(wanted)
    read = _reader(parts)
    for start in range(0, len(names), STREAMS_READ_MAX):
        stored = parts.store.read_many(names[start : start + STREAMS_READ_MAX])
        for stream, recorded in stored.items():
            if (loss := decide(stream, _events(recorded), read)) is not None:
                yield loss


def _events(recorded: Sequence[Recorded]) -> list[Event]:
    return [one.event for one in recorded]


def _reader(parts: Parts) -> Read:
    """Return what reads one content at a time: a source may be larger than memory."""

    def read(key: str) -> bytes | None:
        return parts.read([key]).get(key)

    return read


def by_key(losses: Sequence[Loss]) -> dict[str, list[str]]:
    """Return the streams of the plan that name each key, in the plan's order."""
    found: dict[str, list[str]] = defaultdict(list)
    for loss in losses:
        for key in loss.keys:
            found[key].append(loss.stream)
    return found
