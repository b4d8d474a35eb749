"""The interface of discretizers that spend budget, the usual number of bins, and the fit of how values lie within bins.

`rice` and `budget_rice` (Ganev et al., "The Importance of Being Discrete", Table 1 and section 4) use nothing of the data
except the number of records, which must be public or released.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np

from syntabula.bins.uniform import LEAST_COUNT, LEAST_DEVIATION, MOST_DEVIATION, Bins, Spread, UniformBins
from syntabula.errors import ArgumentError
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator

LEAST_BINS = 5
MOST_BINS = 250
"""The largest number that the paper tried (5 to 250); the rule has no limit and gives 1,463 for a billion records.

The codes of a column then fit one byte, with those for missing and other values, and a marginal of three such columns
(16 million cells, 120 MB) fits the 1,000 MB of a graphical model several times; with 500 bins it would fill them.
"""


@runtime_checkable
class FittedDiscretizer(Protocol):
    """Chooses bins by the data, under differential privacy.

    A discretizer inherits from this class. `key`, `needs_count` and `is_free` may be class attributes.

    Attributes:
        key: Name, as options and plans write it.
        needs_count: Whether `fit` uses the estimated number of records.
        is_free: Whether `fit` spends nothing; its columns then get no share of the budget. False by default.
    """

    @property
    def key(self) -> str:
        """Name, as options and plans write it."""
        ...

    @property
    def needs_count(self) -> bool:
        """Whether `fit` uses the estimated number of records."""
        ...

    @property
    def is_free(self) -> bool:
        """Whether `fit` spends nothing."""
        return False

    def auto_count(self, budget: Budget, n_rows: float) -> int:
        """Return the largest number of bins under `bins="auto"`; by default the rule of `budget_rice`.

        Args:
            budget: The whole budget.
            n_rows: Released, public or guessed number of records.
        """
        return budget_rice(n_rows, budget.epsilon)

    def fit(
        self,
        column: ColumnCurator,
        lower: float,
        upper: float,
        *,
        count: int,
        n_estimated: float,
        share: Fraction,
        step: str,
    ) -> Bins:
        """Return at most `count` bins that cover exactly [lower, upper].

        Args:
            column: The values; those outside the bounds are clipped to the nearest one.
            lower: Lower bound, an integer for an integer column.
            upper: Upper bound, part of the domain.
            count: Largest number of bins, at least 1.
            n_estimated: Released or public estimate of the number of records.
            share: Fraction of the whole budget that may be spent; 0 if `is_free`. What is left goes to the model.
            step: Name of the spends in the ledger.

        Returns:
            The bins; `bins_through` makes them from cuts in any order.
        """
        ...


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


def is_worth_fitting(lower: float, upper: float, *, integer: bool, count: int) -> bool:
    """Return whether a domain has more values than bins; otherwise each value gets its own bin at no cost."""
    return lower < upper and count > 1 and not (integer and int(upper) - int(lower) + 1 <= count)


def bins_through(cuts: list[int] | list[float], lower: float, upper: float, *, integer: bool) -> Bins:
    """Return bins over [lower, upper] with those cuts that lie strictly inside, each once.

    Args:
        cuts: Inner edges in any order; integers for an integer column.
        lower: Lower bound.
        upper: Upper bound, part of the domain.
        integer: Whether the column holds integers only.
    """
    if integer:
        first, end = int(lower), int(upper) + 1
        whole = sorted({int(c) for c in cuts if first < c < end})
        return Bins((first, *whole, end), integer=True)
    low, high = float(lower), float(upper)
    if low == high:
        return UniformBins(1).bins(low, high, integer=False)
    return Bins((low, *sorted({float(c) for c in cuts if low < c < high}), high))


def fit_spread(column: ColumnCurator, bins: Bins, *, share: Fraction, step: str) -> Spread:
    """Estimate the mean and deviation within each bin ("mixture" sampling, Ganev et al., section 4).

    The paper names no mechanism. Here the number of records, the sum of their places in the bin and the sum of
    the squared places get a third of the budget each; all bins share it, because a record is in only one bin. Bins
    with a noisy count below 10 keep uniform values; deviations are clipped to 0.01 to 1 widths.

    Args:
        column: The values.
        bins: Bins that are public or released.
        share: Fraction of the whole budget.
        step: Name of the spends in the ledger.
    """
    counts = column.histogram(bins.edges, share=share / 3, step=step).values
    first = column.sums(bins.edges, power=1, of="cell", share=share / 3, step=step).values
    second = column.sums(bins.edges, power=2, of="cell", share=share / 3, step=step).values
    held = np.maximum(counts, 1.0)
    means = np.clip(first / held, 0.0, 1.0)
    variances = np.clip(second / held - means**2, LEAST_DEVIATION**2, MOST_DEVIATION**2)
    deviations = np.where(counts < LEAST_COUNT, 0.0, np.sqrt(variances))
    return Spread(tuple(means.tolist()), tuple(deviations.tolist()))
