"""How many bins: rules of thumb (Ganev et al., "The Importance of Being Discrete", Table 1 and section 4).

`rice` and `budget_rice` use nothing of the data except the number of records, which must be public or released. The
others read the exact values: they are here for comparison, not for a private release.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError

LEAST_BINS = 5
MOST_BINS = 250
"""The largest number that the paper tried (5 to 250); the rule has no limit and gives 1,463 for a billion records.

The codes of a column then fit one byte, with those for missing and other values, and a marginal of three such columns
(16 million cells, 120 MB) fits the 1,000 MB of a graphical model several times; with 500 bins it would fill them.
"""


def rice(n_estimated: float) -> int:
    """Return 2 n^(1/3), rounded up (Rice; Scott, 1979), from a public or released number of records."""
    return math.ceil(2 * math.cbrt(max(n_estimated, 1.0)))


def budget_rice(n_estimated: float, epsilon: float) -> int:
    """Return Rice's number divided by 1 + exp(-epsilon), the paper's RL-OPT: half as many bins at epsilon 0.

    Args:
        n_estimated: Public or released number of records.
        epsilon: Budget of the whole release. The paper says "the available privacy budget"; its authors'
            library passes the column's share of it.

    Returns:
        A number of bins, rounded up, at least 5 as in the authors' library, and at most MOST_BINS: from 5 million
        records on at epsilon 1.
    """
    if not epsilon > 0:
        raise ArgumentError("epsilon must be above 0")
    wanted = math.ceil(2 * math.cbrt(max(n_estimated, 1.0)) / (1 + math.exp(-epsilon)))
    return min(max(LEAST_BINS, wanted), MOST_BINS)


def doane_non_private(values: NDArray[Any]) -> int:
    """Return Doane's number, 1 + log2 n + log2(1 + |skewness| / its standard error). NOT private.

    Args:
        values: [n] values, n at least 3.
    """
    x = _checked(values)
    n = x.size
    spread = x.std()
    skewness = float(np.mean(((x - x.mean()) / spread) ** 3)) if spread > 0 else 0.0
    error = math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
    return math.ceil(1 + math.log2(n) + math.log2(1 + abs(skewness) / error))


def freedman_diaconis_non_private(values: NDArray[Any]) -> int:
    """Return the range over 2 IQR / n^(1/3) (Freedman and Diaconis, 1981). NOT private.

    If the middle half of a column is one value, this width is 0, and the column gets Rice's number.
    """
    x = _checked(values)
    low, high = np.quantile(x, [0.25, 0.75])
    width = 2 * float(high - low) / math.cbrt(x.size)
    return max(1, math.ceil(float(np.ptp(x)) / width)) if width > 0 else rice(x.size)


def shimazaki_shinomoto_non_private(values: NDArray[Any]) -> int:
    """Return the count that minimises (2 mean - variance) / width^2 of the bins' counts (2006). NOT private.

    Candidates are 2 to 250 equal bins over the range.
    """
    x = _checked(values)
    low, width = float(x.min()), float(np.ptp(x))
    if width == 0:
        return 1
    costs = {}
    places = (x - low) / width
    for bins in range(2, MOST_BINS + 1):
        counts = np.bincount(np.minimum((places * bins).astype(np.intp), bins - 1), minlength=bins)
        costs[bins] = (2 * counts.mean() - counts.var()) / (width / bins) ** 2
    return min(costs, key=lambda bins: costs[bins])


def _checked(values: NDArray[Any]) -> NDArray[np.float64]:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size < 3 or not np.isfinite(x).all():
        raise ArgumentError("values must be at least 3 finite numbers")
    return x
