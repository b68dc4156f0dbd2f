"""The transformer vectors: a backlog that several share, that may be cut off, and that is never embedded twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from chronofile.projections import control, runner
from chronofile.projections.embedding import BATCH_PASSAGES, WrongVectors, embed_pending, pending
from chronofile.projections.projection import FOREVER
from tests.builders import turn_line, write
from tests.projections.replays import begin_anew
from tests.world import WordHashes, World

if TYPE_CHECKING:
    from chronofile.domain.ports import Vectors


@dataclass
class Counting:
    """The test's embedder, which counts what it embeds; something may happen before it does."""

    inner: WordHashes = field(default_factory=WordHashes)
    before: Callable[[Sequence[str]], None] = lambda texts: None
    change: Callable[[Vectors], Vectors] = lambda vectors: vectors
    texts: list[str] = field(default_factory=list)

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.before(texts)
        self.texts.extend(texts)
        return self.change(self.inner.embed(texts))


def said(world: World, tmp_path: Path, count: int, *, name: str = "t") -> Path:
    lines = (turn_line(f"{name} {n} " + "word " * (n % 40), turn=f"{n}", session=name) for n in range(count))
    path = write(tmp_path / f"{name}.turns.jsonl", *lines)
    world.capture(path)
    world.catch_up()
    return path


def counted(world: World) -> tuple[int, int]:
    """Return how many vectors there are, and how many are pending."""
    (row,) = world.rows(
        "SELECT (SELECT count(*) FROM {vectors}.vector), (SELECT count(*) FROM {vectors}.pending)"
    )
    return row[0], row[1]


def test_the_backlog_is_embedded_batch_by_batch_shortest_first(world: World, tmp_path: Path) -> None:
    said(world, tmp_path, 2 * BATCH_PASSAGES + 10)
    embedder, batches = Counting(), list[int]()

    assert embed_pending(world.engine, embedder, tick=batches.append) == 2 * BATCH_PASSAGES + 10

    assert batches == [BATCH_PASSAGES, BATCH_PASSAGES, 10]
    assert [len(text) for text in embedder.texts] == sorted(len(text) for text in embedder.texts)
    assert counted(world) == (2 * BATCH_PASSAGES + 10, 0)


def test_it_stops_between_two_batches_when_it_is_told_to(world: World, tmp_path: Path) -> None:
    said(world, tmp_path, BATCH_PASSAGES + 10)
    embedder = Counting()

    assert embed_pending(world.engine, embedder, stopping=lambda: bool(embedder.texts)) == BATCH_PASSAGES

    assert counted(world) == (BATCH_PASSAGES, 10)


def test_what_is_cut_off_loses_a_batch_at_most(world: World, tmp_path: Path) -> None:
    said(world, tmp_path, BATCH_PASSAGES + 10)
    embedder = Counting()

    def cut_off(texts: Sequence[str]) -> None:
        if embedder.texts:
            raise KeyboardInterrupt

    embedder.before = cut_off
    with pytest.raises(KeyboardInterrupt):
        embed_pending(world.engine, embedder)
    assert counted(world) == (BATCH_PASSAGES, 10)

    rest = Counting()
    assert embed_pending(world.engine, rest) == 10
    assert not set(rest.texts) & set(embedder.texts)
    assert counted(world) == (BATCH_PASSAGES + 10, 0)


def test_two_threads_share_the_backlog_and_embed_nothing_twice(world: World, tmp_path: Path) -> None:
    said(world, tmp_path, 4 * BATCH_PASSAGES)
    both = threading.Barrier(2)
    embedders = [Counting(), Counting()]

    def first_together(embedder: Counting) -> Callable[[Sequence[str]], None]:
        def before(texts: Sequence[str]) -> None:
            if not embedder.texts:
                both.wait(30)

        return before

    for embedder in embedders:
        embedder.before = first_together(embedder)
    threads = [threading.Thread(target=embed_pending, args=(world.engine, e)) for e in embedders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    texts = [text for embedder in embedders for text in embedder.texts]
    assert len(texts) == len(set(texts)) == 4 * BATCH_PASSAGES
    assert all(len(embedder.texts) >= BATCH_PASSAGES for embedder in embedders)
    assert counted(world) == (4 * BATCH_PASSAGES, 0)


def test_what_was_embedded_before_comes_from_the_cache(world: World, tmp_path: Path) -> None:
    said(world, tmp_path, 10)
    embed_pending(world.engine, world.embedder)
    vectors = world.rows("SELECT passage_no, vector::text FROM {vectors}.vector ORDER BY passage_no")
    begin_anew(world)
    world.catch_up()

    assert counted(world) == (10, 0)
    assert world.rows("SELECT passage_no, vector::text FROM {vectors}.vector ORDER BY passage_no") == vectors
    other = Counting()
    assert embed_pending(world.engine, other) == 0
    assert other.texts == []


def test_equal_texts_are_embedded_once(world: World, tmp_path: Path) -> None:
    write(tmp_path / "t.turns.jsonl", *(turn_line("The same.", turn=f"{n}") for n in range(5)))
    world.capture(tmp_path / "t.turns.jsonl")
    world.catch_up()
    embedder = Counting()

    assert embed_pending(world.engine, embedder) == 5

    assert embedder.texts == ["The same."]
    assert counted(world) == (5, 0)


def test_the_vectors_are_those_of_their_passages(world: World, tmp_path: Path) -> None:
    said(world, tmp_path, 5)
    embed_pending(world.engine, world.embedder)

    rows = world.rows(
        "SELECT text, vector::text FROM {vectors}.vector JOIN {passages}.passage ON no = passage_no"
    )

    for text, vector in rows:
        wanted = world.embedder.embed([bytes(text).decode()])[0]
        assert np.allclose(np.fromstring(vector.strip("[]"), sep=","), wanted, atol=1e-3)


def test_a_passage_that_ends_while_its_batch_is_embedded_is_closed_in_the_end(
    world: World, tmp_path: Path
) -> None:
    path = said(world, tmp_path, 3)
    write(path, turn_line("Other words.", turn="0", session="t"))
    position = world.capture(path).position
    in_flight = threading.Event()

    def before(texts: Sequence[str]) -> None:
        if not in_flight.is_set():
            in_flight.set()
            _wait_until_blocked(world)

    embedding = threading.Thread(target=embed_pending, args=(world.engine, Counting(before=before)))
    embedding.start()
    assert in_flight.wait(30)

    world.catch_up()
    embedding.join()
    embed_pending(world.engine, world.embedder)

    rows = world.rows(
        "SELECT v.recorded_from = p.recorded_from AND v.recorded_to = p.recorded_to, p.recorded_to < %s"
        " FROM {vectors}.vector v JOIN {passages}.passage p ON no = passage_no ORDER BY passage_no",
        FOREVER,
    )
    assert rows == [(True, True)] * 3 + [(True, False)]
    assert counted(world) == (4, 0)
    assert position == world.store.position()


def test_a_passage_that_ended_before_it_was_embedded_has_a_vector_for_as_of(
    world: World, tmp_path: Path
) -> None:
    path = said(world, tmp_path, 3)
    write(path, turn_line("Other words.", turn="0", session="t"))
    world.capture(path)
    world.catch_up(embed=True)

    rows = world.rows("SELECT recorded_to < %s FROM {vectors}.vector ORDER BY passage_no", FOREVER)
    assert rows == [(True,)] * 3 + [(False,)]


@pytest.mark.parametrize(
    "change",
    [
        lambda vectors: vectors[:, :-1],
        lambda vectors: vectors[:-1],
        lambda vectors: vectors * np.nan,
        lambda vectors: vectors + np.inf,
        lambda vectors: vectors * 2,
        np.zeros_like,
    ],
    ids=["short", "few", "nan", "infinite", "no unit", "zeros"],
)
def test_wrong_vectors_are_refused(
    world: World, tmp_path: Path, change: Callable[[Vectors], Vectors]
) -> None:
    said(world, tmp_path, 3)

    with pytest.raises(WrongVectors, match="word-hashes"):
        embed_pending(world.engine, Counting(change=change))

    assert counted(world) == (0, 3)
    assert world.rows("SELECT count(*) FROM control.embedding_cache") == [(0,)]


def test_another_embedder_embeds_nothing(world: World, tmp_path: Path) -> None:
    said(world, tmp_path, 3)

    assert embed_pending(world.engine, WordHashes(identity="another@16")) == 0

    assert counted(world) == (0, 3)


def test_pending_counts_the_backlog_and_what_the_projection_has_not_seen(
    world: World, tmp_path: Path
) -> None:
    said(world, tmp_path, 3)
    write(tmp_path / "u.turns.jsonl", turn_line("More.", session="u"))
    world.capture(tmp_path / "u.turns.jsonl")

    runner.catch_up(world.engine, world.store, world.projections[:2])

    with world.engine.connect() as conn:
        serving = control.read_active(conn)
        assert pending(control.translated(conn, serving), serving) == 4


def test_a_passage_of_before_is_pending_for_a_search_as_of_then_alone(world: World, tmp_path: Path) -> None:
    note = write(tmp_path / "note.md", "A note that is written anew.")
    world.capture(note)
    world.catch_up()
    write(note, "What it says now.")
    world.capture(note)

    with world.engine.connect() as conn:
        for caught_up in range(2):
            serving = control.read_active(conn)
            here = control.translated(conn, serving)
            assert (pending(here, serving), pending(here, serving, former=True)) == (1, 1 + caught_up)
            conn.rollback()
            world.catch_up()
    world.catch_up(embed=True)
    with world.engine.connect() as conn:
        here = control.translated(conn, serving := control.read_active(conn))
        assert (pending(here, serving), pending(here, serving, former=True)) == (0, 0)


def _wait_until_blocked(world: World) -> None:
    """Wait until another transaction waits for a row that this thread's holds."""
    for _ in range(600):
        if world.rows("SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0]:
            return
        threading.Event().wait(0.05)
    raise AssertionError("nobody waits")
