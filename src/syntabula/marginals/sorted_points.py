"""The values of one column, distinct or in order, and exact questions about them, which only `privacy` may ask."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import ArgumentError
from syntabula.marginals.parts import Fold, State


@dataclass(frozen=True, eq=False, repr=False)
class CountedPoints:
    """Values with the number of records of each (sensitive).

    Attributes:
        values: [n] numbers, in any order; one may occur several times.
        counts: [n] numbers of records, at least 1, as int64.
    """

    values: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[Any]) -> CountedPoints:
        """Return the distinct values of an array, in ascending order."""
        found, counts = np.unique(values, return_counts=True)
        return cls(found, counts.astype(np.int64))

    def mapped(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> CountedPoints:
        """Return what a function of each value gives."""
        return CountedPoints(function(self.values), self.counts)

    def where(self, kept: NDArray[np.bool_]) -> CountedPoints:
        """Return the values under a mask [n]."""
        return CountedPoints(self.values[kept], self.counts[kept])

    def ascending(self) -> CountedPoints:
        """Return each value once, in ascending order."""
        order = np.argsort(self.values, kind="stable")
        values, counts = self.values[order], self.counts[order]
        if not values.size:
            return CountedPoints(values, counts)
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        return CountedPoints(values[first], np.add.reduceat(counts, first))

    def joined(self, other: CountedPoints) -> CountedPoints:
        """Return the values of this part and another, each once and in ascending order."""
        values = np.concatenate([self.values, other.values])
        return CountedPoints(values, np.concatenate([self.counts, other.counts])).ascending()


FRACTION_STEPS = 1 << 20
"""Sums add whole steps of this fraction of a width: fine enough, and exact in int64 up to 2^43 records."""

LEAST_RECORDS = 8
"""Records that a bin of several values holds, at least, but for what frequent values take out of it."""

_FEW = 40
"""So many distinct values get a bin each even where bins would hold more of them, if there are twice as many bins."""

_SPIKE, _AROUND = 4.0, 8
"""A value that holds so many times what is usual among so many on either side lies alone from that part of a bin on."""

_COUNTS = "counts"

_VALUES_PER_PASS = 1 << 20
"""Number of values processed at a time, which bounds the memory beyond the sorted column."""


CUTS_AHEAD = 2**16
"""Cells of a tree that are counted at once where a level would take a pass over the table."""


def check_cells(edges: Sequence[float]) -> None:
    """Raise ArgumentError if there are fewer than two edges, or they do not ascend: values would count several times."""
    if len(edges) < 2 or not all(a <= b for a, b in pairwise(edges)):
        raise ArgumentError("cells need at least two edges, in ascending order")


def after(values: NDArray[Any]) -> list[Any]:
    """Return the next number of its type after each value, a Python integer where it is none of the type."""
    if values.dtype == np.float64:
        return [math.nextafter(value, math.inf) for value in values.tolist()]
    return [value + 1 for value in values.tolist()]


class SortedPoints:
    """Values in ascending order, a copy of 8 bytes each. All answers are exact, so none may leave `privacy`.

    Args:
        points: [n] float64 without NaN, int64 or uint64; or such values with the number of records of each.

    Attributes:
        values: [n] the same values in ascending order; of counted ones, each once.
        integer: Whether they are integers.
        size: Number of records.
    """

    def __init__(self, points: NDArray[Any] | CountedPoints) -> None:
        given = points.values if isinstance(points, CountedPoints) else points
        if given.ndim != 1 or given.dtype not in (np.float64, np.int64, np.uint64):
            raise ArgumentError("points must be a one-dimensional array of float64, int64 or uint64")
        self._below: NDArray[np.int64] | None = None
        if isinstance(points, CountedPoints):
            ascending = points.ascending()
            self.values = ascending.values
            self._below = np.concatenate([np.zeros(1, np.int64), np.cumsum(ascending.counts)])
        else:
            self.values = np.sort(points)
        self.integer = given.dtype != np.float64
        self.size = int(given.size if self._below is None else self._below[-1])

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    def distinct(self) -> CountedPoints:
        """Return each value once, in ascending order, and the number of its records."""
        if self._below is not None:
            return CountedPoints(self.values, np.diff(self._below))
        return CountedPoints.of(self.values)

    def shared(self, least: int) -> CountedPoints:
        """Return the values that at least so many records share, in ascending order, and the number of these."""
        every = self.distinct()
        return every.where(every.counts >= least)

    def counts_of(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of records of each of some values [k], which have the type of these."""
        return self.ranks(after(values)) - self.ranks(values.tolist())

    def ranks(
        self, cuts: Sequence[float], ahead: Callable[[], Sequence[float]] | None = None
    ) -> NDArray[np.int64]:
        """Return how many records are below each cut, exactly for 64-bit integers of either sign.

        Args:
            cuts: Numbers.
            ahead: Returns cuts that may be asked for next, for points whose answers take a pass.
        """
        del ahead
        places = self._places(cuts)
        return places if self._below is None else self._below[places]

    def _places(self, cuts: Sequence[float]) -> NDArray[np.int64]:
        """Return the position among the values of the first that is not below each cut."""
        points = self.values
        if not self.integer:
            return np.searchsorted(points, np.array(cuts, dtype=np.float64), side="left").astype(np.int64)
        info = np.iinfo(points.dtype)
        held = np.array([min(max(int(c), int(info.min)), int(info.max)) for c in cuts], dtype=points.dtype)
        places = np.searchsorted(points, held, side="left").astype(np.int64)
        beyond = np.array([int(c) > int(info.max) for c in cuts], dtype=np.bool_)
        places[beyond] = points.size
        return places

    def starts(self, edges: Sequence[float]) -> NDArray[np.int64]:
        """Return [k + 1] ranks of the edges of k cells, the outer cells open to infinity; see `check_cells`."""
        check_cells(edges)
        return np.concatenate([[0], self.ranks(edges[1:-1]), [self.size]]).astype(np.int64)

    def sums(self, edges: Sequence[float], power: int, of: str) -> NDArray[np.int64]:
        """Return [k] sums of places from 0 to 1 in their cell or the column, or of their squares, in steps.

        Any value adds at most FRACTION_STEPS, because every place is a number from 0 to 1.

        Raises:
            ArgumentError: If a cell has no width, or power is not 1 or 2.
        """
        if power not in (1, 2) or of not in ("cell", "column"):
            raise ArgumentError("power must be 1 or 2, and of 'cell' or 'column'")
        check_cells(edges)
        inner = self._places(edges[1:-1])
        # If the width overflows float64, compute with halves: infinite differences have no quotient.
        unit = 1.0 if self.integer or np.isfinite(float(edges[-1]) - float(edges[0])) else 0.5
        # From the first edge, so that integers beyond 2^53 keep their differences.
        ends = np.array([float(e - edges[0]) if self.integer else e * unit - edges[0] * unit for e in edges])
        low, high = ends[:-1], ends[1:]
        if of == "column":
            low, high = np.full_like(low, low[0]), np.full_like(high, high[-1])
        if (of == "column" and not (high > low).all()) or any(a >= b for a, b in itertools.pairwise(edges)):
            raise ArgumentError("every cell of sums must have a width above 0")
        # A cell of a single value may have no width left beside a wide column; its value lies at its lower edge.
        width = np.where(high > low, high - low, np.inf)
        exact = np.zeros(low.size, dtype=np.int64)
        points = self.values
        for first in range(0, points.size, _VALUES_PER_PASS):
            some = self._offsets(points[first : first + _VALUES_PER_PASS], edges, unit)
            which = np.searchsorted(inner, np.arange(first, first + some.size), side="right")
            places = np.clip((some - low[which]) / width[which], 0.0, 1.0) ** power
            steps = np.rint(places * FRACTION_STEPS)
            if self._below is None:
                # Below 2^53, so that the sum of a pass is exact in float64.
                exact += np.bincount(which, steps, low.size).astype(np.int64)
            else:
                counts = np.diff(self._below[first : first + some.size + 1])
                np.add.at(exact, which, steps.astype(np.int64) * counts)
        return exact

    def fine_cuts(self, most: int) -> NDArray[Any]:
        """Return cuts that leave frequent values alone and put about as many records into each bin between them.

        A value that holds as many records as a bin should gets one of its own, from itself to the next number that there
        is; so do all values where they are few, and a few that hold a quarter as many, four times what is usual around
        them, such as the zeros of an amount. At both ends bins hold ever fewer records, as values lie apart there.
        The last bin with records ends at the largest value. No bin reaches over a gap that is wider than the rest of the
        bin, would be one of so many parts of the whole range, and has enough records on either side.

        Args:
            most: Largest number of bins, at least 6.

        Returns:
            Ascending inner edges, in the type of the values; none for no values.
        """
        every = self.distinct()
        values, counts = every.values, every.counts
        if not values.size:
            return values
        n, parts = self.size, most // 4
        each = max(n / parts, LEAST_RECORDS)
        frequent = (counts >= each) | (values.size <= max(parts, min(_FEW, most // 2 - 1)))
        frequent[_spikes(counts, each / _SPIKE, frequent)[: most // 16]] = True
        doublings = min(int(np.log2(each / LEAST_RECORDS)), parts // 4)
        ends = LEAST_RECORDS * (2.0 ** np.arange(1, doublings + 1) - 1)
        steps = np.sort(np.concatenate([ends, np.arange(each, n - each / 2, each), n - ends]))
        part = np.searchsorted(steps, np.cumsum(counts) - counts, side="right")
        begins = np.append(True, np.diff(part) > 0) | frequent
        cuts = np.unique(
            np.concatenate([values[begins], self._after(values[frequent]), self._after(values[-1:])])
        )
        before = self._gaps(every, np.flatnonzero(begins), parts)[: max(most - 1 - cuts.size, 0) // 2]
        every_cut: NDArray[Any] = np.unique(
            np.concatenate([cuts, self._after(values[before]), values[before + 1]])
        )
        return every_cut

    def _after(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return the next number that there is after each value; none after the largest of a type."""
        if self.integer:
            following: NDArray[Any] = points[points < np.iinfo(points.dtype).max] + points.dtype.type(1)
        else:
            following = np.nextafter(points, np.inf)
        return following

    def _gaps(self, every: CountedPoints, begins: NDArray[np.intp], parts: int) -> NDArray[np.intp]:
        """Return the places of the distinct values that a wide gap follows, the widest gap first.

        Args:
            every: The distinct values, with the number of records of each.
            begins: Places of those that begin a bin.
            parts: Number of parts of the whole range of which a gap would be one at least.
        """
        with np.errstate(over="ignore"):
            values = every.values.astype(np.float64)
            gaps, whole = np.diff(values), values[-1] - values[0]
            widths = np.diff(np.append(values[begins], values[-1]))
        own = widths[np.searchsorted(begins, np.arange(gaps.size), side="right") - 1]
        below = np.cumsum(every.counts)[:-1]
        wide = (gaps > own / 2) & (gaps >= whole / parts)
        wide &= (below >= LEAST_RECORDS) & (below <= self.size - LEAST_RECORDS)
        found: NDArray[np.intp] = np.flatnonzero(wide)
        return found[np.argsort(-gaps[found], kind="stable")]

    def _offsets(self, points: NDArray[Any], edges: Sequence[float], unit: float) -> NDArray[np.float64]:
        """Return the distances of values from the first edge; values outside are clipped to the outer edges.

        Distances between floats are multiplied by `unit`.
        """
        if not self.integer:
            held = np.clip(points, float(edges[0]), float(edges[-1]))
            return np.asarray(held * unit - float(edges[0]) * unit, dtype=np.float64)
        info = np.iinfo(points.dtype)
        low, high = (min(max(int(e), int(info.min)), int(info.max)) for e in (edges[0], edges[-1]))
        inside = np.clip(points, points.dtype.type(low), points.dtype.type(high))
        # Unsigned arithmetic wraps modulo 2^64, which makes the difference exact for signed values too.
        offsets: NDArray[np.uint64] = inside.view(np.uint64) - np.uint64(int(edges[0]) % 2**64)
        return offsets.astype(np.float64)

    def __repr__(self) -> str:  # shows no count, not even that of the values
        return "SortedPoints()"


def _spikes(counts: NDArray[np.int64], least: float, known: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the places of further values that hold so many records and far more than those around, the largest first."""
    places = np.flatnonzero((counts >= max(least, LEAST_RECORDS)) & ~known)
    around = np.pad(counts.astype(np.float64), _AROUND, constant_values=np.nan)
    usual = [float(np.nanmedian(around[place : place + 2 * _AROUND + 1])) for place in places.tolist()]
    places = places[counts[places] >= _SPIKE * np.array(usual)]
    found: NDArray[np.intp] = places[np.argsort(-counts[places], kind="stable")]
    return found


@dataclass(frozen=True, eq=False)
class CodeFold(Fold[CountedPoints]):
    """Counts records by a code of their value.

    Attributes:
        code: Returns the code of each value; made of public facts or released values, and picklable.
        size: Number of codes, which count from 0.
    """

    code: Callable[[NDArray[Any]], NDArray[np.int64]]
    size: int

    def start(self) -> State:
        """Return [size] zeros."""
        return {_COUNTS: np.zeros(self.size, np.int64)}

    def add(self, state: State, part: CountedPoints) -> None:
        """Add the records of a part."""
        np.add.at(state[_COUNTS], self.code(part.values), part.counts)

    def counts(self, state: State) -> NDArray[np.int64]:
        """Return the number of records of each code [size]."""
        return state[_COUNTS]


class CountsCodes(Protocol):
    """Values that are too many to hold, of which codes were counted by name."""

    def coded(self, name: str, code: CodeFold) -> CountedPoints:
        """Return the codes with the number of records of each."""
        ...


def coded(points: NDArray[Any] | CountedPoints | CountsCodes, name: str, code: CodeFold) -> CountedPoints:
    """Return the codes of points with the number of records of each; `name` is that of the fold, see `CodeFold`."""
    if not isinstance(points, np.ndarray | CountedPoints):
        return points.coded(name, code)
    values, records = (points.values, points.counts) if isinstance(points, CountedPoints) else (points, None)
    # Sums of fewer than 2^53 records are exact.
    counts = np.bincount(code.code(values), records, code.size)
    held = np.flatnonzero(counts)
    return CountedPoints(held.astype(np.int64), counts[held].astype(np.int64))


def halving_cuts(
    nodes: Sequence[tuple[float, float]], most: int, *, integer: bool
) -> list[int] | list[float]:
    """Return the ends of intervals and of their halves, quarters and so on, as many as `most` allows.

    Args:
        nodes: Lower and upper end of each interval.
        most: Largest number of cells of an interval, together with those of the others.
        integer: Whether ends are integers.
    """
    found: set[Any] = set()
    for low, high in nodes:
        cuts = np.array([low, high], dtype=object if integer else np.float64)
        while len(nodes) * 2 * cuts.size <= most:
            # As the halves of a tree's node are made, so that they have the same ends.
            middles = (cuts[:-1] + cuts[1:]) // 2 if integer else cuts[:-1] / 2 + cuts[1:] / 2
            finer = np.unique(np.concatenate([cuts, middles]))
            if finer.size == cuts.size:
                break
            cuts = finer
        found.update(cuts.tolist())
    return sorted(found)


def as_cuts(cuts: Sequence[float], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return different cuts in ascending order in the type of the values [k]; those beyond it are left out."""
    if kind == np.float64:
        return np.unique(np.array(cuts, dtype=np.float64))
    limits = np.iinfo(kind)
    inside = sorted({int(c) for c in cuts if limits.min <= int(c) <= limits.max})
    return np.array(inside, dtype=kind)
