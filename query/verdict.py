"""The verdict: whether any of the hits answers the question, as a probability that was calibrated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofile.query.ranking import Candidates, Ranked
from chronofile.query.scores import Floats, idf

THRESHOLD, THRESHOLD_STATIC = 0.45, 0.2
"""A hit that is hidden costs more than one too many. Static cosines are lower on code and documents, and an
answer from them alone says that it is degraded."""
PASSAGES_CAP = 4_000


@dataclass(frozen=True, slots=True)
class Features:
    """What the verdict looks at; NaN is what this search has not got.

    `cosine` is the best of the transformer's vectors, `instant` the best static cosine among the
    passages that have no such vector yet, `late` the best late interaction. `unseen` is the share of the
    question's idf that falls to terms which no passage of the scope holds, `passages` how many it has.
    """

    cosine: float
    instant: float
    late: float
    unseen: float
    passages: int


@dataclass(frozen=True, slots=True)
class _Rule:
    similarity: float
    late: float
    unseen: float
    log10_passages: float
    constant: float


# Logistic regressions by Newton's method, over answered questions in their own scope against questions
# asked in another scope and the questions of benchmarks/negatives.txt, in stores of 1 to 1,000 passages.
# The best of many passages is better than the best of few, hence the number of passages; beyond
# PASSAGES_CAP the slope was checked on pooled stores and would refuse too much.
_COSINE_AND_LATE = _Rule(15.86, 5.36, -4.34, -2.57, -2.19)
_COSINE = _Rule(17.45, 0.0, -5.76, -2.48, 0.35)
_INSTANT_AND_LATE = _Rule(14.30, 5.24, -4.32, -2.72, -0.15)
_INSTANT = _Rule(16.11, 0.0, -5.56, -2.65, 2.31)
_WORDS = _Rule(0.0, 0.0, -8.30, -2.16, 8.14)


def matched(features: Features) -> tuple[bool, float]:
    """Return whether any hit answers the question, and how probable that is: from 0 to 1.

    The likelier of what the transformer's vectors and the static ones say; words alone where there are
    neither. A scope without passages answers nothing.
    """
    if features.passages <= 0:
        return False, 0.0
    read = not math.isnan(features.late)
    said = [
        (_probability(rule, similarity, features), threshold)
        for rule, similarity, threshold in (
            (_COSINE_AND_LATE if read else _COSINE, features.cosine, THRESHOLD),
            (_INSTANT_AND_LATE if read else _INSTANT, features.instant, THRESHOLD_STATIC),
        )
        if not math.isnan(similarity)
    ] or [(_probability(_WORDS, 0.0, features), THRESHOLD)]
    return any(p >= threshold for p, threshold in said), max(p for p, _ in said)


def features_of(
    candidates: Candidates, ranked: Ranked, unseen: float, passages: int, eligible: NDArray[np.bool_]
) -> Features:
    """Return the features of a ranking; `unseen` comes from `unseen_share`.

    `eligible`, shape (candidates,), tells the candidates that can be hits: a neighbour that a filter excludes
    may be what answers, and then nothing among the hits does.
    """
    waiting = candidates.instant[eligible & np.isnan(candidates.dense)]
    return Features(
        _best(candidates.dense[eligible]), _best(waiting), _best(ranked.late[eligible]), unseen, passages
    )


def unseen_share(df: Sequence[int], n: int) -> float:
    """Return the share of a question's idf that falls to terms that none of the `n` passages holds: from 0 to 1.

    `df` says for each distinct term how many passages hold it. A question without terms is all unseen.
    """
    weights = idf(np.asarray(df, dtype=np.float64), n)
    total = float(weights.sum())
    return float(weights[np.asarray(df) == 0].sum()) / total if total > 0.0 else 1.0


def _probability(rule: _Rule, similarity: float, features: Features) -> float:
    late = 0.0 if math.isnan(features.late) else features.late
    size = math.log10(min(max(features.passages, 1), PASSAGES_CAP))
    logit = (
        rule.similarity * similarity
        + rule.late * late
        + rule.unseen * features.unseen
        + rule.log10_passages * size
        + rule.constant
    )
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, logit))))


def _best(scores: Floats) -> float:
    known = scores[np.isfinite(scores)]
    return float(known.max()) if known.size else math.nan
