"""How fine the values of a column are: the decimals that numbers need, and the resolution of times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.sorted_points import CodeFold
from syntabula.table.schema.columns import MAX_GRID, MICROSECONDS

MOST_DECIMALS = 6


def time_levels(values: NDArray[Any], resolutions: Sequence[str]) -> NDArray[np.int64]:
    """Return the position of the coarsest resolution that represents each time [n]."""
    levels = np.full(values.size, len(resolutions) - 1, dtype=np.int64)
    for level in range(len(resolutions) - 2, -1, -1):
        levels[values % MICROSECONDS[resolutions[level]] == 0] = level
    return levels


def decimal_levels(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of decimals that each value [n] needs, 0 to 6; 7 for more, 8 for values that are not finite."""
    levels = np.full(values.size, MOST_DECIMALS + 1, dtype=np.int64)
    levels[~np.isfinite(values)] = MOST_DECIMALS + 2
    for decimals in range(MOST_DECIMALS, -1, -1):
        scale = 10.0**decimals
        inside = np.flatnonzero(np.abs(values) <= MAX_GRID / scale)
        levels[inside[np.rint(values[inside] * scale) / scale == values[inside]]] = decimals
    return levels


RESOLUTIONS = list(MICROSECONDS)
CLOCK_RESOLUTIONS = [resolution for resolution in MICROSECONDS if resolution not in ("day", "hour")]
TIME_LEVELS = CodeFold(partial(time_levels, resolutions=RESOLUTIONS), len(RESOLUTIONS))
CLOCK_LEVELS = CodeFold(partial(time_levels, resolutions=CLOCK_RESOLUTIONS), len(CLOCK_RESOLUTIONS))
DECIMAL_LEVELS = CodeFold(decimal_levels, MOST_DECIMALS + 3)
LEVELS = {"datetime": TIME_LEVELS, "time": CLOCK_LEVELS, "float": DECIMAL_LEVELS}
"""Levels of fineness by the kind of a column."""
