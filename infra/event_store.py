"""The event store: every event, in the order in which it was committed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, LiteralString

import psycopg
from eventsourcing.persistence import StoredEvent
from psycopg.errors import DeadlockDetected, UniqueViolation
from psycopg.sql import SQL, Composed, Identifier, Literal

from chronofile.domain.codec import dumps, event_of, name_of, written
from chronofile.domain.envelope import Addition, Page, Recorded
from chronofile.domain.errors import WrongExpectedVersion
from chronofile.domain.times import FIRST, iso
from chronofile.domain.upcasts import version_of
from chronofile.infra.contents import ContentErasedMeanwhile, ContentStore
from chronofile.infra.datastore import Datastore, PostgresApplicationRecorder

Row = dict[str, Any]
Cursor = psycopg.Cursor[Row]
Alongside = Callable[[Cursor], None]
READ_EVENTS_MAX = 10_000


def now_utc() -> datetime:
    return datetime.now(UTC)


class Recorder(PostgresApplicationRecorder):
    """The library's recorder in a plain transaction.

    Its own `insert_events` sends a pipeline, which never returns once the parameters pass about 1.4 MB,
    and tries ten times, so that a lost reply to a commit becomes a conflict with oneself.
    """

    def __init__(self, datastore: Datastore, table: str) -> None:
        super().__init__(datastore, events_table_name=table)
        self.lock_statement = self._on_table(
            "SET LOCAL lock_timeout = {timeout_ms}; LOCK TABLE {table} IN EXCLUSIVE MODE; NOTIFY {channel}"
        )
        # Under the lock the sequence gives consecutive numbers, with gaps only where an append was undone.
        self.standing_statement = self._on_table(
            "SELECT (SELECT state FROM {table} ORDER BY notification_id DESC LIMIT 1) AS last,"
            " ARRAY(SELECT coalesce((SELECT max(originator_version) FROM {table} WHERE originator_id = stream), 0)"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS streams (stream, number) ORDER BY number) AS versions"
        )
        self.positions_statement = self._on_table(
            "SELECT ARRAY(SELECT nextval({sequence}) FROM generate_series(1, %s)) AS positions"
        )
        self.copy_statement = self._on_table(
            "COPY {table} (originator_id, originator_version, topic, state, notification_id)"
            " FROM STDIN (FORMAT binary)"
        )
        self.after_statement = self._on_table(
            "SELECT * FROM {table} WHERE notification_id > %s ORDER BY notification_id LIMIT %s"
        )
        self.streams_statement = self._on_table(
            "SELECT * FROM {table} WHERE originator_id = ANY(%s) ORDER BY originator_id, originator_version"
        )
        self.places_statement = self._on_table(
            "SELECT e.* FROM {table} e JOIN unnest(%s::text[], %s::bigint[]) AS place (stream, version)"
            " ON e.originator_id = place.stream AND e.originator_version = place.version"
            " ORDER BY notification_id"
        )

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int]:
        with self.datastore.get_connection() as conn, conn.transaction(), conn.cursor() as cursor:
            self.lock(cursor)
            return self.insert(cursor, map(_row, stored_events), len(stored_events))

    def lock(self, cursor: Cursor) -> None:
        """Wait until no other writer holds positions that it has not committed; wake the listeners on commit."""
        cursor.execute(self.lock_statement)

    def insert(self, cursor: Cursor, rows: Iterable[tuple[str, int, str, bytes]], count: int) -> list[int]:
        """Insert so many events under the lock and return the new positions.

        The rows (stream, version, name, state) go out as they come, so that the server stores the first
        while the last are still being written down. COPY takes less than half the time of an INSERT.
        """
        cursor.execute(self.positions_statement, (count,), binary=True)
        (found,) = cursor
        positions: list[int] = found["positions"]
        with cursor.copy(self.copy_statement) as copy:
            copy.set_types(["text", "int8", "text", "bytea", "int8"])
            for row, position in zip(rows, positions, strict=True):
                copy.write_row((*row, position))
        return positions

    def _on_table(self, statement: LiteralString) -> Composed:
        schema, table = self.datastore.schema, self.events_table_name
        assert isinstance(self.datastore, Datastore)
        return SQL(statement).format(
            table=Identifier(schema, table),
            sequence=Literal(f"{schema}.{table}_notification_id_seq"),
            channel=Identifier(self.channel_name),
            timeout_ms=Literal(int(self.datastore.lock_timeout_s * 1000)),
        )


class EventStore:
    """One log on one table: the events, or the ledger."""

    def __init__(
        self,
        datastore: Datastore,
        contents: ContentStore,
        *,
        table: str = "events",
        clock: Callable[[], datetime] = now_utc,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._datastore, self._contents = datastore, contents
        self._recorder = Recorder(datastore, table)
        self._clock, self._new_id = clock, new_id

    @property
    def channel(self) -> str:
        """The name to LISTEN on for "something was appended"."""
        return self._recorder.channel_name

    def append(
        self,
        additions: Sequence[Addition],
        *,
        contents: Mapping[str, bytes] | None = None,
        alongside: Alongside | None = None,
        token: str | None = None,
    ) -> list[int]:
        """Append to several streams in one transaction and return the positions, in order.

        Contents, and what `alongside` writes, go into the same transaction, before the lock. With the
        `token` of an earlier try that may have been committed, an append recognises itself and returns
        the positions it got then. Raises WrongExpectedVersion when a stream does not stand where an
        addition says or one of the contents was erased meanwhile, LogBusy when the lock was not to be had;
        nothing is written then.
        """
        count = sum(len(addition.events) for addition in additions)
        if not count:
            return []
        token = token or self._new_id()
        try:
            with self._datastore.get_connection() as conn, conn.transaction(), conn.cursor() as cursor:
                self._contents.write(cursor, contents or {})
                if alongside is not None:
                    alongside(cursor)
                self._recorder.lock(cursor)
                self._contents.require(cursor, contents or {})
                recorded_at = max(self._clock(), self._checked(cursor, additions))
                return self._recorder.insert(cursor, _rows(additions, token, iso(recorded_at)), count)
        except (ContentErasedMeanwhile, WrongExpectedVersion, UniqueViolation, DeadlockDetected) as error:
            # What `alongside` writes can be there already, or be written by two appends in opposite orders.
            if positions := self._positions_of(additions, token):
                return positions
            (found,) = self._read(self._recorder.standing_statement, _streams(additions))
            wrong = _elsewhere(additions, found["versions"])
            raise WrongExpectedVersion(wrong or tuple(_streams(additions))) from error

    def read(self, stream: str) -> list[Recorded]:
        return self.read_many([stream])[stream]

    def read_many(self, streams: Sequence[str]) -> dict[str, list[Recorded]]:
        """Return every event of each stream, in order; an empty list for a stream that does not exist."""
        found: dict[str, list[Recorded]] = {stream: [] for stream in streams}
        for row in self._read(self._recorder.streams_statement, list(found)):
            found[row["originator_id"]].append(_recorded(row))
        return found

    def cursor(self) -> AbstractContextManager[Cursor]:
        """Return a cursor of dict rows on the log's database, each statement a transaction of its own."""
        return self._datastore.cursor()

    def position(self) -> int:
        """Return the position of the last event, 0 when there is none."""
        return self._recorder.max_notification_id() or 0

    def after(self, position: int, limit: int = READ_EVENTS_MAX) -> list[Recorded]:
        """Return at most `limit` events after the position, in order."""
        return [_recorded(row) for row in self._read(self._recorder.after_statement, position, limit)]

    def pages(self, position: int = 0, size: int = READ_EVENTS_MAX) -> Iterator[Page]:
        while events := self.after(position, size):
            yield Page(position, events[-1].position, events)
            position = events[-1].position

    def position_at(self, moment: datetime) -> int:
        """Return the position of the last event recorded by then, 0 when there was none yet.

        `recorded_at` never runs backwards, so a binary search over positions finds it without an index.
        """
        low, high = 0, self.position()
        while low < high:
            middle = (low + high + 1) // 2
            row = self._read(self._recorder.after_statement, middle - 1, 1)[0]
            if _recorded_at(row["state"]) <= moment:
                low = row["notification_id"]
            else:
                high = middle - 1
        return low

    def _checked(self, cursor: Cursor, additions: Sequence[Addition]) -> datetime:
        """Raise unless every known stream stands where it is expected to; return when the last event was recorded."""
        assert len(set(_streams(additions))) == len(additions), "one addition for each stream"
        # That a new stream does not exist is seen to by the table's own key, and costs nothing.
        grown = [addition for addition in additions if addition.after or not addition.events]
        cursor.execute(self._recorder.standing_statement, (_streams(grown),), binary=True)
        (row,) = cursor
        if wrong := _elsewhere(grown, row["versions"]):
            raise WrongExpectedVersion(wrong)
        return FIRST if row["last"] is None else _recorded_at(row["last"])

    def _positions_of(self, additions: Sequence[Addition], token: str) -> list[int]:
        """Return where these very events stand, when all of them do."""
        ids = {place: f"{token}.{number}" for number, place in enumerate(_places(additions))}
        streams, versions = zip(*ids, strict=True)
        rows = self._read(self._recorder.places_statement, list(streams), list(versions))
        positions = [
            row["notification_id"]
            for row in rows
            if json.loads(row["state"])["id"] == ids[row["originator_id"], row["originator_version"]]
        ]
        return positions if len(positions) == len(ids) else []

    def _read(self, statement: Composed, *arguments: object) -> list[Row]:
        with self._datastore.get_connection() as conn:
            return conn.execute(statement, arguments, binary=True).fetchall()


def _streams(additions: Sequence[Addition]) -> list[str]:
    return [addition.stream for addition in additions]


def _elsewhere(additions: Sequence[Addition], versions: Sequence[int]) -> tuple[str, ...]:
    """Return the streams that do not stand where they are expected to."""
    standing = zip(additions, versions, strict=True)
    return tuple(addition.stream for addition, version in standing if version != addition.after)


def _rows(
    additions: Sequence[Addition], token: str, recorded_at: str
) -> Iterator[tuple[str, int, str, bytes]]:
    """Yield each event as it is stored. Its id is the append's token and its number there."""
    opened = dumps(token)[:-1]
    events = (event for addition in additions for event in addition.events)
    for number, ((stream, version), event) in enumerate(zip(_places(additions), events, strict=True)):
        name = name_of(event)
        state = f'{{"at":"{recorded_at}","event":{written(event)},"id":{opened}.{number}","v":{version_of(name)}}}'
        yield stream, version, name, state.encode()


def _places(additions: Sequence[Addition]) -> Iterator[tuple[str, int]]:
    """Yield the stream and the version that each event gets."""
    for addition in additions:
        for version in range(addition.after + 1, addition.after + 1 + len(addition.events)):
            yield addition.stream, version


def _row(event: StoredEvent) -> tuple[str, int, str, bytes]:
    return str(event.originator_id), event.originator_version, event.topic, event.state


def _recorded(row: Row) -> Recorded:
    envelope = json.loads(row["state"])
    return Recorded(
        position=row["notification_id"],
        stream=row["originator_id"],
        version=row["originator_version"],
        event_id=envelope["id"],
        recorded_at=datetime.fromisoformat(envelope["at"]),
        event=event_of(row["topic"], envelope["v"], envelope["event"]),
    )


def _recorded_at(state: bytes) -> datetime:
    """Return only the time, which can be read also of an event that a newer version wrote."""
    return datetime.fromisoformat(json.loads(state)["at"])
