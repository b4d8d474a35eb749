"""What the search for a column's domain asks of its cells, wherever they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from syntabula.marginals.asked_points import AskedPoints
from syntabula.marginals.point_folds import OccupiedFold
from syntabula.marginals.sorted_points import CodeFold, CountedPoints
from syntabula.table.coding.column_codes import ordered_points, present_cells
from syntabula.table.parts.labels import TextShape, shaped
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.schema.columns import Ordered


class SearchedColumn(Protocol):
    """A column whose domain is sought. All answers are exact, so each goes to a curator (sensitive)."""

    @property
    def physical(self) -> PhysicalType:
        """How it is stored (public)."""
        ...

    @property
    def is_unsigned(self) -> bool:
        """Whether it holds unsigned integers of 64 bits, by its stored type (public)."""
        ...

    def numbers(self) -> tuple[int, int]:
        """Return how many cells are present, and how many are missing."""
        ...

    def labels(self, least: int) -> Mapping[Any, int]:
        """Return the number of records of each value; those of fewer than `least` records may be left out."""
        ...

    def shapes(self, shape: TextShape, least: int) -> Mapping[str, int]:
        """Return the number of records of each shape of a text; those of fewer than `least` records may be left out."""
        ...

    def coded(self, code: CodeFold) -> CountedPoints:
        """Return codes of the present values with the number of records of each."""
        ...

    def points(self, widest: Ordered) -> tuple[CountedPoints | AskedPoints, int]:
        """Return the present values as points of a domain, and the number of missing cells."""
        ...

    def places_taken(self) -> tuple[int, bool]:
        """Return how many different values are present, or how many places by hash they take, and whether it is these.

        Adding a record changes it by at most one; see `OccupiedFold`.
        """
        ...


class WholeColumn:
    """A column in memory, as read; see `SearchedColumn`."""

    def __init__(self, raw: RawColumn) -> None:
        self._raw = raw
        self.physical = raw.physical
        self.is_unsigned = not raw.physical.is_labels and raw.values.dtype == np.uint64

    def numbers(self) -> tuple[int, int]:
        """Return how many cells are present, and how many are missing."""
        present = int(present_cells(self._raw).sum())
        return present, self._raw.missing.size - present

    def labels(self, least: int) -> Mapping[Any, int]:
        """Return the number of records of each value."""
        del least
        return Counter(self._raw.values[~self._raw.missing].tolist())

    def shapes(self, shape: TextShape, least: int) -> Mapping[str, int]:
        """Return the number of records of each shape of a text."""
        return shaped(self.labels(least), shape)

    def coded(self, code: CodeFold) -> CountedPoints:
        """Return codes of the present values with the number of records of each."""
        return CountedPoints.of(code.code(self._values()))

    def points(self, widest: Ordered) -> tuple[CountedPoints | AskedPoints, int]:
        """Return the present values as points of a domain, and the number of missing cells."""
        points, n_missing = ordered_points(widest, self._raw)
        return CountedPoints.of(points), n_missing

    def places_taken(self) -> tuple[int, bool]:
        """Return how many different texts are present, or how many places by hash other values take."""
        if self.physical.is_labels:
            return len(self.labels(1)), False
        fold = OccupiedFold()
        state = fold.start()
        fold.add(state, CountedPoints.of(self._values()))
        return fold.taken(state), True

    def _values(self) -> Any:
        values = self._raw.values[present_cells(self._raw)]
        return values.astype(np.float64) if self._raw.physical.kind == "decimal" else values

    def __repr__(self) -> str:
        return f"WholeColumn({self.physical.kind})"
