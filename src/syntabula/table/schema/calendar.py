"""The days of the domain of a column of days or times, as people count them."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

import numpy as np

from syntabula.bins.rhythm import MONTH_DAYS, Days
from syntabula.errors import SchemaError
from syntabula.table.schema.column_base import Ordered
from syntabula.table.schema.time_columns import MICROSECONDS, Date, Datetime, microseconds, time_zone

_THURSDAY = 3
"""Weekday of 1970-01-01, from Monday on."""


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
    days = numbers.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    of_month = (days - months.astype("datetime64[D]")).astype(np.int64)
    is_last = (days + 1).astype("datetime64[M]") != months
    return Days(
        starts.astype(np.int64),
        (numbers + _THURSDAY) % 7,
        np.where(is_last, MONTH_DAYS - 1, of_month),
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
