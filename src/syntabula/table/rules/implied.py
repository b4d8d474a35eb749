"""What a condition on a column that rules compute implies for what is learned: for the column that it is a distance from,
and for the distance that it counts."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np

from syntabula.errors import ArgumentError
from syntabula.table.coding.conditions import Allowed, allowed
from syntabula.table.rules.computed import bound_as_number
from syntabula.table.rules.days_and_times import DAY, is_day_beside_time
from syntabula.table.rules.row_rules import RowRules
from syntabula.table.rules.solved import Solver
from syntabula.table.schema.columns import MICROSECONDS, Date, Datetime, Numeric, Ordered

_EPOCH = dt.datetime(1970, 1, 1)
_DAYS_OF_A_QUARTER = 92
_OF_ROUNDING = 1e-9
"""Part of the largest number by which a range is widened, as sums of floats are rounded."""


def implied_start(rules: RowRules, name: str, wanted: Allowed) -> tuple[str, Any] | None:
    """Return the column that another one is a distance from, and a condition that all rows of a condition satisfy.

    Of stays of 30 days at most, all that end on a day began within the 30 days before.

    Args:
        rules: The rules.
        name: A column.
        wanted: What satisfies the condition on it.

    Returns:
        The other column's name and its condition, as users give them; None if it is one of several, is a distance
        itself, or may have any of its values or none.
    """
    distance = rules.compiled.distances.get(name)
    if distance is None or len(distance.columns) > 1 or wanted.missing or not wanted.spans:
        return None
    (start,) = distance.columns
    if start in rules.compiled.distances:
        return None
    column, other, apart = rules.schema[name], rules.schema[start], rules.distance(name)
    assert isinstance(column, Ordered)
    assert isinstance(other, Ordered)
    low, high = _ends(column, wanted)
    unit = 1 if isinstance(column, Numeric) else rules.unit(name)
    nearest, furthest = apart.lower * unit, apart.upper * unit
    low, high = (low - furthest, high - nearest) if distance.upwards else (low + nearest, high + furthest)
    room = DAY if is_day_beside_time(column, other) else 0
    low, high = low - room, high + room
    least, most = (bound_as_number(other, side) for side in ("lower", "upper"))
    if low > most or high < least or (low <= least and high >= most):
        return None
    within = (_value(other, max(low, least)), _value(other, min(high, most)))
    try:
        allowed(start, other, within)
    except ArgumentError:
        # Nothing lies between two steps, and nobody wrote this condition that an error would name.
        return None
    return start, [within, None] if other.nullable else within


def implied_distance(rules: RowRules, name: str, wanted: Allowed) -> tuple[str, Any] | None:
    """Return a column learned as a distance, and a condition on it that all rows of a condition satisfy.

    Of stays of 30 days and more, all have that distance between their days.

    Args:
        rules: The rules.
        name: A column, such as one that is derived as the difference of two others.
        wanted: What satisfies the condition on it.

    Returns:
        The column's name, and its condition in terms of the distance; None if none is implied.
    """
    if name not in rules.compiled.derived or wanted.missing or not wanted.spans:
        return None
    one = Solver.of(rules, [name]).sums.get(name)
    if one is None or len(one.factors) != 2:
        return None
    for end, (start, *others) in ((n, d.columns) for n, d in rules.compiled.distances.items()):
        if others or one.factors.keys() != {start, end} or one.factors[end] != -one.factors[start]:
            continue
        column, apart = rules.schema[name], rules.distance(end)
        assert isinstance(column, Ordered)
        factor = float(one.factors[end]) * rules.unit(end)
        factor = factor if rules.compiled.distances[end].upwards else -factor
        # That values are rounded is in the sum already.
        counted = _ends(column, wanted, rounded=False)
        ends = [(v - float(w)) / factor for v in counted for w in (one.low, one.high)]
        room = DAY / rules.unit(end) if is_day_beside_time(rules.schema[start], rules.schema[end]) else 0
        low, high = max(min(ends) - room, apart.lower), min(max(ends) + room, apart.upper)
        if apart.integer:
            low, high = math.ceil(low - _OF_ROUNDING), math.floor(high + _OF_ROUNDING)
        within = low, high
        if low > high or within == (apart.lower, apart.upper):
            return None
        try:
            allowed(end, apart, within)
        except ArgumentError:
            # As above.
            return None
        return end, within
    return None


def _ends(column: Ordered, wanted: Allowed, *, rounded: bool = True) -> tuple[Any, Any]:
    """Return the ends of all spans as numbers, as rules count them, with room for rounding to the column's values."""
    low, high = min(first for first, _ in wanted.spans), max(end for _, end in wanted.spans)
    if column.grid() is None:
        room = _OF_ROUNDING * max(abs(float(column.lower)), abs(float(column.upper)))
        return float(low) - room, float(high) + room
    # The point behind the last one is left out; a value may have been rounded to its neighbour.
    first, last = column.values(np.array([low, high - 1], dtype=object if abs(high) >= 2**62 else np.int64))[
        0
    ].tolist()
    if isinstance(column, Numeric):
        unit = int(column.unit) if column.integer else float(column.unit)
        margin = unit if rounded else 0
        return first - margin, last + margin
    if isinstance(column, Date):
        unit = MICROSECONDS["day"]
        room = unit * (1 if column.resolution == "day" else _DAYS_OF_A_QUARTER)
    else:
        assert isinstance(column, Datetime)
        unit, room = 1, MICROSECONDS[column.resolution]
    return first * unit - room, last * unit + room


def _value(column: Ordered, number: Any) -> Any:
    """Return a number as rules count it as a user's value; of days the day in which it lies."""
    if isinstance(column, Numeric):
        return number
    moment = _EPOCH + dt.timedelta(microseconds=int(number))
    if isinstance(column, Date):
        return moment.date()
    assert isinstance(column, Datetime)
    return moment if column.timezone is None else moment.replace(tzinfo=dt.UTC)
