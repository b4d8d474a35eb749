"""How many values lie beyond bounds that were found, by noisy counts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.prepare.two_counts import CountsInParts

CLEARLY = 1.645
"""Standard deviations of the noise above which all that was counted beyond bounds is told; noise alone exceeds it in one
column of twenty."""
_CLEARLY_ON_A_SIDE = 3.0
"""The same for the values on one side, above which bounds are widened to them."""
AROUND = 8
"""Powers of two that are looked at on either side of the bounds."""
_WIDEST = 8
_SURE = 7.0  # of the logarithm of a likelihood: one place in a thousand
USUAL = 0.01
"""Fraction of the values that lies beyond found bounds on average, without noise, by which noisy counts are judged."""
_HIDDEN = 0.5
"""The same that noise hides, in standard deviations of it: bounds end where counts do not exceed the noise."""


@dataclass(frozen=True)
class Beyond:
    """Noisy number of values beyond bounds.

    Attributes:
        number: Estimate of it.
        variance: Variance of the noise on it.
    """

    number: float
    variance: float

    def __add__(self, other: Beyond) -> Beyond:
        return Beyond(self.number + other.number, self.variance + other.variance)

    @classmethod
    def of(cls, parts: CountsInParts, n_cut: int) -> Beyond:
        """Return what the first parts of two counts hold."""
        if not n_cut:
            return NONE
        return cls(float(parts.values[:n_cut].sum()), float(parts.noise_of_sums()[n_cut - 1]) ** 2)

    def fraction(self, total: float) -> float:
        """Return the fraction of so many values that one would expect from the noisy number, from 0 to 1.

        It is 0 unless the number clearly exceeds the noise. Such a number is too large on average where noise outweighs
        what there is. With a number that is exponentially distributed a priori and normal noise, its distribution is a
        normal one above 0; its mean is returned. A priori it is one value in a hundred on average, and half a standard
        deviation of the noise, which hides more where there is more of it.
        """
        total = max(total, 1.0)
        if self.variance <= 0:
            return min(max(self.number, 0.0) / total, 1.0)
        deviation = math.sqrt(self.variance)
        if self.number <= CLEARLY * deviation:
            return 0.0
        z = (self.number - self.variance / (USUAL * total + _HIDDEN * deviation)) / deviation
        return min(deviation * _mean_above_zero(z) / total, 1.0)

    def at_most(self, total: float) -> float:
        """Return the fraction of so many values that the noisy number leaves room for, from 0 to 1.

        More lies beyond in one column of twenty, where nothing is known of the column.
        """
        most = max(self.number, 0.0) + CLEARLY * math.sqrt(self.variance)
        return min(most / max(total, 1.0), 1.0)


NONE = Beyond(0.0, 0.0)


def _mean_above_zero(mean: float) -> float:
    """Return the mean of a normal variable of variance 1 and this mean, given that it is above 0."""
    if mean < -20:
        # To first order; the tail itself is too small for a float further below.
        return -1 / mean
    below = math.erfc(-mean / math.sqrt(2)) / 2
    return mean + math.exp(-(mean**2) / 2) / (math.sqrt(2 * math.pi) * below)


def outside(counts: NDArray[np.float64], low_cell: int, high_cell: int, sigma: float) -> Beyond:
    """Return the noisy number of the values in the cells next to the range.

    Args:
        counts: Noisy counts [cells].
        low_cell: First cell of the range.
        high_cell: Last cell of the range.
        sigma: Standard deviation of the noise on each.
    """
    cells = np.r_[max(low_cell - AROUND, 0) : low_cell, high_cell + 1 : high_cell + 1 + AROUND]
    return _counted(counts, cells[cells < counts.size].tolist(), sigma)


@dataclass(frozen=True)
class Sides:
    """What lies on either side of a range.

    Attributes:
        below: Noisy number of values below it.
        above: The same above it.
    """

    below: Beyond
    above: Beyond


def on_sides(counts: NDArray[np.float64], n_below: int, n_above: int, sigma: float) -> Sides:
    """Return the noisy number of the values in the first and the last cells, on either side of a range.

    Args:
        counts: Noisy counts [cells] of all values.
        n_below: How many cells lie below the range.
        n_above: How many lie above it.
        sigma: Standard deviation of the noise on each.
    """
    above = range(counts.size - n_above, counts.size)
    return Sides(_counted(counts, range(n_below), sigma), _counted(counts, above, sigma))


def reach(counts: NDArray[np.float64], found: Beyond, sigma: float) -> int:
    """Return how many cells beyond a range hold the values that lie beyond it; 0 if noise leaves that open.

    A number of values that is known together lies in a few neighbouring cells, evenly. Where they are is told by the
    likelihood of the noisy counts, which must be greater than for no values by far more than noise raises it in any of
    the places that are tried.

    Args:
        counts: Noisy counts [cells] beyond the range, from it outwards.
        found: Noisy number of all these values, by another count.
        sigma: Standard deviation of the noise on each count.
    """
    clear = found.number > _CLEARLY_ON_A_SIDE * math.sqrt(found.variance)
    if not clear or not sigma or not counts.size:
        return 0
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    best, end, n_tried = 0.0, 0, 0
    for width in range(1, min(_WIDEST, counts.size) + 1):
        held = sums[width:] - sums[:-width]
        gains = found.number * (held - found.number / 2) / (width * sigma**2)
        n_tried += gains.size
        if gains.max() > best:
            best, end = float(gains.max()), int(gains.argmax()) + width
    return end if best > math.log(n_tried) + _SURE else 0


def at_ends(
    counts: NDArray[np.float64],
    edges: Sequence[int | float],
    bounds: tuple[int | float, int | float],
    ends: tuple[int | float, int | float],
    sigma: float,
) -> Beyond:
    """Return the noisy number of the values in the outermost cells that the bounds reach.

    Args:
        counts: Noisy counts [cells].
        edges: Their edges [cells + 1], ascending.
        bounds: The bounds that were found.
        ends: The least and the largest point that values can be moved to.
        sigma: Standard deviation of the noise on each count.
    """
    least, most = max(ends[0], edges[0]), min(ends[1], edges[-1])
    reached = [least] * (bounds[0] <= least) + [most] * (bounds[1] >= most)
    return _counted(
        counts, sorted({min(bisect_right(edges, end), counts.size) - 1 for end in reached}), sigma
    )


def _counted(counts: NDArray[np.float64], cells: Sequence[int], sigma: float) -> Beyond:
    return Beyond(float(counts[[*cells]].sum()), sigma**2 * len(cells)) if cells else NONE
