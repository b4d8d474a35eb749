"""What a tree's splits see of a column: numbers that say how far its records are apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Codes
from syntabula.marginals.measurement import FloatArray

_RANKED_CLASSES = 12
_PART_OF_SPREADS = 0.5
"""What a split takes away of the variance of spreads counts as this part of what it takes away of that of ranks."""
_PART_OF_WEEKDAYS = 0.5
"""The same of weekdays."""


def ranks_of(codes: Codes, size: int) -> NDArray[np.float64]:
    """Return the middle of each record's step in the cumulative distribution [n]."""
    shares = np.bincount(codes, minlength=size) / len(codes)
    found: NDArray[np.float64] = (np.cumsum(shares) - shares / 2)[codes]
    return found


def means_and_spreads(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what splits tell apart of ranks [n, 2]: their mean, and for half as much how far they spread.

    These are the first two Legendre polynomials, which do not depend on each other where ranks are even.
    """
    centred = 2 * ranks - 1
    mean, spread = math.sqrt(3) * centred, math.sqrt(5) * (3 * centred**2 - 1) / 2
    return np.stack([mean, math.sqrt(_PART_OF_SPREADS) * spread], axis=1)


def weekday_scores(codes: Codes, weekdays: FloatArray) -> FloatArray:
    """Return what splits tell apart of weekdays [n, 7], so that a column on which these depend is not left out.

    Ranks say nothing of them: a Saturday is as far from a Friday as a Thursday is.

    Args:
        codes: Codes of the records [n].
        weekdays: Share of each weekday in each code [codes, 7].
    """
    told = math.sqrt(_PART_OF_WEEKDAYS) * weekdays[codes]
    found: FloatArray = told - told.mean(0)
    return found


def classes_of(codes: Codes, size: int) -> NDArray[np.float64]:
    """Return the codes [n] numbered from the most frequent."""
    number = np.empty(size, dtype=np.intp)
    number[np.argsort(-np.bincount(codes, minlength=size), kind="stable")] = np.arange(size)
    return number[codes].astype(np.float64)


def gini(classes: NDArray[np.float64]) -> float:
    """Return Gini's index of the classes [n]: the chance that two records differ."""
    shares = np.bincount(classes.astype(np.intp)) / len(classes)
    return float(1 - (shares**2).sum())


def scores_of(classes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return which of the most frequent classes each record has, less their shares [n, classes]."""
    held = min(int(classes.max()) + 1, _RANKED_CLASSES)
    told: NDArray[np.float64] = (classes[:, None] == np.arange(held)).astype(np.float64)
    told -= told.mean(0)
    return told


def order_of(codes: Codes, size: int, scores: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the ranks [size] of a predictor's codes by what they say of the target.

    That is the order of the means of a number or of two classes, in which the best split lies (Breiman et al. 1984,
    "Classification and Regression Trees", section 4.2.2); for more classes the first principal component
    of the class shares (Coppersmith, Hong, Hosking 1999, "Partitioning nominal attributes in decision trees").
    Codes without records come last.
    """
    counts = np.bincount(codes, minlength=size)
    sums = np.stack([np.bincount(codes, column, minlength=size) for column in scores.T], axis=1)
    means = sums / np.maximum(counts, 1)[:, None]
    if means.shape[1] > 1:
        weighed = means.T @ (means * counts[:, None])
        means = means @ np.linalg.eigh(weighed)[1][:, -1:]
    keys = np.where(counts > 0, means[:, 0], np.inf)
    ranks = np.empty(size, dtype=np.int32)
    ranks[np.argsort(keys, kind="stable")] = np.arange(size, dtype=np.int32)
    return ranks
