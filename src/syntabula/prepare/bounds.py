"""Bounds of an ordered column under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.scale import LEAST_SPAN
from syntabula.errors import PrivateDomainError
from syntabula.prepare.beyond import NONE, Beyond, at_ends, on_sides, outside, reach
from syntabula.prepare.faint import faint_cells
from syntabula.prepare.narrowing import cells_around, find_window
from syntabula.prepare.preprocessing import LEAST_FAILURE
from syntabula.prepare.row_numbers import seem_to_number_rows
from syntabula.prepare.two_counts import CountsInParts, combined
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.pricing import NoisyVector

INTEGER_EXPONENTS = range(65)
REAL_EXPONENTS = range(-32, 63)
REFINING_CELLS = 8
MISSING_TAIL = 0.01
NEAR_ZERO = 32
WINDOWS = (1, 2, 4)
NEXT_CELL_SIGMAS = 1.5
NARROW_CELLS = 3
POWERS_BEYOND = 1
CUT_WEIGHT = 30.0
UNSEEN = 0.3
CLEAR_CUT = 3.0
LEAST_KEPT = 0.5
LEAST_REACHED = 0.05
CUT_OFF = 0.015
"""Least noisy fraction of values beyond found bounds of which users are warned."""


@dataclass(frozen=True)
class FoundBounds:
    """Released bounds of a column.

    Attributes:
        lower: Lower bound, an integer for integer columns; part of the domain.
        upper: Upper bound, at least `lower`; part of the domain.
        has_missing: Whether clearly more values are missing than noise could explain.
        beyond: Estimate of the fraction of the values that lie outside, and are moved to the nearest bound, by noisy
            counts; see `Beyond.fraction`.
        beyond_at_most: The fraction that noise leaves room for; see `Beyond.at_most`.
        number_rows: Whether whole numbers seem to number rows; see `seem_to_number_rows`.
    """

    lower: int | float
    upper: int | float
    has_missing: bool
    beyond: float = field(default=0.0, compare=False)
    beyond_at_most: float = field(default=0.0, compare=False)
    number_rows: bool = field(default=False, compare=False)

    @property
    def cuts_off(self) -> bool:
        """Whether so many values seem to lie outside that a user is to be warned."""
        return self.beyond >= CUT_OFF

    def within(self, least: int, most: int) -> tuple[int, int]:
        """Return both bounds as integers, clipped to a range that a column can declare."""
        return min(max(int(self.lower), least), most), min(max(int(self.upper), least), most)


def extract_bounds(
    column: ColumnCurator,
    *,
    share: Fraction,
    step: str,
    refine: bool = True,
    unit: float | None = None,
    ends: tuple[int | float, int | float] | None = None,
    n_records: float = 0.0,
) -> FoundBounds:
    """Find bounds around nearly all values: a noisy histogram over powers of two, then a finer one.

    Desfontaines' algorithm as in Ganev et al., "The Importance of Being Discrete", section 4, and
    SmartNoise's approx_bounds: count the values between adjacent powers of two. A cell is occupied if its noisy
    count exceeds a threshold that noise alone exceeds in any cell with probability 1e-8. While no cell is occupied,
    that probability is raised tenfold, up to 1 over twice the number of cells. If still none is, the other half of the
    budget asks the same again, and both answers together are looked at in this way and by `faint_cells`. What either
    shows lies within the bounds, which are left as they are. Otherwise the method has failed: it needs more budget or
    more records. The paper leaves this case open; here it is an error.

    Departures in the first count: two or four adjacent cells may pass the threshold together, with sqrt(2) or 2 times
    the noise, because a heavy tail spreads over many powers and would otherwise be cut off. A cell next to an occupied
    one needs only 1.5 standard deviations, because values seldom end at a power of two; except beyond 0, as values that
    cannot be negative are common. The powers reach from 2^-32
    (2^0 for integers) to 2^62, not 2^0 to 2^31, because columns come in any unit; more cells cost only the logarithm
    of their number. A lower bound above 0 but below 1/32 of the upper one becomes 0 (and mirrored below 0): smaller
    and smaller powers hold fewer and fewer values near 0, and including 0 widens the domain by 3 % at most.

    A range of numbers that spans decades has bins on a logarithmic scale (`bins.scale`), where width costs little. So the
    other half of the budget counts the same cells again, and one more power at either end is added for the tail.

    Otherwise the other half goes to a refinement that is not in the paper, because bounds from powers of two
    waste bins: years would span 1024 to 2048, and a density between 0.99 and 1.04 would span 0.5 to 2. If the range
    is one to three powers on one side of 0, an eighth of that half draws a window in it that holds nine tenths of
    the values (`find_window`; a quarter, if that takes two draws). The rest counts again in and around the window,
    in cells that widen with the distance from it. Otherwise, or if the window is hardly narrower than the range, all
    of that half counts again inside the two outermost cells on either side, in 8 to 20 parts each, with ends at round
    decimal numbers, as those of hours, percentages and ages are. Both counts together estimate the parts
    (`two_counts`). Among all
    bounds at the edges of these cells, the chosen ones minimise this sum: the logarithm of the width; 30 times the
    fraction of the records that seems cut off at an end, plus 0.3 standard deviations of the noise on it; and z^2 / 4
    at each end, if the count cut off there is z such standard deviations above 0. So one percent of the records is
    worth a third more width, clearly visible records (z > 3) are kept, and empty cells are dropped. Bounds that
    seem to hold less than half of the records are not considered. The same count has a cell for all values on either
    side of the range. If a twentieth of them lies there, and the first count leaves no doubt where (`beyond.reach`),
    the bounds are widened to it.

    Args:
        column: The values.
        share: Fraction of the whole budget for all of this.
        step: Name of the spends in the ledger.
        refine: Whether to spend half of the share on the refinement.
        unit: How many points the number 1 has; None if the column is not one of numbers.
        ends: The least and the largest point that values can be moved to; None if no value can lie beyond. If the bounds
            reach one of them, or the last power, what lies in its cell counts as beyond.
        n_records: Released number of records; 0 if it is not known. A column that hardly holds a value by it, and by the
            noisy number of missing ones, is not asked again.

    Returns:
        The bounds. A few records may lie outside and are clipped to the nearest bound.

    Raises:
        PrivateDomainError: If noise hides every cell. The budget is spent.
    """
    edges = power_edges(integer=column.integer)
    first = column.histogram(edges, share=share / 2 if refine else share, step=step, count_missing=True)
    values, repeats = first.values, 1
    seen = _ends(first, values[:-1], repeats, edges)
    is_faint = seen is None
    if is_faint and refine and n_records - float(values[-1]) > first.above_noise(MISSING_TAIL):
        again = column.histogram(edges, share=share / 2, step=step, count_missing=True)
        values, repeats = (values + again.values) / 2, 2
        seen = _faint_ends(first, values[:-1], repeats, edges)
    if seen is None:
        raise PrivateDomainError(
            f"step {step!r} found no bounds: at this budget, noise hides where the values lie, or there are none. "
            "State the bounds in a schema, raise epsilon or the share of preprocessing, or use more records"
        )
    low_cell, high_cell = seen
    lower, upper = edges[low_cell], edges[high_cell + 1]
    if is_faint:
        # There is nothing left to narrow them by.
        beyond = outside(values[:-1], low_cell, high_cell, first.sigma / math.sqrt(repeats))
    elif refine and unit is not None and lower <= 0 <= upper and (upper - lower) / unit >= LEAST_SPAN:
        again = column.histogram(edges, share=share / 2, step=step, count_missing=True)
        values, repeats = (values + again.values) / 2, 2
        low_cell, high_cell = _ends(first, values[:-1], repeats, edges) or seen
        low_cell -= POWERS_BEYOND if edges[low_cell] < 0 and low_cell >= POWERS_BEYOND else 0
        may_rise = edges[high_cell + 1] > 0 and high_cell + 1 + POWERS_BEYOND < len(edges)
        high_cell += POWERS_BEYOND if may_rise else 0
        lower, upper = edges[low_cell], edges[high_cell + 1]
        beyond = outside(values[:-1], low_cell, high_cell, first.sigma / math.sqrt(repeats))
    elif refine:
        n_estimated = max(float(values[low_cell : high_cell + 1].sum()), 1.0)
        lower, upper, beyond = _refined(
            column, edges, low_cell, high_cell, n_estimated, first, share=share / 2, step=step
        )
    else:
        beyond = outside(values[:-1], low_cell, high_cell, first.sigma)
    sigma = first.sigma / math.sqrt(repeats)
    if ends is not None:
        beyond += at_ends(values[:-1], edges, (lower, upper), ends, sigma)
    total = float(values[:-1].sum())
    parts = beyond.fraction(total), beyond.at_most(total)
    has_missing = float(values[-1]) > first.above_noise(MISSING_TAIL) / math.sqrt(repeats)
    if column.integer:
        height = first.above_noise(LEAST_FAILURE / values.size) / math.sqrt(repeats)
        number_rows = seem_to_number_rows(values[:-1], edges, height)
        return FoundBounds(int(lower), int(upper) - 1, has_missing, *parts, number_rows)
    # The upper end of a cell is no part of it; just below it may lie a decimal number.
    below = math.nextafter(upper, -math.inf)
    upper = min(float(upper), below, key=lambda bound: len(repr(bound)))
    return FoundBounds(float(lower), upper, has_missing, *parts)


def _ends(
    answer: NoisyVector, counts: NDArray[np.float64], repeats: int, edges: Sequence[int | float]
) -> tuple[int, int] | None:
    """Return the outermost occupied cells; None if there is none."""
    occupied = np.flatnonzero(_occupied(answer, counts, repeats, list(edges).index(0)))
    if not occupied.size:
        return None
    return _reaching_zero(edges, int(occupied[0]), int(occupied[-1]))


def _faint_ends(
    answer: NoisyVector, counts: NDArray[np.float64], repeats: int, edges: Sequence[int | float]
) -> tuple[int, int] | None:
    """Return the same of the occupied cells and of those that hold values together; see `faint_cells`."""
    together = faint_cells(answer, counts, repeats, list(edges).index(0))
    if together is None:
        return _ends(answer, counts, repeats, edges)
    occupied = _ends(answer, counts, repeats, edges) or together
    return _reaching_zero(edges, min(together[0], occupied[0]), max(together[1], occupied[1]))


def power_edges(*, integer: bool) -> list[int | float]:
    """Return the edges of the first count: minus and plus each power of two, and 0."""
    if integer:
        whole = [1 << k for k in INTEGER_EXPONENTS]
        # From the least int64 to the largest uint64.
        return [*(-p for p in reversed(whole[:-1])), 0, *whole]
    powers = [math.ldexp(1.0, k) for k in REAL_EXPONENTS]
    return [*(-p for p in reversed(powers)), 0.0, *powers]


def _occupied(answer: NoisyVector, counts: NDArray[np.float64], repeats: int, zero: int) -> NDArray[np.bool_]:
    """Return which cells exceed the noise, alone or as the ends of a window of cells that exceeds it in sum.

    Args:
        answer: An answer with the noise of one count.
        counts: Mean of so many counts [cells].
        repeats: Their number.
        zero: The first cell above 0.
    """
    failure = LEAST_FAILURE
    sigma = answer.sigma / math.sqrt(repeats)
    while failure <= 1 / (2 * counts.size):
        # Noise that is not Gaussian has lighter tails in a mean, if it differs at all.
        height = answer.above_noise(failure / (counts.size * len(WINDOWS))) / math.sqrt(repeats)
        found = np.zeros(counts.size, dtype=np.bool_)
        for window in WINDOWS:
            # Cells found in shorter windows are left out, or they would lift the noise next to them.
            rest = np.where(found, 0.0, counts)
            together = np.convolve(rest, np.ones(window), mode="valid")
            for start in np.flatnonzero(together > height * np.sqrt(window)):
                # Only the cells that contribute to the window; the others would widen the bounds.
                inside = rest[start : start + window] > 2 * sigma
                found[start : start + window] |= inside
        if found.any():
            return _extended(found, counts > NEXT_CELL_SIGMAS * sigma, zero)
        failure *= 10
    return np.zeros(counts.size, dtype=np.bool_)


def _extended(found: NDArray[np.bool_], likely: NDArray[np.bool_], zero: int) -> NDArray[np.bool_]:
    """Add the cells next to the outermost found ones as long as they probably hold values, up to 0."""
    low, high = np.flatnonzero(found)[[0, -1]]
    while low not in (0, zero) and likely[low - 1]:
        low -= 1
    while high not in (found.size - 1, zero - 1) and likely[high + 1]:
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
    first: NoisyVector,
    *,
    share: Fraction,
    step: str,
) -> tuple[int | float, int | float, Beyond]:
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
    # Each record lies in one cell, so that those on either side of the range cost nothing.
    below, above = [edges[0]] * (edges[0] < lower), [edges[-1]] * (upper < edges[-1])
    again = column.histogram([*below, *fine, *above], share=share - spent, step=step)
    inside = replace(again, values=again.values[len(below) : len(below) + len(fine) - 1])
    coarse = edges[low_cell : high_cell + 2]
    parts = combined(inside, fine, first.values[low_cell : high_cell + 1], first.sigma, coarse)
    low, high, cut_off = _cut(parts, fine, n_low, n_high)
    sides = on_sides(again.values, len(below), len(above), again.sigma)
    # Many values may lie in cells of which none passes the threshold alone.
    least = LEAST_REACHED * float(again.values.sum())
    n_above = n_below = 0
    if sides.above.number >= least:
        n_above = reach(first.values[high_cell + 1 : len(edges) - 1], sides.above, first.sigma)
    if sides.below.number >= least:
        n_below = reach(first.values[:low_cell][::-1], sides.below, first.sigma)
    if n_above:
        high = edges[high_cell + 1 + n_above]
    if n_below:
        low = edges[low_cell - n_below]
    left = (NONE if n_below else sides.below) + (NONE if n_above else sides.above)
    return low, high, (NONE if n_below or n_above else cut_off) + left


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
    fine: set[int | float] = {edges[low_cell], edges[high_cell + 1]}
    for cells, is_upper in ((low_cells, False), (high_cells, True)):
        for cell in cells:
            # The range between the two sides, if any, is one cell.
            fine |= {edges[cell], edges[cell + 1]}
            fine |= _round_ends(edges[cell], edges[cell + 1], integer=integer, is_upper=is_upper)
    found = sorted(fine)
    n_low = found.index(edges[low_cells[-1] + 1])
    n_high = len(found) - 1 - found.index(edges[high_cells[0]])
    return found, n_low, n_high


def _cut(
    parts: CountsInParts, edges: Sequence[int | float], n_low: int, n_high: int
) -> tuple[int | float, int | float, Beyond]:
    """Return the ends that balance the width against the records cut off, and their number; see `extract_bounds`."""
    ends = np.array([float(e - edges[0]) for e in edges])
    costs = [_costs(parts, n_low), _costs(parts.reversed(), n_high)]
    widths = ends[::-1][None, : n_high + 1] - ends[: n_low + 1, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(widths > 0, np.log(widths), np.inf) + costs[0][:, None] + costs[1][None, :]
    # Cells can be as narrow as one value, whose logarithm would outweigh all records.
    before = np.concatenate([[0.0], np.cumsum(parts.values)])
    kept = before[::-1][None, : n_high + 1] - before[: n_low + 1, None]
    total[kept < LEAST_KEPT * before[-1]] = np.inf
    first, last = (int(i) for i in np.unravel_index(int(np.argmin(total)), total.shape))
    cut_off = Beyond.of(parts, first) + Beyond.of(parts.reversed(), last)
    return edges[first], edges[len(edges) - 1 - last], cut_off


def _costs(parts: CountsInParts, n_cells: int) -> NDArray[np.float64]:
    """Return the costs [n_cells + 1] of cutting off the first 0 to n_cells cells."""
    n_estimated = max(float(parts.values.sum()), 1.0)
    together = np.maximum(np.cumsum(parts.values[:n_cells]), 0.0)
    noise = parts.noise_of_sums()[:n_cells]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without noise the division gives infinity: no record is cut off.
        deviations = np.where(together > 0, together / noise, 0.0)
    evidence = np.where(deviations > CLEAR_CUT, np.inf, deviations**2 / 4)
    return np.concatenate([[0.0], CUT_WEIGHT * (together + UNSEEN * noise) / n_estimated + evidence])


def _round_ends(low: int | float, high: int | float, *, integer: bool, is_upper: bool) -> set[int | float]:
    """Return cuts of [low, high) at 1, 2 or 5 times a power of ten, so that there are 8 to 20 parts.

    Args:
        low: Start of the cell.
        high: Its end.
        integer: Whether the points are integers; then there are fewer parts in a narrow cell.
        is_upper: Whether an upper bound may lie here; the cut comes after the round number.
    """
    width = float(high) - float(low)
    power = 10.0 ** math.floor(math.log10(width / REFINING_CELLS))
    step = max(
        factor * power for factor in (1, 2, 5) if factor * power <= width / REFINING_CELLS * (1 + 1e-9)
    )
    if integer:
        step = 1.0 if width <= 2 * REFINING_CELLS else max(step, 1.0)
    multiples = range(math.ceil(float(low) / step), math.floor(float(high) / step) + 1)
    if integer:
        whole = {int(m) * int(step) + is_upper for m in multiples}
        return {c for c in whole if low < c < high}
    # A quotient is the float nearest to a decimal number, a product need not be.
    reals = {m * step if step >= 1 else m / round(1 / step) for m in multiples}
    return {c for c in (math.nextafter(r, math.inf) if is_upper else r for r in reals) if low < c < high}
