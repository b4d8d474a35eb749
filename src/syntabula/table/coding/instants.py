"""Days and points in time that a user writes."""

from __future__ import annotations

import datetime as dt

from syntabula.table.frames.object_columns import microseconds
from syntabula.table.schema.time_columns import time_zone

_EPOCH = dt.date(1970, 1, 1)
_DAY_WRITTEN = len("2020-01-31")


def day_of(value: object) -> int:
    """Return a date, a midnight without a zone, or ISO 8601 text of one, in days since 1970-01-01.

    Raises:
        TypeError: If it is none of these.
        ValueError: If the text is no day.
    """
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None or value.time() != dt.time():
            raise ValueError
        value = value.date()
    if not isinstance(value, dt.date):
        raise TypeError
    return (value - _EPOCH).days


def first_and_last_moment(value: object, timezone: str | None) -> tuple[int, int]:
    """Return the first and the last microsecond of a point in time or of a day, since 1970-01-01.

    Args:
        value: A datetime, which is one point, a date, which is all of a day, or ISO 8601 text of either.
        timezone: Zone in which times without one are read; None for wall-clock time.

    Raises:
        TypeError: If it is none of these.
        ValueError: If the text is no time, or there is a zone where none belongs.
        OverflowError: If a day ends beyond the calendar.
    """
    if isinstance(value, str):
        written = value.strip()
        value = (
            dt.date.fromisoformat(written)
            if len(written) == _DAY_WRITTEN
            else dt.datetime.fromisoformat(written)
        )
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None and timezone is None:
            raise ValueError
        moment = microseconds(_in_zone(value, timezone))
        return moment, moment
    if not isinstance(value, dt.date):
        raise TypeError
    first, after = (dt.datetime.combine(day, dt.time()) for day in (value, value + dt.timedelta(days=1)))
    return microseconds(_in_zone(first, timezone)), microseconds(_in_zone(after, timezone)) - 1


def _in_zone(moment: dt.datetime, timezone: str | None) -> dt.datetime:
    if moment.tzinfo is not None or timezone is None:
        return moment
    return moment.replace(tzinfo=time_zone(timezone))
