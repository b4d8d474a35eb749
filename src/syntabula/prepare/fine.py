"""Bins so fine that coding costs less than chance, where privacy is switched off."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from syntabula.bins.uniform import Bins
from syntabula.prepare.discretizer import MOST_BINS, FittedDiscretizer, bins_through, rice
from syntabula.prepare.privtree import PrivTreeBins
from syntabula.privacy.budget import Budget
from syntabula.privacy.doors.columns import ColumnCurator

FINE_BINS = 1000
"""Most codes of a column under `bins="auto"`: some 250 parts of the records, and the frequent values between them."""

_LEAST = 6


@dataclass(frozen=True)
class FineBins(FittedDiscretizer):
    """Exact values where they are few or frequent, and between them bins of equal counts; for models of records.

    That reads the values as they are, so it is done without privacy only: with a finite budget, or for fewer than six
    bins, the column gets the bins of PrivTree, as many as the budget suggests.
    """

    key: str = "fine"
    needs_count: bool = True
    sees_values: ClassVar[bool] = True
    """Whether frequent values need no search of their own, where privacy is off."""

    def auto_count(self, budget: Budget, n_rows: float) -> int:
        """Return 1,000 where privacy is switched off, and else the usual number."""
        return FINE_BINS if budget.currency == "none" else super().auto_count(budget, n_rows)

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
        """Return the bins; see `FittedDiscretizer.fit`."""
        if column.is_private or count < _LEAST:
            return PrivTreeBins().fit(
                column, lower, upper, count=count, n_estimated=n_estimated, share=share, step=step
            )
        cuts = column.fine_cuts(count, step=step)
        if column.integer:
            return bins_through([int(c) for c in cuts], lower, upper, integer=True)
        # The last bin is closed: a frequent value at the upper bound needs one just below it.
        held = np.where(cuts == upper, np.nextafter(upper, -np.inf), cuts)
        return bins_through(held.tolist(), lower, upper, integer=False)


@dataclass(frozen=True)
class UsualBins(FineBins):
    """The bins of PrivTree under a budget, and fine ones, as many as pairs of columns bear, where privacy is off."""

    key: str = "usual"

    def auto_count(self, budget: Budget, n_rows: float) -> int:
        """Return four times Rice's number, at most 250, where privacy is switched off, and else the usual number."""
        if budget.currency != "none":
            return super().auto_count(budget, n_rows)
        return min(4 * rice(n_rows), MOST_BINS)
