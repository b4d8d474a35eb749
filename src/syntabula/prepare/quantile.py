"""Bins that hold about equal numbers of records, under differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from syntabula.bins.uniform import Bins
from syntabula.prepare.preprocessing import FittedDiscretizer, bins_through
from syntabula.privacy.doors.columns import ColumnCurator

CANDIDATES = 512


@dataclass(frozen=True)
class QuantileBins(FittedDiscretizer):
    """Edges at private quantiles (Ganev et al., "The Importance of Being Discrete", section 4; Smith, 2011).

    Each of the b - 1 inner edges is a draw of the exponential mechanism, with an equal share of the budget. The paper
    gives each 1 / b of it, which leaves one share unspent, and prints weights without the factor 1/2 that the
    mechanism needs; this code includes it. Smith draws from the gaps between adjacent values, whose number is
    private. Here the candidates are cells of a public grid, uniform over the domain and finer towards 0 (or the bound
    next to it), weighted by their width, and the edge is the lower end of the cell drawn. Equal edges merge, so
    columns with ties have fewer bins.

    Cost: b - 1 exponential mechanisms. Time: b draws among some 1,000 cells.
    """

    key: str = "quantile"
    needs_count: bool = False

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
        del n_estimated
        edges = candidate_edges(lower, upper, integer=column.integer)
        fractions = [Fraction(i, count) for i in range(1, count)]
        chosen = column.quantiles(edges, fractions, share=share, step=step)
        return bins_through([edges[i] for i in chosen], lower, upper, integer=column.integer)


def candidate_edges(lower: float, upper: float, *, integer: bool) -> list[int] | list[float]:
    """Return ascending edges of the candidate cells, from the domain alone.

    An integer domain of at most 1,024 values has one cell per value. Others have 512 equal cells, cut further
    at 512 points whose distances from 0, or from the bound next to 0, grow by a constant factor from 2^-32 to half
    of the width.
    """
    if integer and int(upper) - int(lower) < 2 * CANDIDATES:
        return list(range(int(lower), int(upper) + 2))
    low, high = float(lower), float(upper)
    # A weighted mean and half of the width, because the full width may overflow.
    half = high / 2 - low / 2
    share = np.arange(1, CANDIDATES) / CANDIDATES
    even = low * (1 - share) + high * share
    anchor = min(max(0.0, low), high)
    distances = np.exp2(np.linspace(-31, 0, CANDIDATES // 2)) * half
    inner = np.concatenate([even, anchor - distances, anchor + distances, [anchor]])
    if integer:
        first, end = int(lower), int(upper) + 1
        held = np.clip(np.rint(inner), max(low, -(2.0**62)), min(high, 2.0**62))
        return [first, *sorted({int(c) for c in held if first < int(c) < end}), end]
    return [low, *(float(c) for c in np.unique(inner[(inner > low) & (inner < high)])), high]
