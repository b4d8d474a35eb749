"""Folds of single columns of a table in parts, many of them in one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.parts import Fold, State
from syntabula.marginals.point_folds import inner, put
from syntabula.marginals.sorted_points import CountedPoints
from syntabula.table.coding.column_codes import ordered_points, present_cells
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import RawColumn, RawTable
from syntabula.table.schema.columns import Ordered

_COUNTS = "counts"


@dataclass(frozen=True, eq=False)
class PointFold(Fold[RawColumn]):
    """Folds the points of a column.

    Attributes:
        points: Returns the points of its present cells [n]; picklable.
        fold: What is asked of them.
    """

    points: Callable[[RawColumn], NDArray[Any]]
    fold: Fold[CountedPoints]

    def start(self) -> State:
        """Return the state of no records."""
        return self.fold.start()

    def add(self, state: State, part: RawColumn) -> None:
        """Add the records of a part."""
        self.fold.add(state, CountedPoints.of(self.points(part)))

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        self.fold.merge(state, other)


class MissingFold(Fold[RawColumn]):
    """Counts the cells that are missing, and the others."""

    def start(self) -> State:
        """Return two zeros."""
        return {_COUNTS: np.zeros(2, np.int64)}

    def add(self, state: State, part: RawColumn) -> None:
        """Add the records of a part."""
        present = int(present_cells(part).sum())
        state[_COUNTS] += [present, part.missing.size - present]

    def counts(self, state: State) -> tuple[int, int]:
        """Return the numbers of present and of missing cells."""
        present, missing = state[_COUNTS].tolist()
        return present, missing


@dataclass(frozen=True, eq=False)
class ColumnFolds(Fold[RawTable]):
    """Folds columns, each by folds of its own.

    Attributes:
        folds: Name of a column and a fold of it, by any name.
    """

    folds: Mapping[str, tuple[str, Fold[RawColumn]]]

    def start(self) -> State:
        """Return the state of no records."""
        state: State = {}
        for place, (_, fold) in enumerate(self.folds.values()):
            put(state, f"{place} ", fold.start())
        return state

    def add(self, state: State, part: RawTable) -> None:
        """Add the records of a part."""
        for place, (column, fold) in enumerate(self.folds.values()):
            own = inner(state, f"{place} ")
            fold.add(own, part.columns[column])
            put(state, f"{place} ", own)

    def merge(self, state: State, other: State) -> None:
        """Add a state of other records."""
        for place, (_, fold) in enumerate(self.folds.values()):
            own = inner(state, f"{place} ")
            fold.merge(own, inner(other, f"{place} "))
            put(state, f"{place} ", own)


def folded_columns(parts: RawParts, folds: Mapping[str, tuple[str, Fold[RawColumn]]]) -> dict[str, State]:
    """Return the state of each fold of a column by its name, in one pass that reads no other columns."""
    if not folds:
        return {}
    state = parts.of([*dict.fromkeys(column for column, _ in folds.values())]).fold(ColumnFolds(folds))
    return {name: inner(state, f"{place} ") for place, name in enumerate(folds)}


def points_within(column: Ordered, raw: RawColumn) -> NDArray[Any]:
    """Return the present values of a column as points of a domain [n]."""
    return ordered_points(column, raw)[0]
