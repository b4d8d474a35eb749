"""The distinct values of ordered columns of a table in parts, all by one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from syntabula.bins.uniform import integer_dtype
from syntabula.marginals.distinct import CountedPoints
from syntabula.marginals.parts import Fold, State
from syntabula.table.coding.column_codes import ordered_points
from syntabula.table.raw import RawTable
from syntabula.table.schema.columns import Ordered


@dataclass(frozen=True, eq=False, repr=False)
class CountedColumns:
    """Values of columns, instead of a raw table (sensitive)."""

    columns: Mapping[str, CountedPoints]


@dataclass(frozen=True)
class PointsFold(Fold[RawTable]):
    """Counts the distinct values of ordered columns, as points of their domains.

    The state grows with the number of distinct values, to 16 bytes each. It holds the values of batches in runs: run k
    of a column holds those of 2^k batches, and equal runs are joined, so that a value is moved a few times only.

    Attributes:
        ordered: The declaration of each column.
    """

    ordered: Mapping[str, Ordered]

    def start(self) -> State:
        """Return the state of no records."""
        return {}

    def add(self, state: State, part: RawTable) -> None:
        """Add the records of a part."""
        for place, (name, column) in enumerate(self.ordered.items()):
            points, _ = ordered_points(column, part.columns[name])
            _put(state, place, 0, CountedPoints.of(points))

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        for place in range(len(self.ordered)):
            for run, points in sorted(_runs(other, place).items()):
                _put(state, place, run, points)

    def columns(self, state: State) -> CountedColumns:
        """Return the values of each column, each once and in ascending order."""
        found = {}
        for place, (name, column) in enumerate(self.ordered.items()):
            lower, upper, integer = column.span()
            kind = integer_dtype(int(lower), int(upper)) if integer else np.float64
            points = CountedPoints(np.zeros(0, kind), np.zeros(0, np.int64))
            for _, more in sorted(_runs(state, place).items()):
                points = points.joined(more)
            found[name] = points
        return CountedColumns(found)


def _put(state: State, place: int, run: int, points: CountedPoints) -> None:
    while f"{place} {run} values" in state:
        held = CountedPoints(state.pop(f"{place} {run} values"), state.pop(f"{place} {run} counts"))
        points, run = held.joined(points), run + 1
    state[f"{place} {run} values"], state[f"{place} {run} counts"] = points.values, points.counts


def _runs(state: State, place: int) -> dict[int, CountedPoints]:
    runs = [
        int(name.split()[1]) for name in state if name.startswith(f"{place} ") and name.endswith("values")
    ]
    return {
        run: CountedPoints(state[f"{place} {run} values"], state[f"{place} {run} counts"]) for run in runs
    }
