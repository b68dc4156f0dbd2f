"""Interaction: how well the single tokens of a question are answered by single tokens of a passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chronofile.query.scores import Floats, Ints, idf

PRODUCT_ROWS = 64


@dataclass(frozen=True, slots=True)
class Tokens:
    """The token ids of some passages, one list after the other.

    `ids` is flat; the tokens of passage i are `ids[starts[i]:starts[i + 1]]`, so there is one start more
    than there are passages.
    """

    ids: Ints
    starts: Ints

    @classmethod
    def of(cls, lists: Sequence[ArrayLike]) -> Self:
        """Lay lists of token ids one after the other."""
        arrays = [np.zeros(0, dtype=np.int64), *(np.asarray(tokens, dtype=np.int64) for tokens in lists)]
        return cls(np.concatenate(arrays), np.cumsum([len(array) for array in arrays]))

    def __len__(self) -> int:
        return len(self.starts) - 1


def token_weights(question: Sequence[int], background: Tokens) -> Floats:
    """Return the weight of each token of a question: its idf among the background's passages, shape (len(question),).

    Taking it from the background keeps other scopes and the future out; against the idf over
    all passages of a scope nothing is lost.
    """
    n = len(background)
    places = np.flatnonzero(np.isin(background.ids, np.asarray(question, dtype=np.int64)))
    held, owners = background.ids[places], np.repeat(np.arange(n), np.diff(background.starts))[places]
    return idf([len(np.unique(owners[held == token])) for token in question], n)


def best_matches(
    question_rows: NDArray[np.float32], token_rows: NDArray[np.float32], tokens: Tokens
) -> NDArray[np.float32]:
    """Return the best cosine of each question token in each passage: shape (question tokens, passages), from 0 to 1.

    `question_rows` and `token_rows` are L2-normalised rows; `tokens.ids` are indexes into `token_rows`,
    which so need hold each distinct token but once. A passage without tokens matches nothing.
    """
    matches = np.zeros((len(question_rows), len(tokens)), dtype=np.float32)
    filled = np.flatnonzero(np.diff(tokens.starts))
    if len(question_rows) and len(filled):
        # Tokens down, the question across: a passage's tokens then lie side by side in memory.
        cosines = np.maximum(_products(token_rows, question_rows), 0.0)
        matches[:, filled] = np.maximum.reduceat(cosines[tokens.ids], tokens.starts[filled], axis=0).T
    return np.minimum(matches, 1.0)


def _products(token_rows: NDArray[np.float32], question_rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inner products, a few rows at a time: a larger product wakes threads that wait longer than it takes."""
    starts = range(0, len(token_rows), PRODUCT_ROWS)
    return np.concatenate([token_rows[i : i + PRODUCT_ROWS] @ question_rows.T for i in starts])


def late_interaction(matches: NDArray[np.float32], weights: Floats) -> Floats:
    """Return the share of a question's weight that each passage answers: shape (passages,), from 0 to 1.

    The sum over question tokens of weight times best match, over the sum of weights: ColBERT's
    MaxSim (Khattab and Zaharia, 2020) with idf weights, over static vectors instead of contextual ones.
    """
    total = float(weights.sum())
    return weights @ matches / total if total > 0.0 else np.zeros(matches.shape[1])


def over_neighbours(
    matches: NDArray[np.float32], previous: Ints, following: Ints, share: float
) -> NDArray[np.float32]:
    """Return the matches where a token counts `share` as much if only the passage before or after has it.

    A question and its reply often hold half of the answer each. `previous` and `following` are
    indexes of passages, -1 for none.
    """
    padded = np.pad(matches, ((0, 0), (0, 1)))
    return np.maximum(matches, share * np.maximum(padded[:, previous], padded[:, following]))
