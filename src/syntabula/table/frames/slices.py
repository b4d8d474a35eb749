"""Process long columns in slices: an interrupt takes effect between two numpy or pandas calls, never within one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from syntabula.table.raw import RawColumn

CELLS_AT_ONCE = 500_000


def slices(size: int) -> Iterator[slice]:
    """Cut this many cells into slices of CELLS_AT_ONCE; there is at least one."""
    return (slice(start, start + CELLS_AT_ONCE) for start in range(0, max(size, 1), CELLS_AT_ONCE))


def sliced(column: RawColumn, dtype: DTypeLike, make: Callable[[RawColumn], NDArray[Any]]) -> NDArray[Any]:
    """Apply a function to each slice of a column, and return the results as one array of a type."""
    made = np.empty(column.missing.size, dtype)
    for cut, part in zip(slices(made.size), parts_of(column), strict=True):
        made[cut] = make(part)
    return made


def parts_of(column: RawColumn) -> Iterator[RawColumn]:
    """Cut a column into slices."""
    for cut in slices(column.missing.size):
        yield column.take(cut)
