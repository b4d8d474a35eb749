"""Computed cells against the declaration of their column: their type and bounds, and whether they equal given cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.coding.column_codes import decode_labels, encode_column, present_cells
from syntabula.table.raw import PhysicalKind, RawColumn
from syntabula.table.schema.columns import (
    MICROSECONDS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Numeric,
    Ordered,
    Time,
)

_CLOSE = 1e-9
"""Relative difference up to which numbers without a grid count as equal."""

Flags = NDArray[np.bool_]


def as_declared(column: Column, raw: RawColumn) -> tuple[RawColumn, Flags]:
    """Return computed values with the type, the rounding and the missing cells that a column declares.

    Args:
        column: The declaration.
        raw: The values, of a kind that the column accepts.

    Returns:
        The column, and which cells are in its domain. Values between the bounds and half a step beyond are rounded to the
        bound.
    """
    present = present_cells(raw)
    fits = present | column.nullable
    if isinstance(column, Ordered):
        points, _, _ = column.points(raw.values[present], raw.physical.kind)
        values, physical = column.values(points)
        filled = np.zeros(raw.missing.size, dtype=values.dtype)
        filled[present] = values
        fits[present] &= _in_bounds(column, raw.values[present], raw.physical.kind)
        return RawColumn(filled, ~present, physical), fits
    encoded = encode_column(column, raw, None)
    found = decode_labels(column, np.where(encoded.valid, encoded.codes, 0))
    # An unlisted label of a nullable column would become missing.
    return found, np.asarray(fits & encoded.valid & (found.missing == ~present))


def _in_bounds(column: Ordered, values: NDArray[Any], kind: PhysicalKind) -> Flags:
    slack: float | int = 0
    if isinstance(column, Numeric):
        numbers = values.astype(np.float64) if kind == "decimal" else values
        slack = 0 if column.grid() is None else float(column.unit / 2)
        if kind == "integer" and column.unit <= 1:
            slack = 0
        lower, upper = column.lower, column.upper
    elif isinstance(column, Time):
        points, unit = column.grid(), MICROSECONDS[column.resolution]
        since = column.since_midnight(values, kind)[0]
        return np.asarray((since >= points[0] * unit) & (since < (points[1] + 1) * unit))
    elif isinstance(column, Date):
        days = values // MICROSECONDS["day"] if kind == "datetime" else values
        (first, last), periods = column.grid(), column.periods(days)
        return np.asarray((periods >= first) & (periods <= last))
    else:
        numbers = values if kind == "datetime" else values * MICROSECONDS["day"]
        lower, upper = bound_as_number(column, "lower"), bound_as_number(column, "upper")
        assert isinstance(column, Datetime)
        unit = MICROSECONDS[column.resolution]
        return np.asarray((numbers >= lower) & (numbers < upper + unit))
    return np.asarray((numbers >= lower - slack) & (numbers <= upper + slack))


def equal_cells(column: Column, computed: RawColumn, raw: RawColumn) -> Flags:
    """Return where computed cells equal those of a table; both missing is equal."""
    here = present_cells(raw)
    both = here & ~computed.missing
    same = np.asarray(here == ~computed.missing)
    if isinstance(column, Categorical | Boolean):
        own, _ = as_declared(column, raw)
        same[both] = own.values[both] == computed.values[both]
        return same
    if isinstance(column, Numeric) and column.grid() is None:
        found, given = computed.values[both].astype(np.float64), raw.values[both].astype(np.float64)
        same[both] = np.abs(found - given) <= _CLOSE * np.maximum(1.0, np.abs(given))
        return same
    assert isinstance(column, Ordered)
    points, _, _ = column.points(raw.values[both], raw.physical.kind)
    same[both] = column.values(points)[0] == computed.values[both]
    return same


def bound_as_number(column: Ordered, side: str) -> Any:
    """Return a bound as a number; of days and times, in microseconds since 1970."""
    if isinstance(column, Date):
        day = column.first_days(np.array(column.grid()))[int(side == "upper")]
        return int(day) * MICROSECONDS["day"]
    if isinstance(column, Datetime):
        return column.grid()[side == "upper"] * MICROSECONDS[column.resolution]
    return getattr(column, side)


def longest_text(column: Column) -> int | None:
    """Return how many characters of a computed text decide which category it is; None if it is no text."""
    if isinstance(column, Categorical) and column.label_type is str:
        return max(len(str(label)) for label in column.categories) + 1
    return None
