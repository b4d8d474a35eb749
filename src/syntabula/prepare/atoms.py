"""Values that are frequent or round in an ordered column, found under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import LARGEST, Roundness, first_multiples, levels_of, multiples_at
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.pricing import NoisyVector
from syntabula.table.schema.columns import MICROSECONDS, Datetime, Numeric, Ordered, Time

MOST_POINTS = 4096
"""Largest number of grid points that are all counted; their noise needs no delta, and its threshold is lower."""

FALSE_ALARMS = 0.5
"""Expected number of points that are taken for atoms by noise alone."""

AROUND = 8
"""Number of points on either side that an atom is compared with."""

MOST_ALONE = 3
"""0 and both bounds."""

LEAST_OF_BIN = 0.25
"""Part of the records of an average bin that an atom holds at least."""

LEAST_SOUGHT = 2.0**-15
"""Part of the records that a value holds at least to be sought among exact values; an atom of 250 bins holds 33 times as
many. Of a table beyond memory, the others need not be known."""

MOST_ATOMS = 250
"""Most atoms of a column that holds nothing else."""

SPARSE = 2
"""Times as many values come into question between such atoms as there are atoms; otherwise bins keep them together."""

NEARLY_ALL = 0.99
"""Part of the records that atoms hold at least in such a column."""


@dataclass(frozen=True)
class Atoms:
    """Released frequent values of a column.

    Attributes:
        points: The values, ascending: integers of a grid, or floats.
        counts: Their noisy counts.
        is_all: Whether the column seems to hold nothing else.
    """

    points: tuple[int | float, ...] = ()
    counts: tuple[float, ...] = ()
    is_all: bool = False

    def if_all(self, n_estimated: float) -> Atoms | None:
        """Return these atoms if they are all that a column of so many records holds; None if not, or if unknown (0)."""
        if not 0 < NEARLY_ALL * n_estimated <= sum(self.counts) or len(self.points) > MOST_ATOMS:
            return None
        return replace(self, is_all=True)

    def largest(self, most: int) -> Atoms:
        """Return the atoms with the largest noisy counts."""
        kept = sorted(sorted(range(len(self.points)), key=lambda i: -self.counts[i])[:most])
        return Atoms(tuple(self.points[i] for i in kept), tuple(self.counts[i] for i in kept))


def needs_delta(lower: float, upper: float, integer: bool) -> bool:
    """Return whether frequent values of a domain can only be found by a question that may fail."""
    return not integer or int(upper) - int(lower) >= MOST_POINTS


def bins_beside(count: int, n_atoms: int) -> int:
    """Return the largest number of bins for the other values."""
    return max(count - n_atoms, count // 2)


def find_atoms(
    column: ColumnCurator,
    lower: float,
    upper: float,
    *,
    unit: Fraction | None,
    count: int,
    n_estimated: float,
    share: Fraction,
    delta: Fraction,
    step: str,
) -> Atoms:
    """Find values that many records share.

    Where few values come into question, because they are few or most records lie at round numbers, each of these is
    counted with noise, and so are 0 and both bounds. An atom then holds more than twice what is usual around it, by more
    than noise explains. Otherwise the question that finds categories is asked of the exact values
    (`ColumnCurator.frequent`), for which a part of delta is set aside; without one, 0 and both bounds alone are counted.

    Args:
        column: The values, within the bounds.
        lower: Lower bound, an integer for a column on a grid.
        upper: Upper bound.
        unit: Public or released step whose multiples come into question; None if there are too many.
        count: Largest number of bins.
        n_estimated: Released number of records; 0 if it is not known.
        share: Fraction of the whole budget.
        delta: Part of the budget's delta; 0 for none.
        step: Name of the spend in the ledger.
    """
    if unit is not None or (column.is_private and not delta):
        points = candidates(lower, upper, unit, integer=column.integer)
        return _counted(column, points, count=count, share=share, step=step)
    most = max(MOST_ATOMS + 1, count)
    least = max(int(n_estimated * LEAST_SOUGHT), 1)
    values, counts = column.frequent(most, share=share, delta=delta, step=step, least=least)
    found = Atoms(tuple(values), tuple(counts.astype(np.float64).tolist()))
    if every := found.if_all(n_estimated):
        return every
    return found.largest(min(3 * count // 4, int((counts >= n_estimated * LEAST_OF_BIN / count).sum())))


def n_candidates(lower: float, upper: float, unit: Fraction) -> int:
    """Return about how many multiples of a step lie within bounds."""
    return int((Fraction(upper) - Fraction(lower)) / unit) + 1


def candidates(
    lower: float, upper: float, unit: Fraction | None, *, integer: bool
) -> list[int] | list[float]:
    """Return the multiples of a step within bounds, 0 if it is within them, and the bounds, in ascending order."""
    dtype = np.int64 if integer else np.float64
    ends = [p for p in (lower, 0, upper) if lower <= p <= upper]
    if unit is None:
        return sorted({int(p) if integer else float(p) for p in ends})
    first, after = first_multiples(np.array([lower, upper], dtype=dtype), unit, integer=integer).tolist()
    inner = multiples_at(np.arange(first, after), unit, integer=integer)
    points: list[int] | list[float] = np.unique(np.concatenate([inner, np.array(ends, dtype=dtype)])).tolist()
    return points


def _counted(
    column: ColumnCurator, points: Sequence[int | float], *, count: int, share: Fraction, step: str
) -> Atoms:
    """Count points, and return those that stand out from noise and from what is usual around them."""
    ends = [p + 1 if column.integer else math.nextafter(p, math.inf) for p in points]
    edges = sorted({*points, *ends})
    answer = column.histogram(edges, share=share, step=step)
    counts = answer.values[np.searchsorted(np.array(edges), np.array(points))]
    noise = answer.above_noise(FALSE_ALARMS / counts.size)
    above = counts > noise
    # Those that are counted alone have nothing around them.
    alone = len(points) <= MOST_ALONE
    padded = np.pad(np.zeros_like(counts) if alone else counts, AROUND, constant_values=np.nan)
    usual = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * AROUND + 1), axis=1)
    stands_out = counts - 2 * np.maximum(usual, 0.0) > noise
    total = float(answer.values.sum())
    places = np.flatnonzero(above)
    if places.size and places[-1] - places[0] >= SPARSE * places.size:
        clear = Atoms(tuple(points[i] for i in places.tolist()), tuple(counts[places].tolist()))
        if every := clear.if_all(total):
            return every
    of_bin = counts * count / max(total, 1.0)
    kept = stands_out & (of_bin >= LEAST_OF_BIN)
    if not column.is_private:
        # Under a budget bins describe neighbouring values that are alike in less noise.
        kept |= of_bin >= 1
    found = Atoms(tuple(points[i] for i in np.flatnonzero(kept).tolist()), tuple(counts[kept].tolist()))
    return found.largest(3 * count // 4)


ROUND_NUMBERS = tuple(Fraction(10) ** k * part for k in range(6, -7, -1) for part in (1, Fraction(1, 2)))
"""1,000,000 and half of it, 100,000 and half of it, and so on."""

_PARTS_OF_A_DAY = (24 * 3600, 3600, 900, 60, 1)
MOST_VALUES = 0.6
"""Share of the values that must be multiples of a step for atoms to be sought among these alone."""

NEARLY_AS_MANY = 0.95
"""A larger step is taken if this part of them are multiples of it."""

FEW_ATOMS = 5
"""Fewer atoms of a level do not tell what is usual among them."""

CLEAR = 3.0
"""Standard deviations of the noise above which a level is taken to occur."""


def steps_of(column: Ordered) -> tuple[Fraction, ...]:
    """Return the round numbers of a column's domain, in points, that are worth telling apart; by its declaration.

    Each is a multiple of the next. They are none if no number is rounder than another, as for days.
    """
    lower, upper, integer = column.span()
    if isinstance(column, Numeric):
        steps = [number / column.unit for number in ROUND_NUMBERS]
    elif isinstance(column, Datetime | Time):
        unit = Fraction(MICROSECONDS[column.resolution], 10**6)
        steps = [second / unit for second in (*_PARTS_OF_A_DAY, Fraction(1, 1000))]
    else:
        return ()
    largest = max(abs(lower), abs(upper))
    if integer:
        steps = [*(step for step in steps if step.denominator == 1 and step > 1), Fraction(1)]
    fitting = [s for s in steps if s <= upper - lower and largest <= LARGEST * s]
    nested: list[Fraction] = []
    for step in fitting:
        if not nested or nested[-1] % step == 0:
            nested.append(step)
    enough = len(nested) > integer and (not integer or nested[-1] == 1)
    return tuple(nested) if enough else ()


@dataclass(frozen=True, eq=False)
class CountedLevels:
    """Released numbers of the values of each level.

    Attributes:
        steps: The steps of the levels.
        answer: Noisy count of each level, then of values that are multiples of no step, then of 0.
        integer: Whether values are integers.
    """

    steps: tuple[Fraction, ...]
    answer: NoisyVector
    integer: bool

    def unit(self, lower: float, upper: float) -> Fraction | None:
        """Return the largest step that most values are multiples of, if its multiples within bounds are few."""
        counts = self._clear(self.answer.values[:-1])
        shares = np.cumsum(counts)[:-1] / max(counts.sum(), 1.0)
        few = [i for i, step in enumerate(self.steps) if n_candidates(lower, upper, step) <= MOST_POINTS]
        if not few or shares[few[-1]] < MOST_VALUES:
            return None
        return next(self.steps[i] for i in few if shares[i] >= NEARLY_AS_MANY * shares[few[-1]])

    def beside(self, atoms: Atoms) -> Roundness | None:
        """Return how round values are, apart from atoms that stand out among the atoms of their level.

        Atoms of a level that are alike belong to its values: the others of that level lie elsewhere, where they are as
        frequent beside those of other levels.

        Returns:
            The roundness, of all values if noise hides the others; None if it hides all.
        """
        kind = np.int64 if self.integer else np.float64
        every = self.answer.values
        levels = levels_of(np.array(atoms.points, dtype=kind), self.steps, integer=self.integer)
        counts = np.array(atoms.counts)
        apart = np.zeros(every.size)
        for level in np.unique(levels):
            alike = counts[levels == level]
            usual = float(np.median(alike)) if alike.size >= FEW_ATOMS else 0.0
            apart[level] = np.maximum(alike - usual, 0.0).sum()
        for rest in (every - apart, every):
            shares = self._clear(rest[:-1])
            if self.integer:
                # Every integer is a multiple of the last step, which is 1; only noise says otherwise.
                shares[-1] = 0.0
            if shares.any():
                return Roundness(self.steps, tuple((shares / shares.sum()).tolist()))
        return None

    def _clear(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(counts > CLEAR * self.answer.sigma, counts, 0.0)


def count_levels(
    column: ColumnCurator, steps: tuple[Fraction, ...], *, integer: bool, share: Fraction, step: str
) -> CountedLevels:
    """Count the levels of a column: a histogram of sensitivity one.

    Args:
        column: The level of each value, by `levels_of`.
        steps: The steps of the levels.
        integer: Whether values are integers.
        share: Fraction of the whole budget.
        step: Name of the spend in the ledger.
    """
    answer = column.histogram(range(len(steps) + 3), share=share, step=step)
    return CountedLevels(steps, answer, integer)
