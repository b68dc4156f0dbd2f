"""Carrying out: what was planned goes into the log, and the contents out of the store, in the same transactions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from psycopg.sql import SQL, Identifier

from chronofile.domain import streams
from chronofile.domain.envelope import Addition
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.domain.events import ContentErased, Event
from chronofile.domain.identity import decoded, encoded
from chronofile.infra.erasing.exclusive import LOCK
from chronofile.infra.erasing.losses import Loss, Occasion
from chronofile.infra.erasing.plan import Plan, by_key, references

if TYPE_CHECKING:
    from chronofile.infra.parts import Parts

KEYS_MAX = 8_000
"""How many keys one event names of a kind: it stays under a megabyte."""
STREAMS_MAX = 500
BYTES_MAX = 64 << 20
"""How many streams, and bytes of new contents, one append takes."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is written down with an erasure: the reason somebody gave, and the receipt as it is known before."""

    reason: str | None
    receipt: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Step:
    """One append: the losses that it carries out, and the contents that nobody names after it."""

    losses: Sequence[Loss]
    deleted: frozenset[str]
    named: frozenset[str]
    """Streams of the plan that named one of these."""


def carry_out(
    parts: Parts,
    plan: Plan,
    questions: Collection[str],
    words: Words,
    now: Occasion,
    tick: Callable[[int], None] = lambda position: None,
) -> int:
    """Append what a plan comes to, and return the position of the last event; `tick` hears it after each append.

    Each append is whole: a process that is killed between two of them leaves what is not erased yet as it was.
    Raises WrongExpectedVersion where something was appended meanwhile that the plan does not know of.
    """
    stream = streams.erasure(now.erasure)
    after = len(parts.store.read(stream))
    position = plan.position
    with parts.store.cursor() as cursor:
        # A question may be what somebody wrote down elsewhere too.
        asked = frozenset(questions) - references(cursor, questions, plan.streams).keys()
    for part in list(_steps(plan)) or [_Step((), frozenset(), frozenset())]:
        step = replace(part, deleted=part.deleted | asked)
        events = _events(parts, step, words, now)
        positions = parts.store.append(
            [*_additions(step), Addition(stream, after, events)],
            contents=_contents(parts, step, words),
            alongside=partial(_erase, parts, plan, step, now),
            token=f"{now.erasure}.{after}",
        )
        after, position, asked = after + len(events), positions[-1], frozenset()
        tick(position)
    return position


def _steps(plan: Plan) -> Iterator[_Step]:
    """Part the plan. A content goes with the last of the streams that name it, which may need it until then."""
    last = {key: names[-1] for key, names in by_key(plan.losses).items() if key not in plan.kept}
    named = by_key(plan.losses)
    for losses in _parted(plan.losses):
        ending = {loss.stream for loss in losses}
        deleted = frozenset(key for loss in losses for key in loss.keys if last.get(key) in ending)
        also = frozenset(stream for key in deleted for stream in (*named[key], *plan.closed.get(key, ())))
        yield _Step(losses, deleted, also | ending)


def _parted(losses: Sequence[Loss]) -> Iterator[list[Loss]]:
    part: list[Loss] = []
    size = 0
    for loss in losses:
        more = sum(map(len, loss.contents.values()))
        if part and (len(part) >= STREAMS_MAX or size + more > BYTES_MAX):
            yield part
            part, size = [], 0
        part.append(loss)
        size += more
    if part:
        yield part


def _additions(step: _Step) -> list[Addition]:
    return [Addition(loss.stream, loss.version, loss.events) for loss in step.losses if loss.events]


def _contents(parts: Parts, step: _Step, words: Words) -> dict[str, bytes]:
    found = {key: content for loss in step.losses for key, content in loss.contents.items()}
    for text in (words.reason, _written(words.receipt)):
        if text is not None:
            found[parts.contents.text_key(text)] = encoded(text)
    return found


def _events(parts: Parts, step: _Step, words: Words, now: Occasion) -> list[Event]:
    """Return the events that tell of a step; where there is too much for one, the first names the streams."""
    key_of = parts.contents.text_key
    whole = ContentErased(
        contents=(),
        originals=(),
        streams=tuple(sorted(step.named)),
        closed=tuple(sorted(_closed(step.losses))),
        spans=tuple(sorted({span for _, span in _spans(step.losses)})),
        actor=now.actor,
        reason=None if words.reason is None else key_of(words.reason),
        receipt=key_of(_written(words.receipt)),
        observed_at=now.observed_at,
    )
    contents = list(_chunks(sorted(step.deleted)))
    originals = list(_chunks(sorted(_originals(step.losses))))
    found: list[Event] = []
    for number in range(max(1, len(contents), len(originals))):
        one = whole if number == 0 else replace(whole, streams=(), closed=(), spans=())
        found.append(
            replace(
                one,
                contents=tuple(contents[number]) if number < len(contents) else (),
                originals=tuple(originals[number]) if number < len(originals) else (),
            )
        )
    return found


def _erase(parts: Parts, plan: Plan, step: _Step, now: Occasion, cursor: Any) -> None:
    """Delete under the log's lock: whoever appends after it meets what is gone, and the tombstones."""
    cursor.execute(LOCK)
    if named := references(cursor, step.deleted, plan.streams, plan.position):
        raise WrongExpectedVersion(tuple(sorted({stream for found in named.values() for stream in found})))
    names = {key for loss in step.losses for key in loss.keys - loss.texts}
    _forget_files(cursor, parts, _closed(step.losses), names & step.deleted)
    cursor.execute("DELETE FROM log.content WHERE key = ANY(%s)", (list(step.deleted),))
    for table, column, found in (
        ("erased_content", "key", _originals(step.losses)),
        ("erased_source", "source", _closed(step.losses)),
    ):
        cursor.execute(
            SQL(
                "INSERT INTO {0} ({1}, erasure) SELECT unnest(%s::text[]), %s"
                " ON CONFLICT ({1}) DO UPDATE SET erasure = excluded.erasure"
            ).format(Identifier("log", table), Identifier(column)),
            (sorted(found), now.erasure),
        )
    spans = sorted(set(_spans(step.losses)))
    cursor.execute(
        "INSERT INTO log.erased_span (source, span, erasure) SELECT *, %s FROM unnest(%s::text[], %s::text[])"
        " ON CONFLICT DO NOTHING",
        (now.erasure, [source for source, _ in spans], [span for _, span in spans]),
    )


def _forget_files(cursor: Any, parts: Parts, closed: Collection[str], names: Collection[str]) -> None:
    """Delete what is remembered of the files of closed sources, and of those whose paths are deleted."""
    cursor.execute("SELECT key, codec, bytes FROM log.content WHERE key = ANY(%s)", (list(names),))
    found = [decoded(content) for content in parts.contents.unpacked(list(cursor)).values()]
    paths = [os.fsencode(name) for name in found if name.startswith(os.sep)]
    cursor.execute(
        "DELETE FROM log.files WHERE source = ANY(%s) OR sha256(path) = ANY(%s)",
        (list(closed), [sha256(path).digest() for path in paths]),
    )


def _closed(losses: Sequence[Loss]) -> set[str]:
    return {streams.id_of(loss.stream) for loss in losses if loss.closes}


def _originals(losses: Sequence[Loss]) -> set[str]:
    return {key for loss in losses for key in loss.originals}


def _spans(losses: Sequence[Loss]) -> Iterator[tuple[str, str]]:
    return ((streams.id_of(loss.stream), span) for loss in losses for span in loss.spans)


def _written(receipt: Mapping[str, Any]) -> str:
    return json.dumps(receipt, ensure_ascii=False, sort_keys=True)


def _chunks(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[start : start + KEYS_MAX] for start in range(0, len(keys), KEYS_MAX))
