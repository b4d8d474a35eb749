"""Which values of a column that no two rows share are free, and the nearest of them to a value that is taken."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from syntabula.table.schema.columns import MICROSECONDS, Date, Datetime

Spans = tuple[tuple[int, int], ...]

_WEEK = 7
_FARTHEST = 26
"""Weeks that a row moves at most to stay on its weekday or at its time of day, or to spare a rare one."""
_RARE = 0.25
"""Share of the rows of a weekday or hour, relative to all, up to which it is rare."""


@dataclass(frozen=True, eq=False)
class FreeValues:
    """The points of a column that no two rows share, and which of them have a row.

    Attributes:
        spans: Half-open intervals of points that rows may have, in order and apart from each other.
        steps: Points of a week, a day and an hour, as far as there are so many in it; 1 at the end.
        kind: Points of a weekday or an hour, of which as many rows are chosen as there are in those that were drawn.
        taken: The points that have a row.
        rare: The weekdays or hours of the week that few rows have, which are the last to be filled.
    """

    spans: Spans
    steps: tuple[int, ...]
    kind: int
    taken: set[int] = field(default_factory=set)
    rare: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, column: Date | Datetime, spans: Spans | None = None) -> FreeValues:
        """Return those of a column, or of some spans of it, of which none has a row yet."""
        first, last = column.grid()
        spans = ((first, last + 1),) if spans is None else spans
        if isinstance(column, Date):
            return cls(spans, (_WEEK, 1) if column.resolution == "day" else (1,), 1)
        length = MICROSECONDS[column.resolution]
        day, hour = (MICROSECONDS[name] // length or 1 for name in ("day", "hour"))
        return cls(spans, tuple(dict.fromkeys((_WEEK * day, day, hour, 1))), hour)

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

    def next(self, point: int, way: int) -> int:
        """Return the next point within the spans some steps of a length from one there, or one beyond all of them."""
        at = point + way
        while self.spans[0][0] <= at < self.spans[-1][1]:
            number = bisect_right(self.spans, at, key=itemgetter(0)) - 1
            if at < self.spans[number][1]:
                break
            # Between two spans: on to the nearer end of the next one.
            end = self.spans[number + 1][0] if way > 0 else self.spans[number][1] - 1
            at += -(-abs(end - at) // abs(way)) * way
        return at

    def _nearest(self, point: int, searches: Sequence[_Search]) -> int:
        for search in searches:
            nearest = search.nearest(point)
            is_last = search is searches[-1]
            if nearest is not None and (is_last or abs(nearest - point) <= _FARTHEST * self.steps[0]):
                return nearest
        raise AssertionError("there are as many points as rows")


def apart_in_order(spans: Iterable[tuple[int | float, int | float]]) -> Spans:
    """Return half-open intervals of points in order, with those joined that touch."""
    found: list[tuple[int, int]] = []
    for first, last in sorted((int(a), int(b)) for a, b in spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


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
            at = jumps[at] if at in jumps else self.values.next(at, way)
        # What is passed over once need not be again.
        jumps.update(dict.fromkeys(passed, at))
        return at

    def _inside(self, point: int) -> bool:
        return self.values.spans[0][0] <= point < self.values.spans[-1][1]

    def _is_rare(self, point: int) -> bool:
        return point % self.values.steps[0] // self.values.kind in self.values.rare
