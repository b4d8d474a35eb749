"""The codes of one ordered column: roundness, atoms, bins of the other values, and how values lie within bins."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import LARGEST, Roundness, between_atoms, levels_of, with_atoms
from syntabula.bins.scale import even_bins
from syntabula.bins.uniform import Bins, Spread, UniformBins
from syntabula.marginals.sorted_points import CodeFold, CountedPoints, coded
from syntabula.prepare.atoms import (
    LEAST_OF_BIN,
    Atoms,
    Others,
    bins_beside,
    few_multiples,
    find_atoms,
    needs_delta,
)
from syntabula.prepare.preprocessing import Part, Preprocessing, fit_spread, is_worth_fitting
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.privacy.ledger import Ledger
from syntabula.privacy.noise import NoiseSource
from syntabula.privacy.pricing import NoisyVector
from syntabula.table.coding.column_codes import ordered_points
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import MICROSECONDS, Datetime, Numeric, Ordered, Time

if TYPE_CHECKING:
    from syntabula.bins.rhythm import Rhythm
    from syntabula.marginals.asked_points import AskedPoints, Points


ROUND_NUMBERS = tuple(Fraction(10) ** k * part for k in range(6, -7, -1) for part in (1, Fraction(1, 2)))
"""1,000,000 and half of it, 100,000 and half of it, and so on."""

_PARTS_OF_A_DAY = (24 * 3600, 3600, 900, 300, 60, 1)
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
    if length := getattr(column, "part_of_a_day", 0):
        steps = [Fraction(second * 10**6, length) for second in _PARTS_OF_A_DAY]
    elif isinstance(column, Numeric):
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
        few = few_multiples(self.steps, lower, upper)
        held = dict(zip(self.steps, shares.tolist(), strict=True))
        if not few or held[few[-1]] < MOST_VALUES:
            return None
        return next(step for step in few if held[step] >= NEARLY_ALL * held[few[-1]])

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
        few = few_multiples([s for s in among if s], lower, upper)
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
            counted = rest[:-1].copy()
            if self.integer:
                # Every integer is a multiple of the last step, which is 1; only noise says otherwise.
                counted[-1] = 0.0
            if (found := Roundness.of_counts(self.steps, counted, hidden[:-1])) is not None:
                return found
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


LEVELS, CELLS = "levels", "cells"
"""Names of the codes that are counted of a column."""

_STEPS: Mapping[Part, str] = {
    "roundness": "find the roundness of {!r}",
    "atoms": "find the frequent values of {!r}",
    "bins": "fit the bins of {!r}",
    "rhythm": "find the rhythm of {!r}",
    "ends": "count the days and times at the end of {!r}",
    "spread": "spread within the bins of {!r}",
}


def step_of(part: Part, name: str) -> str:
    """Return the ledger's name for a part of a column's refinement."""
    return _STEPS[part].format(name)


@dataclass(frozen=True)
class OrderedCodes:
    """The codes of an ordered column, and how its values lie within them.

    Attributes:
        bins: The codes.
        spread: Distribution within each bin; evenly if None.
        roundness: Which round numbers values are multiples of; None if they may be any.
        rhythm: Which weekdays and times of day are frequent; None if it is not known.
    """

    bins: Bins
    spread: Spread | None = None
    roundness: Roundness | None = None
    rhythm: Rhythm | None = None


@dataclass(frozen=True, kw_only=True)
class Refinement:
    """Finds the codes of one ordered column.

    Attributes:
        name: Name of the column.
        column: Its declaration, or what was found of it.
        settings: The options.
        shares: What each part may spend; 0 for those that are free or not asked.
        count: Largest number of bins.
        n_estimated: Released number of records; 0 if it is not known.
        delta: Part of delta for frequent values; 0 for none.
        ledger: Pays for the spends.
        noise: Draws the noise.
        moved: Released part of the values that may have been moved to a bound; 0 where bounds were declared.
    """

    name: str
    column: Ordered
    settings: Preprocessing
    shares: Mapping[Part, Fraction]
    count: int
    n_estimated: float
    delta: Fraction
    ledger: Ledger
    noise: NoiseSource
    moved: float = 0.0

    def codes(self, raw: RawColumn | CountedPoints | AskedPoints) -> OrderedCodes:
        """Return the codes, from the column as read, or from its points with the number of records of each."""
        lower, upper, integer = self.column.span()
        if not is_worth_fitting(lower, upper, integer=integer, count=self.count):
            return OrderedCodes(UniformBins(self.count).bins(lower, upper, integer=integer))
        points: Points = raw if not isinstance(raw, RawColumn) else _counted(self.column, raw)
        every = ColumnCurator(points, self.ledger, self.noise)
        levels = self._levels(every, points)
        unit = None if levels is None else levels.unit(lower, upper)
        others = self._others(levels, unit)
        atoms = self._atoms(every, unit, others)
        if atoms.is_all:
            return OrderedCodes(
                between_atoms(lower, upper, atoms.points, integer=integer), None, Roundness.of_lower_ends()
            )
        kept, moved = atoms.without_moved((lower, upper), self.moved * self.n_estimated)
        # Each record is looked at alone, here and on a scale, so neighbouring tables stay neighbours.
        apart = (*kept.points, *moved)
        rest_points = _without(points, apart) if apart else points
        rest = ColumnCurator(rest_points, self.ledger, self.noise) if apart else every
        counted_at = Fraction(0) if unit is None or others is None else unit
        roundness = None if levels is None else levels.beside(atoms, counted_at)
        bins = self._bins(rest, rest_points, kept)
        if kept.points or not self._sees_values(every):
            bins = with_atoms(bins, kept.points, None if roundness is None else roundness.unit)
        spread = None
        if self.settings.within == "normal":
            spread = fit_spread(rest, bins, share=self.shares["spread"], step=step_of("spread", self.name))
        return OrderedCodes(bins, spread, roundness, self._rhythm(points, roundness))

    def _rhythm(self, points: Points, roundness: Roundness | None) -> Rhythm | None:
        if not self.settings.finds_roundness or not self.column.has_days:
            return None
        from syntabula.prepare.rhythm import RhythmSearch

        search = RhythmSearch(
            self.column,
            partial(ColumnCurator, ledger=self.ledger, noise=self.noise),
            self.shares["rhythm"],
            step_of("rhythm", self.name),
            self.n_estimated,
        )
        return search.find(points, roundness)

    def _levels(self, column: ColumnCurator, points: Points) -> CountedLevels | None:
        steps = steps_of(self.column)
        if not steps or not self.settings.finds_roundness:
            return None
        levels = ColumnCurator(coded(points, LEVELS, code_of_levels(self.column)), self.ledger, self.noise)
        share, step = self.shares["roundness"], step_of("roundness", self.name)
        return count_levels(levels, steps, integer=column.integer, share=share, step=step)

    def _others(self, levels: CountedLevels | None, unit: Fraction | None) -> Others | None:
        """Return what is known of values that are no multiples of a step, if they can hold an atom."""
        if levels is None or unit is None:
            return None
        lower, upper, _ = self.column.span()
        among = levels.others(unit, least=self.n_estimated * LEAST_OF_BIN / self.count)
        if not among:
            return None
        return Others(
            levels.finest(lower, upper, among), self._n_present or float(levels.answer.values.sum())
        )

    @property
    def _n_present(self) -> float:
        """Released number of values; 0 if it is not known, as where cells may be missing or hold a text."""
        return 0.0 if self.column.n_apart else self.n_estimated

    def _atoms(self, column: ColumnCurator, unit: Fraction | None, others: Others | None) -> Atoms:
        declared = self.column.declared_atoms
        if self.column.atoms is not None or not self.settings.finds_atoms or self._sees_values(column):
            return Atoms(tuple(declared), (0.0,) * len(declared))
        lower, upper, integer = self.column.span()
        if unit is None and not needs_delta(lower, upper, integer):
            unit = Fraction(1)
        return find_atoms(
            column,
            lower,
            upper,
            unit=unit,
            others=others,
            steps=steps_of(self.column),
            count=self.count,
            n_estimated=self.n_estimated,
            n_present=self._n_present,
            share=self.shares["atoms"],
            # No part of delta is set aside for small domains, all of whose values can be counted.
            delta=self.delta if needs_delta(lower, upper, integer) else Fraction(0),
            step=step_of("atoms", self.name),
        )

    def _bins(self, rest: ColumnCurator, points: Points, atoms: Atoms) -> Bins:
        lower, upper, integer = self.column.span()
        scale = self.column.scale()
        count = bins_beside(self.count, len(atoms.points)) if atoms.points else self.count
        if self.settings.fitted is None or count < 2:
            return even_bins(count, lower, upper, integer=integer, scale=scale)
        fit = partial(
            self.settings.fitted.fit,
            count=count,
            n_estimated=max(self.n_estimated - sum(atoms.counts), 0.0),
            share=self.shares["bins"],
            step=step_of("bins", self.name),
        )
        if self._sees_values(rest):
            return self._by_days(fit(rest, lower, upper))
        if scale is None:
            return fit(rest, lower, upper)
        cells = ColumnCurator(
            coded(points, CELLS, CodeFold(scale.cells, scale.size)), self.ledger, self.noise
        )
        bins = fit(cells, 0, scale.size - 1)
        # A stated number of bins is kept.
        least = getattr(self.settings.fitted, "cuts_ends_from", math.inf)
        if self.column.bins is None and self.ledger.budget.epsilon >= least:
            bins = scale.with_short_ends(bins, count // 2)
        return scale.bins(bins)

    def _by_days(self, bins: Bins) -> Bins:
        if not self.column.has_days:
            return bins
        from syntabula.prepare.day_bins import by_days
        from syntabula.table.schema.calendar import days_of

        return by_days(bins, days_of(self.column), self.count)

    def _sees_values(self, column: ColumnCurator) -> bool:
        """Return whether the discretizer reads the values as they are, and leaves frequent ones alone itself."""
        return not column.is_private and getattr(self.settings.fitted, "sees_values", False)


def code_of_levels(column: Ordered) -> CodeFold:
    """Return the fold that counts how round the values of a column are."""
    steps, (_, _, integer) = steps_of(column), column.span()
    return CodeFold(partial(levels_of, steps=steps, integer=integer), len(steps) + 2)


def _counted(column: Ordered, raw: RawColumn) -> CountedPoints:
    """Return the points of a column, each once: what follows takes passes over these."""
    return CountedPoints.of(ordered_points(column, raw)[0])


def _without(points: Points, values: Sequence[float]) -> Points:
    if isinstance(points, np.ndarray):
        return points[~np.isin(points, values)]
    if isinstance(points, CountedPoints):
        return points.where(~np.isin(points.values, values))
    return points.without(values)
