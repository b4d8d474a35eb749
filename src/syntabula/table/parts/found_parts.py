"""What the search for domains asks of the undeclared columns of a table in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.asked_points import AskedPoints
from syntabula.marginals.parts import HELD_VALUES, Fold, State
from syntabula.marginals.point_folds import BoundedFold, DistinctFold, OccupiedFold
from syntabula.marginals.sorted_points import CodeFold, CountedPoints
from syntabula.table.coding.column_codes import ordered_points, present_cells
from syntabula.table.parts.column_folds import MissingFold, PointFold, folded_columns
from syntabula.table.parts.labels import LabelFold, TextShape, shaped, text_hashes
from syntabula.table.parts.points import asked_of
from syntabula.table.parts.raw_parts import RawParts
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.schema.columns import Ordered

_LEVELS, _TAKEN = "levels", "taken"


@dataclass(frozen=True, eq=False, repr=False)
class FoundParts:
    """The columns of a table in parts, undeclared ones as the search for domains asks them.

    Attributes:
        parts: The table.
        columns: Its columns by name, in order; of declared ones the stored type alone.
    """

    parts: RawParts
    columns: Mapping[str, PartCells]


@dataclass(frozen=True, eq=False, repr=False)
class PartCells:
    """A column of a table in parts, of which one pass held the values or counted what is asked; see `SearchedColumn`.

    Attributes:
        parts: The table.
        name: Name of the column.
        physical: Its stored type.
        is_unsigned: Whether it holds unsigned integers of 64 bits.
        cells: Numbers of present and of missing cells.
        values: Its present values, if they are held.
        levels: Records of each level of fineness, if the values are not held.
        taken: Places by hash that values take, if they are not held.
        texts: Its texts, if they are held.
        buckets: Records of each bucket of texts, if they are not.
    """

    parts: RawParts
    name: str
    physical: PhysicalType
    is_unsigned: bool = False
    cells: tuple[int, int] = (0, 0)
    values: CountedPoints | None = None
    levels: NDArray[np.int64] | None = None
    taken: int = 0
    texts: Mapping[str, int] | None = None
    buckets: NDArray[np.int64] | None = None

    def numbers(self) -> tuple[int, int]:
        """Return how many cells are present, and how many are missing."""
        return self.cells

    def labels(self, least: int) -> Mapping[Any, int]:
        """Return the number of records of each text; those of fewer than `least` records may be left out."""
        if self.texts is not None:
            return self.texts
        assert self.buckets is not None
        return self._frequent(self.buckets, least)

    def shapes(self, shape: TextShape, least: int) -> Mapping[str, int]:
        """Return the number of records of each shape of a text; those of fewer than `least` records may be left out."""
        if self.texts is not None:
            return shaped(self.texts, shape)
        fold = LabelFold(shape=shape)
        state = folded_columns(self.parts, {self.name: (self.name, fold)})[self.name]
        return fold.counts(state) if fold.holds(state) else self._frequent(fold.buckets(state), least, shape)

    def _frequent(
        self, buckets: NDArray[np.int64], least: int, shape: TextShape | None = None
    ) -> Mapping[str, int]:
        """Return the number of records of each text, or shape, in buckets of enough records."""
        fold = LabelFold(None, buckets >= least, shape)
        return fold.counts(folded_columns(self.parts, {self.name: (self.name, fold)})[self.name])

    def coded(self, code: CodeFold) -> CountedPoints:
        """Return codes of the present values with the number of records of each."""
        if self.values is not None:
            return self.values.mapped(code.code).ascending()
        # A column has levels of one kind, by its type.
        assert self.levels is not None
        return CountedPoints(np.flatnonzero(self.levels), self.levels[self.levels > 0])

    def points(self, widest: Ordered) -> tuple[CountedPoints | AskedPoints, int]:
        """Return the present values as points of a domain, and the number of missing cells."""
        present, missing = self.cells
        if self.values is None:
            return asked_of(self.parts, self.name, widest, present), missing
        held = self.values
        # Decimals are held as floats.
        physical = PhysicalType("float", "float64") if self.physical.kind == "decimal" else self.physical
        raw = RawColumn(held.values, np.zeros(held.values.size, np.bool_), physical)
        return CountedPoints(ordered_points(widest, raw)[0], held.counts).ascending(), missing

    def places_taken(self) -> tuple[int, bool]:
        """Return how many different texts are present, if they are held, or how many places by hash values take."""
        if self.texts is not None:
            return len(self.texts), False
        if self.buckets is not None:
            fold = PointFold(text_hashes, OccupiedFold())
            state = folded_columns(self.parts, {self.name: (self.name, fold)})[self.name]
            return OccupiedFold().taken(state), True
        if self.values is None:
            return self.taken, True
        occupied = OccupiedFold()
        state = occupied.start()
        occupied.add(state, self.values)
        return occupied.taken(state), True


def found_parts(
    parts: RawParts, levels: Mapping[str, CodeFold], names_of_keys: frozenset[str], *, most: int = HELD_VALUES
) -> FoundParts:
    """Return the undeclared columns of a table, by one pass that reads no others.

    Args:
        parts: The table.
        levels: Levels of fineness that are counted of columns of a kind whose values are too many to hold.
        names_of_keys: Columns of which it is asked whether values repeat.
        most: Largest number of values or texts of a column that are held.
    """
    folds: dict[str, tuple[str, Fold[RawColumn]]] = {}
    bounded: dict[str, BoundedFold] = {}
    for name, stored in parts.stored.items():
        folds[f"missing {name}"] = (name, MissingFold())
        if stored.physical.is_labels:
            folds[f"cells {name}"] = (name, LabelFold(most))
            continue
        asked: dict[str, Fold[CountedPoints]] = {}
        if stored.physical.kind in levels:
            asked[_LEVELS] = levels[stored.physical.kind]
        if name in names_of_keys:
            asked[_TAKEN] = OccupiedFold()
        kind = np.dtype(np.int64) if stored.kind == np.bool_ else stored.kind
        bounded[name] = BoundedFold(DistinctFold(kind), asked, most)
        folds[f"cells {name}"] = (name, PointFold(partial(present_values, kind=kind), bounded[name]))
    states = folded_columns(parts, folds)
    columns = {}
    for name in parts.names:
        if name not in parts.stored:
            columns[name] = PartCells(parts, name, PhysicalType("other", "declared"))
            continue
        stored = parts.stored[name]
        numbers = MissingFold().counts(states[f"missing {name}"])
        found = PartCells(parts, name, stored.physical, stored.kind == np.uint64, numbers)
        columns[name] = _answered(found, states[f"cells {name}"], bounded.get(name))
    return FoundParts(parts, columns)


def _answered(column: PartCells, state: State, fold: BoundedFold | None) -> PartCells:
    if fold is None:
        labels = LabelFold()
        if labels.holds(state):
            return replace(column, texts=labels.counts(state))
        return replace(column, buckets=labels.buckets(state))
    if fold.holds(state):
        return replace(column, values=fold.points(state))
    code, occupied = fold.asked.get(_LEVELS), fold.asked.get(_TAKEN)
    return replace(
        column,
        levels=code.counts(fold.answer(state, _LEVELS)) if isinstance(code, CodeFold) else None,
        taken=occupied.taken(fold.answer(state, _TAKEN)) if isinstance(occupied, OccupiedFold) else 0,
    )


def present_values(raw: RawColumn, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return the values of present cells [n] as numbers."""
    values: NDArray[Any] = raw.values[present_cells(raw)]
    return values.astype(kind)
