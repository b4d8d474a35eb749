"""Moves rows to free values of a column that no two of them share, with all that they hold, within the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syntabula.synthesizers.ruled_rows import place
from syntabula.table.raw import Origin, RawColumn, RawTable
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.schema.columns import Date, Datetime


@dataclass(frozen=True, eq=False)
class MovedRows:
    """Moves rows to other values of a column.

    Attributes:
        name: The column's name.
        column: Its declaration.
        rules: The rules, if there are any.
        are_fit: Returns which of some rows, at these places among all that are moved, may be moved so, as rules compute
            other columns anew; None if all may.
        fitness: What that is called.
    """

    name: str
    column: Date | Datetime
    rules: RowRules | None
    are_fit: Callable[[Mapping[str, RawColumn], NDArray[np.intp]], NDArray[np.bool_]] | None = None
    fitness: str = ""

    def points(self, rows: Mapping[str, RawColumn]) -> NDArray[np.int64]:
        """Return the points of the rows' values [n]."""
        raw = rows[self.name]
        points, _, _ = self.column.points(raw.values, raw.physical.kind)
        return points.astype(np.int64)

    def moved(
        self,
        rows: dict[str, RawColumn],
        points: NDArray[np.int64],
        wanted: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> tuple[dict[str, RawColumn], NDArray[np.bool_], dict[str, float]]:
        """Move rows to other points; return them, which of them are fit, and the share that broke each rule."""
        kept = np.ones(points.size, np.bool_)
        moved = np.flatnonzero(points != wanted)
        if not moved.size:
            return rows, kept, {}
        values, physical = self.column.values(wanted[moved])
        there = RawColumn(values, np.zeros(moved.size, np.bool_), physical)
        if self.rules is None:
            place(rows, {self.name: there}, moved, np.arange(moved.size))
            return rows, kept, {}
        some = {name: column.take(moved) for name, column in rows.items()}
        start, starts, allowed = self.name, there, kept[moved]
        if self.name in self.rules.compiled.distances:
            # What it is a distance from moves, if that is one column, and else the distance changes.
            found = self.rules.anchored(self.name, some, there)
            start, starts, allowed = ("", there, allowed) if found is None else found
            some |= {} if start else {self.name: there}
        learned = dict(self.rules.learned_table(RawTable(some, moved.size, Origin("pandas", {})))[0].columns)
        # What is a distance from this column moves along with it.
        learned |= {start: starts} if start else {}
        others, satisfied, counts = self.rules.completed(learned, moved.size, rng)
        place(rows, others, moved, np.arange(moved.size))
        # A distance may be clipped, and the value with it.
        elsewhere = ~allowed | (self.points(others) != wanted[moved])
        kept[moved] = satisfied & ~elsewhere
        counts |= {f"{self.name} at a free value": int(elsewhere.sum())}
        if self.are_fit is not None:
            fit = self.are_fit({name: column.take(moved) for name, column in rows.items()}, moved)
            kept[moved] &= fit
            counts |= {self.fitness: int((~fit).sum())}
        return rows, kept, {rule: count / moved.size for rule, count in counts.items() if count}
