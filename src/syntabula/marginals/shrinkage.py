"""Draws noisy counts towards expected ones, by as much as their noise has a part in how they differ."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.measurement import FloatArray, project_simplex


def without_noise(
    counts: FloatArray, sigma: float, expected: FloatArray, *, free: int | None = None
) -> FloatArray:
    """Return noisy counts drawn towards expected ones (James and Stein, 1961, for its positive part).

    Args:
        counts: Noisy counts of any shape.
        sigma: Standard deviation of the noise of each.
        expected: Expected counts, in the same shape.
        free: Number of ways in which counts may differ from the expected ones; one less than there are by default, as
            both have the same sum.

    Returns:
        Counts of at least 0, of the shape and the sum of the expected ones.
    """
    apart = counts - expected
    size = float(np.square(apart).sum())
    noise = (apart.size - 1 if free is None else free) * sigma**2
    kept = max(1 - noise / size, 0.0) if size > 0 else 0.0
    return project_simplex(expected + kept * apart, float(expected.sum()))
