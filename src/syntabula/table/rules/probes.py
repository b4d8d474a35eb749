"""Rows of a domain on which rules are tried, without any data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.uniform import integer_dtype
from syntabula.table.coding.column_codes import decode_labels
from syntabula.table.raw import RawColumn
from syntabula.table.rules.computed import as_declared
from syntabula.table.rules.evaluation import Cells, rows_database, values_of
from syntabula.table.rules.expressions import Expression
from syntabula.table.schema.columns import Column, Ordered

MOST_ROWS = 20_000
_MOST_VALUES = 300
_STRIDES = (1, 7919, 104_729, 1_299_709, 15_485_863, 179_424_673, 32_452_843, 982_451_653)
"""Primes: rows that step through the values of each column in another one cover their combinations evenly."""


def bases(columns: Sequence[str], derived: Mapping[str, Expression]) -> list[str]:
    """Return the columns that some columns follow from, in the end: those that are not derived."""
    found: dict[str, None] = {}
    left = list(columns)
    while left:
        name = left.pop(0)
        if name in derived:
            left += derived[name].columns
        else:
            found[name] = None
    return [*found]


def tried_values(
    columns: Mapping[str, Column], expression: Expression, derived: Mapping[str, Expression]
) -> RawColumn:
    """Return an expression's values on rows that cover the domains of its columns; no cell of them is missing."""
    names = bases(expression.columns, derived)
    literals = [*expression.literals, *(x for n in derived for x in derived[n].literals)]
    values = {name: domain_values(columns[name], literals) for name in names}
    sizes = [cells.missing.size for cells in values.values()]
    n_rows = min(math.prod(sizes), MOST_ROWS)
    cells = {
        name: column.take(rows)
        for (name, column), rows in zip(values.items(), combinations_of(sizes, n_rows), strict=True)
    }
    with rows_database() as database:
        full, _ = completed(database, columns, cells, n_rows, derived)
        (found,) = values_of(database, columns, full, n_rows, [expression])
    return found


def completed(
    database: Any, columns: Mapping[str, Column], cells: Cells, n_rows: int, derived: Mapping[str, Expression]
) -> tuple[dict[str, RawColumn], NDArray[np.bool_]]:
    """Return rows with the derived columns that follow from theirs, and in which rows these are within their domains."""
    found, fits = dict(cells), np.ones(n_rows, np.bool_)
    for name, one in derived.items():
        if set(bases([name], derived)) <= set(cells):
            (raw,) = values_of(database, columns, found, n_rows, [one])
            found[name], within = as_declared(columns[name], raw)
            fits &= within
    return found, fits


def combinations_of(sizes: Sequence[int], n_rows: int) -> list[NDArray[np.intp]]:
    """Return for each column the position of its value in each row: all combinations if there are so few."""
    if math.prod(sizes) <= n_rows:
        return [places.ravel() for places in np.indices(sizes, dtype=np.intp)] if sizes else []
    rows = np.arange(n_rows, dtype=np.int64)
    strides = [_STRIDES[i % len(_STRIDES)] for i in range(len(sizes))]
    # The second term keeps columns of equal sizes from moving in step.
    return [
        ((rows * stride) // (1 + i) % size).astype(np.intp)
        for i, (stride, size) in enumerate(zip(strides, sizes, strict=True))
    ]


def domain_values(column: Column, literals: Sequence[str]) -> RawColumn:
    """Return present values of a column that cover its domain: all if they are few."""
    if isinstance(column, Ordered):
        lower, upper, whole = column.span()
        points = covering_points(lower, upper, whole, literal_points(column, literals))
        values, physical = column.values(points)
        return RawColumn(values, np.zeros(points.size, np.bool_), physical)
    n_labels = column.n_values
    codes = np.arange(n_labels)
    if n_labels > _MOST_VALUES:
        labels = [str(label) for label in getattr(column, "labels", ())]
        named = [code for code, label in enumerate(labels) if label in literals]
        codes = np.unique([*np.linspace(0, n_labels - 1, _MOST_VALUES).astype(int), *named])
    return decode_labels(column, codes)


def covering_points(lower: Any, upper: Any, whole: bool, near: Sequence[Fraction]) -> NDArray[Any]:
    """Return points of an interval: all if they are few, else evenly spaced ones, both ends and those near others."""
    if whole and upper - lower < _MOST_VALUES:
        return np.array([*range(lower, upper + 1)], dtype=integer_dtype(lower, upper))
    step = Fraction(upper - lower) / (_MOST_VALUES - 1) if whole else 0
    if whole:
        even = [lower + math.floor(step * i) for i in range(_MOST_VALUES)]
        close = [math.floor(x) + d for x in near for d in (-1, 0, 1, 2)]
        listed = [p for p in (*even, *close, upper) if lower <= p <= upper]
        return np.array(sorted({*listed}), dtype=integer_dtype(lower, upper))
    width = max(upper - lower, 0.0)
    close_reals = [float(x) + d for x in near for d in (-1e-3 * width, 0.0, 1e-3 * width)]
    reals = np.array([*np.linspace(lower, upper, _MOST_VALUES), *close_reals])
    return np.unique(np.clip(reals, lower, upper))


def literal_points(column: Ordered, literals: Sequence[str]) -> list[Fraction]:
    """Return the points of a column that constants of an expression may mean."""
    found: list[Fraction] = []
    for text in literals:
        try:
            value: Any = float(text) if _is_number(text) else text
            found += column.written(int(value) if isinstance(value, float) and value.is_integer() else value)
        except (TypeError, ValueError, OverflowError):
            continue
    return found


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
