"""Finds the rhythm of a column of days or times: noisy counts by weekday, day of the month and time of day.

Each record is in one cell of each histogram, so all have sensitivity one. Whatever noise explains is left out: counts are
drawn towards those that an even spread would give by as much as their noise has a part in how they differ from them
(James and Stein, 1961, for its positive part); weekends apart from working days. Of a small table it is asked less, and
that with less noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.rhythm import HOURS, MONTH_DAYS, WEEKDAYS, Days, Rhythm, coarse_clock
from syntabula.marginals.shrinkage import without_noise, without_noise_in_groups
from syntabula.marginals.sorted_points import CodeFold, CountedPoints, coded
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.table.schema.calendar import days_of

if TYPE_CHECKING:
    from syntabula.bins.roundness import Roundness
    from syntabula.marginals.asked_points import Points
    from syntabula.privacy.pricing import NoisyVector
    from syntabula.table.schema.columns import Ordered

CLOCK, MONTHS = "weekdays and clock times", "days of the month"
"""Names of the codes that are counted of a column."""

_WEIGHTS = {"weekdays": 1, "month_days": 1, "hours": 2, "minutes": 2}
"""Parts of the share for each histogram, in proportion, of those that are asked."""
_LEAST_TOLD = {"month_days": 1 / 8, "minutes": 1 / 40}
"""Noise of a count, in parts of the rows, that hides what a histogram tells, so that others have its share."""
_WEEKENDS = np.array([0, 0, 0, 0, 0, 1, 1])
"""Groups of weekdays that are alike, for the most part."""

_STANDS_OUT = 1e-4
"""Probability with which noise alone makes a given minute of the day, without any rows, stand out."""


def folds(column: Ordered) -> dict[str, CodeFold]:
    """Return what is counted of a column with days, by name."""
    return {
        CLOCK: CodeFold(partial(_clock_codes, column=column), WEEKDAYS * days_of(column).cells),
        MONTHS: CodeFold(partial(_month_codes, column=column), MONTH_DAYS),
    }


@dataclass(frozen=True)
class RhythmSearch:
    """Counts the values of a column by weekday, day of the month and time of day.

    Attributes:
        column: Its declaration, or what was found of it. It has days; see `days_of`.
        curator: Makes the door to some codes, which pays.
        share: Fraction of the whole budget for all counts.
        step: Name of the spends in the ledger.
        n_estimated: Released or public number of records, which decides what is asked; 0 if it is not known.
    """

    column: Ordered
    curator: Callable[[CountedPoints], ColumnCurator]
    share: Fraction
    step: str
    n_estimated: float = 0.0

    def find(self, points: Points, roundness: Roundness | None) -> Rhythm | None:
        """Return the rhythm of points of the domain; None if noise hides that there are any values.

        Args:
            points: The values.
            roundness: How round they are, which says how times lie where noise hides more.
        """
        days = days_of(self.column)
        clock, months = (coded(points, name, fold) for name, fold in folds(self.column).items())
        parts = self._parts(days, clock)
        daily = clock.mapped(lambda codes: codes // days.cells)
        by_weekday = self._count(daily, WEEKDAYS, parts["weekdays"])
        # Of all sums that of the fewest cells has the least noise.
        total = float(by_weekday.values.sum())
        if total <= by_weekday.sigma * WEEKDAYS**0.5:
            return None
        exposed = _exposed(days.weekdays, WEEKDAYS) * total
        weekdays = without_noise_in_groups(by_weekday.values, by_weekday.sigma, exposed, _WEEKENDS) / total
        month_days = _exposed(days.month_days, MONTH_DAYS)
        if "month_days" in parts:
            by_month_day = self._count(months, MONTH_DAYS, parts["month_days"])
            month_days = _shares(by_month_day, month_days, total)
        factors = _relative(weekdays, days.weekdays), _relative(month_days, days.month_days)
        if days.cells == 1:
            return Rhythm(*factors)
        base = np.full(days.cells, 1 / days.cells) if roundness is None else coarse_clock(roundness, days)
        expected = base.reshape(HOURS, -1)
        hours = self._hours(clock, days, weekdays, expected.sum(axis=1), total, parts["hours"])
        minutes: tuple[float, ...] = ()
        if days.cells > HOURS:
            minutes = tuple(expected.ravel().tolist())
        if "minutes" in parts:
            by_minute = self._count(
                clock.mapped(lambda codes: codes % days.cells), days.cells, parts["minutes"]
            )
            minutes = tuple(minutes_of(by_minute, hours.sum(axis=0), expected, total).ravel().tolist())
        return Rhythm(*factors, tuple(hours.ravel().tolist()), minutes)

    def _parts(self, days: Days, codes: CountedPoints) -> dict[str, Fraction]:
        """Return the part of the share for each histogram that noise would not hide, by public and released facts."""
        asked = ["weekdays", "month_days", *["hours"] * (days.cells > 1), *["minutes"] * (days.cells > HOURS)]
        parts = _divided(asked)
        if not self.n_estimated:
            return parts
        curator = self.curator(codes)
        noise = {kind: curator.noise_for(self.share * part).sigma for kind, part in parts.items()}
        return _divided(
            [kind for kind in asked if noise[kind] <= _LEAST_TOLD.get(kind, math.inf) * self.n_estimated]
        )

    def _hours(
        self,
        clock: CountedPoints,
        days: Days,
        weekdays: NDArray[np.float64],
        expected: NDArray[np.float64],
        total: float,
        part: Fraction,
    ) -> NDArray[np.float64]:
        """Return the share of each hour of each weekday in all rows [7, 24]; of all alike where noise hides more.

        Args:
            clock: The weekday and the part of the day of each value.
            days: The days of the column.
            weekdays: Share of each weekday [7].
            expected: Share of each hour, as far as it is known [24].
            total: Number of rows.
            part: Part of the share that may be spent.
        """
        hourly = clock.mapped(lambda codes: codes // (days.cells // HOURS))
        of_an_hour = self.curator(clock).noise_for(self.share * part).sigma * WEEKDAYS**0.5
        if not self.n_estimated or of_an_hour <= total / HOURS:
            return _hours(self._count(hourly, WEEKDAYS * HOURS, part), weekdays, expected, total)
        by_hour = self._count(hourly.mapped(lambda codes: codes % HOURS), HOURS, part)
        found: NDArray[np.float64] = weekdays[:, None] * _shares(by_hour, expected, total)
        return found

    def _count(self, codes: CountedPoints, size: int, part: Fraction) -> NoisyVector:
        return self.curator(codes).histogram(range(size + 1), share=self.share * part, step=self.step)


def _divided(asked: list[str]) -> dict[str, Fraction]:
    """Return the part of the share for each of some histograms."""
    total = sum(_WEIGHTS[kind] for kind in asked)
    return {kind: Fraction(_WEIGHTS[kind], total) for kind in asked}


def _hours(
    counted: NoisyVector, weekdays: NDArray[np.float64], expected: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Return the share of each hour of each weekday in all rows [7, 24].

    Args:
        counted: Noisy count of each hour of each weekday, a weekday after the other.
        weekdays: Share of each weekday [7].
        expected: Share of each hour, as far as it is known [24].
        total: Number of rows.
    """
    given = NoisyCells(counted.values.reshape(WEEKDAYS, HOURS), counted.sigma)
    hours = _shares(given.sums(0), expected, total)
    apart = weekdays[:, None] * hours
    both = _shares(given, apart, total)
    # Sums are nearer than their parts, of which noise hides the small ones.
    held = both.sum(axis=1, keepdims=True)
    return np.where(held > 0, both * weekdays[:, None] / np.where(held > 0, held, 1.0), apart)


def minutes_of(
    counted: NoisyVector, hours: NDArray[np.float64], expected: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Return how likely each minute is within its hour [24, 60], up to a common factor.

    Minutes that stand out of the noise have their own counts. The others share what is left of their hour's rows, as the
    minutes of all hours together do.

    Args:
        counted: Noisy count of each minute of a day.
        hours: Share of each hour in all rows [24].
        expected: Share of each minute in all rows, as far as it is known [24, 60].
        total: Number of rows.
    """
    given = counted.values.reshape(HOURS, 60)
    own = given > counted.above_noise(_STANDS_OUT)
    left = np.maximum(hours * total - np.where(own, given, 0.0).sum(axis=1), 0.0)
    rest = np.where(own, 0.0, expected)
    of_hour = rest.sum(axis=1, keepdims=True)
    rest = left[:, None] * np.divide(rest, of_hour, out=np.zeros_like(rest), where=of_hour > 0)
    by_minute = rest.sum(axis=0)
    if by_minute.sum() > 0:
        known = by_minute / by_minute.sum()
        sums = NoisyCells(np.where(own, 0.0, given), counted.sigma).sums(0)
        found = _shares(sums, known, float(by_minute.sum()))
        rest = rest * np.divide(found, known, out=np.zeros(60), where=known > 0)
    return np.where(own, given, rest)


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Noisy counts of any shape, or sums of them.

    Attributes:
        values: The counts.
        sigma: Standard deviation of the noise of each.
    """

    values: NDArray[np.float64]
    sigma: float

    def sums(self, axis: int) -> NoisyCells:
        """Return the sums along an axis."""
        return NoisyCells(self.values.sum(axis=axis), self.sigma * self.values.shape[axis] ** 0.5)


def _shares(
    counted: NoisyCells | NoisyVector, expected: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Return shares of all rows from noisy counts, drawn towards expected shares.

    Args:
        counted: The counts.
        expected: Shares that sum to one, in the shape of the counts.
        total: Number of rows, above 0.
    """
    return without_noise(counted.values, counted.sigma, expected * total) / total


def _exposed(kinds: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return the share of days of each kind [size]."""
    return np.bincount(kinds, minlength=size) / kinds.size


def _relative(shares: NDArray[np.float64], kinds: NDArray[np.int64]) -> tuple[float, ...]:
    """Return the factors of kinds of days from their shares of the rows; 1 for kinds that the domain has no day of."""
    exposed = _exposed(kinds, shares.size)
    return tuple(np.divide(shares, exposed, out=np.ones(shares.size), where=exposed > 0).tolist())


def _clock_codes(points: NDArray[Any], column: Ordered) -> NDArray[np.int64]:
    """Return the weekday and the part of the day of points [n] as one number."""
    days = days_of(column)
    day, cell, _ = days.places(points)
    return days.weekdays[day] * days.cells + cell


def _month_codes(points: NDArray[Any], column: Ordered) -> NDArray[np.int64]:
    days = days_of(column)
    return days.month_days[days.places(points)[0]]
