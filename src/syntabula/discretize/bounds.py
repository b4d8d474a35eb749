"""Bounds of an ordered column under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import PrivateDomainError
from syntabula.privacy.answers import NoisyVector
from syntabula.privacy.column_curator import ColumnCurator

INTEGER_EXPONENTS = range(65)
REAL_EXPONENTS = range(-32, 63)
REFINING_CELLS = 8
LEAST_FAILURE = 1e-8
MISSING_TAIL = 0.01
NEAR_ZERO = 32
WINDOWS = (1, 2, 4)
NEXT_CELL_SIGMAS = 1.5
MOST_CUT = 0.05


@dataclass(frozen=True)
class FoundBounds:
    """Released bounds of a column.

    Attributes:
        lower: Lower bound, an integer for integer columns; part of the domain.
        upper: Upper bound, at least `lower`; part of the domain.
        has_missing: Whether clearly more values are missing than noise explains.
    """

    lower: int | float
    upper: int | float
    has_missing: bool


def extract_bounds(column: ColumnCurator, *, share: Fraction, step: str, refine: bool = True) -> FoundBounds:
    """Find bounds that hold nearly all values: a noisy histogram over powers of two.

    Desfontaines' algorithm as in Ganev et al., "The Importance of Being Discrete", section 4, and
    SmartNoise's approx_bounds: count the values between adjacent powers of two; a cell is occupied if its
    noisy count exceeds what noise alone does in any cell with probability 1e-8. While no cell is, that
    probability is raised tenfold, up to 1 over twice the number of cells. Then the method has failed, which
    needs more budget or more records; the paper leaves this case open, and here it is an error.

    Departures: two or four adjacent cells may pass the threshold together, with sqrt(2) or 2 times the noise,
    as a heavy tail spreads over many powers and would be cut off else; and a cell next to an occupied one
    needs only 1.5 standard deviations, as values seldom end at a power of two. The powers reach from 2^-32
    (2^0 for integers) to 2^62, not 2^0 to 2^31, as columns come in any unit; a cell more costs only its
    logarithm. Bounds from powers of two are up to twice too wide (years would span 1024 to 2048), which wastes
    bins, so half of the budget counts again inside the two outermost cells on either side, in 8 equal parts
    each, and what holds no more than noise, and surely less than 5 % of the records, is cut off at either end.
    A lower bound above 0 but below 1/32 of the upper one becomes 0 (and mirrored below 0): ever smaller
    powers hold ever fewer of the values near 0, and reaching it widens the domain by 3 % at most.

    Args:
        column: The values.
        share: Part of the whole budget for both counts.
        step: What the ledger calls the spends.
        refine: Whether to spend half of it on the second count.

    Returns:
        The bounds. A few records may lie outside; they count as the nearest bound.

    Raises:
        PrivateDomainError: If noise hides every cell. The budget is spent.
    """
    edges = power_edges(integer=column.integer)
    first = column.histogram(edges, share=share / 2 if refine else share, step=step, count_missing=True)
    counts, missing = first.values[:-1], float(first.values[-1])
    occupied = np.flatnonzero(_occupied(first, counts))
    if not occupied.size:
        raise PrivateDomainError(
            f"step {step!r} found no bounds: at this budget, noise hides where the values lie, or there are none. "
            "State the bounds in a schema, raise epsilon or the share of preprocessing, or use more records"
        )
    low_cell, high_cell = _reaching_zero(edges, int(occupied[0]), int(occupied[-1]))
    lower, upper = edges[low_cell], edges[high_cell + 1]
    if refine:
        lower, upper = _refined(column, edges, low_cell, high_cell, share=share / 2, step=step)
    has_missing = missing > first.above_noise(MISSING_TAIL)
    if column.integer:
        return FoundBounds(int(lower), int(upper) - 1, has_missing)
    return FoundBounds(float(lower), float(upper), has_missing)


def power_edges(*, integer: bool) -> list[int | float]:
    """Return the edges of the first count: minus and plus each power of two, and 0."""
    if integer:
        whole = [1 << k for k in INTEGER_EXPONENTS]
        # From the least int64 to the largest uint64.
        return [*(-p for p in reversed(whole[:-1])), 0, *whole]
    powers = [math.ldexp(1.0, k) for k in REAL_EXPONENTS]
    return [*(-p for p in reversed(powers)), 0.0, *powers]


def _occupied(answer: NoisyVector, counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which cells stand out of the noise, alone or as the end of a window that does together."""
    failure = LEAST_FAILURE
    while failure <= 1 / (2 * counts.size):
        height = answer.above_noise(failure / (counts.size * len(WINDOWS)))
        found = np.zeros(counts.size, dtype=np.bool_)
        for window in WINDOWS:
            # What stands out in a shorter window would lift any noise next to it.
            rest = np.where(found, 0.0, counts)
            together = np.convolve(rest, np.ones(window), mode="valid")
            for start in np.flatnonzero(together > height * np.sqrt(window)):
                # Only the cells of the window that count towards it; the others would widen the bounds.
                inside = rest[start : start + window] > 2 * answer.sigma
                found[start : start + window] |= inside
        if found.any():
            return _extended(found, counts > NEXT_CELL_SIGMAS * answer.sigma)
        failure *= 10
    return np.zeros(counts.size, dtype=np.bool_)


def _extended(found: NDArray[np.bool_], likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Add the cells next to the outermost found ones as long as they are likely to hold something."""
    low, high = np.flatnonzero(found)[[0, -1]]
    while low > 0 and likely[low - 1]:
        low -= 1
    while high < found.size - 1 and likely[high + 1]:
        high += 1
    extended = found.copy()
    extended[[low, high]] = True
    return extended


def _reaching_zero(edges: Sequence[int | float], low_cell: int, high_cell: int) -> tuple[int, int]:
    zero = list(edges).index(0)
    if 0 < edges[low_cell] * NEAR_ZERO <= edges[high_cell + 1]:
        low_cell = zero
    if 0 > edges[high_cell + 1] * NEAR_ZERO >= edges[low_cell]:
        high_cell = zero - 1
    return low_cell, high_cell


def _refined(
    column: ColumnCurator,
    edges: Sequence[int | float],
    low_cell: int,
    high_cell: int,
    *,
    share: Fraction,
    step: str,
) -> tuple[int | float, int | float]:
    """Cut what holds only noise off the outer ends of the two outermost cells on either side."""
    low_cells = range(low_cell, min(low_cell + 2, high_cell + 1))
    high_cells = range(max(high_cell - 1, low_cell), high_cell + 1)
    parts = REFINING_CELLS * (2 if low_cell == high_cell else 1)
    fine: list[int | float] = []
    for cell in sorted({*low_cells, *high_cells}):
        # What lies between the two sides is one cell of its own, if anything does.
        inner = _parts(edges[cell], edges[cell + 1], parts, integer=column.integer)
        fine += inner[1:] if fine and fine[-1] == inner[0] else inner
    n_low = fine.index(edges[low_cells[-1] + 1])
    n_high = len(fine) - 1 - fine.index(edges[high_cells[0]])
    answer = column.histogram(fine, share=share, step=step)
    n_estimated = float(answer.values.sum())
    first = _cells_to_cut(answer, answer.values[:n_low], n_estimated)
    last = _cells_to_cut(answer, answer.values[::-1][:n_high], n_estimated)
    cells = len(fine) - 1
    if first + last >= cells:
        return fine[0], fine[-1]
    return fine[first], fine[cells - last]


def _cells_to_cut(answer: NoisyVector, values: NDArray[np.float64], n_estimated: float) -> int:
    """Return how many cells from the end surely hold few records, and no more than noise all together."""
    together = np.cumsum(values)
    noise = 2 * answer.sigma * np.sqrt(np.arange(1, values.size + 1))
    few = (together <= noise) & (together + noise <= MOST_CUT * n_estimated)
    return int(np.flatnonzero(few)[-1]) + 1 if few.any() else 0


def _parts(low: int | float, high: int | float, count: int, *, integer: bool) -> list[int | float]:
    """Return the edges of at most `count` equal parts of [low, high)."""
    if integer:
        width = int(high) - int(low)
        count = min(count, width)
        return [int(low) + i * width // count for i in range(count + 1)]
    return [float(low) + (float(high) - float(low)) * i / count for i in range(count)] + [float(high)]
