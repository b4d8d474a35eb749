"""Whether whole numbers seem to number rows, by released counts alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_LEAST_FULL = 0.8
"""Numbers of records leave out at most a fifth of those between the first and the last one."""

_CLEAR = 4
"""A count is clear if it would be so many times what noise hides."""

_LEAST_CLEAR = 2
"""Between so many pairs of powers the counts must be clear; between one pair they are often as many by chance."""


def seem_to_number_rows(counts: NDArray[np.float64], edges: Sequence[int | float], height: float) -> bool:
    """Return whether about as many values as whole numbers lie between adjacent powers of two, up to the highest ones.

    So do 1, 2, 3 and further numbers of rows, in any order. Amounts crowd somewhere and have a tail instead.

    Args:
        counts: Noisy number of values in each cell [cells].
        edges: Edges of the cells, all whole [cells + 1]: minus and plus each power of two, and 0.
        height: Level that noise alone hardly ever exceeds in any cell.
    """
    occupied = np.flatnonzero(counts > height)
    if not occupied.size or edges[occupied[0]] < 0:
        return False
    highest = int(occupied[-1])
    widths = np.diff(np.array(edges, dtype=np.float64))
    if counts[highest] > widths[highest] + height:
        return False
    below = slice(list(edges).index(0), highest)
    width, count = widths[below], counts[below]
    are_full = bool(((count >= _LEAST_FULL * width - height) & (count <= width + height)).all())
    return are_full and int((width >= _CLEAR * height).sum()) >= _LEAST_CLEAR
