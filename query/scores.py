"""Scores: what one leg says of a passage, and how the scores of different legs become comparable."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Fitted by benchmarks/fit_ranking.py; from .6 to 1.5 and from .3 to .5 the figures hardly move.
BM25_K1 = 0.9
BM25_B = 0.4


def idf(df: ArrayLike, n: int) -> Floats:
    """Return how much a term tells that `df` of `n` passages hold: log(1 + (n - df + .5) / (df + .5)), never negative.

    The formula is Lucene's variant of Robertson and Sparck Jones's weight.
    """
    held = np.asarray(df, dtype=np.float64)
    return np.log1p((np.maximum(n - held, 0.0) + 0.5) / (held + 0.5))


def bm25(
    tf: ArrayLike,
    df: ArrayLike,
    length: ArrayLike,
    *,
    n: int,
    average_length: float,
    k1: float = BM25_K1,
    b: float = BM25_B,
) -> Floats:
    """Return the BM25 share of each posting (Robertson and others, TREC-3): shapes of tf, df and length broadcast.

    `tf` is how often the term stands in the passage, `df` how many of the `n` passages hold it, `length`
    the passage's number of terms and `average_length` its mean over the `n` passages. The score of a
    passage is the sum over the question's distinct terms.
    """
    often = np.asarray(tf, dtype=np.float64)
    relative = np.asarray(length, dtype=np.float64) / (average_length or 1.0)
    return idf(df, n) * often * (k1 + 1.0) / (often + k1 * (1.0 - b + b * relative))


def standardise(scores: ArrayLike, background: ArrayLike, spread_min: float = 0.0) -> Floats:
    """Return how many standard deviations each score lies above the mean of the background.

    The background is the scores of passages that no search has chosen, so that the same score means
    the same whatever was found. NaN is a score that is missing: it stays NaN, and the background
    goes without it. `spread_min` keeps a handful of equal scores from making everything else enormous;
    without any background, or with no spread at all, everything is average: 0.
    """
    raw = np.asarray(scores, dtype=np.float64)
    known = np.asarray(background, dtype=np.float64)
    known = known[np.isfinite(known)]
    spread = max(float(known.std()), spread_min) if known.size else 0.0
    if spread <= 0.0:
        return np.where(np.isnan(raw), np.nan, 0.0)
    above: Floats = (raw - known.mean()) / spread
    return above
