"""How fine the values of a column are: the decimals that numbers need, and the resolution of times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.sorted_points import CodeFold
from syntabula.table.schema.columns import MAX_GRID, MICROSECONDS

MOST_DECIMALS = 12
"""More are hardly ever written on purpose: a float of any precision has 16 digits."""
ROOMY_DECIMALS = 6
"""Numbers of at most so many decimals may reach a billion, and are told apart as floats."""
_LOST, _LOST_OF_A_UNIT = 1e-12, 1e-4


def time_levels(values: NDArray[Any], resolutions: Sequence[str]) -> NDArray[np.int64]:
    """Return the position of the coarsest resolution that represents each time [n]."""
    levels = np.full(values.size, len(resolutions) - 1, dtype=np.int64)
    for level in range(len(resolutions) - 2, -1, -1):
        levels[values % MICROSECONDS[resolutions[level]] == 0] = level
    return levels


def decimal_levels(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the number of decimals that each value [n] needs, 0 to 12; 13 for more, 14 for those not finite."""
    levels = np.full(values.size, MOST_DECIMALS + 1, dtype=np.int64)
    levels[~np.isfinite(values)] = MOST_DECIMALS + 2
    for decimals in range(MOST_DECIMALS, -1, -1):
        scale = 10.0**decimals
        inside = np.flatnonzero(np.abs(values) <= MAX_GRID / scale)
        levels[inside[are_rounded(values[inside], decimals)]] = decimals
    return levels


def are_rounded(values: NDArray[np.float64], decimals: int) -> NDArray[np.bool_]:
    """Return which values [n] have so many decimals, but for what sums and differences of such numbers lose in floats.

    4.9 - 3.8 is 1.1000000000000005 there. What may be lost is a part of each value, so that small numbers stay as they
    are, and of the last decimal, so that large ones do. Whole numbers, which have another type, have lost nothing.
    """
    scale = 10.0**decimals
    lost = np.minimum(_LOST * np.abs(values), _LOST_OF_A_UNIT / scale if decimals else 0.0)
    found: NDArray[np.bool_] = np.abs(np.rint(values * scale) / scale - values) <= lost
    return found


def bounds_around(low: float, high: float, decimals: int) -> tuple[float, float]:
    """Return numbers of so many decimals between which all values lie, from the lowest and the highest value."""
    scale = 10.0**decimals
    lower = low if np.rint(low * scale) / scale == low else float(np.floor(low * scale) / scale)
    upper = high if np.rint(high * scale) / scale == high else float(np.ceil(high * scale) / scale)
    return lower, upper


RESOLUTIONS = list(MICROSECONDS)
CLOCK_RESOLUTIONS = [resolution for resolution in MICROSECONDS if resolution not in ("day", "hour")]
TIME_LEVELS = CodeFold(partial(time_levels, resolutions=RESOLUTIONS), len(RESOLUTIONS))
CLOCK_LEVELS = CodeFold(partial(time_levels, resolutions=CLOCK_RESOLUTIONS), len(CLOCK_RESOLUTIONS))
DECIMAL_LEVELS = CodeFold(decimal_levels, MOST_DECIMALS + 3)
LEVELS = {"datetime": TIME_LEVELS, "time": CLOCK_LEVELS, "float": DECIMAL_LEVELS}
"""Levels of fineness by the kind of a column."""
