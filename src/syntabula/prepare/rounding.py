"""Which round numbers the values of a column are multiples of, found under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import LARGEST, Roundness, levels_of
from syntabula.prepare.atoms import MOST_POINTS, Atoms, n_candidates
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.pricing import NoisyVector
from syntabula.table.schema.columns import MICROSECONDS, Datetime, Numeric, Ordered, Time

ROUND_NUMBERS = tuple(Fraction(10) ** k * part for k in range(6, -7, -1) for part in (1, Fraction(1, 2)))
"""1,000,000 and half of it, 100,000 and half of it, and so on."""

_PARTS_OF_A_DAY = (24 * 3600, 3600, 900, 60, 1)
MOST_VALUES = 0.6
"""Share of the values that must be multiples of a step for atoms to be sought among these alone."""

NEARLY_ALL = 0.95
"""A larger step is taken if this part of them are multiples of it."""

FEW_ATOMS = 5
"""Fewer atoms of a level do not tell what is usual among them."""

CLEAR = 3.0
"""Standard deviations of the noise above which a level is taken to occur."""

OTHERS_BY_NOISE = 1e-4
"""Probability with which noise alone makes a level of other values that is worth a question."""


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
        return next(self.steps[i] for i in few if shares[i] >= NEARLY_ALL * shares[few[-1]])

    def others(self, unit: Fraction, *, least: float) -> tuple[Fraction, ...]:
        """Return the finer steps at which many values lie that are no multiples of a step.

        Args:
            unit: One of the steps.
            least: Smallest number of values that is worth a question.

        Returns:
            The step of each level that holds more than noise explains; 0 for values that are multiples of none.
        """
        enough = max(self.answer.above_noise(OTHERS_BY_NOISE), least)
        # Integers are multiples of the last step; only noise says otherwise.
        steps = self.steps if self.integer else (*self.steps, Fraction(0))
        levels = zip(steps, self.answer.values, strict=False)
        return tuple(step for step, counted in levels if step < unit and counted > enough)

    def finest(self, lower: float, upper: float, among: Sequence[Fraction]) -> Fraction | None:
        """Return the finest of some steps whose multiples within bounds are few; None if those of none are."""
        few = [s for s in among if s and n_candidates(lower, upper, s) <= MOST_POINTS]
        return few[-1] if few else None

    def beside(self, atoms: Atoms, unit: Fraction = Fraction(0)) -> Roundness | None:
        """Return how round values are, apart from atoms that stand out among the atoms of their level.

        Atoms of a level that are alike belong to its values: the others of that level lie elsewhere, where they are as
        frequent beside those of other levels. This is not so of levels whose other values are too many to be counted.

        Args:
            atoms: The atoms.
            unit: Step at which values were counted; at finer ones only frequent values were found.

        Returns:
            The roundness, of all values if noise hides the others; None if it hides all.
        """
        kind = np.int64 if self.integer else np.float64
        every = self.answer.values
        levels = levels_of(np.array(atoms.points, dtype=kind), self.steps, integer=self.integer)
        counts = np.array(atoms.counts)
        apart, hidden = np.zeros(every.size), np.full(every.size, CLEAR * self.answer.sigma)
        for level in np.unique(levels):
            alike = counts[levels == level]
            usual = float(np.median(alike)) if alike.size >= FEW_ATOMS else 0.0
            # 0 is a multiple of all.
            if (*self.steps, Fraction(0), self.steps[0])[level] < unit:
                usual = 0.0
                hidden[level] = CLEAR * math.hypot(self.answer.sigma, atoms.deviation * math.sqrt(alike.size))
            apart[level] = np.maximum(alike - usual, 0.0).sum()
        for rest in (every - apart, every):
            shares = np.where(rest[:-1] > hidden[:-1], rest[:-1], 0.0)
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
