"""Days and times that lie near each other, and numbers that count from one to another, as a delay, a stay or an age."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.raw import RawTable
from syntabula.table.rules.distances import Distance, add_near, in_orders, root_of
from syntabula.table.rules.evaluation import rows_database, values_of
from syntabula.table.rules.expressions import Expression, alias
from syntabula.table.rules.following import TRIED_ROWS, Cells, varies
from syntabula.table.rules.rules import Rules
from syntabula.table.rules.windows import Window
from syntabula.table.schema.columns import MICROSECONDS, Categorical, Column, Date, Datetime, Numeric, Time
from syntabula.table.schema.schema import Schema

_DAY = MICROSECONDS["day"]
_UNITS = {
    "second": MICROSECONDS["second"],
    "minute": MICROSECONDS["minute"],
    "hour": MICROSECONDS["hour"],
    "day": _DAY,
    "week": 7 * _DAY,
    "month": 30.4375 * _DAY,
    "year": 365.25 * _DAY,
}
_WHOLE_UNITS = {unit: int(_UNITS[unit]) for unit in ("second", "minute", "hour", "day")}
_COUNTED = ("date_diff", "date_sub")
"""Functions of SQL that count the beginnings of units between two times, and the whole units that have passed."""
_OFFSETS = (0, 1)
"""Both days of a stay are counted, or one of them."""
_SLACK = 1.2
"""A count differs from the length in units by less than one, and by a little more in months and years."""
_MOST_TIMES = 12
"""Columns of days and times that are looked at."""
_NEAR = 1 / 20
"""Two columns are near each other if their distances span no more than this part of what they span themselves."""
_STEPS = 20
"""Steps, at least, in which the bounds of a distance are stated."""


def differences(cells: Cells, schema: Schema, *, table: RawTable) -> Iterator[tuple[str, Expression]]:
    """Yield columns that count the units from a day or time to another one in all tried rows, with what gives them."""
    times = [n for n in cells if isinstance(schema[n], Date | Datetime) and varies(*cells[n])][:_MOST_TIMES]
    counts = [n for n in cells if _is_count(schema[n], cells[n][0]) and varies(*cells[n])]
    if not counts:
        return
    microseconds = {n: _microseconds(n, cells, schema) for n in times}
    taken: set[str] = set()
    for first, last in permutations(times, 2):
        gaps = cells[first][1] | cells[last][1]
        rows = np.flatnonzero(~gaps)[:TRIED_ROWS]
        apart = (microseconds[last][rows] - microseconds[first][rows]).astype(np.float64)
        fitting = {
            name: templates
            for name in counts
            if name not in taken
            and np.array_equal(cells[name][1], gaps)
            and (templates := _fitting(cells[name][0][rows], apart))
        }
        if fitting:
            for name, expression in _exact(fitting, cells, schema, table, rows, (first, last)):
                taken.add(name)
                yield name, expression


def near_times(
    cells: Cells,
    schema: Schema,
    *,
    order: Sequence[Sequence[str]],
    counted: Collection[frozenset[str]],
    together: Sequence[Sequence[str]],
) -> list[tuple[str, str]]:
    """Return how near to each other two columns of days or times are in all rows, as two conditions each.

    A column is learned as one distance only. So each pair adds a column that no other rule learns to those that are
    learned: the nearest first, and of n times near each other n - 1 pairs.

    Args:
        cells: The columns.
        schema: Their declarations.
        order: Columns in an order, which are learned first.
        counted: Pairs of columns whose difference is derived. They are learned last, so that a further column beside
            one of them could come in between.
        together: Lists of columns that are missing together.
    """
    ordered = {name for names in order for name in names}
    learned_last = {name for pair in counted for name in pair} - ordered
    times = [n for n in cells if isinstance(schema[n], Date | Datetime) and varies(*cells[n])]
    times = [n for n in times if n not in learned_last][:_MOST_TIMES]
    microseconds = {n: _microseconds(n, cells, schema) for n in times}
    # Clock times have no distances.
    of_days = [names for names in order if not any(isinstance(schema[n], Time) for n in names)]
    rules = Rules(order=of_days, together=together, provenance="observed")
    learned = in_orders(rules, schema.columns)
    near: dict[tuple[str, str], tuple[int, int]] = {}
    for first, last in combinations(times, 2):
        zones = {column.timezone for n in (first, last) if isinstance(column := schema[n], Datetime)}
        both = ~(cells[first][1] | cells[last][1])
        joined = {first, last} <= ordered and root_of(first, learned) == root_of(last, learned)
        if joined or len(zones) > 1 or not both.any():
            continue
        one, other = microseconds[first][both], microseconds[last][both]
        apart = other - one
        low, high = int(apart.min()), int(apart.max())
        if 0 < high - low <= _NEAR * min(int(np.ptp(one)), int(np.ptp(other))):
            near[first, last] = low, high

    complete = {n for n in times if not schema[n].nullable}
    found = []
    while pair := _nearest_new(near, learned, complete, together):
        low, high = near.pop(pair)
        before = {**learned}
        add_near(Window(*pair, Fraction(low), Fraction(high)), learned, rules, schema.columns)
        if learned != before:
            found.append(_bounds(*pair, low, high, schema))
    return found


def _nearest_new(
    near: Mapping[tuple[str, str], tuple[int, int]],
    learned: Mapping[str, Distance | None],
    complete: set[str],
    together: Sequence[Sequence[str]],
) -> tuple[str, str] | None:
    """Return the nearest pair that adds a column to those that are learned, or else two columns; None if there is none.

    A column is learned as a distance from one that has a value wherever it has one. One that others are distances from
    may become one, too. Two columns that are missing together come last, as no complete one can be a distance from them.
    """
    adding: list[tuple[str, str]] = []
    from_complete: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for pair in near:
        for start, other in (pair, pair[::-1]):
            taken = root_of(other, learned) != other or root_of(start, learned) == other
            if taken or not (start in complete or any({*pair} <= {*names} for names in together)):
                continue
            (adding if start in learned else from_complete if start in complete else others).append(pair)
    return min(adding or from_complete or others, key=lambda p: near[p][1] - near[p][0], default=None)


def _bounds(first: str, last: str, low: int, high: int, schema: Schema) -> tuple[str, str]:
    """Return conditions that state the least and the largest distance, in microseconds, rounded outwards."""
    grain = max(MICROSECONDS[_resolution(schema[name])] for name in (first, last))
    unit, length = _step(high - low, grain)

    def bound(sign: str, end: int) -> str:
        moved = f"{'-' if end < 0 else '+'} INTERVAL {abs(end)} {unit}"
        return f"{identifier(last)} {sign} {identifier(first)} {moved}"

    return bound(">=", low // length), bound("<=", -(-high // length))


def _step(width: int, grain: int) -> tuple[str, int]:
    """Return the largest unit, of at least a grain, of which a width in microseconds holds enough, with its length."""
    fitting = [(unit, length) for unit, length in _WHOLE_UNITS.items() if length >= grain]
    return next((f for f in reversed(fitting) if width >= _STEPS * f[1]), fitting[0])


def _resolution(column: Column) -> str:
    return column.resolution if isinstance(column, Datetime) else "day"


def _microseconds(name: str, cells: Cells, schema: Schema) -> NDArray[np.int64]:
    found: NDArray[np.int64] = cells[name][0] * (_DAY if isinstance(schema[name], Date) else 1)
    return found


def _is_count(column: Column, values: NDArray[Any]) -> bool:
    """Return whether a column holds numbers; few different ones are drafted as categories."""
    return isinstance(column, Numeric | Categorical) and values.dtype.kind in "iuf"


def _fitting(values: NDArray[Any], apart: NDArray[np.float64]) -> list[str]:
    """Return expressions that may give a column by the lengths between two times [rows], {0} and {1} in them."""
    found = []
    for unit, length in _UNITS.items():
        for offset in _OFFSETS:
            if np.abs(values - offset - apart / length).max(initial=0.0) < _SLACK:
                counted = [f"{function}('{unit}', {{0}}, {{1}})" for function in _COUNTED]
                found += [text + (f" + {offset}" if offset else "") for text in counted]
    return found


def _exact(
    fitting: dict[str, list[str]],
    cells: Cells,
    schema: Schema,
    table: RawTable,
    rows: NDArray[np.intp],
    times: tuple[str, str],
) -> Iterator[tuple[str, Expression]]:
    """Yield for each column the first expression that gives it in some rows."""
    names = [identifier(name) for name in times]
    places = [alias([*schema.columns].index(name)) for name in times]
    templates = [*dict.fromkeys(template for tried in fitting.values() for template in tried)]
    expressions = [Expression(t.format(*names), times, t.format(*places)) for t in templates]
    few = {name: table.columns[name].take(rows) for name in times}
    with rows_database() as database:
        given = values_of(database, schema.columns, few, rows.size, expressions)
    computed = {t: (e, found.values) for t, e, found in zip(templates, expressions, given, strict=True)}
    for name, tried in fitting.items():
        for expression, values in (computed[template] for template in tried):
            if np.array_equal(values, cells[name][0][rows]):
                yield name, expression
                break
