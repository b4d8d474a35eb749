"""Long columns worked on in slices: an interrupt is served between two calls of numpy or pandas, and never within."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from syntabula.table.raw import RawColumn

CELLS_AT_ONCE = 500_000


def slices(size: int) -> Iterator[slice]:
    """Cut so many cells into slices of CELLS_AT_ONCE; there is one at least."""
    return (slice(start, start + CELLS_AT_ONCE) for start in range(0, max(size, 1), CELLS_AT_ONCE))


def sliced(column: RawColumn, dtype: DTypeLike, make: Callable[[RawColumn], NDArray[Any]]) -> NDArray[Any]:
    """Return a new array, of a type, of what a function makes of each slice of a column."""
    made = np.empty(column.missing.size, dtype)
    for cut, part in zip(slices(made.size), parts_of(column), strict=True):
        made[cut] = make(part)
    return made


def parts_of(column: RawColumn) -> Iterator[RawColumn]:
    """Cut a column into slices."""
    for cut in slices(column.missing.size):
        yield RawColumn(column.values[cut], column.missing[cut], column.physical)
