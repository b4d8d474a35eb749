"""Scores of a choice, and what one record can change them by, the rounding of their arithmetic included."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray

_STEPS_PER_RECORD = 1024.0
_FARTHEST = 2.0**31
"""Larger differences count as this many records, so that rounding of scores has a bound without the data."""

_LARGEST_WHOLE = 2.0**52

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


def quantile_scores(
    ranks: NDArray[np.int64], n_values: int, fraction: Fraction, log_widths: FloatArray, scale: float
) -> tuple[FloatArray, float]:
    """Return the score of each cell for a quantile [cells], and its sensitivity.

    With the fraction i / b it is -|b rank - i n|, of sensitivity max(i, b - i), a whole number.

    Args:
        ranks: Number of values below each cell [cells].
        n_values: Number of values.
        fraction: Of the values that lie below the quantile.
        log_widths: Logarithm of the width of each cell [cells].
        scale: By what a score of sensitivity one is divided in the choice.
    """
    i, b = fraction.numerator, fraction.denominator
    widest = max(i, b - i)
    scores: FloatArray = _whole(log_widths * scale * widest) - np.abs(b * ranks - i * n_values)
    return scores, float(widest)


def shortfall_scores(
    counts: NDArray[np.int64], enough: float, merits: FloatArray, log_weights: FloatArray, scale: float
) -> FloatArray:
    """Return what counts lack of enough, below zero, with merits and weights; one record changes it by one.

    Args:
        counts: Exact counts [candidates].
        enough: A public or released number.
        merits: How much each may lack; public or released [candidates].
        log_weights: Weights between candidates that are alike in this [candidates].
        scale: By what a score is divided in the choice.
    """
    scores: FloatArray = _whole(merits + log_weights * scale) - np.maximum(math.ceil(enough) - counts, 0)
    return scores


def _whole(numbers: FloatArray) -> FloatArray:
    """Round to whole numbers, and hold them where float64 still adds 2^51 records to them exactly."""
    rounded: FloatArray = np.clip(np.rint(numbers), -_LARGEST_WHOLE, _LARGEST_WHOLE)
    return rounded
