"""How many values lie beyond bounds that were found, by noisy counts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.prepare.two_counts import CountsInParts

CLEARLY = 2.0
"""Standard deviations of the noise above which a count says that there are any."""
CLEARLY_OF_ALL = 3.0
"""The same where both sides of a range are counted whole, of every column that is found."""
AROUND = 8
"""Powers of two that are looked at on either side of the bounds."""
_WIDEST = 8
_SURE = 7.0  # of the logarithm of a likelihood: one place in a thousand
USUAL = 0.01
"""Fraction of the values that lies beyond found bounds on average, by which noisy counts are judged."""


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
        """Return what the first parts of two counts hold; nothing if noise outweighs it."""
        number = float(parts.values[:n_cut].sum())
        return cls(number, float(parts.noise_of_sums()[n_cut - 1]) ** 2) if number > 0 else NONE

    def fraction(self, total: float) -> float:
        """Return the fraction of so many values that one would expect from the noisy number, from 0 to 1.

        Only counts that seem clear are told, and bounds are cut where counts seem low, so a noisy number by itself is too
        large on average where it is told. With a number that is exponentially distributed a priori, with a mean of one in
        a hundred, and normal noise, its distribution is a normal one above 0; its mean is returned.
        """
        total = max(total, 1.0)
        if self.variance <= 0:
            return min(max(self.number, 0.0) / total, 1.0)
        if self.number <= 0:
            return 0.0
        deviation = math.sqrt(self.variance)
        z = (self.number - self.variance / (USUAL * total)) / deviation
        return min(deviation * _mean_above_zero(z) / total, 1.0)


NONE = Beyond(0.0, 0.0)


def _mean_above_zero(mean: float) -> float:
    """Return the mean of a normal variable of variance 1 and this mean, given that it is above 0."""
    if mean < -20:
        # To first order; the tail itself is too small for a float further below.
        return -1 / mean
    below = math.erfc(-mean / math.sqrt(2)) / 2
    return mean + math.exp(-(mean**2) / 2) / (math.sqrt(2 * math.pi) * below)


def outside(counts: NDArray[np.float64], low_cell: int, high_cell: int, sigma: float) -> Beyond:
    """Return the noisy number of the values in the cells next to the range, if there clearly are any.

    Args:
        counts: Noisy counts [cells].
        low_cell: First cell of the range.
        high_cell: Last cell of the range.
        sigma: Standard deviation of the noise on each.
    """
    cells = np.r_[max(low_cell - AROUND, 0) : low_cell, high_cell + 1 : high_cell + 1 + AROUND]
    return _clear(counts, cells[cells < counts.size].tolist(), sigma)


@dataclass(frozen=True)
class Sides:
    """What lies on either side of a range, where it clearly is something.

    Attributes:
        below: Noisy number of values below it.
        above: The same above it.
    """

    below: Beyond
    above: Beyond


def on_sides(counts: NDArray[np.float64], n_below: int, n_above: int, sigma: float) -> Sides:
    """Return the noisy number of the values in the first and the last cells, on either side of a range, if clear.

    Args:
        counts: Noisy counts [cells] of all values.
        n_below: How many cells lie below the range.
        n_above: How many lie above it.
        sigma: Standard deviation of the noise on each.
    """
    above = range(counts.size - n_above, counts.size)
    return Sides(
        _clear(counts, range(n_below), sigma, CLEARLY_OF_ALL), _clear(counts, above, sigma, CLEARLY_OF_ALL)
    )


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
    if found.number <= 0 or not sigma or not counts.size:
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
    """Return the noisy number of the values in the outermost cells that the bounds reach, if there clearly are any.

    Args:
        counts: Noisy counts [cells].
        edges: Their edges [cells + 1], ascending.
        bounds: The bounds that were found.
        ends: The least and the largest point that values can be moved to.
        sigma: Standard deviation of the noise on each count.
    """
    least, most = max(ends[0], edges[0]), min(ends[1], edges[-1])
    reached = [least] * (bounds[0] <= least) + [most] * (bounds[1] >= most)
    return _clear(counts, sorted({min(bisect_right(edges, end), counts.size) - 1 for end in reached}), sigma)


def _clear(
    counts: NDArray[np.float64], cells: Sequence[int], sigma: float, clearly: float = CLEARLY
) -> Beyond:
    found = Beyond(float(counts[[*cells]].sum()), sigma**2 * len(cells)) if cells else NONE
    return found if found.number > clearly * math.sqrt(found.variance) else NONE
