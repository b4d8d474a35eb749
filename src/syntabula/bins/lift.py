"""How much more frequent hours of the day, or weekdays, are in rows with some codes of another column.

A bin of a few weeks says nothing of them, and so neither does what a model knows of the bin and the other columns. The
lift of a time in a group of codes is its share of that group's rows over its share of all rows: P(t, g) / (P(t) P(g)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.rhythm import HOURS, WEEKDAYS, Days, RhythmOfDays
from syntabula.bins.uniform import Bins, Parts
from syntabula.errors import SchemaError

Calendar = Literal["weekday", "hour"]
KINDS: dict[Calendar, int] = {"weekday": WEEKDAYS, "hour": HOURS}
"""Number of kinds of time of each calendar."""

_ROUNDS = 100
"""Draws of a time at most; where twenty are needed on average, one time in two hundred takes more."""
_CLASSES = 65_536
"""Combinations of groups up to which chances are kept of all, and not only of those that occur."""
_LEAST_DAYS: dict[Calendar, int] = {"weekday": WEEKDAYS - 1, "hour": 1}
"""Days that a bin must last to hold all kinds of time, but for one weekday that some lack."""


@dataclass(frozen=True)
class Lift:
    """Lifts of the hours or weekdays of a column in groups of another column's codes.

    Attributes:
        calendar: Whether they are those of hours or of weekdays.
        column: The other column.
        groups: Group of each of its codes.
        factors: Lift of each kind of time in each group [groups, kinds].

    Raises:
        SchemaError: If the numbers do not fit together, or a lift is not above 0.
    """

    calendar: Calendar
    column: str
    groups: tuple[int, ...]
    factors: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        wrong = (
            any(not 0 <= group < len(self.factors) for group in self.groups)
            or any(len(row) != KINDS[self.calendar] for row in self.factors)
            or any(not 0 < x < math.inf for row in self.factors for x in row)
        )
        if wrong:
            raise SchemaError(
                f"the lifts of times beside column {self.column!r} do not fit its codes, or are not above 0"
            )

    def over(self, codes: NDArray[np.intp]) -> Self:
        """Return it over finer codes of the other column, given the present code of each of them."""
        return replace(self, groups=tuple(np.array(self.groups)[codes].tolist()))


@dataclass(frozen=True)
class Lifts:
    """The lifts of a column's times.

    Attributes:
        lifts: The lifts; those of several columns are multiplied.
        cuts: Inner edges of the bins that the model knows; those of a codec may be parts of them.
        shares: Probability that a value of such a bin, between further cuts, lies in each bin of the codec [bins].
        told: Further cuts: it is known of each row between which of them it lies.

    Raises:
        SchemaError: If cuts do not ascend, or a share is none.
    """

    lifts: tuple[Lift, ...]
    cuts: tuple[int, ...]
    shares: tuple[float, ...]
    told: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if any(not 0 <= share <= 1 for share in self.shares):
            raise SchemaError("the shares of a column with lifts are not from 0 to 1")
        if any(one >= other for cuts in (self.cuts, self.told) for one, other in pairwise(cuts)):
            raise SchemaError("the cuts of a column with lifts do not ascend")

    def check(self, bins: Bins) -> None:
        """Raise SchemaError if they do not fit the codec's bins."""
        if len(self.shares) != bins.size or not {*self.cuts, *self.told} <= {*bins.cuts}:
            raise SchemaError("lifts and bins do not fit together")
        held = np.bincount(_wide_bins(bins, self._bounds), self.shares)
        if not (np.isclose(held, 1.0) | (held == 0)).all():
            raise SchemaError("the shares of a column with lifts do not sum to one")

    def finer(self, parts: Parts, *, told: bool) -> Self:
        """Return the same lifts over parts of the codec's bins.

        Args:
            parts: The parts.
            told: Whether it is known in which part a value lies, and not only in which bin of the model.
        """
        of_parts = [int(c) for c in np.array(parts.bins.cuts, dtype=np.int64)[np.diff(parts.whole) == 0]]
        further = tuple(sorted({*self.told, *of_parts})) if told else self.told
        wide = _wide_bins(parts.bins, sorted({*self.cuts, *further}))
        shares = np.array(self.shares)[parts.whole] * parts.shares
        held = np.bincount(wide, shares)[wide]
        shares = np.divide(shares, held, out=np.zeros(shares.size), where=held > 0)
        return replace(self, told=further, shares=tuple(np.minimum(shares, 1.0).tolist()))

    @property
    def _bounds(self) -> list[int]:
        """Cuts over which no point is drawn again."""
        return sorted({*self.cuts, *self.told})

    def redrawn(
        self,
        points: NDArray[np.int64],
        bins: Bins,
        index: NDArray[np.intp],
        within: RhythmOfDays,
        codes: Sequence[NDArray[Any]],
        rng: np.random.Generator,
        *,
        days_stay: bool = False,
    ) -> NDArray[np.int64]:
        """Return points that are drawn again until times are as frequent as lifts say.

        This is rejection sampling (von Neumann, 1951): a point is kept with its lift over the largest of its row. Bins
        of the model that do not hold all kinds of time say more than a lift does, and their points stay.

        Args:
            points: A point of each row's bin [n], drawn by `within`.
            bins: The codec's bins.
            index: Bin of each row [n].
            within: How values lie within the bins.
            codes: Each lift's codes of the other column [n].
            rng: Source of ordinary randomness.
            days_stay: Whether points stay on their days, or in the week around them if weekdays are told, as these follow
                other columns already.
        """
        known, bounded = (
            Bins((bins.edges[0], *cuts, bins.edges[-1]), integer=True) for cuts in (self.cuts, self._bounds)
        )
        wide = _wide_bins(bins, self._bounds)
        found, of_calendars = points.copy(), []
        # Dealt out among the rows of several bins, points lie in other ones than they were drawn for.
        held = bounded.codes(points) if days_stay else wide[index]
        model_bin = _wide_bins(bounded, self.cuts)[held]
        edges, day = np.array(bounded.edges, dtype=np.int64), within.days.cells * within.days.length
        for calendar in dict.fromkeys(lift.calendar for lift in self.lifts):
            has_choice = with_all_kinds(known, within.days, calendar)[model_bin]
            pairs = [pair for pair in zip(self.lifts, codes, strict=True) if pair[0].calendar == calendar]
            of_calendars.append(_Chances.of(calendar, pairs, has_choice))
        of_weekdays = any(chances.calendar == "weekday" for chances in of_calendars)
        rows = np.arange(points.size)
        is_new = np.ones(points.size, np.bool_)
        for _ in range(_ROUNDS):
            # A point that was refused is not tried again.
            chance, times = is_new.astype(np.float64), _all_kinds(within.days, found[rows])
            for chances in of_calendars:
                chance *= chances.table[chances.classes[rows], times[chances.calendar]]
            rows = rows[rng.random(rows.size) >= chance]
            if not rows.size:
                break
            if not days_stay:
                found[rows] = within.within(bins, self._parts(wide, index[rows], rng), rng)
                is_new = np.ones(rows.size, np.bool_)
                continue
            # Of the week around it where weekdays are told.
            drawn = within.near(points[rows], rng, days=3 if of_weekdays else 0)
            low, high = edges[held[rows]], edges[held[rows] + 1]
            # A bin that begins at noon holds the mornings of the days after its first one.
            drawn += day * ((drawn < low).astype(np.int64) - (drawn >= high))
            is_new = (drawn >= low) & (drawn < high)
            found[rows[is_new]] = drawn[is_new]
        return found

    def _parts(
        self, wide: NDArray[np.intp], index: NDArray[np.intp], rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Draw another part of the model's bin for each part [n]."""
        below = np.concatenate([[0.0], np.cumsum(self.shares)])
        bins = np.arange(int(wide[-1]) + 1)
        first, last = (np.searchsorted(wide, bins, side=s)[wide[index]] for s in ("left", "right"))
        masses = below[first] + (below[last] - below[first]) * rng.random(index.size)
        drawn = np.searchsorted(below, masses, side="right") - 1
        found: NDArray[np.intp] = np.clip(drawn, first, last - 1)
        return found


@dataclass(frozen=True, eq=False)
class _Chances:
    """The chance with which a row keeps a drawn time, for one calendar.

    Attributes:
        calendar: The calendar.
        table: Chance of each kind of time, of rows in the same groups; of rows without a choice first [classes, kinds].
        classes: Class of each row [n].
    """

    calendar: Calendar
    table: NDArray[np.float32]
    classes: NDArray[np.intp]

    @classmethod
    def of(
        cls, calendar: Calendar, pairs: Sequence[tuple[Lift, NDArray[Any]]], has_choice: NDArray[np.bool_]
    ) -> Self:
        sizes = [len(lift.factors) for lift, _ in pairs]
        classes = np.zeros(has_choice.size, np.intp)
        for (lift, codes), size in zip(pairs, sizes, strict=True):
            classes = classes * size + np.array(lift.groups)[codes]
        every = np.arange(math.prod(sizes)) if math.prod(sizes) <= _CLASSES else None
        if every is None:
            every, classes = np.unique(classes, return_inverse=True)
        product, left = np.ones((every.size, KINDS[calendar])), every
        for (lift, _), size in zip(reversed(pairs), reversed(sizes), strict=True):
            product *= np.array(lift.factors)[left % size]
            left = left // size
        chances = product / product.max(axis=1, keepdims=True)
        table = np.concatenate([np.ones((1, KINDS[calendar])), chances]).astype(np.float32)
        return cls(calendar, table, np.where(has_choice, classes + 1, 0))


def kinds_of(days: Days, points: NDArray[Any], calendar: Calendar) -> NDArray[np.int64]:
    """Return the weekday, 0 for Monday, or the hour of points [n] of the domain."""
    return _all_kinds(days, points)[calendar]


def _all_kinds(days: Days, points: NDArray[Any]) -> dict[Calendar, NDArray[np.int64]]:
    """Return both, of which days have no hours."""
    day, cell, _ = days.places(points)
    return {"weekday": days.weekdays[day], "hour": cell // max(days.cells // HOURS, 1)}


def with_all_kinds(bins: Bins, days: Days, calendar: Calendar) -> NDArray[np.bool_]:
    """Return which bins last long enough to hold all kinds of time, or all weekdays but one [bins]."""
    if calendar == "hour" and days.cells < HOURS:
        return np.zeros(bins.size, np.bool_)
    widths = np.diff(np.array(bins.edges, dtype=np.int64))
    found: NDArray[np.bool_] = widths >= _LEAST_DAYS[calendar] * days.cells * days.length
    return found


def _wide_bins(parts: Bins, cuts: Sequence[int]) -> NDArray[np.intp]:
    """Return the bin between cuts in which each part lies [parts]."""
    starts = np.array(parts.edges[:-1], dtype=np.int64)
    return np.searchsorted(np.array(cuts, dtype=np.int64), starts, side="right")
