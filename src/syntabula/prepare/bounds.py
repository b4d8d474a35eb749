"""Bounds of an ordered column under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import PrivateDomainError
from syntabula.prepare.narrowing import cells_around, find_window
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.pricing import NoisyVector

INTEGER_EXPONENTS = range(65)
REAL_EXPONENTS = range(-32, 63)
REFINING_CELLS = 8
LEAST_FAILURE = 1e-8
MISSING_TAIL = 0.01
NEAR_ZERO = 32
WINDOWS = (1, 2, 4)
NEXT_CELL_SIGMAS = 1.5
NARROW_CELLS = 3
CUT_WEIGHT = 30.0
UNSEEN = 0.3


@dataclass(frozen=True)
class FoundBounds:
    """Released bounds of a column.

    Attributes:
        lower: Lower bound, an integer for integer columns; part of the domain.
        upper: Upper bound, at least `lower`; part of the domain.
        has_missing: Whether clearly more values are missing than noise could explain.
    """

    lower: int | float
    upper: int | float
    has_missing: bool

    def within(self, least: int, most: int) -> tuple[int, int]:
        """Return both bounds as integers, clipped to a range that a column can declare."""
        return min(max(int(self.lower), least), most), min(max(int(self.upper), least), most)


def extract_bounds(column: ColumnCurator, *, share: Fraction, step: str, refine: bool = True) -> FoundBounds:
    """Find bounds around nearly all values: a noisy histogram over powers of two, then a finer one.

    Desfontaines' algorithm as in Ganev et al., "The Importance of Being Discrete", section 4, and
    SmartNoise's approx_bounds: count the values between adjacent powers of two. A cell is occupied if its noisy
    count exceeds a threshold that noise alone exceeds in any cell with probability 1e-8. While no cell is occupied,
    that probability is raised tenfold, up to 1 over twice the number of cells. If still none is, the method has
    failed: it needs more budget or more records. The paper leaves this case open; here it is an error.

    Departures in the first count: two or four adjacent cells may pass the threshold together, with sqrt(2) or 2 times
    the noise, because a heavy tail spreads over many powers and would otherwise be cut off. A cell next to an occupied
    one needs only 1.5 standard deviations, because values seldom end at a power of two. The powers reach from 2^-32
    (2^0 for integers) to 2^62, not 2^0 to 2^31, because columns come in any unit; more cells cost only the logarithm
    of their number. A lower bound above 0 but below 1/32 of the upper one becomes 0 (and mirrored below 0): smaller
    and smaller powers hold fewer and fewer values near 0, and including 0 widens the domain by 3 % at most.

    The other half of the budget goes to a refinement that is not in the paper, because bounds from powers of two
    waste bins: years would span 1024 to 2048, and a density between 0.99 and 1.04 would span 0.5 to 2. If the range
    is one to three powers on one side of 0, an eighth of that half draws a window in it that holds nine tenths of
    the values (`find_window`; a quarter, if that takes two draws). The rest counts again in and around the window,
    in cells that widen with the distance from it. Otherwise, or if the window is hardly narrower than the range, all
    of that half counts again inside the two outermost cells on either side, in 8 equal parts each. Among all
    bounds at the edges of these cells, the chosen ones minimise this sum: the logarithm of the width; 30 times the
    fraction of the records that seems cut off at an end, plus 0.3 standard deviations of the noise on it; and z^2 / 4
    at each end, if the count cut off there is z such standard deviations above 0. So one percent of the records is
    worth a third more width, clearly visible records are kept, and empty cells are dropped.

    Args:
        column: The values.
        share: Fraction of the whole budget for all of this.
        step: Name of the spends in the ledger.
        refine: Whether to spend half of the share on the refinement.

    Returns:
        The bounds. A few records may lie outside and are clipped to the nearest bound.

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
        n_estimated = max(float(counts[low_cell : high_cell + 1].sum()), 1.0)
        lower, upper = _refined(column, edges, low_cell, high_cell, n_estimated, share=share / 2, step=step)
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
    """Return which cells exceed the noise, alone or as the ends of a window of cells that exceeds it in sum."""
    failure = LEAST_FAILURE
    while failure <= 1 / (2 * counts.size):
        height = answer.above_noise(failure / (counts.size * len(WINDOWS)))
        found = np.zeros(counts.size, dtype=np.bool_)
        for window in WINDOWS:
            # Cells found in shorter windows are left out, or they would lift the noise next to them.
            rest = np.where(found, 0.0, counts)
            together = np.convolve(rest, np.ones(window), mode="valid")
            for start in np.flatnonzero(together > height * np.sqrt(window)):
                # Only the cells that contribute to the window; the others would widen the bounds.
                inside = rest[start : start + window] > 2 * answer.sigma
                found[start : start + window] |= inside
        if found.any():
            return _extended(found, counts > NEXT_CELL_SIGMAS * answer.sigma)
        failure *= 10
    return np.zeros(counts.size, dtype=np.bool_)


def _extended(found: NDArray[np.bool_], likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Add the cells next to the outermost found ones as long as they probably hold values."""
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
    n_estimated: float,
    *,
    share: Fraction,
    step: str,
) -> tuple[int | float, int | float]:
    """Count again where the ends must lie, and cut off cells that are not worth their width."""
    lower, upper = edges[low_cell], edges[high_cell + 1]
    window, spent = None, Fraction(0)
    if _may_be_narrow(edges, low_cell, high_cell, integer=column.integer):
        window, spent = find_window(
            column, lower, upper, n_estimated=n_estimated, draw_share=share / 8, step=step
        )
    if window is None:
        fine, n_low, n_high = _outer_cells(edges, low_cell, high_cell, integer=column.integer)
    else:
        fine = cells_around(window, lower, upper, integer=column.integer)
        n_low = n_high = len(fine) - 1
    return _cut(column.histogram(fine, share=share - spent, step=step), fine, n_low, n_high)


def _may_be_narrow(edges: Sequence[int | float], low_cell: int, high_cell: int, *, integer: bool) -> bool:
    """Return whether the range is so far from 0, relative to its width, that the values may span a small part of it."""
    lower, upper = edges[low_cell], edges[high_cell + 1]
    # The usual parts separate a few integers well enough.
    few = integer and upper - lower <= 2 * REFINING_CELLS
    return (lower > 0 or upper < 0) and high_cell - low_cell < NARROW_CELLS and not few


def _outer_cells(
    edges: Sequence[int | float], low_cell: int, high_cell: int, *, integer: bool
) -> tuple[list[int | float], int, int]:
    """Return edges that divide the two outermost cells on either side, and the number of cells on each side."""
    low_cells = range(low_cell, min(low_cell + 2, high_cell + 1))
    high_cells = range(max(high_cell - 1, low_cell), high_cell + 1)
    parts = REFINING_CELLS * (2 if low_cell == high_cell else 1)
    fine: list[int | float] = []
    for cell in sorted({*low_cells, *high_cells}):
        # The range between the two sides, if any, is one cell.
        inner = _parts(edges[cell], edges[cell + 1], parts, integer=integer)
        fine += inner[1:] if fine and fine[-1] == inner[0] else inner
    n_low = fine.index(edges[low_cells[-1] + 1])
    n_high = len(fine) - 1 - fine.index(edges[high_cells[0]])
    return fine, n_low, n_high


def _cut(
    answer: NoisyVector, edges: Sequence[int | float], n_low: int, n_high: int
) -> tuple[int | float, int | float]:
    """Return the ends that balance the width against the records cut off; see `extract_bounds`."""
    ends = np.array([float(e - edges[0]) for e in edges])
    costs = [_costs(answer, answer.values[:n_low]), _costs(answer, answer.values[::-1][:n_high])]
    widths = ends[::-1][None, : n_high + 1] - ends[: n_low + 1, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(widths > 0, np.log(widths), np.inf) + costs[0][:, None] + costs[1][None, :]
    first, last = np.unravel_index(int(np.argmin(total)), total.shape)
    return edges[int(first)], edges[len(edges) - 1 - int(last)]


def _costs(answer: NoisyVector, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the costs [k + 1] of cutting off the first 0 to k of these cells."""
    n_estimated = max(float(answer.values.sum()), 1.0)
    together = np.maximum(np.cumsum(values), 0.0)
    noise = answer.sigma * np.sqrt(np.arange(1, values.size + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without noise the division gives infinity: no record is cut off.
        evidence = np.where(together > 0, together / noise, 0.0) ** 2 / 4
    return np.concatenate([[0.0], CUT_WEIGHT * (together + UNSEEN * noise) / n_estimated + evidence])


def _parts(low: int | float, high: int | float, count: int, *, integer: bool) -> list[int | float]:
    """Return the edges of at most `count` equal parts of [low, high)."""
    if integer:
        width = int(high) - int(low)
        count = min(count, width)
        return [int(low) + i * width // count for i in range(count + 1)]
    return [float(low) + (float(high) - float(low)) * i / count for i in range(count)] + [float(high)]
