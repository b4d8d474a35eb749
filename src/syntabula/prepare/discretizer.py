"""The seam of discretisers that look at the column, and pay for it."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, runtime_checkable

from syntabula.bins.uniform import Bins, UniformBins
from syntabula.privacy.doors.columns import ColumnCurator


@runtime_checkable
class FittedDiscretizer(Protocol):
    """A way to choose bins by the data, under differential privacy.

    `key` and `needs_count` may be class attributes.

    Attributes:
        key: Name, as options and plans write it.
        needs_count: Whether `fit` uses the estimated number of records.
    """

    @property
    def key(self) -> str:
        """Name, as options and plans write it."""
        ...

    @property
    def needs_count(self) -> bool:
        """Whether `fit` uses the estimated number of records."""
        ...

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
            column: The values; those outside the bounds count as the nearest one.
            lower: Lower bound, an integer for an integer column.
            upper: Upper bound, part of the domain.
            count: Largest number of bins, at least 1.
            n_estimated: Released or public estimate of the number of records.
            share: Part of the whole budget that may be spent. What is not spent goes to the model.
            step: What the ledger calls the spends.

        Returns:
            The bins; `bins_through` makes them of cuts in any order.
        """
        ...


def is_worth_fitting(lower: float, upper: float, *, integer: bool, count: int) -> bool:
    """Whether a domain has more values than bins; else each value has its own bin, free of budget."""
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
