"""Numbers that are products of others, such as a price times a quantity, less a discount."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import identifier
from syntabula.table.new_keys import FEW_VALUES
from syntabula.table.rules.following import Cells
from syntabula.table.schema.columns import Categorical, Numeric
from syntabula.table.schema.schema import Schema

_LOOKED_AT = 64
"""Rows on which products are looked for before all rows are checked."""
_MOST_FACTORS = 40
_MOST_OF_THREE = 20
"""Factors up to which products of three are looked for."""
_LEAST_SIZE = 20
"""Units of its rounding that the usual product must have: of smaller ones, rounding leaves too little to tell."""
_SLACK = 1e-6
_THIRD = {"{0}": (0.0, 1.0), "(1 - {0})": (1.0, -1.0), "(1 + {0})": (1.0, 1.0)}
_PERCENT = {"(1 - {0} / 100)": (1.0, -0.01), "(1 + {0} / 100)": (1.0, 0.01)}
"""Forms of a third factor, as discounts and taxes have them: a constant, and what a column is multiplied by."""

Floats = NDArray[np.float64]


def products(cells: Cells, schema: Schema, *, holds: Callable[[str, str], bool]) -> Iterator[tuple[str, str]]:
    """Yield columns that are the product of two or three others in every row, rounded as they are, with what gives them.

    Args:
        cells: The columns; those with missing cells are left out.
        schema: Their declarations.
        holds: Whether an expression gives a column in every row.
    """
    factors = {n: v.astype(np.float64) for n, (v, gaps) in cells.items() if _is_factor(n, v, gaps, schema)}
    targets = {n: v for n, v in factors.items() if _is_target(n, v, schema)}
    if len(factors) < 3 or len(factors) > _MOST_FACTORS or not targets:
        return
    rows = _telling(factors)
    few = {n: v[rows] for n, v in factors.items()}
    taken: set[str] = set()
    for name, used, expression, value in _tried(few, factors, targets, schema):
        if name in taken or taken & used:
            continue
        forms = _forms(expression, value, factors[name], schema[name])
        if (found := next((text for text in forms if holds(name, text)), None)) is not None:
            taken.add(name)
            yield name, found


def _tried(
    few: Mapping[str, Floats], factors: Mapping[str, Floats], targets: Mapping[str, Floats], schema: Schema
) -> Iterator[tuple[str, set[str], str, Floats]]:
    """Yield products that fit in the first rows: a column, its factors, their product as SQL and in all rows."""
    names = [*targets]
    wanted = np.stack([few[n] for n in names])
    slack = np.array([_unit(schema[n]) for n in names])[:, None] * (0.5 + _SLACK)
    pairs = [*combinations(few, 2)]
    for a, b in pairs:
        near = (np.abs(wanted - few[a] * few[b]) <= slack).all(axis=1)
        for place in np.flatnonzero(near):
            if names[place] not in (a, b):
                text = f"{identifier(a)} * {identifier(b)}"
                yield names[place], {a, b}, text, factors[a] * factors[b]
    if len(few) > _MOST_OF_THREE:
        return
    forms = {**_THIRD, **_PERCENT}
    place_of = {name: place for place, name in enumerate(few)}
    for c, third in few.items():
        scales = np.stack([start + by * third for start, by in forms.values()])
        for a, b in pairs:
            if c in (a, b):
                continue
            made = few[a] * few[b] * scales
            near = (np.abs(wanted[:, None, :] - made) <= slack[:, :, None]).all(axis=2)
            for place, form in zip(*np.nonzero(near), strict=True):
                # A product of three columns as they are is one, whichever is the third.
                is_last = form or place_of[c] > max(place_of[a], place_of[b])
                if names[place] not in (a, b, c) and is_last:
                    shape, (start, by) = [*forms.items()][form]
                    text = f"{identifier(a)} * {identifier(b)} * {shape.format(identifier(c))}"
                    yield names[place], {a, b, c}, text, factors[a] * factors[b] * (start + by * factors[c])


def _is_factor(name: str, values: NDArray[Any], gaps: NDArray[np.bool_], schema: Schema) -> bool:
    column = schema[name]
    numbers = isinstance(column, Numeric) or (
        isinstance(column, Categorical) and column.label_type is not str
    )
    if not numbers or gaps.any() or values.dtype.kind not in "iuf":
        return False
    # Products of numbers too large to be squared may be infinite.
    return bool(np.unique(values).size > 1 and np.abs(values.astype(np.float64)).max() < 2.0**50)


def _is_target(name: str, values: Floats, schema: Schema) -> bool:
    if not isinstance(schema[name], Numeric) or np.unique(values).size <= FEW_VALUES:
        return False
    return bool(np.median(np.abs(values)) >= _LEAST_SIZE * _unit(schema[name]))


def _unit(column: object) -> float:
    """Return the step of a column's values; a small part of usual ones if it has none."""
    assert isinstance(column, Numeric)
    return float(column.unit) if column.grid() is not None else _SLACK


def _telling(factors: Mapping[str, Floats]) -> NDArray[np.intp]:
    """Return the rows in which fewest numbers are 0 or 1, by which products differ least."""
    plain = sum(((v == 0) | (v == 1)).astype(np.intp) for v in factors.values())
    return np.argsort(plain, kind="stable")[:_LOOKED_AT]


def _forms(expression: str, value: Floats, given: Floats, column: object) -> list[str]:
    """Return expressions that may give a column in all rows: as it is, where halves are rounded to even, or rounded up.

    A half may be a little less in floating point.
    """
    assert isinstance(column, Numeric)
    if column.grid() is None:
        return [expression] if np.allclose(value, given, rtol=1e-9, atol=1e-9) else []
    unit = _unit(column)
    if (np.abs(value - given) > unit * (0.5 + _SLACK)).any():
        return []
    decimals = 0 if column.integer else column.decimals
    if decimals is None:
        return [expression]
    scale = 10**decimals
    return [
        expression,
        f"round({expression}, {decimals})",
        f"floor({expression} * {scale} + {0.5 + _SLACK}) / {scale}",
    ]
