"""Distributions of leaves that together have a given one."""

from __future__ import annotations

import numpy as np

from syntabula.marginals.measurement import FloatArray

_RAKINGS = 20


def raked(shares: FloatArray, weights: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return distributions [leaves, codes] whose sum by weights [leaves] is the wanted one [codes], nearly.

    Iterative proportional fitting (Deming, Stephan 1940).
    """
    found = shares.copy()
    for _ in range(_RAKINGS):
        sums = weights @ found
        found *= np.where(sums > 0, wanted / np.maximum(sums, 1e-300), 1.0)
        totals = found.sum(1, keepdims=True)
        found /= np.maximum(totals, 1e-300)
        if totals.min() <= 0:
            found[totals[:, 0] <= 0] = wanted / wanted.sum()
    return found
