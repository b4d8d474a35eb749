"""Which marginals are worth their noise (theta-usefulness of PrivBayes, taken over by PrivMRF)."""

from __future__ import annotations

import math
from fractions import Fraction

from syntabula.privacy.curator import Curator

_MEAN_GAUSSIAN = math.sqrt(2 / math.pi)
_MEAN_LAPLACE = 1 / math.sqrt(2)


def largest_useful(
    curator: Curator, n_records: float, n_measured: int, share: Fraction, *, theta: float
) -> float:
    """Return the most cells that a marginal may have to be useful.

    A marginal is theta-useful if its average count is at least theta times the average absolute noise on it:
    n / cells >= theta E|noise| (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017, PrivBayes, section 5).

    Args:
        curator: Knows the noise that a share of the budget buys.
        n_records: Noisy number of records; below 1 counts as 1.
        n_measured: How many marginals will share the budget.
        share: Part of the whole budget for all of them.
        theta: Least ratio of count and noise.

    Returns:
        A number of cells; infinite without noise.
    """
    sigma = curator.noise_sigma(n_measured, share)
    if sigma == 0:
        return math.inf
    mean = _MEAN_LAPLACE if curator.ledger.budget.currency == "epsilon" else _MEAN_GAUSSIAN
    return max(1.0, n_records) / (theta * mean * sigma)
