"""Truncated normal distributions within bins, fitted under differential privacy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from syntabula.bins.spread import LEAST_COUNT, LEAST_DEVIATION, MOST_DEVIATION, Spread
from syntabula.bins.uniform import Bins
from syntabula.privacy.doors.columns import ColumnCurator


def fit_spread(column: ColumnCurator, bins: Bins, *, share: Fraction, step: str) -> Spread:
    """Estimate the mean and deviation within each bin ("mixture" sampling, Ganev et al., section 4).

    The paper names no mechanism. Here each bin's records, the sum of their places in the bin and the sum of
    their squares get a third of the budget each; a record is in one bin, so all bins share it. Bins with a
    noisy count below 10 keep even values; deviations are held between 0.01 and 1 widths.

    Args:
        column: The values.
        bins: Bins that are public or released.
        share: Part of the whole budget.
        step: What the ledger calls the spends.
    """
    counts = column.histogram(bins.edges, share=share / 3, step=step).values
    first = column.sums(bins.edges, power=1, of="cell", share=share / 3, step=step).values
    second = column.sums(bins.edges, power=2, of="cell", share=share / 3, step=step).values
    held = np.maximum(counts, 1.0)
    means = np.clip(first / held, 0.0, 1.0)
    variances = np.clip(second / held - means**2, LEAST_DEVIATION**2, MOST_DEVIATION**2)
    deviations = np.where(counts < LEAST_COUNT, 0.0, np.sqrt(variances))
    return Spread(tuple(means.tolist()), tuple(deviations.tolist()))
