"""Distances between times in the points of their ends, and the windows in which their bins leave these."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.rhythm import WEEKDAYS, Days, RhythmOfDays
from syntabula.table.coding.codec import Codec
from syntabula.table.raw import RawColumn
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.schema.calendar import days_of
from syntabula.table.schema.columns import MICROSECONDS, Date, Datetime

Cells = Mapping[str, RawColumn]
Points = NDArray[np.int64]

_SPARSE = 0.02
"""Part of what an even clock would give a window that it must hold for an end to be drawn from it."""


@dataclass(frozen=True, eq=False)
class TimedGap:
    """A distance between times, in the points of its end.

    Attributes:
        name: The column that is learned as the distance.
        start: The nearest of those that it is a distance from.
        end: Declaration of the column.
        upwards: Whether it comes after these.
        unit: Microseconds of a point.
        edges: Edges of the bins of distances [bins + 1].
        runs: First of these bins within each bin that the model knows, and the number of bins.
        below: Sum of the shares of the bins before each one in those that the model knows [bins + 1].
    """

    name: str
    start: str
    end: Date | Datetime
    upwards: bool
    unit: int
    edges: NDArray[np.int64]
    runs: NDArray[np.intp]
    below: NDArray[np.float64]

    @classmethod
    def of(
        cls, name: str, rules: RowRules, codec: Codec, cuts: Sequence[int], shares: Sequence[float]
    ) -> TimedGap:
        """Return it by the name of its column; see `EndTimes` for the cuts and shares."""
        distance, end = rules.compiled.distances[name], rules.schema[name]
        assert isinstance(end, Date | Datetime)
        edges = np.array(codec.bins[name].edges, dtype=np.int64)
        runs = np.searchsorted(edges, np.array([edges[0], *cuts, edges[-1]], dtype=np.int64))
        below = np.concatenate([[0.0], np.cumsum(shares)])
        return cls(name, nearest(name, rules), end, distance.upwards, rules.unit(name), edges, runs, below)

    @property
    def days(self) -> Days:
        """The days of the end."""
        return days_of(self.end)

    @property
    def week(self) -> int:
        """Points of a week."""
        return WEEKDAYS * self.days.cells * self.days.length

    def codes(self, gaps: Points) -> NDArray[np.intp]:
        """Return the bin of each distance [n]."""
        found = np.searchsorted(self.edges, gaps, side="right") - 1
        return np.clip(found, 0, self.edges.size - 2)

    def others(self, codes: NDArray[np.intp], times: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw bins that the model cannot tell from those of some rows, by their shares [times, n]."""
        run = np.searchsorted(self.runs, codes, side="right") - 1
        first, last = self.runs[run], self.runs[run + 1]
        low, high = self.below[first], self.below[last]
        drawn = np.searchsorted(
            self.below, low + (high - low) * rng.random((times, codes.size)), side="right"
        )
        # Those of no share at all stay.
        return np.where(high > low, np.clip(drawn - 1, first, last - 1), codes)

    def windows(self, bases: Points, codes: NDArray[np.intp]) -> tuple[Points, Points]:
        """Return the first point that an end may have, and the first after the last one.

        Args:
            bases: What distances count from, in points of the end [..., n].
            codes: The bins of the distances [..., n].
        """
        return self.between(bases, self.edges[codes], self.edges[codes + 1])

    def around(self, bases: Points, gaps: Points) -> tuple[Points, Points]:
        """Return the same for ends within half a day of those to which distances lead [n]."""
        half = self.days.cells * self.days.length // 2
        return self.between(
            bases, np.maximum(gaps - half, self.edges[0]), np.minimum(gaps + half, self.edges[-1])
        )

    def between(self, bases: Points, low: Points, high: Points) -> tuple[Points, Points]:
        """Return the same for distances from one up to another, which is not among them."""
        first, last = (bases + low, bases + high) if self.upwards else (bases - high + 1, bases - low + 1)
        lower, upper, _ = self.end.span()
        return np.clip(first, lower, upper + 1), np.clip(last, lower, upper + 1)

    def densities(self, within: RhythmOfDays, bases: Points, codes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how dense ends are in windows, in parts of an even clock; 0 where they are sparse [..., n]."""
        first, last = self.windows(bases, codes)
        held = (within.below(last.ravel()) - within.below(first.ravel())).reshape(first.shape)
        starts = within.days.starts
        even = within.before_days[-1] / float(starts[-1] - starts[0])
        # What lies beyond the bounds of the end counts as part of the window.
        found: NDArray[np.float64] = held / (even * (self.edges[codes + 1] - self.edges[codes]))
        return np.where(found > _SPARSE, found, 0.0)

    def ends(self, bases: Points, gaps: Points) -> Points:
        """Return the ends to which distances lead [n]."""
        return bases + gaps if self.upwards else bases - gaps

    def gaps(self, bases: Points, ends: Points) -> Points:
        """Return the distances that lead to ends [n]."""
        return ends - bases if self.upwards else bases - ends


def nearest(name: str, rules: RowRules) -> str:
    """Return the nearest of the columns that a distance counts from."""
    distance = rules.compiled.distances[name]
    return distance.columns[-1 if distance.upwards else 0]


def leading(name: str, rules: RowRules, drawn: Collection[str]) -> str:
    """Return the first column on the way from a distance to where it counts from that is drawn, or learned as it is."""
    found = nearest(name, rules)
    while found in rules.compiled.distances and found not in drawn:
        found = nearest(found, rules)
    return found


def in_microseconds(column: Date | Datetime, points: Points) -> Points:
    """Return points of a column in microseconds since 1970, in the same shape."""
    values, _ = column.values(points.ravel())
    factor = MICROSECONDS["day"] if isinstance(column, Date) else 1
    return (values.astype(np.int64) * factor).reshape(points.shape)
