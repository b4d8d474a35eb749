"""How the values of a column of days or times lie by weekday, day of the month and time of day, within their bins.

A bin of a few weeks says nothing of them: spread evenly, Sundays hold as many rows as Saturdays, and every minute of the
night as many as those at which things begin.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.roundness import Roundness
from syntabula.bins.uniform import Bins, Parts, uniform_within
from syntabula.errors import SchemaError

WEEKDAYS = 7
MONTH_DAYS = 32
"""Days of a month by their number, but for its last day, which comes after them."""
HOURS = 24
_LEAST = 1e-9
"""Factor of days that never occur, so that a bin of nothing else has places, too."""


@dataclass(frozen=True, eq=False)
class Days:
    """The days of a column's domain; public facts.

    Attributes:
        starts: First point of each day, and of the day after the last one [days + 1].
        weekdays: Weekday of each day, 0 for Monday [days].
        month_days: Number of each day in its month, from 0; 31 for the last day of any month [days].
        cells: Parts of a day that are told apart: 1 for columns of days, 24 hours, or 1,440 minutes.
        length: Points of such a part.
    """

    starts: NDArray[np.int64]
    weekdays: NDArray[np.int64]
    month_days: NDArray[np.int64]
    cells: int
    length: int

    @property
    def size(self) -> int:
        """Number of days."""
        return self.weekdays.size

    def places(self, points: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]:
        """Return for points [n] of the domain the position of the day, the part of that day, and the place in that."""
        whole = self.cells * self.length
        values = points.astype(np.int64, copy=False)
        if self._is_even:
            day = np.clip((values - self.starts[0]) // whole, 0, self.size - 1)
        else:
            day = np.clip(np.searchsorted(self.starts, values, side="right") - 1, 0, self.size - 1)
        # A day on which clocks are put back is longer.
        elapsed = np.minimum(values - self.starts[day], whole)
        cell = np.minimum(elapsed // self.length, self.cells - 1)
        return day.astype(np.intp, copy=False), cell, elapsed - cell * self.length

    @cached_property
    def _is_even(self) -> bool:
        return bool((np.diff(self.starts) == self.cells * self.length).all())


@dataclass(frozen=True)
class Rhythm:
    """How much more frequent some days and times of day are than others.

    A day is as likely as the factors of its weekday and of its place in the month say, wherever it lies; the time of day
    depends on the weekday by the hour, and within an hour on the hour alone.

    Attributes:
        weekdays: Factor of each weekday, Monday first [7].
        month_days: Factor of each day of the month, as `Days.month_days` has them [32].
        hours: Share of each hour in the rows of each weekday [7 * 24], a weekday after the other; empty for columns of
            days.
        minutes: Share of each minute in the rows of its hour [24 * 60]; empty where hours are not divided.

    Raises:
        SchemaError: If there are other numbers of them, or negative ones.
    """

    weekdays: tuple[float, ...]
    month_days: tuple[float, ...]
    hours: tuple[float, ...] = ()
    minutes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        sizes = {
            "weekdays": (WEEKDAYS,),
            "month_days": (MONTH_DAYS,),
            "hours": (0, WEEKDAYS * HOURS),
            "minutes": (0, HOURS * 60) if self.hours else (0,),
        }
        for name, allowed in sizes.items():
            numbers = tuple(map(float, getattr(self, name)))
            object.__setattr__(self, name, numbers)
            if len(numbers) not in allowed or not all(0 <= x < math.inf for x in numbers):
                raise SchemaError(
                    f"the {name} of a rhythm are not as many numbers of at least 0 as there must be"
                )

    @property
    def cells(self) -> int:
        """Parts of a day that are told apart; see `Days`."""
        return max(len(self.minutes), HOURS if self.hours else 1)

    def rounded(self) -> Rhythm:
        """Return it as a release stores it, with six digits, which are more than noise leaves."""
        return Rhythm(*(tuple(float(f"{x:.6g}") for x in numbers) for numbers in astuple(self)))

    def of_days(self, days: Days) -> NDArray[np.float64]:
        """Return how likely each day is, up to a common factor [days]."""
        factors = np.array(self.weekdays)[days.weekdays] * np.array(self.month_days)[days.month_days]
        likely: NDArray[np.float64] = np.maximum(factors, _LEAST)
        return likely

    def of_clock(self) -> NDArray[np.float64]:
        """Return the share of each part of a day, for each weekday [7, cells]."""
        if not self.hours:
            return np.ones((WEEKDAYS, 1))
        hours = np.array(self.hours).reshape(WEEKDAYS, HOURS)
        if not self.minutes:
            return proportions(hours)
        minutes = proportions(np.array(self.minutes).reshape(HOURS, 60))
        return proportions((hours[:, :, None] * minutes).reshape(WEEKDAYS, HOURS * 60))


class RhythmOfDays:
    """The distribution of a column's values within bins that its rhythm and its roundness make.

    Args:
        rhythm: The rhythm.
        days: The days of the column's domain, divided as the rhythm has it.
        roundness: Which round numbers values are multiples of: within a minute; and in narrower bins.

    Attributes:
        days: The days of the column's domain.
        before_days: How likely values before each day, and at all, are [days + 1]; see `below`.

    Raises:
        SchemaError: If days are divided differently.
    """

    def __init__(self, rhythm: Rhythm, days: Days, roundness: Roundness | None) -> None:
        if rhythm.cells != days.cells:
            raise SchemaError("a rhythm must divide days as the resolution of its column does")
        self.days, self._roundness = days, roundness
        self._likely = rhythm.of_days(days)
        self.before_days = np.concatenate([[0.0], np.cumsum(self._likely)])
        # Sums of rounded shares may exceed one, and must not fall at the end.
        clock = np.minimum(np.cumsum(rhythm.of_clock(), axis=1), 1.0)
        clock[:, -1] = 1.0
        self._clock = np.concatenate([np.zeros((WEEKDAYS, 1)), clock], axis=1)
        self._within_cell = None if roundness is None else _below(roundness, days.length)

    def within(self, bins: Bins, codes: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw one point per code [n] from its bin."""
        index = np.asarray(codes, dtype=np.intp)
        edges = np.array(bins.edges, dtype=np.int64)
        ends = self.below(edges)
        wide = (np.diff(edges) > self.days.length) & (np.diff(ends) > 0)
        drawn = np.empty(index.size, dtype=np.int64)
        of_wide = wide[index]
        narrow = np.flatnonzero(~of_wide)
        if narrow.size:
            drawn[narrow] = (
                uniform_within(bins, index[narrow], rng)
                if self._roundness is None
                else self._roundness.within(bins, index[narrow], rng)
            )
        rows = np.flatnonzero(of_wide)
        low, high = index[rows], index[rows] + 1
        masses = ends[low] + (ends[high] - ends[low]) * rng.random(rows.size)
        # Parts of a day on either side may lie half in the bin.
        drawn[rows] = np.clip(self.at(masses, rng), edges[low], edges[high] - 1)
        return drawn

    def near(self, points: NDArray[np.int64], rng: np.random.Generator, *, days: int) -> NDArray[np.int64]:
        """Draw a point of each point's day [n], or of so many days before or after it, as likely as each is."""
        day, _, _ = self.days.places(points)
        first = self.before_days[np.maximum(day - days, 0)]
        last = self.before_days[np.minimum(day + days + 1, self.days.size)]
        return self.at(first + (last - first) * rng.random(day.size), rng)

    def masses(self, bins: Bins) -> NDArray[np.float64]:
        """Return how likely values of each bin are, up to a common factor [bins]."""
        return np.maximum(np.diff(self.below(np.array(bins.edges, dtype=np.int64))), 0.0)

    def shares_of(self, parts: Bins, whole: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the probability that a value of a bin lies in each of its parts; see `Roundness.shares_of`."""
        masses = self.masses(parts)
        widths = np.diff(np.array(parts.edges, dtype=np.float64))
        masses = np.where(np.bincount(whole, masses)[whole] > 0, masses, widths)
        shares: NDArray[np.float64] = masses / np.bincount(whole, masses)[whole]
        return shares

    def weighted(self, parts: Parts) -> NDArray[np.float64]:
        """Return the shares of parts [parts] whose density over whole weeks their shares state."""
        widths = np.diff(np.array(parts.bins.edges, dtype=np.float64))
        shares = parts.shares * self.masses(parts.bins) / widths
        held = np.bincount(parts.whole, shares)[parts.whole]
        found: NDArray[np.float64] = np.divide(shares, held, out=parts.shares.copy(), where=held > 0)
        return found

    def at(self, masses: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the points before which these masses lie [n]."""
        days = self.days
        day = np.clip(np.searchsorted(self.before_days, masses, side="right") - 1, 0, days.size - 1)
        rest = np.clip((masses - self.before_days[day]) / self._likely[day], 0.0, np.nextafter(1.0, 0.0))
        weekday = days.weekdays[day]
        # The clocks of all weekdays as one, which ascends: each begins at its number.
        every = (self._clock + np.arange(WEEKDAYS)[:, None]).ravel()
        cell = np.searchsorted(every, weekday + rest, side="right") - 1 - weekday * (days.cells + 1)
        first: NDArray[np.int64] = days.starts[day] + np.clip(cell, 0, days.cells - 1) * days.length
        if days.length == 1:
            return first
        inside = Bins((0, days.length), integer=True)
        codes = np.zeros(first.size, dtype=np.intp)
        place = (
            uniform_within(inside, codes, rng)
            if self._within_cell is None
            else self._within_cell.within(inside, codes, rng)
        )
        found: NDArray[np.int64] = first + place.astype(np.int64)
        return found

    def below(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how likely values below points [n] of the domain, or at its end, are, up to a common factor."""
        day, cell, place = self.days.places(points)
        weekday = self.days.weekdays[day]
        low, high = self._clock[weekday, cell], self._clock[weekday, cell + 1]
        below: NDArray[np.float64] = self.before_days[day] + self._likely[day] * (
            low + (high - low) * self._below_in_cell(place)
        )
        return below

    def _below_in_cell(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the part of a minute's values that lie before some places in it [n]."""
        length = self.days.length
        inside, back = np.unique(np.clip(places, 0, length), return_inverse=True)
        if self._within_cell is None:
            return np.asarray((inside / length)[back], dtype=np.float64)
        cuts = sorted({0, *inside.tolist(), length})
        held = np.cumsum(self._within_cell.masses(Bins(tuple(cuts), integer=True)).sum(axis=1))
        below = np.concatenate([[0.0], held / held[-1]])
        return np.asarray(below[np.searchsorted(cuts, inside)][back], dtype=np.float64)


def coarse_clock(roundness: Roundness, days: Days) -> NDArray[np.float64]:
    """Return the share of each part of a day as the roundness of times alone makes it [cells]."""
    coarse = [s for s in roundness.steps if s >= days.length]
    cells = np.arange(days.cells) * days.length
    found = np.full(days.cells, sum(roundness.shares[len(coarse) :]) / days.cells)
    free = np.ones(days.cells, dtype=np.bool_)
    for step, share in zip(coarse, roundness.shares, strict=False):
        level = free & (cells % int(step) == 0)
        free &= ~level
        found[level] += share / max(int(level.sum()), 1)
    return proportions(found)


def _below(roundness: Roundness, length: int) -> Roundness | None:
    """Return the roundness of places within a part of a day, in which all coarser levels are one; None if evenly."""
    finer = [step for step in roundness.steps if step < length]
    n_coarse = len(roundness.steps) - len(finer)
    shares = (sum(roundness.shares[:n_coarse]), *roundness.shares[n_coarse:])
    if not any(shares) or any(length % step for step in finer):
        return None
    return Roundness((Fraction(length), *finer), shares)


def proportions(given: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows that sum to one; even ones for rows of nothing but 0."""
    total = given.sum(axis=-1, keepdims=True)
    even = np.full_like(given, 1 / given.shape[-1])
    shares: NDArray[np.float64] = np.divide(given, total, out=even, where=total > 0)
    return shares
