"""A day beside a time in an order or a window: the time counts as its day, so that both may be on the same one.

SQL compares a day as its midnight, by which nothing would be delivered on the day on which it is ordered at ten.
"""

from __future__ import annotations

from syntabula.table.database import identifier
from syntabula.table.schema.columns import MICROSECONDS, Column, Date, Datetime

DAY = MICROSECONDS["day"]


def is_day_beside_time(one: Column, other: Column) -> bool:
    """Return whether one of two columns holds days, and the other one times."""
    return {type(one), type(other)} == {Date, Datetime}


def in_order(first: tuple[str, Column], last: tuple[str, Column]) -> str:
    """Return the condition that a column never comes after another one, each by its name and declaration."""
    (one, before), (other, after) = first, last
    # A time that comes after the midnight of a day is on that day or a later one, as it is.
    is_time_first = is_day_beside_time(before, after) and isinstance(before, Datetime)
    return (
        f"{f'CAST({identifier(one)} AS DATE)' if is_time_first else identifier(one)} <= {identifier(other)}"
    )


def moved_by(column: Column, start: Column, *, upwards: bool) -> tuple[int, int]:
    """Return what a distance may be less and more than the difference of the values, days as midnights.

    The distance of a day from a time counts from the midnight of this time, and that of a time before a day from the
    last moment of this day.

    Args:
        column: The column that is learned as a distance.
        start: What it is a distance from.
        upwards: Whether the column comes after it.

    Returns:
        Microseconds that the bounds of the difference are moved by, to be those of the distance; 0 unless one column
        holds days and the other times.
    """
    if not is_day_beside_time(column, start):
        return 0, 0
    time = column if isinstance(column, Datetime) else start
    assert isinstance(time, Datetime)
    rest = DAY - MICROSECONDS[time.resolution]
    if isinstance(column, Date):
        return (0, rest) if upwards else (-rest, 0)
    return (0, 0) if upwards else (rest, rest)
