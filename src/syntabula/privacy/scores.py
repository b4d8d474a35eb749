"""Scores of a choice: how far counts are from what a model believes, and what one record can change that by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray

_STEPS_PER_RECORD = 1024.0
_FARTHEST = 2.0**31
"""Larger differences count as this many records, so that rounding of scores has a bound without the data."""

_TWICE_ROUNDED = 2.0**-51
"""What rounding moves a product of a difference by at most, in parts of it, in both of two tables."""


def on_grid(numbers: FloatArray) -> FloatArray:
    """Round numbers of records to multiples of 2^-10, of which float64 adds 2^43 records' worth exactly."""
    rounded: FloatArray = np.round(np.asarray(numbers, dtype=np.float64) * _STEPS_PER_RECORD)
    return rounded / _STEPS_PER_RECORD


def differences(counts: NDArray[np.int64], estimate: FloatArray) -> FloatArray:
    """Return how far each cell is from its estimate, at most 2^31: one record changes it by at most one, exactly.

    Below 2^31 all differences are exact on the grid. An estimate that is too large for that makes a difference
    that is held at 2^31 whatever the count.

    Args:
        counts: Exact counts, any shape.
        estimate: Expected counts, of the same shape.
    """
    far: FloatArray = np.minimum(np.abs(counts - on_grid(estimate)), _FARTHEST)
    return far


def distance(counts: NDArray[np.int64], estimate: FloatArray) -> float:
    """Return the L1 distance of counts and estimates, at most 2^31; one record changes it by at most one, exactly."""
    return min(float(np.abs(counts - on_grid(estimate)).sum()), _FARTHEST)


def weighed(distances: FloatArray, weights: FloatArray, penalties: FloatArray) -> FloatArray:
    """Return weight * (distance - penalty) of each candidate [candidates].

    Args:
        distances: As `distance` returns them [candidates].
        weights: Above 0 [candidates].
        penalties: Free of the data [candidates].
    """
    scores: FloatArray = weights * (distances - on_grid(penalties))
    return scores


def sensitivity(weights: FloatArray, penalties: FloatArray) -> float:
    """Return the most that one record changes a score of `weighed` by, its rounding included.

    A distance moves by at most one, and it and the penalty are at most 2^31 and |penalty| records apart from 0, so
    that the rounding of difference and product stays below 2^-51 of their sum over both tables.
    """
    rounding = _TWICE_ROUNDED * (_FARTHEST + np.abs(penalties))
    # The bound is rounded too.
    return float((weights * (1 + rounding)).max()) * (1 + 2.0**-40)
