"""Where to cut an ordered column so that its bins lose next to nothing: exact, so for use inside `privacy` alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.privacy.doors.sorted_points import SortedPoints

LEAST_RECORDS = 8
"""Records that a bin of several values holds, at least, but for what frequent values take out of it."""


def fine_cuts(points: SortedPoints, most: int) -> NDArray[Any]:
    """Return cuts that leave frequent values alone and put about as many records into each bin between them.

    A value that holds as many records as a bin should gets one of its own, from itself to the next number that there
    is; so do all values where they are few. At both ends bins hold ever fewer records, as values lie apart there.

    Args:
        points: The values.
        most: Largest number of bins, at least 6.

    Returns:
        Ascending inner edges, in the type of the values; none for no values.
    """
    values, counts = np.unique(points.values, return_counts=True)
    if not values.size:
        return values
    n, parts = points.size, most // 4
    each = max(n / parts, LEAST_RECORDS)
    frequent = (counts >= each) | (values.size <= parts)
    doublings = min(int(np.log2(each / LEAST_RECORDS)), parts // 4)
    ends = LEAST_RECORDS * (2.0 ** np.arange(1, doublings + 1) - 1)
    steps = np.sort(np.concatenate([ends, np.arange(each, n - each / 2, each), n - ends]))
    part = np.searchsorted(steps, np.cumsum(counts) - counts, side="right")
    begins = np.append(True, np.diff(part) > 0) | frequent
    alone = values[frequent]
    if points.integer:
        after = alone[alone < np.iinfo(values.dtype).max] + values.dtype.type(1)
    else:
        after = np.nextafter(alone, np.inf)
    cuts: NDArray[Any] = np.unique(np.concatenate([values[begins], after]))
    return cuts
