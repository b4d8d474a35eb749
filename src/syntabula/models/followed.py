"""Finds measured pairs of which one column follows from the other, as a league does from its team, under noise.

Such a pair has one cell for each code of the first column, and noise in all others. A fit that stops where noise explains
what is left has not emptied these: a team of 200 records beside noise of 20 a cell still has rows in each league. One
of these cells says nothing, but all of them together tell well how many rows break the rule.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.measurement import FloatArray
from syntabula.models.targets import Target

_CLEAR = 4.0
"""Standard deviations of noise that the one cell of a code must hold."""
_LOW = 3.0
"""The same that none of its other cells may hold; nor half of the one."""
_NONE = 2.0
"""Standard deviations of noise up to which the other cells of a code together may hold no record."""
_MOST_HIDDEN = 0.1
"""Most part of the records that may break a rule unseen; else too little is known to speak of one."""
_LEAST_CLEAR = 0.5
"""Least part of the records whose codes have one clear cell."""


def cells_outside_rule(target: Target) -> NDArray[np.bool_] | None:
    """Return the cells of a pair that break a rule by which one column follows from the other; None if there is no rule.

    It is a rule if the typical code with one clear cell, by the median, has no more records in its other cells than noise
    of the median explains. The median leaves aside a few codes that were merged from several that differ. Cells of codes
    in which no rule is seen are left as they are, and so are those of codes that nothing clear goes with, as these are
    known to have records somewhere.

    Args:
        target: Noisy counts of a marginal; others than of two columns measured in all cells have no rules.

    Returns:
        Cells, in the shape of the counts.
    """
    if target.mean.ndim != 2 or not target.noise or not target.weight.all():
        return None
    sigmas = 1 / np.sqrt(target.weight)
    found = _outside(target.mean, sigmas) | _outside(target.mean.T, sigmas.T).T
    return found if found.any() else None


def _outside(counts: FloatArray, sigmas: FloatArray) -> NDArray[np.bool_]:
    """Return the cells [codes, other codes] that break the rule by which the other column follows; none without one."""
    nothing: NDArray[np.bool_] = np.zeros(counts.shape, dtype=np.bool_)
    rows, best = np.arange(len(counts)), counts.argmax(axis=1)
    scores = counts / sigmas
    highest = scores[rows, best]
    scores[rows, best] = -np.inf
    clear = (highest >= _CLEAR) & (scores.max(axis=1) < np.minimum(_LOW, highest / 2))
    followed = np.bincount(best[clear], minlength=counts.shape[1]) > 0
    if followed.sum() < 2 or counts[clear].sum() < _LEAST_CLEAR * counts.sum():
        return nothing
    outside: NDArray[np.bool_] = clear[:, np.newaxis] & followed
    outside[rows, best] = False
    noise = np.sqrt(np.where(outside, np.square(sigmas), 0.0).sum(axis=1)[clear])
    together = np.where(outside, counts, 0.0).sum(axis=1)[clear] / noise
    # A median's deviation is a quarter larger than a mean's; this is 1.6 of them.
    explained = 2 / math.sqrt(noise.size)
    if np.median(together) > explained or explained * noise.sum() > _MOST_HIDDEN * counts[clear].sum():
        return nothing
    outside[clear] &= (together <= _NONE)[:, np.newaxis]
    return outside
