"""The values of a column that are too many to hold: each exact answer was counted before, or takes a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.parts import Fold, State
from syntabula.marginals.point_folds import CutFold, DistinctFold, SumFold
from syntabula.marginals.sorted_points import (
    CodeFold,
    CountedPoints,
    SortedPoints,
    after,
    as_cuts,
    check_cells,
)


class AskedColumn(Protocol):
    """A column of a table in parts, whose values are folded anew for each question."""

    def fold(self, fold: Fold[CountedPoints]) -> State:
        """Return the state of all present values, in one pass."""
        ...

    def shared(self, least: int) -> CountedPoints:
        """Return the values that at least so many records share, in ascending order, and the number of these."""
        ...


@dataclass(eq=False, repr=False)
class KnownRanks:
    """What is known of how many records are below some cuts; it grows with each pass.

    Attributes:
        cuts: [k] ascending, no two equal.
        ranks: [k] numbers of records below each.
    """

    cuts: NDArray[Any]
    ranks: NDArray[np.int64]

    def lacking(self, cuts: NDArray[Any]) -> bool:
        """Return whether the rank of some cut is not known."""
        return not bool(np.isin(cuts, self.cuts).all())

    def add(self, cuts: NDArray[Any], ranks: NDArray[np.int64]) -> None:
        """Add what was found."""
        self.cuts, firsts = np.unique(np.concatenate([self.cuts, cuts]), return_index=True)
        self.ranks = np.concatenate([self.ranks, ranks])[firsts]

    def at(self, cuts: NDArray[Any]) -> NDArray[np.int64]:
        """Return the ranks of cuts that are all known."""
        return self.ranks[np.searchsorted(self.cuts, cuts)]


@dataclass(frozen=True, eq=False, repr=False)
class AskedPoints:
    """Exact answers as `SortedPoints` gives them, without the values. Only `privacy` may ask for them.

    Attributes:
        column: Where the values are.
        kind: Type of the values: float64, int64 or uint64.
        n_values: Number of records, those with removed values too.
        known: Ranks that were counted.
        codes: Counts of codes by name that were counted.
        removed: Values that are left out, with the number of records of each.
    """

    column: AskedColumn
    kind: np.dtype[Any]
    n_values: int
    known: KnownRanks
    codes: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    removed: CountedPoints = field(
        default_factory=lambda: CountedPoints(np.zeros(0), np.zeros(0, dtype=np.int64))
    )

    @property
    def integer(self) -> bool:
        """Whether values are integers."""
        return bool(self.kind != np.float64)

    @property
    def size(self) -> int:
        """Number of records."""
        return self.n_values - int(self.removed.counts.sum())

    def without(self, values: Sequence[float]) -> AskedPoints:
        """Return the other values."""
        points = as_cuts(values, self.kind)
        counts = self.counts_of(points)
        removed = self.removed
        if removed.values.size:
            points, counts = (
                np.concatenate(both) for both in ((removed.values, points), (removed.counts, counts))
            )
        return AskedPoints(
            self.column, self.kind, self.n_values, self.known, self.codes, CountedPoints(points, counts)
        )

    def coded(self, name: str, code: CodeFold) -> CountedPoints:
        """Return the codes of the values with the number of records of each."""
        counts = self.codes.get(name)
        if counts is None:
            counts = code.counts(self.column.fold(code))
        state = code.start()
        if self.removed.values.size:
            code.add(state, self.removed)
        rest = counts - code.counts(state)
        return CountedPoints(np.flatnonzero(rest).astype(np.int64), rest[rest > 0])

    def counts_of(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of records of each of some values; see `SortedPoints.counts_of`."""
        return self.ranks(after(values)) - self.ranks(values.tolist())

    def ranks(
        self, cuts: Sequence[float], ahead: Callable[[], Sequence[float]] | None = None
    ) -> NDArray[np.int64]:
        """Return how many records are below each cut; see `SortedPoints.ranks`."""
        wanted = as_cuts(cuts, self.kind)
        if self.known.lacking(wanted):
            more = wanted if ahead is None else np.union1d(wanted, as_cuts(ahead(), self.kind))
            fold = CutFold(more)
            self.known.add(more, fold.ranks(self.column.fold(fold))[:-1])
        removed = SortedPoints(self.removed).ranks(cuts) if self.removed.values.size else 0
        below = self.known.at(wanted)
        if not self.integer:
            return below[np.searchsorted(wanted, np.array(cuts, dtype=np.float64))] - removed
        # No value lies beyond the type.
        found = dict(zip(wanted.tolist(), below.tolist(), strict=True))
        least = int(np.iinfo(self.kind).min)
        every = [found.get(int(c), 0 if int(c) <= least else self.n_values) for c in cuts]
        return np.array(every, dtype=np.int64) - removed

    def starts(self, edges: Sequence[float]) -> NDArray[np.int64]:
        """Return [k + 1] ranks of the edges of k cells; see `SortedPoints.starts`."""
        check_cells(edges)
        return np.concatenate([[0], self.ranks(edges[1:-1]), [self.size]]).astype(np.int64)

    def sums(self, edges: Sequence[float], power: int, of: str) -> NDArray[np.int64]:
        """Return [k] sums of places; see `SortedPoints.sums`."""
        fold = SumFold(tuple(edges), power, of)
        found = fold.sums(self.column.fold(fold))
        if self.removed.values.size:
            found = found - SortedPoints(self.removed).sums(edges, power, of)
        return found

    def shared(self, least: int) -> CountedPoints:
        """Return the values that at least so many records share; see `SortedPoints.shared`."""
        return self._rest(self.column.shared(least))

    def fine_cuts(self, most: int) -> NDArray[Any]:
        """Return cuts between the values, which are held for that; see `SortedPoints.fine_cuts`."""
        fold = DistinctFold(self.kind)
        return SortedPoints(self._rest(fold.points(self.column.fold(fold)))).fine_cuts(most)

    def _rest(self, points: CountedPoints) -> CountedPoints:
        return points.where(~np.isin(points.values, self.removed.values))

    def __repr__(self) -> str:  # shows no count, not even that of the values
        return "AskedPoints()"


Points = NDArray[Any] | CountedPoints | AskedPoints
"""The points of a column's records: one each, or distinct ones with their numbers of records, or too many to hold."""
