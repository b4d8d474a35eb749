"""How many rows each synthetic unit has: the number of the unit of every row of a table, whatever its length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import SchemaError

_UNITS = 1 << 12
"""Units after which the numbers of rows begin again: more would change a share by less than a 4,096th."""


@dataclass(frozen=True)
class UnitSizes:
    """Shares of units by their number of rows.

    The rows of a unit stand together. Units of each size are spread evenly, by the digits of their number turned around
    (van der Corput), so that the first few rows have the same shares as all, and a row's unit follows from its position
    alone: rows that are drawn in pieces have the keys that they would have together.

    Attributes:
        shares: Of units with 1, 2, ... rows; they sum to 1.

    Raises:
        SchemaError: If there is no share, or they are not numbers of at least 0 that sum to 1.
    """

    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        numbers = np.asarray(self.shares, dtype=np.float64)
        if numbers.ndim != 1 or not numbers.size or not (numbers >= 0).all() or abs(numbers.sum() - 1) > 1e-6:
            raise SchemaError("the shares of units by their number of rows must be at least 0 and sum to 1")

    @classmethod
    def of(cls, counts: Sequence[float]) -> UnitSizes:
        """Return the shares from noisy numbers of units; all units have one row if no number is above 0."""
        # A unit with one row is always possible.
        weights = np.maximum(np.asarray(counts, dtype=np.float64), 0)
        if not weights.sum():
            weights[0] = 1
        return cls(tuple((weights / weights.sum()).tolist()))

    def numbers(self, first_row: int, n_rows: int) -> NDArray[np.int64]:
        """Return the number of the unit of each row [n_rows], from 0, from the row at position `first_row` on."""
        ends = self._ends()
        rounds, places = np.divmod(np.arange(first_row, first_row + n_rows, dtype=np.int64), int(ends[-1]))
        found: NDArray[np.int64] = rounds * ends.size + np.searchsorted(ends, places, side="right")
        return found

    def _ends(self) -> NDArray[np.int64]:
        """Return the position after the last row of each of the first units [_UNITS]."""
        places: NDArray[Any] = np.arange(_UNITS)
        turned = np.zeros(_UNITS)
        part = 0.5
        while part * _UNITS >= 1:
            turned += part * (places % 2)
            places, part = places // 2, part / 2
        # The middle of each part of the unit interval, so that no share is favoured.
        sizes = np.searchsorted(np.cumsum(self.shares), turned + 0.5 / _UNITS, side="right")
        return np.cumsum(np.minimum(sizes, len(self.shares) - 1) + 1, dtype=np.int64)
