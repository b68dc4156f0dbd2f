"""The check that every row a model returns passes before it may be stored or compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chronofile.infra.embedders.errors import InvalidVectors

if TYPE_CHECKING:
    from chronofile.domain.ports import Vectors


def unit_rows(rows: Any, count: int, dimension: int) -> Vectors:
    """Return the rows as float32 of length 1: shape (count, dimension).

    Raises InvalidVectors for another shape, for NaN or infinity, and for a row of zeros, which has no direction.
    """
    import numpy as np

    vectors: Vectors = np.asarray(rows, dtype=np.float32)
    if vectors.shape != (count, dimension):
        raise InvalidVectors(f"Expected the shape {(count, dimension)}, got {vectors.shape}.")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    bad = ~(np.isfinite(norms) & (norms > 0))
    if bad.any():
        raise InvalidVectors(f"{int(bad.sum())} of {count} rows are not finite or are all zero.")
    unit: Vectors = vectors / norms
    return unit
