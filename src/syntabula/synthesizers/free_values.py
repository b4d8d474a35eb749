"""Which values of a column that no two rows share are free, and the nearest of them to a value that is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syntabula.table.schema.columns import MICROSECONDS, Date, Datetime

_WEEK = 7
_FARTHEST = 26
"""Weeks that a row moves at most to stay on its weekday or at its time of day, or to spare a rare one."""
_RARE = 0.25
"""Share of the rows of a weekday or hour, relative to all, up to which it is rare."""


@dataclass(frozen=True, eq=False)
class FreeValues:
    """The points of a column that no two rows share, and which of them have a row.

    Attributes:
        first: The first point.
        last: The last point.
        steps: Points of a week, a day and an hour, as far as there are so many in it; 1 at the end.
        kind: Points of a weekday or an hour, of which as many rows are chosen as there are in those that were drawn.
        taken: The points that have a row.
        rare: The weekdays or hours of the week that few rows have, which are the last to be filled.
    """

    first: int
    last: int
    steps: tuple[int, ...]
    kind: int
    taken: set[int] = field(default_factory=set)
    rare: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, column: Date | Datetime) -> FreeValues:
        """Return those of a column, of which none has a row yet."""
        first, last = column.grid()
        if isinstance(column, Date):
            return cls(first, last, (_WEEK, 1) if column.resolution == "day" else (1,), 1)
        length = MICROSECONDS[column.resolution]
        day, hour = (MICROSECONDS[name] // length or 1 for name in ("day", "hour"))
        return cls(first, last, tuple(dict.fromkeys((_WEEK * day, day, hour, 1))), hour)

    def chosen(self, points: NDArray[np.int64], n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return which of some rows [n] to take; those come first whose points are free."""
        if not self.taken:
            counts = np.bincount(self._kinds(points), minlength=self.steps[0] // self.kind)
            self.rare.update(np.flatnonzero(counts < _RARE * counts.mean()).tolist())
        free = np.fromiter((point not in self.taken for point in points.tolist()), np.bool_, points.size)
        some = self._even(points, np.flatnonzero(free), n_rows, rng)
        return np.concatenate([some, self._even(points, np.flatnonzero(~free), n_rows - some.size, rng)])

    def _even(
        self, points: NDArray[np.int64], rows: NDArray[np.intp], n_rows: int, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Return some of these rows, as many of each kind and each part of the range as in proportion."""
        ordered = rows[np.lexsort((points[rows], self._kinds(points[rows])))]
        n_chosen = min(n_rows, rows.size)
        # A random start, so that each row is chosen as often as any other.
        places = (np.arange(n_chosen) + rng.random()) * (rows.size / max(n_chosen, 1))
        return ordered[np.minimum(places.astype(np.intp), max(rows.size - 1, 0))]

    def _kinds(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        return points % self.steps[0] // self.kind

    def apart(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return free points for some [n]: their own for the first row there, or else the nearest."""
        found, taken, surplus = points.copy(), set(self.taken), []
        for row, point in enumerate(points.tolist()):
            if point in taken:
                surplus.append(row)
            taken.add(point)
        # Only a week leads to the same weekday and time, which may be rare.
        moves = [(step, number > 0) for number, step in enumerate(self.steps)]
        searches = [_Search(self, taken, step, spares) for step, spares in (*moves, (1, False))]
        for row in surplus:
            found[row] = self._nearest(int(points[row]), searches)
            taken.add(int(found[row]))
        return found

    def _nearest(self, point: int, searches: Sequence[_Search]) -> int:
        for search in searches:
            nearest = search.nearest(point)
            is_last = search is searches[-1]
            if nearest is not None and (is_last or abs(nearest - point) <= _FARTHEST * self.steps[0]):
                return nearest
        raise AssertionError("there are as many points as rows")


@dataclass(frozen=True, eq=False)
class _Search:
    """Finds free points some steps from others.

    Attributes:
        values: The points.
        taken: Those that are not free; more may be added, but none removed.
        step: The step.
        spares_rare: Whether rare weekdays or hours are passed over.
    """

    values: FreeValues
    taken: set[int]
    step: int
    spares_rare: bool
    _jumps: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))

    def nearest(self, point: int) -> int | None:
        """Return the free point nearest to another one; None if there is none."""
        ways = zip((self.step, -self.step), self._jumps, strict=True)
        found = [end for way, jumps in ways if self._inside(end := self._end(point, way, jumps))]
        return min(found, key=lambda end: abs(end - point), default=None)

    def _end(self, point: int, way: int, jumps: dict[int, int]) -> int:
        """Return the first free point in one direction, or one beyond the bounds."""
        passed, at = [], point
        while self._inside(at) and (at in self.taken or (self.spares_rare and self._is_rare(at))):
            passed.append(at)
            at = jumps.get(at, at + way)
        # What is passed over once need not be again.
        jumps.update(dict.fromkeys(passed, at))
        return at

    def _inside(self, point: int) -> bool:
        return self.values.first <= point <= self.values.last

    def _is_rare(self, point: int) -> bool:
        return point % self.values.steps[0] // self.values.kind in self.values.rare
