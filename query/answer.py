"""Answers: verbatim passages with where they are from, when, and why they rank where they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage said of a hit: its rank among the candidates, from 1, and its score."""

    rank: int | None
    score: float | None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class HitSource:
    """Where a passage is from; `revision` is the one in which it came to stand where it stands."""

    id: str
    uri: str
    format: str | None
    revision: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage: `text` is the exact slice `span` (code points) of its turn's text or its decoded file.

    `title` begins with a file's name, or is what its conversation is called now. `superseded`: something else took
    the place of its turn in the conversation, such as an answer that was asked for again.
    """

    id: str
    text: str
    score: float
    scope: str
    topic: str | None
    kind: str | None
    source: HitSource
    session: str | None
    turns: tuple[str, ...]
    role: str | None
    speaker: str | None
    part: str
    title: str | None
    span: tuple[int, int]
    lines: tuple[int, int] | None
    event_time: str | None
    recorded_at: datetime
    position: int
    age_s: int | None
    trust: float | None = None
    novelty: float | None = None
    superseded: bool = False
    stages: Mapping[str, Stage] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question found, as of which position, and whether it answers; `hits` are always ranked."""

    query: str
    scopes: tuple[str, ...]
    mode: str
    position: int
    as_of: int | None
    matched: bool
    degraded: tuple[str, ...]
    took_ms: int
    hits: tuple[Hit, ...]
    facts: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Git:
    """Where a file's repository stood when its last revision was captured.

    `dirty`: the file differed from the commit, or was not in it; None where nobody could tell.
    """

    commit: str | None
    branch: str | None
    dirty: bool | None

    @classmethod
    def of(cls, row: Any) -> Self | None:
        """Return what a row of the catalogue says, None of a file outside of any repository."""
        found = (row.git_commit, row.git_branch, row.git_dirty)
        return None if found == (None, None, None) else cls(*found)


@dataclass(frozen=True, slots=True)
class Context:
    """A passage with those around it in its source, in reading order, and its source's whole text if asked for.

    `git` is None where the passage is over.
    """

    hit: Hit
    before: tuple[Hit, ...]
    after: tuple[Hit, ...]
    whole: str | None = None
    git: Git | None = None


def as_json(value: Any) -> Any:
    """Return an answer, a hit or a part of one as JSON values; `stages` is left out where there are none."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        return {name: as_json(item) for name, item in fields.items() if (name, item) != ("stages", None)}
    return value
