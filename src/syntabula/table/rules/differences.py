"""Days and times that lie near each other, and numbers that count from one to another, as a delay, a stay or an age."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.raw import RawTable
from syntabula.table.rules.evaluation import rows_database, values_of
from syntabula.table.rules.expressions import Expression, alias
from syntabula.table.rules.following import TRIED_ROWS, Cells, varies
from syntabula.table.schema.columns import MICROSECONDS, Categorical, Column, Date, Datetime, Numeric
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


def differences(cells: Cells, schema: Schema, *, table: RawTable) -> Iterator[tuple[str, str]]:
    """Yield columns that count the units from a day or time to another one in all tried rows, as expressions."""
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
            name: texts
            for name in counts
            if name not in taken
            and np.array_equal(cells[name][1], gaps)
            and (texts := _fitting(cells[name][0][rows], apart, first, last))
        }
        if fitting:
            for name, expression in _exact(fitting, cells, schema, table, rows, (first, last)):
                taken.add(name)
                yield name, expression


def near_times(cells: Cells, schema: Schema, bound: Collection[frozenset[str]]) -> list[str]:
    """Return conditions that state how near to each other two columns of days or times are in all rows.

    Args:
        cells: The columns.
        schema: Their declarations.
        bound: Pairs of columns whose distance other rules learn.
    """
    times = [n for n in cells if isinstance(schema[n], Date | Datetime) and varies(*cells[n])][:_MOST_TIMES]
    found: list[str] = []
    reached: list[set[str]] = [{*pair} for pair in bound]
    for first, last in combinations(times, 2):
        zones = {column.timezone for n in (first, last) if isinstance(column := schema[n], Datetime)}
        if len(zones) > 1 or any({first, last} <= group for group in reached):
            continue
        both = ~(cells[first][1] | cells[last][1])
        one, other = (_microseconds(n, cells, schema)[both] for n in (first, last))
        if not both.any():
            continue
        apart = other - one
        low, high, span = int(apart.min()), int(apart.max()), min(int(np.ptp(one)), int(np.ptp(other)))
        if not 0 < high - low <= _NEAR * span:
            continue
        grain = max(MICROSECONDS[_resolution(schema[name])] for name in (first, last))
        unit, length = _step(high - low, grain)
        ends = {">=": low // length, "<=": -(-high // length)}
        found += [
            f"{identifier(last)} {sign} {identifier(first)} {'-' if end < 0 else '+'} INTERVAL {abs(end)} {unit}"
            for sign, end in ends.items()
        ]
        reached.append({first, last})
    return found


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


def _fitting(values: NDArray[Any], apart: NDArray[np.float64], first: str, last: str) -> list[str]:
    """Return expressions that may give a column, by the lengths between two times [rows]."""
    found = []
    for unit, length in _UNITS.items():
        for offset in _OFFSETS:
            if np.abs(values - offset - apart / length).max(initial=0.0) < _SLACK:
                counted = [
                    f"{function}('{unit}', {identifier(first)}, {identifier(last)})" for function in _COUNTED
                ]
                found += [text + (f" + {offset}" if offset else "") for text in counted]
    return found


def _exact(
    fitting: dict[str, list[str]],
    cells: Cells,
    schema: Schema,
    table: RawTable,
    rows: NDArray[np.intp],
    times: tuple[str, str],
) -> Iterator[tuple[str, str]]:
    """Yield for each column the first expression that gives it in some rows."""
    places = {identifier(name): alias([*schema.columns].index(name)) for name in times}
    texts = [*dict.fromkeys(text for tried in fitting.values() for text in tried)]
    expressions = []
    for text in texts:
        sql = text
        for name, place in places.items():
            sql = sql.replace(name, place)
        expressions.append(Expression(text, times, sql))
    few = {name: table.columns[name].take(rows) for name in times}
    with rows_database() as database:
        given = values_of(database, schema.columns, few, rows.size, expressions)
    by_text = dict(zip(texts, given, strict=True))
    for name, tried in fitting.items():
        for text in tried:
            if np.array_equal(by_text[text].values, cells[name][0][rows]):
                yield name, text
                break
