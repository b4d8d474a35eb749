"""Comparisons of columns on grids of their own are refused exactly if brute force finds no row that satisfies them."""

from __future__ import annotations

import datetime as dt
import itertools
import operator
from contextlib import nullcontext

import numpy as np
import pytest

from syntabula import Date, Datetime, Numeric, Rules, Schema
from syntabula.errors import SchemaError
from syntabula.table.rules.deciding import deciding_points

DAY = 86_400_000_000
SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
}
MOST_ROWS = 300_000
CONSTANTS = ["0", "1", "2.3", "1.25"]


def some_number(rng):
    low = int(rng.integers(-3, 4))
    kind = rng.integers(4)
    if kind == 0:
        return Numeric(low, low + int(rng.integers(0, 12)), integer=True)
    if kind == 1:
        return Numeric(low, low + 2 + int(rng.integers(0, 14)), integer=True, step=int(rng.integers(2, 4)))
    if kind == 2:
        places = int(rng.integers(1, 3))
        begin = round(low + float(rng.integers(0, 10)) / 10, 1)
        return Numeric(begin, begin + int(rng.integers(0, 60)) * 10.0**-places, decimals=places)
    step = float(rng.choice([0.25, 0.3, 0.05, 1.5, 2.5, 0.07]))
    return Numeric(low + 0.05, round(low + 0.05 + float(rng.uniform(step, 14 * step)), 3), step=step)


def some_number_or_real(rng):
    """Return a column that has no grid in two of five cases; its bounds may be values of a grid, or not, or one."""
    if rng.random() < 0.6:
        return some_number(rng)
    low = float(rng.choice([-3.0, 0.1, 0.123, 1.0, 2.3]))
    return Numeric(low, low + float(rng.choice([0.0, 0.01, 0.5, 3.0, 8.3])))


def some_time(rng):
    begin = dt.date(2020, 1, 25) + dt.timedelta(int(rng.integers(0, 40)))
    if rng.random() < 0.6:
        period = str(rng.choice(["day", "week", "month", "quarter"]))
        most = {"day": 20, "week": 60, "month": 150, "quarter": 400}[period]
        return Date(begin, begin + dt.timedelta(int(rng.integers(0, most))), resolution=period)
    unit = str(rng.choice(["day", "hour", "minute"]))
    moment = dt.datetime.combine(begin, dt.time()) + dt.timedelta(hours=int(rng.integers(0, 30)))
    length = dt.timedelta(**{f"{unit}s": 25})
    return Datetime(moment, moment + length * float(rng.uniform(0.1, 1)), resolution=unit)


def some_columns(rng, make):
    """Return columns of which brute force can try all rows, and their values as arrays that broadcast."""
    while True:
        columns = {name: make(rng) for name in "abcd"[: rng.integers(2, 5)]}
        on_grid = {name: values_of(column) for name, column in columns.items() if column.grid() is not None}
        reals = [column for name, column in columns.items() if name not in on_grid]
        marks = np.concatenate([*on_grid.values(), [float(c) for c in CONSTANTS], *map(ends, reals)])
        values = [
            on_grid[name] if name in on_grid else reals_within(column, marks, len(reals))
            for name, column in columns.items()
        ]
        if np.prod([v.size for v in values]) <= MOST_ROWS:
            return columns, dict(zip(columns, np.meshgrid(*values, indexing="ij", sparse=True), strict=True))


def values_of(column):
    lower, upper, _ = column.span()
    values, _ = column.values(np.arange(lower, upper + 1))
    return values * DAY if isinstance(column, Date) else values


def ends(column):
    return np.array(column.span()[:2], dtype=np.float64)


def reals_within(column, marks, between):
    """Return all marks within the bounds of a column without a grid, and so many values between any two of them.

    Whether comparisons with marks and among so many columns hold depends on no more than where each value is among the
    marks, and in which order those between the same two are.
    """
    lower, upper = ends(column)
    held = np.unique(marks[(marks >= lower) & (marks <= upper)])
    parts = np.arange(1, between + 1) / (between + 1)
    inner = held[:-1, None] + np.diff(held)[:, None] * parts
    return np.unique(np.concatenate([held, inner.ravel()]))


def some_orders(rng, columns, values):
    """Return orders without a cycle, and which rows are in them."""
    names = [str(name) for name in rng.permutation([*columns])]
    orders = []
    for _ in range(rng.integers(1, 4)):
        chosen = rng.choice(len(names), rng.integers(2, len(names) + 1), replace=False)
        orders.append([names[place] for place in sorted(chosen)])
    held = np.ones((), np.bool_)
    for first, last in (pair for chain in orders for pair in itertools.combinations(chain, 2)):
        before = values[first]
        if isinstance(columns[first], Datetime) and isinstance(columns[last], Date):
            # In an order, a time counts as its day.
            before = before // DAY * DAY
        held = held & (before <= values[last])
    return {"order": orders}, held


def some_comparisons(rng, columns, values):
    """Return conditions, of which some compare with a constant, and which rows satisfy them."""
    constants = CONSTANTS if all(isinstance(c, Numeric) for c in columns.values()) else []
    required, held = [], np.ones((), np.bool_)
    for _ in range(rng.integers(1, 4)):
        parts, either = [], np.zeros((), np.bool_)
        for _ in range(rng.integers(1, 3)):
            first = str(rng.choice([*columns]))
            other = str(rng.choice([n for n in (*columns, *constants) if n != first]))
            sign = str(rng.choice([*SIGNS]))
            parts.append(f"{first} {sign} {other}")
            either = either | SIGNS[sign](values[first], values[other] if other in values else float(other))
        required.append(" or ".join(parts))
        held = held & either
    return {"require": required}, held


def some_real(rng):
    """Return a column without a grid, in a few narrow ranges; one column in three has whole numbers."""
    if rng.random() < 1 / 3:
        low = int(rng.integers(0, 2))
        return Numeric(low, low + int(rng.integers(1, 3)), integer=True)
    low = float(rng.choice([0.0, 0.5, 1.0]))
    return Numeric(low, low + float(rng.choice([0.5, 1.0])))


def some_strict_comparisons(rng, columns, values):
    """Return conditions without equality, which hold between values of grids alone where several columns are."""
    names, required, held = [*columns], [], np.ones((), np.bool_)
    for _ in range(rng.integers(3, 7)):
        first, other = (str(name) for name in rng.choice([*names, "0", "1", "1.25"], 2, replace=False))
        if first not in values and other not in values:
            continue
        sides = [values[name] if name in values else float(name) for name in (first, other)]
        required.append(f"{first} < {other}" if first in values else f"{other} > {first}")
        held = held & (sides[0] < sides[1])
    return {"require": required}, held


def check(make, some_rules, seeds):
    outcomes = set()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        columns, values = some_columns(rng, make)
        rules, held = some_rules(rng, columns, values)

        with nullcontext() if held.any() else pytest.raises(SchemaError, match="satisf"):
            Schema(columns, rules=Rules(**rules))
        outcomes.add(bool(held.any()))
    assert outcomes == {False, True}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [some_number, some_number_or_real, some_time])
def test_orders_are_refused_exactly_if_no_row_is_in_them(make):
    check(make, some_orders, range(80))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [some_number, some_number_or_real, some_time])
def test_comparisons_are_refused_exactly_if_no_row_satisfies_them(make):
    check(make, some_comparisons, range(8))


@pytest.mark.filterwarnings("error")
def test_strict_comparisons_of_numbers_without_a_grid_are_refused_exactly_if_no_row_satisfies_them():
    check(some_real, some_strict_comparisons, range(150))


@pytest.mark.thorough
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [some_number, some_number_or_real, some_time])
def test_more_comparisons_are_refused_exactly_if_no_row_satisfies_them(make):
    check(make, some_comparisons, range(8, 60))


def test_orders_of_four_grids_that_some_row_satisfies_pass():
    columns = {
        "a": Numeric(0, 7, decimals=3),
        "b": Numeric(-3, 9, integer=True),
        "c": Numeric(0.05, 8.05, step=0.25),
        "d": Numeric(0, 8.3, decimals=1),
    }

    Schema(columns, rules=Rules(order=[["a", "b", "d"], ["a", "c", "d"]]))
    with pytest.raises(SchemaError, match="order 'a <= b <= d'"):
        Schema(
            columns | {"b": Numeric(9, 9, integer=True)},
            rules=Rules(order=[["a", "b", "d"], ["a", "c", "d"]]),
        )


def test_numbers_of_any_precision_stand_beside_those_on_a_grid():
    columns = {"a": Numeric(0.1, 0.1), "b": Numeric(0, 0.1, decimals=1), "c": Numeric(0.0, 5.0)}

    Schema(columns, rules=Rules(order=[["a", "b"]]))
    Schema(columns, rules=Rules(require=["a <= b", "c > b", "c < 0.2"]))
    with pytest.raises(SchemaError, match="satisf"):
        Schema(columns, rules=Rules(require=["a < b"]))


def test_an_order_that_only_rows_of_one_kind_satisfy_passes_however_long_it_is():
    columns = {f"x{place}": Numeric(place, 1_000, integer=True) for place in range(9)}

    Schema(columns | {"x9": Numeric(-50, 8, integer=True)}, rules=Rules(order=[[*columns, "x9"]]))
    with pytest.raises(SchemaError, match="satisf"):
        Schema(columns | {"x9": Numeric(-50, 7, integer=True)}, rules=Rules(order=[[*columns, "x9"]]))


def test_times_with_a_zone_of_several_resolutions_are_compared_as_points_in_time():
    begin = dt.datetime(2020, 3, 1, 0, 30, tzinfo=dt.UTC)
    hours = Datetime(begin, begin + dt.timedelta(hours=9), timezone="Europe/Paris", resolution="hour")
    seconds = Datetime(begin, begin + dt.timedelta(hours=1), timezone="Asia/Kolkata", resolution="second")
    late = Datetime(begin + dt.timedelta(hours=9), begin + dt.timedelta(hours=9), timezone="UTC")

    Schema({"a": hours, "b": seconds}, rules=Rules(require=["a = b"]))
    Schema({"a": hours, "b": seconds}, rules=Rules(order=[["a", "b"]]))
    with pytest.raises(SchemaError, match="satisf"):
        Schema({"a": late, "b": seconds}, rules=Rules(order=[["a", "b"]]))


def test_of_many_unlike_grids_some_shared_values_are_tried_and_prove_nothing():
    columns = {
        f"x{i}": Numeric(0, 10_000, step=step) for i, step in enumerate((2, 3, 5, 7, 11, 13, 17, 19, 23, 29))
    }

    points, are_enough = deciding_points(columns, [])

    # Of ten columns any thousand sets have shared values.
    assert not are_enough
    assert all(2 <= p.size <= 1_002 for p in points.values())
