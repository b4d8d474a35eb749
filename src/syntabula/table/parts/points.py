"""Values of ordered columns of a table in parts: held if they are few, and otherwise counted as they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import integer_dtype
from syntabula.marginals.asked_points import AskedPoints, KnownRanks
from syntabula.marginals.parts import HELD_VALUES, Fold, State
from syntabula.marginals.point_folds import BUCKETS, BoundedFold, CutFold, DistinctFold, bucket_of
from syntabula.marginals.sorted_points import CodeFold, CountedPoints
from syntabula.table.parts.column_folds import PointFold, folded_columns, points_within
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawColumn
from syntabula.table.schema.columns import Ordered

_CUTS, _BUCKETS = "cuts", "buckets"


@dataclass(frozen=True, eq=False)
class Expected:
    """What is likely to be asked of a column, by its declaration and the options alone.

    Attributes:
        column: Its declaration.
        cuts: Numbers between which records are counted, in ascending order.
        codes: Codes of values by name, of which each is counted.
        shares: Whether values that many records share are sought.
        most: Largest number of values that are held.
    """

    column: Ordered
    cuts: NDArray[Any]
    codes: Mapping[str, CodeFold]
    shares: bool
    most: ClassVar[int] = HELD_VALUES

    @property
    def kind(self) -> np.dtype[Any]:
        """Type of the column's points."""
        return kind_of(self.column)

    @property
    def points(self) -> Callable[[RawColumn], NDArray[Any]]:
        """The function from the column as read to its points."""
        return partial(points_within, self.column)

    @property
    def fold(self) -> BoundedFold:
        """The fold of the first pass."""
        asked: dict[str, Fold[CountedPoints]] = {_CUTS: CutFold(self.cuts), **self.codes}
        if self.shares:
            asked[_BUCKETS] = CodeFold(bucket_of, BUCKETS)
        return BoundedFold(DistinctFold(self.kind), asked, self.most)


class ExpectedEnds(Expected):
    """The same of the ends of a distance between times; `column` declares the end."""

    @property
    def points(self) -> Callable[[RawColumn], NDArray[Any]]:
        """The function from the distance as read to the points of its ends."""
        from syntabula.table.schema.gaps import end_points

        return end_points


@dataclass(frozen=True, eq=False, repr=False)
class CountedColumns:
    """Values of columns, instead of a raw table (sensitive), and of the ends of distances between times."""

    columns: Mapping[str, CountedPoints | AskedPoints]
    ends: Mapping[str, CountedPoints | AskedPoints] = field(default_factory=dict)


def columns_of(
    parts: RawParts, expected: Mapping[str, Expected], ends: Mapping[str, ExpectedEnds] | None = None
) -> CountedColumns:
    """Return the values of ordered columns, by one pass that reads no others.

    Columns with too many values answer what is expected without a further pass.

    Args:
        parts: The table.
        expected: What is likely to be asked of each column.
        ends: What is asked of the ends of some that are distances between times.
    """
    asked = {(name, False): column for name, column in expected.items()}
    asked |= {(name, True): column for name, column in (ends or {}).items()}
    folds = {key: column.fold for key, column in asked.items()}
    of_columns = {str(key): (key[0], PointFold(asked[key].points, fold)) for key, fold in folds.items()}
    states = folded_columns(parts, of_columns)
    sought = _Sought(parts, expected)
    found: dict[bool, dict[str, CountedPoints | AskedPoints]] = {False: {}, True: {}}
    for (name, is_end), fold in folds.items():
        state = states[str((name, is_end))]
        if fold.holds(state):
            found[is_end][name] = fold.points(state)
            continue
        ask = asked[name, is_end]
        ranks = CutFold(ask.cuts).ranks(fold.answer(state, _CUTS))
        codes = {n: code.counts(fold.answer(state, n)) for n, code in ask.codes.items()}
        if ask.shares:
            sought.buckets[name] = CodeFold(bucket_of, BUCKETS).counts(fold.answer(state, _BUCKETS))
        known = KnownRanks(ask.cuts, ranks[:-1])
        column = PartColumn(parts, name, ask.points, ask.kind, None if is_end else sought)
        found[is_end][name] = AskedPoints(column, ask.kind, int(ranks[-1]), known, codes)
    return CountedColumns(found[False], found[True])


def asked_of(parts: RawParts, name: str, column: Ordered, n_values: int) -> AskedPoints:
    """Return a column's points in a domain, of which nothing is known yet: each answer takes a pass over the column."""
    kind = kind_of(column)
    asked = PartColumn(parts, name, partial(points_within, column), kind)
    return AskedPoints(asked, kind, n_values, KnownRanks(np.zeros(0, kind), np.zeros(0, np.int64)))


def kind_of(column: Ordered) -> np.dtype[Any]:
    """Return the type of a column's points."""
    lower, upper, integer = column.span()
    return integer_dtype(int(lower), int(upper)) if integer else np.dtype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class _Sought:
    """The search for values that many records share, in all columns at once, by one more pass."""

    parts: RawParts
    expected: Mapping[str, Expected]
    buckets: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    found: dict[int, dict[str, CountedPoints]] = field(default_factory=dict)

    def shared(self, least: int) -> dict[str, CountedPoints]:
        if least not in self.found:
            folds = {
                name: DistinctFold(self.expected[name].kind, counts >= least)
                for name, counts in self.buckets.items()
            }
            asked = {
                name: (name, PointFold(self.expected[name].points, fold)) for name, fold in folds.items()
            }
            states = folded_columns(self.parts, asked)
            points = {name: fold.points(states[name]) for name, fold in folds.items()}
            self.found[least] = {name: p.where(p.counts >= least) for name, p in points.items()}
        return self.found[least]


@dataclass(frozen=True, eq=False, repr=False)
class PartColumn:
    """A column of a table in parts, whose points are folded anew for each question; see `AskedColumn`."""

    parts: RawParts
    name: str
    points: Callable[[RawColumn], NDArray[Any]]
    kind: np.dtype[Any]
    sought: _Sought | None = None

    def fold(self, fold: Fold[CountedPoints]) -> State:
        """Return the state of all present values, in one pass."""
        return folded_columns(self.parts, {self.name: (self.name, PointFold(self.points, fold))})[self.name]

    def shared(self, least: int) -> CountedPoints:
        """Return the values that at least so many records share, in ascending order, and the number of these."""
        if self.sought is not None and self.name in self.sought.buckets:
            return self.sought.shared(least)[self.name]
        fold = DistinctFold(self.kind)
        points = fold.points(self.fold(fold))
        return points.where(points.counts >= least)
