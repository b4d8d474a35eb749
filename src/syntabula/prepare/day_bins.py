"""Bins of days and times that say the weekday, or leave it open.

Bins of two or three days do neither: what goes with weekdays is hidden in them, and no lift finds it there
(`bins.lift`), as a lift needs bins that hold all weekdays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.rhythm import WEEKDAYS, Days
from syntabula.bins.uniform import Bins


def by_days(bins: Bins, days: Days, most: int) -> Bins:
    """Return bins that end with days, or with weeks where days would be too many.

    Bins within a day stay, and so do those of a week and more; those between are replaced by days, or joined until they
    last a week.

    Args:
        bins: The bins.
        days: The days of the domain.
        most: Most bins.
    """
    edges, day = np.array(bins.edges, dtype=np.int64), days.cells * days.length
    widths = np.diff(edges)
    between = (widths > day) & (widths < WEEKDAYS * day)
    if not between.any():
        return bins
    ends = np.concatenate([[True], ~between, [True]])
    # An edge that a bin of another length has stays.
    stays = ends[:-1] | ends[1:]
    midnights = days.starts[(days.starts > edges[0]) & (days.starts < edges[-1])]
    within = between[np.clip(np.searchsorted(edges, midnights, side="right") - 1, 0, widths.size - 1)]
    every = np.union1d(edges[stays], midnights[within])
    if every.size - 1 > most:
        every = _joined(edges, stays, WEEKDAYS * day)
    return Bins(tuple(every.tolist()), integer=True)


def _joined(edges: NDArray[np.int64], stays: NDArray[np.bool_], least: int) -> NDArray[np.int64]:
    """Return the edges without those that leave less than so much between them; some stay all the same."""
    found = [int(edges[0])]
    for edge, is_kept in zip(edges[1:].tolist(), stays[1:].tolist(), strict=True):
        if is_kept or edge - found[-1] >= least:
            found.append(edge)
    return np.array(found, dtype=np.int64)
