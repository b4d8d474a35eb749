"""Places for the codes of a column that has too many for a tree to count each apart: near ones have similar records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.domain import Codes

MOST_DIRECTIONS = 8
_TOLD_APART = 12
"""Codes of a predictor without an order that count; the others, which are rarer, are as none of them."""
_MOST_FEATURES = 250
"""With so many predictors that these would be more, fewer codes of each count."""
_BYTES_PER_MEAN = 8


def places_of_codes(
    target: Codes,
    predictors: Sequence[Codes],
    sizes: Sequence[int],
    ordered_predictors: Sequence[bool],
) -> NDArray[np.float64]:
    """Return where the code of each record lies [n, up to `MOST_DIRECTIONS`]; the mean of all records is 0.

    A code lies at the mean of its records: of their ranks in predictors with an order, and of which code they have in
    the others. Kept are the directions in which codes lie farthest apart, their principal components. A regression
    tree on these places brings records together whose codes have similar records, however many codes there are.

    Args:
        target: Codes [n] of the column.
        predictors: Codes [n] of each predictor; at least one.
        sizes: Number of codes of each.
        ordered_predictors: Whether those of each predictor follow an order.
    """
    codes, places = np.unique(target, return_inverse=True)
    weights = np.sqrt(np.bincount(places))
    told_apart = _told_apart(len(predictors))
    features = (
        feature
        for predictor in zip(predictors, sizes, ordered_predictors, strict=True)
        for feature in _features(*predictor, told_apart)
    )
    # Means of each code's records times the root of how many these are. The array may be large, so there is but one.
    weighted = np.empty((len(codes), _n_features(sizes, ordered_predictors)))
    for position, feature in enumerate(features):
        weighted[:, position] = np.bincount(places, feature) / weights
    directions = np.linalg.eigh(weighted.T @ weighted)[1][:, -MOST_DIRECTIONS:]
    placed: NDArray[np.float64] = (weighted @ directions / weights[:, None])[places]
    return placed


def bytes_of_means(n: int, n_codes: int, sizes: Sequence[int], ordered_predictors: Sequence[bool]) -> int:
    """Return how much memory the means of codes take, from which `places_of_codes` finds the places of n records."""
    return min(n, n_codes) * _n_features(sizes, ordered_predictors) * _BYTES_PER_MEAN


def _told_apart(n_predictors: int) -> int:
    return max(1, min(_TOLD_APART, _MOST_FEATURES // max(n_predictors, 1)))


def _n_features(sizes: Sequence[int], ordered_predictors: Sequence[bool]) -> int:
    most = _told_apart(len(sizes))
    return sum(1 if o else min(size, most) for size, o in zip(sizes, ordered_predictors, strict=True))


def _features(codes: Codes, size: int, ordered: bool, told_apart: int) -> Iterator[NDArray[np.float64]]:
    """Yield numbers of each record [n] with the mean 0, whose variances are 1 together at most."""
    shares = np.bincount(codes, minlength=size) / len(codes)
    if ordered:
        # Ranks from 0 to 1 have a variance of 1 in 12.
        yield (np.sqrt(12) * (np.cumsum(shares) - shares / 2 - 0.5))[codes]
        return
    for code in np.argsort(-shares, kind="stable")[:told_apart]:
        yield (codes == code) - shares[code]
