"""Clock times that are written as whole numbers, 905 for 09:05: which numbers and which columns may hold some.

2400 is the end of the day. No column of clock times has it: it becomes the last time that the column has, 23:59.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.marginals.sorted_points import CodeFold

_NAME = re.compile(r"(time|clock|hhmm|uhrzeit)$|^(time|clock|hhmm|uhrzeit)[_\W]", re.IGNORECASE)
_FEWEST, _FEWEST_UNNAMED = 20, 100
_FEWEST_PARTS = 10
_QUARTERS = 4
_LAST_DAY_OF_MONTH = 31
_END_OF_DAY = 2400
NO_CLOCK_TIME = _END_OF_DAY + 1
"""Code of a number that is no clock time, where others are their own."""


def is_clock_name(name: str) -> bool:
    """Return whether a column's name, which is public, is one that clock times have: dep_time or CRSArrTime."""
    return bool(_NAME.search(name))


def clock_codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each number [n] 0 if it is no clock time, 1 if it is one before ten, and 2 if it is one from ten on."""
    whole = np.rint(np.clip(values, -1, NO_CLOCK_TIME)).astype(np.int64)
    is_clock = (whole == values) & (whole >= 0) & (whole <= _END_OF_DAY) & (whole % 100 < 60)
    codes: NDArray[np.int64] = np.where(is_clock, 1 + (whole >= 1000), 0).astype(np.int64)
    return codes


CLOCK_NUMBERS = CodeFold(clock_codes, 3)


def telling_codes(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each number [n] 0 if it is no clock time, and 2 or 3 if it hardly is another number that looks like one.

    That takes an hour and 32 to 59 minutes, but not 50: days of a month, round amounts and small counts have none. 2 is
    for hours before 13, 3 for later ones, and 1 for other clock times.
    """
    clock = clock_codes(values) > 0
    whole = np.where(clock, values, 0).astype(np.int64)
    minutes = whole % 100
    telling = (whole >= 100) & (minutes > _LAST_DAY_OF_MONTH) & (minutes != 50)
    codes: NDArray[np.int64] = clock + telling * (1 + (whole >= 1300))
    return codes.astype(np.int64)


TELLING_NUMBERS = CodeFold(telling_codes, 4)


def _each_clock_time(values: NDArray[Any]) -> NDArray[np.int64]:
    return np.where(clock_codes(values) > 0, values, NO_CLOCK_TIME).astype(np.int64)


EACH_CLOCK_TIME = CodeFold(_each_clock_time, NO_CLOCK_TIME + 1)
"""Counts each clock time apart, and all other numbers as `NO_CLOCK_TIME`."""


def are_clock_times(name: str, distinct: NDArray[Any]) -> bool:
    """Return whether the distinct whole numbers of a column look like clock times.

    All have fewer than 24 hours and 60 minutes, or are the end of the day, and many hours and minutes occur, some of
    these beyond 31, so that neither months and days, nor years, nor round amounts are taken for some. With the name of
    clock times, 20 numbers are enough, and the quarters of each hour.
    """
    is_named = is_clock_name(name)
    if distinct.size <= (_FEWEST if is_named else _FEWEST_UNNAMED):
        return False
    if not clock_codes(distinct).all():
        return False
    hours, minutes = np.unique(distinct // 100), np.unique(distinct % 100)
    enough = hours.size >= _FEWEST_PARTS and minutes.size >= (_QUARTERS if is_named else _FEWEST_PARTS)
    return bool(enough and hours[-1] > 12 and minutes[-1] > _LAST_DAY_OF_MONTH)
