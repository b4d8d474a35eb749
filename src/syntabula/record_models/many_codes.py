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


def places_of_codes(
    target: Codes,
    n_codes: int,
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
        n_codes: Number of its codes.
        predictors: Codes [n] of each predictor; at least one.
        sizes: Number of codes of each.
        ordered_predictors: Whether those of each predictor follow an order.
    """
    counts = np.bincount(target, minlength=n_codes)
    told_apart = max(1, min(_TOLD_APART, _MOST_FEATURES // len(predictors)))
    sums = [
        np.bincount(target, feature, minlength=n_codes)
        for predictor in zip(predictors, sizes, ordered_predictors, strict=True)
        for feature in _features(*predictor, told_apart)
    ]
    means = np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
    directions = np.linalg.eigh(means.T @ (means * counts[:, None]))[1][:, -MOST_DIRECTIONS:]
    placed: NDArray[np.float64] = (means @ directions)[target]
    return placed


def _features(codes: Codes, size: int, ordered: bool, told_apart: int) -> Iterator[NDArray[np.float64]]:
    """Yield numbers of each record [n] with the mean 0, whose variances are 1 together at most."""
    shares = np.bincount(codes, minlength=size) / len(codes)
    if ordered:
        # Ranks from 0 to 1 have a variance of 1 in 12.
        yield (np.sqrt(12) * (np.cumsum(shares) - shares / 2 - 0.5))[codes]
        return
    for code in np.argsort(-shares, kind="stable")[:told_apart]:
        yield (codes == code) - shares[code]
