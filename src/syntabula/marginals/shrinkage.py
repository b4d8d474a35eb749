"""Draws noisy counts towards expected ones, by as much as their noise has a part in how they differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    kept = _kept(apart, sigma, apart.size - 1 if free is None else free)
    return project_simplex(expected + kept, float(expected.sum()))


def without_noise_in_groups(
    counts: FloatArray, sigma: float, expected: FloatArray, groups: NDArray[np.int64]
) -> FloatArray:
    """Return noisy counts drawn towards expected ones, the sums of groups apart from what differs within each.

    Working days that are alike tell by how much noise hides how they differ, and nothing of weekends without any rows.

    Args:
        counts: Noisy counts [n].
        sigma: Standard deviation of the noise of each.
        expected: Expected counts [n].
        groups: Group of each, from 0 on, none of them empty [n].

    Returns:
        Counts of at least 0, of the sum of the expected ones [n].
    """
    sizes = np.bincount(groups)
    apart = counts - expected
    apart = apart - apart.mean()
    between = (np.bincount(groups, apart) / sizes)[groups]
    kept = _kept(between, sigma, sizes.size - 1)
    for group, size in enumerate(sizes):
        kept = kept + _kept(np.where(groups == group, apart - between, 0.0), sigma, int(size) - 1)
    return project_simplex(expected + kept, float(expected.sum()))


def _kept(apart: FloatArray, sigma: float, free: int) -> FloatArray:
    """Return the part of differences that noise does not explain, of which so many are free."""
    size = float(np.square(apart).sum())
    return max(1 - free * sigma**2 / size, 0.0) * apart if size > 0 else np.zeros_like(apart)
