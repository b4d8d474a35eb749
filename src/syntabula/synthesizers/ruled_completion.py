"""Draws rows of a release with rules, with the values of some columns given row by row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import UniformBins
from syntabula.errors import ArgumentError, ConditionWarning
from syntabula.models.base import Model
from syntabula.synthesizers.completion import Completion, cells_in, objections
from syntabula.synthesizers.drawn_ends import DrawnEnds
from syntabula.synthesizers.ruled_rows import place
from syntabula.table.coding.codec import Codec
from syntabula.table.coding.column_codes import encode_column, present_cells
from syntabula.table.raw import Origin, RawColumn, RawTable
from syntabula.table.rules.clamped import within_orders
from syntabula.table.rules.computed import equal_cells
from syntabula.table.rules.distances import Distance, leading_to
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.rules.solved import Solver
from syntabula.table.schema.columns import Identifier, Ordered

_ROUNDS = 30
_ROUNDS_AS_DRAWN = 10
"""Rounds whose draws must satisfy orders and come near given values; in later ones, they are moved there."""
_MOST_AT_ONCE = 500
_ROWS_AT_ONCE = 20_000
_BINS = 32
"""A given value of a column in an order, whose start is drawn, replaces a drawn one in the same of so many bins."""


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """What was drawn for given rows.

    Attributes:
        columns: The rows; those that no draw satisfies are arbitrary.
        left: Positions of these among the given rows.
        n_tried: Number of draws of the last round.
        broken: For each rule that some of those break, how many do.
        n_moved: Number of rows whose drawn values were moved.
        movable: The rules by which they are.
    """

    columns: dict[str, RawColumn]
    left: NDArray[np.intp]
    n_tried: int
    broken: Mapping[str, int]
    n_moved: int
    movable: Sequence[str]


@dataclass(frozen=True, eq=False)
class RuledCompletion:
    """One row for each row of a given table, with its values kept and the other columns drawn so that all rules hold.

    Attributes:
        rules: The rules.
        solver: Solves the given sums for columns that are not given.
        learned: Draws the columns that were learned.
        given: The given columns, as read.
        near: Columns in an order that are given while the next one may not be, with their distances. Where the next one
            is not given, these are not valid, and drawn values must come near the given ones.
    """

    rules: RowRules
    solver: Solver
    learned: Completion
    given: Mapping[str, RawColumn]
    near: Mapping[str, RawColumn]

    @property
    def n_rows(self) -> int:
        """Number of given rows."""
        return self.learned.n_rows

    @classmethod
    def of(
        cls,
        rules: RowRules,
        codec: Codec,
        model: Model,
        table: RawTable,
        *,
        distances: Mapping[str, RawColumn] | None = None,
    ) -> Self:
        """Prepare to draw the rows of a given table.

        Args:
            rules: The rules.
            codec: The release's codec.
            model: The release's model.
            table: The given table.
            distances: Columns that are not given, but known as the distances that they are learned as.

        Raises:
            ArgumentError: As `Completion.of`.
        """
        apart = {} if distances is None else distances
        learned_as, derived = rules.compiled.distances, rules.compiled.derived
        wrong = [
            objection
            for name, raw in table.columns.items()
            if name in learned_as or name in derived
            for objection in objections(name, rules.schema[name], raw)
        ]
        if wrong:
            raise ArgumentError(
                f"values are given that this release cannot have: {'; '.join(wrong)}. Correct these cells, or leave "
                "their rows or columns out"
            )
        distant, _ = rules.learned_table(table)
        kept = dict(distant.columns)
        near = {
            name: kept.pop(name)
            for name, distance in learned_as.items()
            if name in kept and not _is_told(distance, table.columns)
        }
        learned = RawTable({**kept, **apart}, table.n_rows, table.origin)
        solver = Solver.of(rules, table.columns)
        return cls(rules, solver, Completion.of(codec, model, learned), table.columns, near)

    def draw(self, start: int, stop: int, rng: np.random.Generator) -> DrawnRows:
        """Draw the rows from one position up to another."""
        found: dict[str, RawColumn] = {}
        left, tried = np.arange(start, stop), np.arange(start, stop)
        broken: dict[str, int] = {}
        derived, apart = self.rules.compiled.derived, self.rules.compiled.distances
        orders = [" <= ".join(c) for c in self.rules.rules.order if len({*c} - derived.keys()) > 1]
        movable, moved = [*orders, *(f"{name} = {derived[name].text}" for name in self.solver.sums)], 0
        ordered = {name for chain in self.rules.rules.order for name in chain}
        movable += [
            f"{name} near {', '.join(apart[name].columns)}" for name in self.near if name not in ordered
        ]
        for number in range(_ROUNDS):
            # The fewer rows are left, the more often each is tried at once.
            times = max(1, min(_MOST_AT_ONCE, _ROWS_AT_ONCE // max(left.size, 1))) if found else 1
            tried = np.repeat(left, times)
            with warnings.catch_warnings():
                if found:
                    # The first round has said what there is to say of the given rows, each of which it tried once.
                    warnings.simplefilter("ignore", ConditionWarning)
                drawn = self.learned.draw_rows(tried, rng)
            moves = number >= _ROUNDS_AS_DRAWN and bool(movable)
            rows, kept, broken = self._completed(drawn, tried, rng, moves=moves)
            if not found:
                found = {name: _copied(column) for name, column in rows.items()}
            places, first = np.unique(tried[kept], return_index=True)
            place(found, rows, places - start, np.flatnonzero(kept)[first])
            left = np.setdiff1d(left, places)
            moved += moves * places.size
            if not left.size:
                break
        return DrawnRows(found | self._numbered(found, start), left, tried.size, broken, moved, movable)

    def _completed(
        self, drawn: dict[str, RawColumn], rows: NDArray[np.intp], rng: np.random.Generator, *, moves: bool
    ) -> tuple[dict[str, RawColumn], NDArray[np.bool_], dict[str, int]]:
        given = {name: cells_in(column, rows) for name, column in self.given.items()}
        # Decoding draws values within bins; what rules compute must follow from the given ones.
        drawn |= {name: cells_in(column, rows) for name, column in self.learned.columns.items()}
        for name, distance in self.near.items():
            told = _told(self.rules.compiled.distances[name], given) | given[name].missing
            place(drawn, {name: cells_in(distance, rows)}, *[np.flatnonzero(told)] * 2)
        ends = DrawnEnds(self.rules, self.learned.codec)
        drawn = ends(drawn, rng, {*self.learned.columns, *self.near})
        columns, kept, broken = self.rules.completed(drawn, rows.size, rng)
        if moves:
            anchored = self._nearby(drawn, columns, given, rng, from_afar=True)
            whole = (anchored[0] if anchored else columns) | given
            whole |= within_orders(self.rules, whole, given)
            if self.solver.sums:
                whole = self.solver.moved(whole, given, rng)
                solved = {n for one in self.solver.sums.values() for n in one.factors}
                whole |= within_orders(self.rules, whole, {*given, *solved})
            moved, _ = self.rules.learned_table(RawTable(whole, rows.size, Origin("pandas", {})))
            columns, kept, broken = self.rules.completed(moved.columns, rows.size, rng)
        elif self.near:
            columns, kept, broken = self._nearby(drawn, columns, given, rng) or (columns, kept, broken)
            for name in self.near:
                close = self._close(name, columns[name], given[name])
                broken[f"{name} near the given value"] = int((~close).sum())
                kept &= close
        for name in self.rules.compiled.derived:
            if name in given:
                same = equal_cells(self.rules.schema[name], columns[name], given[name])
                broken[f"{name} as given"] = int((~same).sum())
                kept &= same
        whole = columns | given
        for rule, wrong in self.rules.broken_by(whole, rows.size).items():
            broken[rule] = int(wrong.sum())
            kept &= ~wrong
        return whole, kept, {rule: count for rule, count in broken.items() if count}

    def _nearby(
        self,
        drawn: dict[str, RawColumn],
        columns: Mapping[str, RawColumn],
        given: Mapping[str, RawColumn],
        rng: np.random.Generator,
        *,
        from_afar: bool = False,
    ) -> tuple[dict[str, RawColumn], NDArray[np.bool_], dict[str, int]] | None:
        """Complete rows again with starts of distances moved so that these lead to given values; None if none are.

        Where several given values count from one start, the one with the narrowest bounds decides, as it leaves the least
        room. Unless they are moved from afar, starts stay where the drawn values are not near the given ones.
        """
        moved, distances = False, self.rules.compiled.distances
        for name in sorted(self.near, key=self._reach, reverse=True):
            close = self._close(name, columns[name], given[name]) | from_afar
            found = self.rules.anchored(name, columns, given[name])
            if found is not None:
                anchor, values, allowed = found
                # A given one among several that this is a distance from would not move with the others.
                fixed = [present_cells(given[n]) for n in leading_to(name, distances) if n in given]
                movable = close & allowed & ~np.logical_or.reduce([np.zeros_like(close), *fixed])
                # Every move is one of the value in `columns`, which may be held by the same array.
                drawn[anchor] = _copied(drawn[anchor])
                place(drawn, {anchor: values}, *[np.flatnonzero(movable)] * 2)
                moved = True
        n_rows = next(iter(given.values())).missing.size
        return self.rules.completed(drawn, n_rows, rng) if moved else None

    def _reach(self, name: str) -> float:
        """Return how far the distances of a column lie apart, of days and times in microseconds."""
        distance = self.rules.distance(name)
        return float(distance.upper - distance.lower) * self.rules.unit(name)

    def _numbered(self, found: Mapping[str, RawColumn], start: int) -> dict[str, RawColumn]:
        return {
            name: self.learned.codec.identifiers(name, found[name].missing, start)
            for name, column in self.rules.schema.columns.items()
            if isinstance(column, Identifier) and name not in self.given
        }

    def _close(self, name: str, drawn: RawColumn, given: RawColumn) -> NDArray[np.bool_]:
        column = self.rules.schema[name]
        assert isinstance(column, Ordered)
        lower, upper, integer = column.span()
        bins = UniformBins(_BINS).bins(lower, upper, integer=integer)
        here, there = (encode_column(column, raw, bins).codes for raw in (drawn, given))
        return np.asarray((here == there) & (present_cells(drawn) == present_cells(given)))


def _told(distance: Distance, given: Mapping[str, RawColumn]) -> NDArray[np.bool_]:
    """Return in which rows given columns tell what a column is a distance from: the next present one does."""
    told = np.zeros_like(next(iter(given.values())).missing)
    left = ~told
    for name in distance.columns[:: -1 if distance.upwards else 1]:
        if name not in given:
            return told
        present = present_cells(given[name])
        told |= left & present
        left &= ~present
    return told | left


def _is_told(distance: Distance, given: Mapping[str, RawColumn]) -> bool:
    """Return whether given columns tell it in all rows."""
    return bool(_told(distance, given).all())


def _copied(column: RawColumn) -> RawColumn:
    beside = None if column.beside is None else column.beside[np.arange(column.missing.size)]
    return RawColumn(column.values.copy(), column.missing.copy(), column.physical, beside=beside)
