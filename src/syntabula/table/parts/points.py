"""Values of ordered columns of a table in parts: held if they are few, and otherwise counted as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import integer_dtype
from syntabula.marginals.asked_points import AskedPoints, KnownRanks
from syntabula.marginals.distinct import CountedPoints
from syntabula.marginals.parts import Fold, State
from syntabula.marginals.point_folds import (
    BUCKETS,
    HELD_VALUES,
    BoundedFold,
    CodeFold,
    CutFold,
    DistinctFold,
    bucket_of,
    inner,
    put,
)
from syntabula.table.coding.column_codes import ordered_points
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawTable
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
        lower, upper, integer = self.column.span()
        return integer_dtype(int(lower), int(upper)) if integer else np.dtype(np.float64)

    @property
    def fold(self) -> BoundedFold:
        """The fold of the first pass."""
        asked: dict[str, Fold[CountedPoints]] = {_CUTS: CutFold(self.cuts), **self.codes}
        if self.shares:
            asked[_BUCKETS] = CodeFold(bucket_of, BUCKETS)
        return BoundedFold(DistinctFold(self.kind), asked, self.most)


@dataclass(frozen=True, eq=False, repr=False)
class CountedColumns:
    """Values of columns, instead of a raw table (sensitive)."""

    columns: Mapping[str, CountedPoints | AskedPoints]


@dataclass(frozen=True, eq=False)
class ColumnFolds(Fold[RawTable]):
    """Folds the points of several ordered columns, each by a fold of its own.

    Attributes:
        ordered: The declaration of each column.
        folds: What is asked of each.
    """

    ordered: Mapping[str, Ordered]
    folds: Mapping[str, Fold[CountedPoints]]

    def start(self) -> State:
        """Return the state of no records."""
        state: State = {}
        for place, fold in enumerate(self.folds.values()):
            put(state, f"{place} ", fold.start())
        return state

    def add(self, state: State, part: RawTable) -> None:
        """Add the records of a part."""
        for place, (name, fold) in enumerate(self.folds.items()):
            points, _ = ordered_points(self.ordered[name], part.columns[name])
            own = inner(state, f"{place} ")
            fold.add(own, CountedPoints.of(points))
            put(state, f"{place} ", own)

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        for place, fold in enumerate(self.folds.values()):
            own = inner(state, f"{place} ")
            fold.merge(own, inner(other, f"{place} "))
            put(state, f"{place} ", own)

    def states(self, state: State) -> dict[str, State]:
        """Return the state of each column's fold."""
        return {name: inner(state, f"{place} ") for place, name in enumerate(self.folds)}


def columns_of(parts: RawParts, expected: Mapping[str, Expected]) -> CountedColumns:
    """Return the values of ordered columns, by one pass that reads no others.

    Columns with too many values answer what is expected without a further pass.
    """
    folds = {name: column.fold for name, column in expected.items()}
    every = ColumnFolds({name: column.column for name, column in expected.items()}, folds)
    states = every.states(parts.of([*expected]).fold(every))
    sought = _Sought(parts, expected)
    found: dict[str, CountedPoints | AskedPoints] = {}
    for name, fold in folds.items():
        state = states[name]
        if fold.holds(state):
            found[name] = fold.points(state)
            continue
        ask = expected[name]
        ranks = CutFold(ask.cuts).ranks(fold.answer(state, _CUTS))
        codes = {n: code.counts(fold.answer(state, n)) for n, code in ask.codes.items()}
        if ask.shares:
            sought.buckets[name] = CodeFold(bucket_of, BUCKETS).counts(fold.answer(state, _BUCKETS))
        found[name] = AskedPoints(
            _Column(parts, name, ask, sought),
            ask.kind,
            int(ranks[-1]),
            KnownRanks(ask.cuts, ranks[:-1]),
            codes,
        )
    return CountedColumns(found)


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
            every = ColumnFolds({name: self.expected[name].column for name in folds}, folds)
            states = every.states(self.parts.of([*folds]).fold(every))
            points = {name: fold.points(states[name]) for name, fold in folds.items()}
            self.found[least] = {name: p.where(p.counts >= least) for name, p in points.items()}
        return self.found[least]


@dataclass(frozen=True, eq=False, repr=False)
class _Column:
    parts: RawParts
    name: str
    asked: Expected
    sought: _Sought

    def fold(self, fold: Fold[CountedPoints]) -> State:
        every = ColumnFolds({self.name: self.asked.column}, {self.name: fold})
        return every.states(self.parts.of([self.name]).fold(every))[self.name]

    def shared(self, least: int) -> CountedPoints:
        if self.name in self.sought.buckets:
            return self.sought.shared(least)[self.name]
        fold = DistinctFold(self.asked.kind)
        points = fold.points(self.fold(fold))
        return points.where(points.counts >= least)
