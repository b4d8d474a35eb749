"""Folds over the values of one column: their distinct ones, counts between cuts, counts by code, and sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.parts import HELD_VALUES, Fold, State
from syntabula.marginals.sorted_points import CountedPoints, SortedPoints

BUCKETS = 2**20
"""Buckets of values by hash. Those of few records hold no value that many share."""

PLACES = 2**26
"""Places by hash that are marked where it is asked whether values repeat."""

_COUNTS, _VALUES = "counts", "values"
_HELD, _ASKED, _TOO_MANY = "held ", "asked of ", "too many"
_LONGEST = 64
"""The run of values that were joined because they were many."""


@dataclass(frozen=True, eq=False)
class CutFold(Fold[CountedPoints]):
    """Counts records between cuts.

    Attributes:
        cuts: [k] ascending numbers of the type of the values, no two equal.
    """

    cuts: NDArray[Any]

    def start(self) -> State:
        """Return [k + 1] zeros."""
        return {_COUNTS: np.zeros(self.cuts.size + 1, np.int64)}

    def add(self, state: State, part: CountedPoints) -> None:
        """Add the records of a part."""
        cells = np.searchsorted(self.cuts, part.values, side="right")
        np.add.at(state[_COUNTS], cells, part.counts)

    def ranks(self, state: State) -> NDArray[np.int64]:
        """Return how many records are below each cut [k], and their number."""
        return np.cumsum(state[_COUNTS])


@dataclass(frozen=True, eq=False)
class OccupiedFold(Fold[CountedPoints]):
    """Marks the places by hash that values take: nearly as many as there are distinct values, in 8 MB."""

    def start(self) -> State:
        """Return no place taken."""
        return {_COUNTS: np.zeros(PLACES // 8, np.uint8)}

    def add(self, state: State, part: CountedPoints) -> None:
        """Add the records of a part."""
        places = hashed(part.values) % np.uint64(PLACES)
        bits = np.left_shift(1, places % np.uint64(8)).astype(np.uint8)
        np.bitwise_or.at(state[_COUNTS], (places // np.uint64(8)).astype(np.intp), bits)

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        state[_COUNTS] |= other[_COUNTS]

    def taken(self, state: State) -> int:
        """Return how many places are taken."""
        return int(np.bitwise_count(state[_COUNTS]).sum(dtype=np.int64))


@dataclass(frozen=True, eq=False)
class SumFold(Fold[CountedPoints]):
    """Adds up places within cells; see `SortedPoints.sums`."""

    edges: tuple[float, ...]
    power: int
    of: str

    def start(self) -> State:
        """Return a zero for each cell."""
        return {_COUNTS: np.zeros(len(self.edges) - 1, np.int64)}

    def add(self, state: State, part: CountedPoints) -> None:
        """Add the records of a part."""
        state[_COUNTS] += SortedPoints(part).sums(self.edges, self.power, self.of)

    def sums(self, state: State) -> NDArray[np.int64]:
        """Return the sums [cells], in steps."""
        return state[_COUNTS]


@dataclass(frozen=True, eq=False)
class DistinctFold(Fold[CountedPoints]):
    """Counts the records of each distinct value.

    The state grows with the distinct values, to 16 bytes each. It holds the values of batches in runs: run k holds those
    of 2^k batches, and equal runs are joined, so that a value is moved a few times only.

    Attributes:
        kind: Type of the values.
        among: Which buckets of `bucket_of` count [BUCKETS]; None for all.
    """

    kind: np.dtype[Any]
    among: NDArray[np.bool_] | None = None

    def start(self) -> State:
        """Return the state of no records."""
        return {}

    def add(self, state: State, part: CountedPoints) -> None:
        """Add the records of a part."""
        kept = part if self.among is None else part.where(self.among[bucket_of(part.values)])
        if kept.values.size:
            _put(state, 0, kept)

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        for run, points in _runs(other).items():
            _put(state, run, points)

    def points(self, state: State) -> CountedPoints:
        """Return the values, each once and in ascending order."""
        points = CountedPoints(np.zeros(0, self.kind), np.zeros(0, np.int64))
        for more in _runs(state).values():
            points = points.joined(more)
        return points

    def held(self, state: State) -> int:
        """Return how many values the runs of a state hold, those that occur in several as often."""
        return sum(array.size for name, array in state.items() if name.endswith(_VALUES))


@dataclass(frozen=True, eq=False)
class BoundedFold(Fold[CountedPoints]):
    """Counts the distinct values of a column while they are few, and otherwise what some folds ask of all of them.

    Either way answers are exact, so that it makes no difference to them when there are too many values.

    Attributes:
        every: Holds the values while they are few.
        asked: What is counted of a column with more, by name.
        most: Largest number of values that are held; twice as many for a moment.
    """

    every: DistinctFold
    asked: Mapping[str, Fold[CountedPoints]]
    most: int = HELD_VALUES

    def start(self) -> State:
        """Return the state of no records."""
        return {}

    def add(self, state: State, part: CountedPoints) -> None:
        """Add the records of a part."""
        if self.holds(state):
            held = inner(state, _HELD)
            self.every.add(held, part)
            put(state, _HELD, held)
            if self.every.held(held) > 2 * self.most:
                self._shorten(state)
            return
        for name, fold in self.asked.items():
            answer = self.answer(state, name)
            fold.add(answer, part)
            put(state, _ASKED + name, answer)

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        if self.holds(other):
            for points in _runs(inner(other, _HELD)).values():
                self.add(state, points)
            return
        if self.holds(state):
            self._let_go(state, self.points(state))
        for name, fold in self.asked.items():
            answer = self.answer(state, name)
            fold.merge(answer, self.answer(other, name))
            put(state, _ASKED + name, answer)

    def holds(self, state: State) -> bool:
        """Return whether a state holds the values."""
        return _TOO_MANY not in state

    def points(self, state: State) -> CountedPoints:
        """Return the values that a state holds."""
        return self.every.points(inner(state, _HELD))

    def answer(self, state: State, name: str) -> State:
        """Return the state of one of the folds, where values are not held."""
        return inner(state, _ASKED + name)

    def _shorten(self, state: State) -> None:
        """Hold each value once, or let go of the values if they are too many."""
        points = self.points(state)
        if points.values.size > self.most:
            self._let_go(state, points)
            return
        # Far from the runs of single batches, so that the next ones are not joined with all values.
        held: State = {}
        _put(held, _LONGEST, points)
        put(state, _HELD, held)

    def _let_go(self, state: State, points: CountedPoints) -> None:
        state.clear()
        state[_TOO_MANY] = np.zeros(0, np.int64)
        for name, fold in self.asked.items():
            answer = fold.start()
            fold.add(answer, points)
            put(state, _ASKED + name, answer)


def bucket_of(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bucket of each value [n], by a hash of it."""
    return (hashed(values) >> np.uint64(44)).astype(np.int64)


def hashed(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits that all depend on all bits of each value [n] (Steele, Lea, Flood 2014, SplitMix)."""
    # Adding 0 makes -0.0 and 0.0, which are equal, one value.
    words = (values + 0).view(np.uint64)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return found


def inner(state: State, prefix: str) -> State:
    """Return the part of a state whose names have a prefix, without it; its arrays are shared."""
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def put(state: State, prefix: str, part: State) -> None:
    """Replace the part of a state whose names have a prefix."""
    for name in [name for name in state if name.startswith(prefix)]:
        del state[name]
    state.update({prefix + name: array for name, array in part.items()})


def _put(state: State, run: int, points: CountedPoints) -> None:
    while f"{run} {_VALUES}" in state:
        held = CountedPoints(state.pop(f"{run} {_VALUES}"), state.pop(f"{run} {_COUNTS}"))
        points, run = held.joined(points), run + 1
    state[f"{run} {_VALUES}"], state[f"{run} {_COUNTS}"] = points.values, points.counts


def _runs(state: State) -> dict[int, CountedPoints]:
    """Return the runs of a state, short ones first."""
    runs = sorted(int(name.split()[0]) for name in state if name.endswith(_VALUES))
    return {run: CountedPoints(state[f"{run} {_VALUES}"], state[f"{run} {_COUNTS}"]) for run in runs}
