"""The days of the domain of a column of days or times, as people count them."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.rhythm import MONTH_DAYS, Days
from syntabula.errors import SchemaError
from syntabula.table.schema.column_base import Ordered
from syntabula.table.schema.time_columns import MICROSECONDS, Date, Datetime, microseconds, time_zone

_THURSDAY = 3
"""Weekday of 1970-01-01, from Monday on."""


def weekdays(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the weekday of days [n] since 1970-01-01, 0 for Monday."""
    return (days + _THURSDAY) % 7


def month_days(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of days [n] since 1970-01-01 in their month, from 0."""
    dates = days.astype("datetime64[D]")
    numbers: NDArray[np.int64] = (dates - dates.astype("datetime64[M]")).astype(np.int64)
    return numbers


@lru_cache(maxsize=64)
def days_of(column: Ordered) -> Days:
    """Return the days of a column: those of its zone, but of UTC if its resolution is a day, as its grid is then.

    Raises:
        SchemaError: If it has none, one alone or too many.
    """
    if not column.has_days or not isinstance(column, Date | Datetime):
        raise SchemaError("a column that is not of several days has no rhythm")
    first, last, _ = column.span()
    unit = 1 if isinstance(column, Date) else MICROSECONDS[column.resolution]
    whole = 1 if isinstance(column, Date) else MICROSECONDS["day"] // unit
    begin, end = first // whole, last // whole
    zone = column.timezone if isinstance(column, Datetime) and whole > 1 else None
    if zone is not None:
        # Midnight may be earlier or later there.
        begin, end = begin - 1, end + 1
    numbers = np.arange(begin, end + 1)
    starts = np.append(numbers, end + 1) * whole
    if zone is not None:
        starts = np.array([_start(day, zone, unit) for day in range(begin, end + 2)], dtype=np.int64)
    # Parts of a day are minutes, or the points of coarser columns.
    cells = min(whole, MICROSECONDS["day"] // MICROSECONDS["minute"])
    # The day after a last one is a first one.
    is_last = month_days(numbers + 1) == 0
    return Days(
        starts.astype(np.int64),
        weekdays(numbers),
        np.where(is_last, MONTH_DAYS - 1, month_days(numbers)),
        cells,
        whole // cells,
    )


def _start(day: int, zone: str, unit: int) -> int:
    """Return the first point of a day in a zone; in UTC where the calendar ends."""
    try:
        midnight = dt.datetime(1970, 1, 1, tzinfo=time_zone(zone)) + dt.timedelta(days=day)
        return -(-microseconds(midnight) // unit)
    except OverflowError:
        return day * MICROSECONDS["day"] // unit
