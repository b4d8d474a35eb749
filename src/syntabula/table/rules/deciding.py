"""What decides, without trying all rows, whether any row satisfies comparisons of ordered columns.

Columns that are compared may lie on grids of their own, such as whole numbers beside quarters, or months beside days. All
are placed on one line of exact values: numbers, or microseconds since 1970.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import integer_dtype
from syntabula.table.rules.days_and_times import DAY
from syntabula.table.rules.grids import common
from syntabula.table.rules.probes import literal_points
from syntabula.table.schema.columns import MICROSECONDS, Column, Date, Datetime, Numeric, Ordered

Line = Numeric | Date | Datetime
"""Columns whose order is that of their points."""

_MOST_VALUES = 1_000
"""Values on a line up to which rows of them are worth trying."""
_MOST_STEPS = 32
"""Sets of grids whose shared values are looked for; columns that all have grids of their own have many more."""


def is_line(column: Column) -> TypeGuard[Line]:
    """Return whether a column's points are in the order that rules see."""
    return isinstance(column, Numeric | Date | Datetime)


def family(column: Line) -> str:
    """Return what columns share that can be compared."""
    if isinstance(column, Numeric):
        return "numbers"
    return "instants" if isinstance(column, Datetime) and column.timezone is not None else "times"


def deciding_points(
    columns: Mapping[str, Line], literals: Sequence[str]
) -> tuple[dict[str, NDArray[Any]], bool]:
    """Return points of each column that stand for all, if rules only compare these columns and constants.

    A row that satisfies such rules still does if each of its values, from the smallest on, becomes the smallest that is
    beyond the one before and not below a bound or a constant that the old one is not below. Equal values stay equal, on
    points that their grids share. So as many steps as there are columns lead to all values that are needed, from each
    bound and each constant on.

    Args:
        columns: Columns of one family.
        literals: The texts of the constants.

    Returns:
        Points of each column, and whether they are enough; not if they are too many.
    """
    on_grid = {name: column for name, column in columns.items() if column.grid() is not None}
    ends = [_value(column, end) for column in columns.values() for end in column.span()[:2]]
    constants = {
        _value(column, math.floor(point) if name in on_grid else point)
        for name, column in columns.items()
        for point in literal_points(column, literals)
    }
    found = {value for value in (*ends, *constants) if min(ends) <= value <= max(ends)}
    last = max(ends)
    steps, latest = _steps([*on_grid.values()], last), found
    for _ in on_grid:
        latest = {v for x in latest for step in steps if (v := step(x)) is not None and v <= last} - found
        found |= latest
        if len(found) > _MOST_VALUES:
            break
    enough = len(found) <= _MOST_VALUES and len(steps) <= _MOST_STEPS
    listed = sorted(found)[:: math.ceil(len(found) / _MOST_VALUES)]
    places = [float(value) for value in listed]
    between = 2 + len(columns) - len(on_grid)
    reals = sorted({*places, *(float(x) for a, b in pairwise(places) for x in np.linspace(a, b, between))})
    points = {}
    for name, column in columns.items():
        lower, upper, whole = column.span()
        near = [p for v in listed if _value(column, p := _point(column, v)) == v] if whole else reals
        dtype = integer_dtype(int(lower), int(upper)) if whole else np.float64
        points[name] = np.array(
            sorted({lower, upper, *(p for p in near if lower <= p <= upper)}), dtype=dtype
        )
    return points, enough


def are_satisfiable(orders: Iterable[Sequence[str]], columns: Mapping[str, Line]) -> bool:
    """Return whether some row without missing cells is in all orders, which form no cycle."""
    pairs = {pair for chain in orders for pair in combinations(chain, 2)}
    least = {name: _value(columns[name], columns[name].span()[0]) for pair in pairs for name in pair}
    # The smallest value that each column can have follows from those before it, after as many rounds as there are.
    for _ in least:
        for first, last in pairs:
            column, before = columns[last], least[first]
            if isinstance(column, Date) and isinstance(columns[first], Datetime):
                # In an order, a time counts as its day.
                before -= before % DAY
            least[last] = max(least[last], _value(column, _point(column, before)))
    return all(value <= _value(columns[name], columns[name].span()[1]) for name, value in least.items())


def _value(column: Ordered, point: Any) -> Fraction:
    """Return the value at a point of a column, exactly as it is meant: .1 as a tenth."""
    if isinstance(column, Date):
        return Fraction(int(column.first_days(np.array([point]))[0]) * DAY)
    if isinstance(column, Datetime):
        return Fraction(point * MICROSECONDS[column.resolution])
    assert isinstance(column, Numeric)
    if column.grid() is not None:
        return Fraction(point) * column.unit
    return Fraction(Decimal(repr(float(point)))) if isinstance(point, float) else Fraction(point)


def _point(column: Ordered, value: Fraction) -> Any:
    """Return the first point of a column, within its bounds or not, at which it has a value or a larger one."""
    if isinstance(column, Date):
        day = math.ceil(value / DAY)
        period = int(column.periods(np.array([day]))[0])
        return period + (_value(column, period) < day * DAY)
    if isinstance(column, Datetime):
        return math.ceil(value / MICROSECONDS[column.resolution])
    assert isinstance(column, Numeric)
    return value if column.grid() is None else math.ceil(value / column.unit)


def _steps(columns: Sequence[Line], most: Fraction) -> list[Callable[[Fraction], Fraction | None]]:
    """Return for each set of columns what leads from a value to the next one that all of them can have.

    Args:
        columns: Columns on grids.
        most: Beyond it, None stands for the next value.
    """
    numbers = [column for column in columns if isinstance(column, Numeric)]
    if numbers:
        units = set[Fraction]()
        for column in numbers:
            if len(units) > _MOST_STEPS:
                break
            units |= {column.unit, *(unit * column.unit / common(unit, column.unit) for unit in units)}
        return [lambda x, u=unit: (x // u + 1) * u for unit in sorted(units)]  # type: ignore[misc]
    kinds = {column.resolution: column for column in columns if isinstance(column, Date | Datetime)}
    # All others contain the points of a coarser one.
    sets = [those for size in (1, 2) for those in combinations(kinds.values(), size)]
    return [lambda x, c=those: _next_shared(x, c, most) for those in sets]  # type: ignore[misc]


def _next_shared(value: Fraction, columns: Sequence[Line], most: Fraction) -> Fraction | None:
    """Return the first value beyond another one that days and times of several resolutions share."""
    found = value + 1
    while found <= most:
        further = max(_value(column, _point(column, found)) for column in columns)
        if further == found:
            return found
        found = further
    return None
