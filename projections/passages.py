"""The passages: turns, exact slices of text with their ids, and where each occurs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from chronofile.projections import histories
from chronofile.projections.bulk import listed
from chronofile.projections.projection import FOREVER, UNSAMPLED, Verbatim, alive

NAME, VERSION = "passages", 1
BLOCK_SIZE = 1 << 24
"""Passages are numbered within blocks of so many numbers, one block for each position of the log."""
SEQ_PER_TURN = 1 << 20
"""Places that a turn reserves: turn n's passages stand at n * SEQ_PER_TURN and after."""

RECORD_CHARS_MAX = 200

tables = sa.MetaData(schema=NAME)

undone = histories.tables_in(tables)

scope = sa.Table(
    "scope",
    tables,
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
)
"""Scopes are numbered in the order in which a source was first registered in each, or came to it."""

directory = sa.Table(
    "directory",
    tables,
    sa.Column("path_hash", sa.LargeBinary, primary_key=True),
    sa.Column("recorded_from", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("path", Verbatim, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
)
"""One row for each time that a directory was mapped. `path_hash` is the path's fingerprint, `content` its key."""

source = sa.Table(
    "source",
    tables,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("uri_key", sa.Text, nullable=False),
    sa.Column("uri", sa.Text, nullable=False, info=UNSAMPLED),
    sa.Column("name", sa.Text, nullable=False, info=UNSAMPLED),
    sa.Column("topic", sa.Text, info=UNSAMPLED),
    sa.Column("session", sa.Text),
    sa.Column("title", Verbatim),
    sa.Column("memory_kind", sa.Text),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("fold_state", Verbatim),
    sa.Column("turns", sa.Integer, nullable=False),
    sa.Column("hidden", sa.Boolean, nullable=False),
    sa.Column("language", sa.Text),
    sa.Column("kind_of_file", sa.Text),
)
"""`name` and `topic` are the place of a file within its scope: every passage of it that is there has them.

`title` is what a conversation is called now. `language` is an ISO 639-1 code, None where it cannot be told. `uri_key` is the content that the URI is, `uri` empty where that is gone. A source is `hidden` when what it
captured last was undone: what continues it is not shown.
"""

turn = sa.Table(
    "turn",
    tables,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("key_hash", sa.LargeBinary, primary_key=True),
    sa.Column("key", Verbatim, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("native_ids", ARRAY(sa.Text), nullable=False, info=UNSAMPLED),
    sa.Column("superseded", sa.Boolean, nullable=False),
    sa.Column("recorded_from", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("recorded_to", sa.BigInteger, nullable=False, default=FOREVER),
)
"""One row for each state of a turn; `key_hash` is the key's fingerprint. A turn that is gone keeps its last row.

No passage of it is there any more, and passages are what a turn is looked up for.
"""

passage = sa.Table(
    "passage",
    tables,
    sa.Column("no", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("turn", Verbatim),
    sa.Column("session", sa.Text),
    sa.Column("scope_no", sa.Integer, nullable=False),
    sa.Column("topic", sa.Text, info=UNSAMPLED),
    sa.Column("kind", sa.Text),
    sa.Column("role", sa.Text),
    sa.Column("speaker", sa.Text, info=UNSAMPLED),
    sa.Column("part", sa.Text, nullable=False),
    sa.Column("title", Verbatim),
    sa.Column("title_embedded", Verbatim),
    sa.Column("text", Verbatim, nullable=False),
    sa.Column("event_time", sa.Text, info=UNSAMPLED),
    sa.Column("event_at", sa.DateTime(timezone=True)),
    sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
    sa.Column("recorded_from", sa.BigInteger, nullable=False),
    sa.Column("recorded_to", sa.BigInteger, nullable=False, default=FOREVER),
    sa.Index("passage_id_idx", "id"),
    sa.Index("passage_scope_idx", "scope_no", "id"),
    sa.Index("passage_source_idx", "source", "recorded_to"),
    sa.Index("passage_from_idx", "recorded_from"),
    sa.Index("passage_to_idx", "recorded_to", postgresql_where=sa.text(f"recorded_to < {FOREVER}")),
)
"""One row for each time that a passage is there: one that goes and comes back has two, under the same id.

Numbers come from the log alone: those of what an event brings begin at its position's block, so that a passage
that was erased leaves every other with the number it has. What an undo shows again is numbered where the
source's own last event was, since a batch has many sources. `kind` is a memory's.

`title` begins with the file's name of then, and words of it find the passage. `title_embedded` is the title
that the passage was first cut with and its vectors are made of: a moved folder is not embedded again.
"""

occurrence = sa.Table(
    "occurrence",
    tables,
    sa.Column("passage_no", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("span_start", sa.Integer, nullable=False),
    sa.Column("span_end", sa.Integer, nullable=False),
    sa.Column("line_first", sa.Integer),
    sa.Column("line_last", sa.Integer),
    sa.Column("recorded_from", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("recorded_to", sa.BigInteger, nullable=False, default=FOREVER),
    sa.Index("occurrence_seq_idx", "source", "seq"),
)
"""Where a passage stands in its source: `span` in code points, `lines` from 1 for files, `seq` in reading order."""

failure = sa.Table(
    "failure",
    tables,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("recorded_from", sa.BigInteger, nullable=False),
)
"""Revisions that could not be turned into passages, or only in part; their bytes are safe."""

omission = sa.Table(
    "omission",
    tables,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("record", sa.Text, primary_key=True, info=UNSAMPLED),
    sa.Column("count", sa.Integer, nullable=False),
)
"""Records that gave no turn since their type is not known or they could not be read: counted, kept raw.

`record` is cut off at RECORD_CHARS_MAX characters.
"""

rederived = sa.Table(
    "rederived",
    tables,
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("block", sa.BigInteger, primary_key=True, autoincrement=False),
)
"""Sources of which something was erased at a position, with every block that their passages had numbers in.

All their rows were derived anew then, and whoever depends on them has to do the same.
"""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What passages that begin share: where they belong and the event that brought them."""

    source: str
    scope: str
    topic: str | None
    revision: int
    recorded_at: datetime
    position: int
    block: int
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """Where the passages of a source belong from a position on; their titles begin with the file's name."""

    scope: str
    topic: str | None
    name_before: str
    name: str
    position: int
    block: int

    def title(self, title: str | None) -> str | None:
        """Return a title of before with the name of now."""
        return None if title is None else self.name + title[len(self.name_before) :]


def state_of(stored: str | None) -> dict[str, Any] | None:
    """Return a fold's state as it was stored."""
    return None if stored is None else dict(json.loads(stored))


def began_in(position_from: int, position_to: int) -> sa.ColumnElement[bool]:
    """The passages that began in `(from, to]`."""
    return sa.and_(passage.c.recorded_from > position_from, passage.c.recorded_from <= position_to)


def over_in(position_from: int, position_to: int) -> sa.ColumnElement[bool]:
    """The passages that ended in `(from, to]`."""
    # The last condition is the partial index's own, without which a prepared statement cannot use it.
    return sa.and_(
        passage.c.recorded_to > position_from,
        passage.c.recorded_to <= position_to,
        passage.c.recorded_to < sa.literal_column(str(FOREVER)),
    )


def blocks_of(positions: Sequence[int]) -> sa.FromClause:
    """Return blocks of numbers as a relation with the column `block`: the positions that they are named by."""
    return listed([sa.column("block", sa.BigInteger)], [[position] for position in positions])


def within(blocks: sa.FromClause, number: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """The passages whose number is in one of the blocks."""
    begins = blocks.c.block * BLOCK_SIZE
    return sa.and_(number >= begins, number < begins + BLOCK_SIZE)


def live(position: int) -> sa.ColumnElement[bool]:
    return alive(passage, position)
