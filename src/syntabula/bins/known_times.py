"""What a time that is known tells of a row's other columns, by the lifts of its hour and weekday.

Times are drawn beside codes of other columns as often as lifts say (`bins.lift`). So of rows with a known time those
codes are as much more frequent, relative to all times of the bin that the model knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.lift import Calendar, Lifts, kinds_of, with_all_kinds
from syntabula.bins.rhythm import HOURS, WEEKDAYS, Days, RhythmOfDays
from syntabula.bins.uniform import Bins

_AT_ONCE = 20_000
"""Rows whose lifts of all kinds of time are in memory at a time."""


@dataclass(frozen=True, eq=False)
class KnownTimes:
    """The kinds of time in the bins of a column with lifts, of which each row's is known.

    Attributes:
        lifts: The lifts.
        kinds: Share of each weekday and hour in each bin [bins, 7, 24], of weekdays alone [bins, 7] or of hours alone
            [bins, 24] if the others have no lifts.
        wide: Bin of the model that each bin is part of [bins].
        of_wide: The same in the bins of the model.
        has_choice: Which bins of the model hold all kinds of a calendar, so that its lifts are followed there.
    """

    lifts: Lifts
    kinds: NDArray[np.float32]
    wide: NDArray[np.intp]
    of_wide: NDArray[np.float32]
    has_choice: dict[Calendar, NDArray[np.bool_]]

    @classmethod
    def of(cls, lifts: Lifts, bins: Bins, within: RhythmOfDays) -> Self:
        """Prepare it.

        Args:
            lifts: The lifts, with a share of each of the bins.
            bins: The codec's bins, cut where it is known what a row is.
            within: How values lie within them.
        """
        model = Bins((bins.edges[0], *lifts.cuts, bins.edges[-1]), integer=True)
        wide = model.codes(np.array(bins.edges[:-1], dtype=np.int64)).astype(np.intp)
        calendars = dict.fromkeys(lift.calendar for lift in lifts.lifts)
        kinds = _kinds(bins, within)
        # Days or hours of which there are no lifts need not be told apart.
        for calendar, axis in (("weekday", 1), ("hour", 2)):
            kinds = kinds if calendar in calendars else kinds.sum(axis=axis)
        of_wide = np.zeros((model.size, *kinds.shape[1:]))
        np.add.at(of_wide, wide, (kinds.T * np.array(lifts.shares)).T)
        has_choice = {c: with_all_kinds(model, within.days, c) for c in calendars}
        return cls(lifts, kinds.astype(np.float32), wide, of_wide.astype(np.float32), has_choice)

    def weights(self, index: NDArray[np.intp], codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Return how much more likely a row's codes make its bin than they do other times of the model's bin [n].

        Args:
            index: Bin of each row [n].
            codes: Each lift's codes of the other column [n].
        """
        found = np.ones(index.size)
        for start in range(0, index.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            bins = index[some]
            wide = self.wide[bins]
            factors: dict[Calendar, NDArray[np.float32]] = {
                "weekday": np.ones((bins.size, WEEKDAYS), np.float32),
                "hour": np.ones((bins.size, HOURS), np.float32),
            }
            for lift, of_lift in zip(self.lifts.lifts, codes, strict=True):
                groups = np.array(lift.groups)[of_lift[some]]
                own = np.array(lift.factors, dtype=np.float32)[groups]
                own[~self.has_choice[lift.calendar][wide]] = 1
                factors[lift.calendar] *= own
            there, whole = (
                self._mean(factors, kinds, of) for kinds, of in ((self.kinds, bins), (self.of_wide, wide))
            )
            np.divide(there, whole, out=found[some], where=whole > 0)
        return found

    def _mean(
        self, factors: dict[Calendar, NDArray[np.float32]], kinds: NDArray[np.float32], of: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """Return the mean of each row's lifts over the kinds of time of some bins [n]."""
        axes: dict[Calendar, str] = {"weekday": "w", "hour": "h"}
        told = [name for name in axes if name in self.has_choice]
        names = [axes[name] for name in told]
        terms = ",".join([*(f"n{axis}" for axis in names), f"n{''.join(names)}"])
        found: NDArray[np.float32] = np.einsum(
            f"{terms}->n", *(factors[name] for name in told), kinds[of], optimize=True
        )
        return found


def _kinds(bins: Bins, within: RhythmOfDays) -> NDArray[np.float64]:
    """Return the share of each weekday and hour in each bin [bins, 7, 24]."""
    edges = np.array(bins.edges, dtype=np.int64)
    starts = _hours(within.days)
    points = np.union1d(edges[:-1], starts[(starts > edges[0]) & (starts < edges[-1])])
    masses = np.maximum(np.diff(within.below(np.append(points, edges[-1]))), 0.0)
    index = np.searchsorted(edges, points, side="right") - 1
    # Of bins without a likely time, each is as likely as it is long.
    empty = np.bincount(index, masses, minlength=bins.size) <= 0
    masses = np.where(empty[index], np.diff(np.append(points, edges[-1])), masses)
    kind = np.ravel_multi_index(
        (kinds_of(within.days, points, "weekday"), kinds_of(within.days, points, "hour")), (WEEKDAYS, HOURS)
    )
    size = WEEKDAYS * HOURS
    found = np.bincount(index * size + kind, masses, minlength=bins.size * size).reshape(bins.size, size)
    shares: NDArray[np.float64] = (found / found.sum(axis=1, keepdims=True)).reshape(-1, WEEKDAYS, HOURS)
    return shares


def _hours(days: Days) -> NDArray[np.int64]:
    """Return the first points of all hours, or of days that are not divided."""
    if days.cells < HOURS:
        return days.starts[:-1]
    length = days.cells // HOURS * days.length
    return (days.starts[:-1, None] + length * np.arange(HOURS)).ravel()


def edges_around(points: NDArray[np.int64], lifts: Lifts, days: Days) -> list[int]:
    """Return the ends of the hours in which points lie, or of the days if lifts are those of weekdays alone."""
    starts = days.starts[:-1]
    if any(lift.calendar == "hour" for lift in lifts.lifts):
        starts = _hours(days)
    at = np.unique(np.searchsorted(starts, points, side="right") - 1)
    every = np.append(starts, days.starts[-1])
    return [int(end) for end in np.unique(np.concatenate([every[at], every[at + 1]]))]
