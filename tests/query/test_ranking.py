"""Ranking: what each stage makes of scores, and what a store's answers are ranked and judged by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.query.interaction import (
    Tokens,
    best_matches,
    late_interaction,
    over_neighbours,
    token_weights,
)
from chronofile.query.people import asks_of_self, named_person
from chronofile.query.ranking import (
    FITTED,
    Candidates,
    Reading,
    Weights,
    group_evidence,
    mix,
    neighbours_evidence,
    rank,
    read_closely,
    worth_reading,
)
from chronofile.query.scores import Floats, bm25, idf, standardise
from chronofile.query.verdict import Features, features_of, matched, unseen_share

ALONE = Weights(
    late=0.0, asks=0.0, previous=0.0, following=0.0, second_previous=0.0, second_following=0.0,
    group=0.0, person=0.0, self_said=0.0,
)  # fmt: skip
NAN = math.nan


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def candidates(
    lexical: Sequence[float],
    dense: Sequence[float] | None = None,
    *,
    instant: Sequence[float] | None = None,
    group: Sequence[int] | None = None,
) -> Candidates:
    """Candidates in one line, of one source each unless `group` says otherwise; scores are standardised by hand."""
    n = len(lexical)
    numbers = np.arange(n) if group is None else np.asarray(group)
    same = numbers[1:] == numbers[:-1]
    known = floats(*(dense or [NAN] * n))
    return Candidates(
        lexical=floats(*lexical), dense=known, instant=floats(*(instant or [NAN] * n)),
        background_lexical=floats(-1, 1), background_dense=floats(-1, 1), background_instant=floats(-1, 1),
        previous=np.concatenate([[-1], np.where(same, np.arange(n - 1), -1)]).astype(np.int64),
        following=np.concatenate([np.where(same, np.arange(1, n), -1), [-1]]).astype(np.int64),
        group=numbers.astype(np.int64),
        asks=np.zeros(n, dtype=np.bool_), named=np.zeros(n, dtype=np.bool_), self_said=np.zeros(n, dtype=np.bool_),
        of_file=np.zeros(n, dtype=np.bool_), literal=np.zeros(n), defines=np.zeros(n),
    )  # fmt: skip


def reading(of: Sequence[int], lists: Sequence[Sequence[int]], question: Sequence[int]) -> Reading:
    """Tokens whose vectors are at right angles: two match wholly or not at all."""
    rows = np.eye(10, dtype=np.float32)
    return Reading(
        np.asarray(of, dtype=np.int64), Tokens.of(lists), rows, rows[list(question)], np.ones(len(question))
    )


def test_bm25_agrees_with_the_formula_worked_by_hand() -> None:
    score = bm25([2.0], [1], [10.0], n=4, average_length=10.0, k1=1.0, b=0.5)

    assert score == pytest.approx([math.log(1 + 3.5 / 1.5) * 2 * 2 / 3])


def test_a_rarer_term_tells_more_and_none_tells_less_than_nothing() -> None:
    weights = idf([0, 1, 50, 100], 100)

    assert list(weights) == sorted(weights, reverse=True)
    assert weights.min() > 0


def test_scores_are_standardised_against_the_background_and_not_against_one_another() -> None:
    assert standardise([3.0, 5.0], [1.0, 3.0]) == pytest.approx([1.0, 3.0])


@pytest.mark.parametrize("background", [[], [2.0], [2.0, 2.0], [NAN]])
def test_without_a_spread_everything_is_average(background: list[float]) -> None:
    assert list(standardise([1.0, 9.0], background)) == [0.0, 0.0]


def test_a_missing_score_stays_missing_and_leaves_the_background_alone() -> None:
    scores = standardise([NAN, 3.0], [1.0, NAN, 3.0])

    assert np.isnan(scores[0])
    assert scores[1] == pytest.approx(1.0)


def test_few_equal_background_scores_do_not_make_a_score_enormous() -> None:
    assert standardise([0.5], [0.1, 0.1001], spread_min=0.04)[0] < 11


def test_the_instant_vector_stands_in_only_where_the_transformers_is_missing() -> None:
    weights = Weights(dense=0.5, instant=0.25)

    assert mix(floats(0, 0, 0), floats(2, NAN, NAN), floats(8, 8, NAN), weights) == pytest.approx(
        [1.0, 2.0, 0.0]
    )


def test_a_token_of_the_question_counts_by_its_best_match() -> None:
    rows = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    matches = best_matches(rows[:2], rows, Tokens.of([[0], [], [2, 1]]))

    assert matches == pytest.approx(np.array([[1, 0, 0.6], [0, 0, 1]]))
    assert late_interaction(matches, floats(3, 1)) == pytest.approx([0.75, 0.0, 0.7])


def test_tokens_that_every_passage_has_weigh_least() -> None:
    weights = token_weights([1, 2, 3], Tokens.of([[1, 1], [1, 2], [1]]))

    assert weights[0] < weights[1] < weights[2]


def test_a_token_that_only_a_neighbour_has_counts_in_part() -> None:
    matches = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)
    widened = over_neighbours(matches, np.array([-1, 0, 1]), np.array([1, 2, -1]), 0.7)

    assert widened == pytest.approx(np.array([[1.0, 0.7, 0.0]]))


def test_nothing_to_read_is_no_error() -> None:
    nothing = np.zeros((0, 4), dtype=np.float32)

    assert best_matches(nothing, nothing, Tokens.of([[], []])).shape == (0, 2)
    assert list(late_interaction(np.zeros((0, 2), dtype=np.float32), floats())) == [0.0, 0.0]


def test_the_best_candidates_are_read_first_and_their_neighbours_with_them() -> None:
    found = candidates([0, 1, 9, 1, 0, 5], group=[0, 0, 0, 0, 0, 1])

    assert list(worth_reading(found, ALONE, limit=1)) == [2, 1, 3]


def test_late_interaction_is_missing_for_what_was_not_read() -> None:
    late = read_closely(candidates([1, 1, 1]), reading([2, 0], [[1, 2], [1]], question=[1, 2]))

    assert late[[0, 2]] == pytest.approx([0.5, 1.0])
    assert np.isnan(late[1])


def test_what_was_not_read_counts_as_the_average_that_was() -> None:
    weights = replace(ALONE, late=1.0)
    ranked = rank(candidates([1, 1, 1]), floats(0.8, NAN, 0.2), weights)

    assert list(ranked.order) == [0, 1, 2]
    assert ranked.final[1] == pytest.approx(ranked.mixed[1])


def test_neighbours_lend_their_scores_and_a_missing_one_is_average() -> None:
    weights = replace(ALONE, previous=0.5, following=0.25, second_previous=0.125)
    previous, following = np.array([-1, 0, 1]), np.array([1, 2, -1])

    assert neighbours_evidence(floats(8, 0, 4), previous, following, weights) == pytest.approx([0, 5, 1])


def test_a_source_lends_the_mean_of_its_three_best_or_of_as_many_as_it_has() -> None:
    assert group_evidence(floats(1, 6, 3, 9, 4), np.array([7, 7, 2, 7, 7])) == pytest.approx(
        [19 / 3, 19 / 3, 3, 19 / 3, 19 / 3]
    )


def test_turns_of_the_named_person_and_of_the_asker_come_first_among_equals() -> None:
    found = candidates([1, 1, 1])
    found = replace(found, named=np.array([False, False, True]), self_said=np.array([False, True, False]))

    assert list(rank(found).order) == [2, 1, 0]


def test_of_equals_the_one_that_asks_comes_last() -> None:
    found = replace(candidates([1, 1]), asks=np.array([True, False]))

    assert list(rank(found).order) == [1, 0]


def test_equal_candidates_keep_their_order() -> None:
    assert list(rank(candidates([2, 2, 2])).order) == [0, 1, 2]


def test_no_candidates_rank_as_none() -> None:
    empty = candidates([])

    assert list(worth_reading(empty)) == []
    assert list(rank(empty).order) == []


@given(
    st.lists(st.tuples(st.floats(-5, 50), st.floats(-1, 1), st.booleans(), st.integers(0, 3)), max_size=30)
)
def test_every_candidate_is_ranked_exactly_once_with_a_finite_score(
    rows: list[tuple[float, float, bool, int]],
) -> None:
    dense = [cosine if known else NAN for _, cosine, known, _ in rows]
    found = candidates([row[0] for row in rows], dense, group=sorted(row[3] for row in rows))
    ranked = rank(found)

    assert sorted(ranked.order) == list(range(len(rows)))
    assert np.isfinite(ranked.final).all()
    assert (np.diff(ranked.final[ranked.order]) <= 0).all()


def test_what_is_on_top_does_not_depend_on_candidates_that_are_nobodys_neighbours() -> None:
    few = rank(candidates([5, 3, 1]))
    more = rank(candidates([5, 3, 1, 0.5, 0.2]))

    assert few.final == pytest.approx(more.final[:3])


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Where did Ann go?", "Ann Lee"),
        ("where did ann go?", "Ann Lee"),
        ("What is Ben's job?", "Ben"),
        ("Did Ann meet Ben?", None),
        ("What did they do?", None),
        ("Who was Cas with?", "Cassandra"),
        ("Can you ben it?", None),
        ("Is the user Ann's?", "Ann Lee"),
    ],
)
def test_a_question_is_about_the_one_speaker_whom_it_names(question: str, named: str | None) -> None:
    assert named_person(question, ["Ann Lee", "Ben", "Cassandra", "user", "assistant"]) == named


def test_the_whole_name_tells_two_of_the_same_first_name_apart() -> None:
    assert named_person("Where did Ann Lee go?", ["Ann Lee", "Ann Ray"]) == "Ann Lee"
    assert named_person("Where did Ann go?", ["Ann Lee", "Ann Ray"]) is None


def test_a_question_in_the_first_person_is_about_the_asker() -> None:
    assert asks_of_self("What did I buy?")
    assert asks_of_self("where is my key")
    assert not asks_of_self("Which item is it, Amy?")


@dataclass(frozen=True, slots=True)
class Seen:
    """How questions and stores look in practice: cosine and late interaction of the best passage, words not seen."""

    cosine: float
    late: float
    unseen: float
    passages: int


@pytest.mark.parametrize(
    "seen",
    [
        Seen(0.62, 0.8, 0.0, 1),
        Seen(0.5, 0.7, 0.3, 12),
        Seen(0.55, 0.85, 0.0, 600),
        Seen(0.7, 0.9, 0.0, 90_000),
    ],
)
def test_a_near_passage_that_has_the_questions_words_matches(seen: Seen) -> None:
    assert matched(Features(seen.cosine, NAN, seen.late, seen.unseen, seen.passages))[0]


@pytest.mark.parametrize("seen", [Seen(0.1, 0.3, 1.0, 1), Seen(0.2, 0.4, 0.9, 12), Seen(0.3, 0.5, 0.5, 600)])
def test_a_far_passage_without_the_questions_words_does_not_match(seen: Seen) -> None:
    assert not matched(Features(seen.cosine, NAN, seen.late, seen.unseen, seen.passages))[0]


def test_the_verdict_does_without_what_the_search_has_not_got() -> None:
    assert matched(Features(NAN, 0.7, NAN, 0.0, 10))[0]
    assert matched(Features(NAN, NAN, NAN, 0.0, 10))[0]
    assert not matched(Features(NAN, NAN, NAN, 1.0, 10))[0]
    assert matched(Features(0.9, 0.9, 0.9, 0.0, 0)) == (False, 0.0)


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.integers(1, 10**9))
def test_the_probability_is_one_and_grows_with_nearness(
    cosine: float, late: float, unseen: float, passages: int
) -> None:
    here, nearer = (
        matched(Features(near, NAN, late, unseen, passages))[1] for near in (cosine, min(1.0, cosine + 0.1))
    )

    assert 0.0 <= here <= nearer <= 1.0


def test_the_unseen_share_is_the_weight_of_the_words_that_no_passage_has() -> None:
    assert unseen_share([3, 1], 10) == 0.0
    assert unseen_share([0, 0], 10) == 1.0
    assert unseen_share([], 10) == 1.0
    assert unseen_share([0, 10], 10) > 0.9


def test_the_features_take_the_instant_vectors_of_passages_that_wait_for_another() -> None:
    found = candidates([1, 1], [0.4, NAN], instant=[0.9, 0.6])
    ranked = rank(found, floats(0.2, 0.3))
    features = features_of(found, ranked, unseen=0.25, passages=2, eligible=np.array([True, True]))

    assert features == Features(0.4, 0.6, 0.3, 0.25, 2)


def test_the_features_leave_out_what_can_be_no_hit() -> None:
    found = candidates([1, 1, 1], [0.4, NAN, 0.9], instant=[0.9, 0.6, 0.9])
    ranked = rank(found, floats(0.2, 0.3, 0.8))
    features = features_of(found, ranked, unseen=0.25, passages=2, eligible=np.array([True, True, False]))

    assert features == Features(0.4, 0.6, 0.3, 0.25, 2)


def test_the_shipped_weights_are_the_default() -> None:
    assert Weights() == FITTED
