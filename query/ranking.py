"""Ranking: the one order of the candidates, from what every leg says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofile.query.interaction import Tokens, best_matches, late_interaction, over_neighbours
from chronofile.query.scores import Floats, Ints, standardise

READ_MAX = 100
GROUP_BEST = 3
LEXICAL_SPREAD_MIN = 0.25
COSINE_SPREAD_MIN = 0.04
LATE_SCALE = 10.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each stage counts, in standard deviations of the mixed legs; benchmarks/fit_ranking.py fitted them.

    `dense` and `instant` are the shares of a vector leg against the lexical one, `late` is for one tenth
    of the question's weight answered more than by the average candidate that was read. The last three are
    for code and were set by hand on the names of a large package: what neighbours and source count for a
    passage of a file, and what the question's identifiers add where they stand whole and are defined.
    """

    dense: float = 0.7
    instant: float = 0.6
    late: float = 0.5
    late_neighbours: float = 0.9
    asks: float = -0.6
    previous: float = 0.3
    following: float = 0.1
    second_previous: float = 0.2
    second_following: float = 0.1
    group: float = 0.5
    person: float = 1.0
    self_said: float = 0.5
    file_context: float = 1 / 3
    literal: float = 4.0
    defines: float = 3.0


FITTED = Weights()


@dataclass(frozen=True, slots=True)
class Candidates:
    """Passages that a leg found, or that stand next to one, with the exact score of every leg; n of them.

    `lexical` is BM25; `dense` and `instant` are cosines, NaN where the passage has no such vector.
    `background_*` are the same scores of the background's passages. `previous` and `following` are
    indexes into the candidates, -1 where there is none among them; `group` numbers their sources (or
    sessions); `asks` says that the text ends with a question mark, `named` that it was spoken by the
    one person whom the question names, `self_said` that its role is user and the question is about the asker.
    `of_file` says that it is no turn; `literal` and `defines` are the shares of the question's identifiers
    that stand whole in it, and that it defines.
    """

    lexical: Floats
    dense: Floats
    instant: Floats
    background_lexical: Floats
    background_dense: Floats
    background_instant: Floats
    previous: Ints
    following: Ints
    group: Ints
    asks: NDArray[np.bool_]
    named: NDArray[np.bool_]
    self_said: NDArray[np.bool_]
    of_file: NDArray[np.bool_]
    literal: Floats
    defines: Floats


@dataclass(frozen=True, slots=True)
class Reading:
    """The tokens of the candidates that are read closely: `indexes` says which, `tokens` lies in that order.

    `tokens.ids` are indexes into `token_rows`; `question_rows` and `token_rows` are L2-normalised,
    `question_weights` comes from `token_weights`.
    """

    indexes: Ints
    tokens: Tokens
    token_rows: NDArray[np.float32]
    question_rows: NDArray[np.float32]
    question_weights: Floats


@dataclass(frozen=True, slots=True)
class Ranked:
    """The stages' scores of n candidates, and `order`: their indexes, best first. NaN: the stage did not judge it.

    `final` is `mixed` plus the weighted late interaction, context, group and cues, as `rank` says.
    """

    lexical: Floats
    dense: Floats
    instant: Floats
    mixed: Floats
    late: Floats
    context: Floats
    group: Floats
    final: Floats
    order: Ints


def mix(lexical: Floats, dense: Floats, instant: Floats, weights: Weights = FITTED) -> Floats:
    """Return the weighted mean of the standardised legs; the instant leg stands in where dense is NaN.

    Where both are missing the passage counts as average there.
    """
    share = np.where(np.isnan(dense), weights.instant, weights.dense)
    vector = np.where(np.isnan(dense), np.nan_to_num(instant), dense)
    mixed: Floats = (1.0 - share) * lexical + share * vector
    return mixed


def standardised(candidates: Candidates) -> tuple[Floats, Floats, Floats]:
    """Return the lexical, dense and instant scores in standard deviations above the background."""
    return (
        standardise(candidates.lexical, candidates.background_lexical, LEXICAL_SPREAD_MIN),
        standardise(candidates.dense, candidates.background_dense, COSINE_SPREAD_MIN),
        standardise(candidates.instant, candidates.background_instant, COSINE_SPREAD_MIN),
    )


def worth_reading(candidates: Candidates, weights: Weights = FITTED, limit: int = READ_MAX) -> Ints:
    """Return the indexes of the candidates that late interaction judges: the `limit` best, then their neighbours."""
    best = best_first(mix(*standardised(candidates), weights))[:limit]
    near = np.concatenate([best, candidates.previous[best], candidates.following[best]])
    near = near[near >= 0]
    _, first = np.unique(near, return_index=True)
    return near[np.sort(first)]


def read_closely(candidates: Candidates, reading: Reading, weights: Weights = FITTED) -> Floats:
    """Return the late interaction of the candidates that were read, from 0 to 1, and NaN for all others: shape (n,)."""
    matches = best_matches(reading.question_rows, reading.token_rows, reading.tokens)
    return late_scores(candidates, reading.indexes, matches, reading.question_weights, weights)


def late_scores(
    candidates: Candidates,
    indexes: Ints,
    matches: NDArray[np.float32],
    question_weights: Floats,
    weights: Weights = FITTED,
) -> Floats:
    """Return what `read_closely` does, from matches of shape (question tokens, indexes) that are there already."""
    place = np.full(len(candidates.lexical) + 1, -1, dtype=np.int64)
    place[indexes] = np.arange(len(indexes))
    previous, following = place[candidates.previous[indexes]], place[candidates.following[indexes]]
    widened = over_neighbours(matches, previous, following, weights.late_neighbours)
    late = np.full(len(candidates.lexical), np.nan)
    late[indexes] = late_interaction(widened, question_weights)
    return late


def rank(candidates: Candidates, late: Floats | None = None, weights: Weights = FITTED) -> Ranked:
    """Rank the candidates; `late` is what `read_closely` returned, None where nothing is read closely.

    evidence = mixed + late * LATE_SCALE * (late interaction - its mean over those read) + asks;
    final = evidence + the neighbours' evidence, weighted + group * the mean of the source's three best
    + person + self_said + literal + defines; for files neighbours and source count less. A candidate that was not read counts as the average one that was. Ties keep their order.
    """
    lexical, dense, instant = standardised(candidates)
    mixed = mix(lexical, dense, instant, weights)
    late = np.full(len(mixed), np.nan) if late is None else late
    evidence = mixed + weights.asks * candidates.asks
    if np.isfinite(late).any():
        evidence = evidence + LATE_SCALE * weights.late * np.nan_to_num(late - np.nanmean(late))
    context = neighbours_evidence(evidence, candidates.previous, candidates.following, weights)
    group = group_evidence(evidence, candidates.group)
    around = (context + weights.group * group) * np.where(candidates.of_file, weights.file_context, 1.0)
    final = evidence + around + weights.person * candidates.named + weights.self_said * candidates.self_said
    final = final + weights.literal * candidates.literal + weights.defines * candidates.defines
    return Ranked(lexical, dense, instant, mixed, late, context, group, final, best_first(final))


def neighbours_evidence(scores: Floats, previous: Ints, following: Ints, weights: Weights = FITTED) -> Floats:
    """Return the weighted scores of the two passages before and the two after; one that is missing is average: 0."""
    padded = np.append(scores, 0.0)
    before, after = np.append(previous, -1), np.append(following, -1)
    evidence: Floats = (
        weights.previous * padded[previous]
        + weights.following * padded[following]
        + weights.second_previous * padded[before[previous]]
        + weights.second_following * padded[after[following]]
    )
    return evidence


def group_evidence(scores: Floats, group: Ints, best: int = GROUP_BEST) -> Floats:
    """Return for each candidate the mean of the best scores in its group: at most `best` of them, fewer where it has fewer."""
    order = np.lexsort((-scores, group))
    _, first, member, size = np.unique(
        group[order], return_index=True, return_inverse=True, return_counts=True
    )
    among_best = np.arange(len(order)) - first[member] < best
    total = np.bincount(member[among_best], weights=scores[order][among_best], minlength=len(size))
    evidence = np.empty(len(scores))
    evidence[order] = (total / np.minimum(size, best))[member]
    return evidence


def best_first(scores: Floats) -> Ints:
    """Return the indexes of the scores, highest first; equal ones keep their order."""
    return np.argsort(-scores, kind="stable")
