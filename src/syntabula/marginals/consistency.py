"""Make noisy counts agree with what is known of them: post-processing of released values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from syntabula.errors import ArgumentError
from syntabula.marginals.measurement import FloatArray, Measurement


def project_simplex(values: FloatArray, total: float) -> FloatArray:
    """Return the nearest non-negative counts with a given sum, in the Euclidean sense.

    The answer is max(values - t, 0) for the one t that gives the sum; t is found exactly from the sorted
    values (Held, Wolfe, Crowder 1974; Duchi et al. 2008).

    Args:
        values: Counts of any shape, at least one cell.
        total: Sum of the answer, at least 0.

    Returns:
        Counts of the shape of `values`.

    Raises:
        ArgumentError: If there is no cell, or a value or the total is not finite, or the total is negative.
    """
    given = np.asarray(values, dtype=np.float64)
    if isinstance(total, bool | str) or not math.isfinite(total) or total < 0:
        raise ArgumentError(f"total is {total!r}; it must be finite and at least 0")
    if not given.size or not np.isfinite(given).all():
        raise ArgumentError("values must be at least one number, all of them finite")
    if total == 0:
        return np.zeros(given.shape)
    # The answer does not change if all values move together; below zero, no digits of the total are lost.
    # Cells more than the total below the largest get nothing, so they may be cut off there.
    shifted = np.maximum(given - given.max(), -2 * float(total))
    descending = np.sort(shifted, axis=None)[::-1]
    thresholds = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    support = int(np.count_nonzero(descending > thresholds))
    kept = np.maximum(shifted - thresholds[max(support, 1) - 1], 0)
    projected: FloatArray = kept * (total / kept.sum())
    return projected


def consistent_total(measurements: Sequence[Measurement]) -> float:
    """Return the estimate of the number of records with the least variance; at least 1.

    Each measurement's sum estimates the number of records, with the sum of its cells' variances; the
    estimates are averaged with weights 1 / variance (McKenna, Sheldon, Miklau 2019, "Graphical-model based
    estimation and inference for differential privacy"). A measurement without noise outweighs all others.

    Raises:
        ArgumentError: If there is no measurement.
    """
    if not measurements:
        raise ArgumentError("the number of records cannot be estimated without a measurement")
    sums = np.array([m.values.sum() for m in measurements])
    variances = np.array([np.broadcast_to(np.square(m.sigma), m.values.shape).sum() for m in measurements])
    exact = variances == 0
    if exact.any():
        return max(1.0, float(sums[exact].mean()))
    weights = variances.min() / variances
    return max(1.0, float(weights @ sums / weights.sum()))
