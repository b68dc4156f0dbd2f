"""Legs: each finds what a plain computation finds, and runs as it was meant to run."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.times import own_clock
from chronofile.projections import control
from chronofile.projections.bulk import copy_rows
from chronofile.projections.lexical import posting
from chronofile.projections.passages import passage, scope
from chronofile.projections.projection import FOREVER
from chronofile.projections.words import passage_terms, term_hash
from chronofile.query import legs
from chronofile.query.scores import BM25_B, BM25_K1
from tests.builders import add, turn_line, write
from tests.query.asking import opened, plan, reading
from tests.servers import Server
from tests.world import World

COMMON, USUAL = ["river", "stone"], ["cloud", "wheat", "amber", "flute", "cedar", "ivory"]
RARE = ["quartz", "saffron", "zephyr", "obelisk"]
VOCABULARY = COMMON * 12 + USUAL * 3 + RARE
SCOPES = ("one", "two")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A world of random talk that grew over some captures, and where each ended."""

    world: World
    positions: Sequence[int]


@pytest.fixture(scope="module")
def corpus(embedded_postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    folder, chance = tmp_path_factory.mktemp("corpus"), random.Random(11)

    def say(turn: int) -> str:
        words = " ".join(chance.choices(VOCABULARY, k=chance.randint(1, 40)))
        day = f"2026-0{chance.randint(1, 9)}-11T10:00:00Z"
        return turn_line(words, turn=str(turn), session="s", speaker=chance.choice(["Ann", "Bob"]), at=day)

    with opened(embedded_postgres, folder / "home") as world:
        positions = [0]
        for round_number in range(3):
            for scope in SCOPES:
                path = folder / f"{scope}.turns.jsonl"
                add(path, *(say(round_number * 60 + number) for number in range(60)))
                write(folder / scope / "notes.md", *chance.choices(VOCABULARY, k=30))
                world.capture(path, folder / scope, scope=scope)
                positions.append(world.store.position())
        world.catch_up(embed=True)
        yield Corpus(world, positions)


def plain_bm25(world: World, terms: Sequence[str], position: int, **filters: Any) -> dict[int, float]:
    """Return the BM25 score of every passage that holds one of the terms: the textbook's sums over a list."""
    rows = world.rows(
        "SELECT p.no, convert_from(p.text, 'UTF8'), p.speaker, p.event_time, p.turn IS NOT NULL,"
        " convert_from(p.title, 'UTF8') FROM {passages}.passage p JOIN {passages}.scope s ON s.no = p.scope_no"
        " WHERE p.recorded_from <= %s AND p.recorded_to > %s"
        " AND (%s::text[] IS NULL OR s.name = ANY(%s)) AND (%s::text IS NULL OR p.speaker = %s)",
        *(position, position),
        *[filters.get("scopes") and list(filters["scopes"])] * 2,
        *[filters.get("speaker")] * 2,
    )
    counted = {
        no: Counter(passage_terms(text, speaker=who, at=own_clock(when) if spoken else None, title=title))
        for no, text, who, when, spoken, title in rows
    }
    n, total = len(counted), sum(found.total() for found in counted.values())
    scores: dict[int, float] = {}
    for term in set(terms):
        df = sum(term in found for found in counted.values())
        for no, found in counted.items():
            if tf := found[term]:
                norm = 1 - BM25_B + BM25_B * found.total() / (total / n)
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                scores[no] = scores.get(no, 0.0) + idf * tf * (BM25_K1 + 1) / (tf + BM25_K1 * norm)
    return scores


FILTERS: Sequence[dict[str, Any]] = (
    {},
    {"scopes": ("one",)},
    {"scopes": ("one", "two")},
    {"speaker": "Ann"},
    {"scopes": ("two",), "speaker": "Bob"},
)
questions = st.lists(st.sampled_from([*COMMON, *USUAL, *RARE, "absent"]), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(question=questions, filters=st.sampled_from(FILTERS), which=st.integers(0, 6))
def test_the_scores_of_words_are_those_of_plain_bm25(
    corpus: Corpus, question: list[str], filters: dict[str, Any], which: int
) -> None:
    position = corpus.positions[which]
    terms = [found for word in question for found in passage_terms(word)]
    expected = plain_bm25(corpus.world, terms, position, **filters)
    with reading(corpus.world, as_of=position, **filters) as (conn, within, _):
        weighed = legs.weigh(conn, within, list(dict.fromkeys(map(term_hash, terms))))
        found = legs.by_words(conn, within, weighed)
        every = sorted(expected)
        scores = legs.word_scores(conn, weighed, every)

    assert scores == pytest.approx([expected[no] for no in every], rel=1e-9)
    assert len(found) == min(legs.DEPTH, len(expected))
    assert [expected[no] for no in found] == pytest.approx(
        sorted(expected.values(), reverse=True)[: legs.DEPTH]
    )


@settings(max_examples=40, deadline=None)
@given(question=st.sets(st.sampled_from([*COMMON, *USUAL[:2]]), min_size=1), filters=st.sampled_from(FILTERS))
def test_with_common_terms_left_out_of_the_search_the_best_are_the_same(
    corpus: Corpus, question: set[str], filters: dict[str, Any]
) -> None:
    rare = [*question, "quartz", "saffron"]
    keys = list(dict.fromkeys(term_hash(term) for word in rare for term in passage_terms(word)))
    with reading(corpus.world, **filters) as (conn, within, _), pytest.MonkeyPatch.context() as patched:
        weighed = legs.weigh(conn, within, keys)
        exact = legs.by_words(conn, within, weighed)
        patched.setattr(legs, "POSTINGS_MIN", 10)
        patched.setattr(legs, "POSTINGS_MAX", 70)
        some = legs.by_words(conn, within, weighed)
        scores = dict(zip(exact, legs.word_scores(conn, weighed, exact), strict=True))

    assert [scores[no] for no in some[:5]] == pytest.approx([scores[no] for no in exact[:5]])


def test_a_rare_term_beside_common_ones_leaves_the_leg_as_deep_as_ever(corpus: Corpus) -> None:
    keys = [term_hash("zephyr"), term_hash("river"), term_hash("stone")]
    with reading(corpus.world) as (conn, within, _), pytest.MonkeyPatch.context() as patched:
        patched.setattr(legs, "POSTINGS_MAX", 1)
        assert len(legs.by_words(conn, within, legs.weigh(conn, within, keys))) == legs.DEPTH


def test_words_that_nothing_holds_find_nothing(corpus: Corpus) -> None:
    with reading(corpus.world) as (conn, within, _):
        for keys in ([], [term_hash("absent")]):
            weighed = legs.weigh(conn, within, keys)
            assert legs.by_words(conn, within, weighed) == []
            assert list(legs.word_scores(conn, weighed, [1, 2])) == [0.0, 0.0]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), filters=st.sampled_from(FILTERS), which=st.integers(1, 6))
def test_the_nearest_vectors_are_those_of_a_plain_search(
    corpus: Corpus, seed: int, filters: dict[str, Any], which: int
) -> None:
    question = unit(np.random.default_rng(seed).normal(size=(1, 16)))[0]
    position = corpus.positions[which]
    with reading(corpus.world, as_of=position, **filters) as (conn, within, serving):
        tables = legs.vector_tables(serving)
        assert tables is not None
        allowed = set(conn.scalars(within.numbers()))
        stored = conn.execute(sa.select(tables.vector.c.passage_no, tables.vector.c.vector)).all()
        cosines = {no: float(np.array(vector) @ question) for no, vector in stored if no in allowed}
        found = legs.by_vectors(conn, within, tables, question, len(allowed))
        static = np.zeros(256, dtype=np.float32)
        measured = legs.measure(conn, tables, question, static, found)

    best = sorted(cosines.values(), reverse=True)[: legs.DEPTH]
    assert [cosines[no] for no in found] == pytest.approx(best, abs=1e-3)
    assert measured.dense == pytest.approx([cosines[no] for no in found], abs=1e-3)


def test_what_has_no_vector_is_found_by_its_instant_one_and_has_no_cosine(corpus: Corpus) -> None:
    with reading(corpus.world) as (conn, within, serving):
        tables = legs.vector_tables(serving)
        assert tables is not None
        question = unit(np.ones((1, 256)))[0]
        assert legs.by_instant_vectors(conn, within, tables, question) == []
        found = legs.by_instant_vectors(conn, within, None, question)
        assert len(found) == legs.DEPTH
        measured = legs.measure(conn, None, None, question, found)
    assert np.isnan(measured.dense).all()
    assert list(measured.instant) == sorted(measured.instant, reverse=True)
    assert all(len(ids) for ids in measured.tokens)


def test_the_background_is_the_lowest_ids_of_what_passes_the_filters(corpus: Corpus) -> None:
    for filters in FILTERS:
        with reading(corpus.world, **filters) as (conn, within, _), pytest.MonkeyPatch.context() as patched:
            patched.setattr(legs, "BACKGROUND", 20)
            rows = conn.execute(sa.select(passage.c.id, passage.c.no).where(within.passages())).all()
            assert legs.background(conn, within) == [no for _, no in sorted(map(tuple, rows))[:20]]


VECTORS, LONE, SPREAD = 12_000, 300, 50
"""Passages in the big scope, in a scope of neighbours, and in one that is spread thinly among the others."""


@pytest.fixture(scope="module")
def big(embedded_postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world with more vectors than are compared one by one, written straight into the tables."""
    chance = np.random.default_rng(1)
    count = VECTORS + LONE + SPREAD
    vectors = unit(chance.normal(size=(count, 16))).astype(np.float16)
    scopes = np.array([1] * VECTORS + [2] * LONE + [3] * SPREAD)
    lone = scopes == 2
    vectors[lone] = unit(vectors[lone] / 20 + unit(np.ones((1, 16)))).astype(np.float16)
    with opened(embedded_postgres, tmp_path_factory.mktemp("big")) as world:
        with world.engine.begin() as plain:
            serving = control.read_active(plain)
            conn, tables = control.translated(plain, serving), legs.vector_tables(serving)
            assert tables is not None
            (index,) = [index for index in tables.vector.indexes if index.name == "vector_hnsw_idx"]
            places = [(no, int(scope), no, FOREVER) for no, scope in enumerate(scopes, start=1)]
            named = [{"no": no, "name": name} for no, name in enumerate(("big", "lone", "thin"), start=1)]
            conn.execute(sa.insert(scope), named)
            index.drop(conn)  # Built at once it takes a tenth of the time.
            copy_rows(
                conn, tables.vector, [(*at, vector) for at, vector in zip(places, vectors, strict=True)]
            )
            index.create(conn)
            copy_rows(conn, passage, [passage_row(*at) for at in places])
            copy_rows(conn, posting, [(no % 40, number, no, 9, 1, no, to) for no, number, _, to in places])
            conn.execute(sa.text("ANALYZE"))
        yield world


def passage_row(no: int, scope_no: int, position: int, until: int) -> tuple[Any, ...]:
    given: dict[str, Any] = {"no": no, "id": f"{no * 2654435761 % 2**32:08x}", "source": "s", "text": "text"}
    given |= {"scope_no": scope_no, "part": "file", "recorded_at": datetime.now(UTC)}
    given |= {"recorded_from": position, "recorded_to": until}
    return tuple(given.get(column.name) for column in passage.columns)


def unit(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    found: np.ndarray[Any, np.dtype[np.float32]] = (
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    ).astype(np.float32)
    return found


WIDE: Sequence[dict[str, Any]] = (
    {},
    {"scopes": ("big",)},
    {"as_of": VECTORS - 1_000},
    {"scopes": ("big", "lone"), "as_of": VECTORS - 1_000},
)
NARROWED: Sequence[dict[str, Any]] = (*WIDE, {"scopes": ("thin",)}, {"speaker": "Ann"}, {"session": "s"})
QUESTION = unit(np.random.default_rng(2).normal(size=(1, 16)))[0]


def test_a_small_scope_is_compared_one_by_one_through_its_own_index(big: World) -> None:
    for name in ("lone", "thin"):
        with reading(big, scopes=(name,)) as (conn, within, serving):
            tables = legs.vector_tables(serving)
            assert tables is not None
            how = plan(conn, legs.nearest(within, tables, QUESTION))
            assert "vector_scope_idx" in how
            assert "hnsw" not in how


def test_comparing_one_by_one_never_takes_the_hnsw_index(big: World) -> None:
    for filters in NARROWED:
        with reading(big, **filters) as (conn, within, serving):
            tables = legs.vector_tables(serving)
            assert tables is not None
            assert "hnsw" not in plan(conn, legs.nearest(within, tables, QUESTION))


def test_a_big_store_is_asked_through_the_hnsw_index(big: World) -> None:
    for filters in WIDE:
        with reading(big, **filters) as (conn, within, serving):
            tables = legs.vector_tables(serving)
            assert tables is not None
            assert "vector_hnsw_idx" in plan(conn, legs.nearest_by_index(within, tables, QUESTION))


def test_the_hnsw_index_finds_a_hundred_where_there_are_a_hundred_and_nearly_the_nearest(big: World) -> None:
    for filters in WIDE:
        with reading(big, **filters) as (conn, within, serving):
            tables = legs.vector_tables(serving)
            assert tables is not None
            exact = list(conn.scalars(legs.nearest(within, tables, QUESTION)))
            found = legs.by_vectors(conn, within, tables, QUESTION, n=legs.EXACT_MAX + 1)
            assert len(found) == len(set(found)) == legs.DEPTH
            assert len(set(found) & set(exact)) >= 90


def test_a_scope_far_from_the_question_is_found_whole_although_the_index_gives_up(big: World) -> None:
    far = -unit(np.ones((1, 16)))[0]
    with reading(big, scopes=("lone",)) as (conn, within, serving):
        tables = legs.vector_tables(serving)
        assert tables is not None
        # Without these the planner itself would take the scope's index here.
        conn.execute(sa.text("SET LOCAL enable_sort = off"))
        conn.execute(sa.text("SET LOCAL hnsw.max_scan_tuples = 1000"))
        assert len(list(conn.scalars(legs.nearest_by_index(within, tables, far)))) < legs.DEPTH
        found = legs.by_vectors(conn, within, tables, far, n=legs.EXACT_MAX + 1)
        assert found == list(conn.scalars(legs.nearest(within, tables, far)))
        assert len(found) == legs.DEPTH


def test_words_go_through_the_index_of_terms_and_the_background_through_that_of_ids(big: World) -> None:
    with reading(big, scopes=("big",)) as (conn, within, _):
        terms = legs.Terms((3, 5), (500, 600), VECTORS, 9.0)
        assert "posting_term_idx" in plan(conn, legs.holding(within, terms, [0, 1], 100))
        how = plan(conn, legs.lowest(within))
        assert "passage_scope_idx" in how
        assert "Sort" not in how
    with reading(big) as (conn, within, _):
        assert "passage_id_idx" in plan(conn, legs.lowest(within))
    with reading(big, scopes=("big", "lone", "thin")) as (conn, within, _):
        assert plan(conn, legs.lowest(within)).count("passage_scope_idx") == 3


def test_statements_are_compiled_once_whatever_their_number_of_values(corpus: Corpus) -> None:
    from chronofile.query.candidates import pool

    keys = [term_hash(word) for word in [*COMMON, *RARE, *USUAL]]

    def searched(count: int) -> None:
        with reading(corpus.world, scopes=("one",)) as (conn, within, serving):
            tables = legs.vector_tables(serving)
            weighed = legs.weigh(conn, within, keys[:count])
            found = legs.by_words(conn, within, weighed)[: count * 5]
            pool(conn, within, "who?", found)
            legs.measure(conn, tables, QUESTION, np.zeros(256, dtype=np.float32), found)
            legs.word_scores(conn, weighed, found)

    cache = corpus.world.engine._compiled_cache
    assert cache is not None
    searched(2)
    known = len(cache)
    for count in (1, 3, 7, 12):
        searched(count)
    assert len(cache) == known
