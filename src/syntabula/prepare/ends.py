"""Counts the ends of distances between times by weekday, day of the month and time of day.

Each record is in one cell of each histogram, so all have sensitivity one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.ends import kind_sizes, time_kinds
from syntabula.bins.rhythm import HOURS, WEEKDAYS
from syntabula.marginals.shrinkage import without_noise
from syntabula.marginals.sorted_points import CodeFold, coded
from syntabula.prepare.refinement import step_of
from syntabula.prepare.rhythm import NoisyCells, minutes_of
from syntabula.privacy.doors.columns import ColumnCurator
from syntabula.table.parts.points import CountedColumns
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.gaps import end_points, timed_end

if TYPE_CHECKING:
    from syntabula.marginals.asked_points import Points
    from syntabula.prepare.refinement import Refinement
    from syntabula.privacy.pricing import NoisyVector
    from syntabula.table.raw import RawTable
    from syntabula.table.schema.columns import Date, Datetime, Ordered

_WEIGHTS = {"weekdays": 3, "month_days": 1, "minutes": 2}
"""Parts of the share for each histogram, in proportion."""
_CLEAR = 5.0
"""Standard deviations by which counts must differ from what is expected; noise alone does so once in a million times."""
_FAR = 0.03
"""Least distance of distributions that is worth drawing ends anew."""


def ends_in(table: RawTable | CountedColumns, name: str) -> Points:
    """Return the points of the ends of a distance in a table, or in what a pass over one found."""
    return table.ends[name] if isinstance(table, CountedColumns) else end_points(table.columns[name])


def end_folds(end: Date | Datetime) -> dict[str, CodeFold]:
    """Return what is counted of the ends of a distance, by name."""
    sizes = kind_sizes(days_of(end))
    return {f"{kind} of ends": CodeFold(partial(_codes, end=end, kind=kind), n) for kind, n in sizes.items()}


def _codes(points: NDArray[Any], end: Date | Datetime, kind: str) -> NDArray[np.int64]:
    return time_kinds(days_of(end), points.astype(np.int64, copy=False))[kind]


@dataclass(frozen=True, eq=False)
class EndCounts:
    """Released numbers of ends of each kind of time; see `time_kinds`.

    Attributes:
        counts: Noisy counts, by kind.
    """

    counts: dict[str, NoisyVector]

    @classmethod
    def of(cls, column: Ordered, points: Points, refinement: Refinement) -> EndCounts:
        """Count the ends of a distance, for the share of its refinement.

        Args:
            column: The declaration of the distance.
            points: The points of the ends.
            refinement: What pays.
        """
        end = timed_end(column)
        assert end is not None
        step, asked = step_of("ends", refinement.name), [*kind_sizes(days_of(end))]
        total = sum(_WEIGHTS[kind] for kind in asked)
        found = {}
        for kind, (name, fold) in zip(asked, end_folds(end).items(), strict=True):
            curator = ColumnCurator(coded(points, name, fold), refinement.ledger, refinement.noise)
            share = refinement.shares["ends"] * _WEIGHTS[kind] / total
            found[kind] = curator.histogram(range(fold.size + 1), share=share, step=step)
        return cls(found)

    def shares(self, expected: dict[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]] | None:
        """Return the share of each kind of time in all ends; as expected where there is no more to say.

        Args:
            expected: Shares that follow from the starts and the distances, by kind.

        Returns:
            The shares; None if all are as expected, or noise hides it.
        """
        by_month = self.counts["month_days"]
        # Of all sums that of the fewest cells has the least noise.
        total = float(by_month.values.sum())
        if total <= by_month.sigma * by_month.values.size**0.5:
            return None
        found = {"month_days": _told(by_month, expected["month_days"], total)}
        found["weekdays"] = weekly = self._weekly(expected["weekdays"], total)
        if "minutes" in self.counts:
            found["minutes"] = self._minutes(expected, weekly, total)
        is_same = all(found[kind] is expected[kind] for kind in found)
        return None if is_same else found

    def _weekly(self, expected: NDArray[np.float64], total: float) -> NDArray[np.float64]:
        """Return the share of each weekday, or of each hour of the week."""
        weekly = self.counts["weekdays"]
        if weekly.values.size == WEEKDAYS:
            return _told(weekly, expected, total)
        cells = NoisyCells(weekly.values.reshape(WEEKDAYS, HOURS), weekly.sigma)
        base, is_told = expected.reshape(WEEKDAYS, HOURS), False
        # Sums are nearer than their parts, of which noise hides the small ones.
        for axis in (0, 1):
            held = base.sum(axis=axis)
            sums = _told(cells.sums(axis), held, total)
            if sums is not held:
                is_told = True
                rest = np.divide(base, np.expand_dims(held, axis), out=np.zeros(base.shape), where=base > 0)
                # What no start leads to may be met by others that bins leave open.
                rest = np.where(np.expand_dims(held, axis) > 0, rest, 1 / base.shape[axis])
                base = rest * np.expand_dims(sums, axis)
        both = _told(cells, base, total)
        return both.ravel() if is_told or both is not base else expected

    def _minutes(
        self, expected: dict[str, NDArray[np.float64]], weekly: NDArray[np.float64], total: float
    ) -> NDArray[np.float64]:
        """Return the share of each minute of the day."""
        counted, known = self.counts["minutes"], expected["minutes"].reshape(HOURS, -1)
        hours = weekly.reshape(WEEKDAYS, HOURS).sum(axis=0)
        before = known.sum(axis=1, keepdims=True)
        within = np.divide(known, before, out=np.full(known.shape, 1 / known.shape[1]), where=before > 0)
        base = within * hours[:, None]
        cells = NoisyCells(counted.values.reshape(base.shape), counted.sigma)
        of_hour = base.sum(axis=0)
        if _told(cells, base, total) is base and _told(cells.sums(0), of_hour, total) is of_hour:
            return expected["minutes"] if weekly is expected["weekdays"] else base.ravel()
        found = minutes_of(counted, hours, base, total)
        sums = found.sum(axis=1, keepdims=True)
        within = np.divide(found, sums, out=within, where=sums > 0)
        shares: NDArray[np.float64] = (within * hours[:, None]).ravel()
        return shares


def _told(
    counted: NoisyCells | NoisyVector, expected: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Return shares of all rows from noisy counts; those expected, as they are, unless others are clear and far."""
    likely = expected * total
    # Ends are drawn by chance, too.
    sigma = math.sqrt(counted.sigma**2 + total / expected.size)
    apart = np.square(counted.values - likely) / (counted.sigma**2 + np.maximum(likely, 1.0))
    free = expected.size - 1
    if float(apart.sum()) - free < _CLEAR * math.sqrt(2 * free):
        return expected
    found = without_noise(counted.values, sigma, likely) / total
    return found if np.abs(found - expected).sum() / 2 >= _FAR else expected
