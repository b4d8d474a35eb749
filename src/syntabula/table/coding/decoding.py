"""Codes of one column to values of its declared kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.bins.spread import Spread, normal_within, uniform_within
from syntabula.bins.uniform import Bins, integer_dtype
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.schema.column_codes import Binned, all_labels, n_codes
from syntabula.table.schema.columns import (
    MICROSECONDS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Identifier,
)


def decode_column(
    column: Column,
    codes: NDArray[Any],
    bins: Bins | None,
    spread: Spread | None,
    rng: np.random.Generator,
) -> RawColumn:
    """Turn codes [n] into values of the declared kind.

    Args:
        column: Its declaration.
        codes: Codes as `encode_column` gives them.
        bins: Its bins if it is ordered, else None.
        spread: How values lie within them; evenly if None.
        rng: Source of ordinary randomness for values within bins.
    """
    missing = np.zeros(codes.size, dtype=np.bool_)
    if column.nullable:
        missing = codes == n_codes(column, bins) - 1
    # Missing cells get some valid content, so that every array has its plain type.
    index = np.where(missing, 0, codes).astype(np.intp)
    if isinstance(column, Categorical):
        return _labels(column, index, missing)
    if isinstance(column, Boolean):
        return RawColumn(index.astype(np.bool_), missing, PhysicalType("boolean", column.spelling))
    assert isinstance(column, Binned)
    assert bins is not None
    points = normal_within(bins, spread, index, rng) if spread else uniform_within(bins, index, rng)
    if isinstance(column, Date):
        return RawColumn(points, missing, PhysicalType("date", "date"))
    if isinstance(column, Datetime):
        zone = column.timezone
        name = "datetime64[us]" if zone is None else f"datetime64[us, {zone}]"
        physical = PhysicalType("datetime", name, timezone=zone)
        return RawColumn(points * MICROSECONDS[column.resolution], missing, physical)
    if column.integer:
        return RawColumn(points, missing, PhysicalType("integer", str(points.dtype)))
    if column.decimals is not None:
        points = points / 10.0**column.decimals
    return RawColumn(points, missing, PhysicalType("float", "float64"))


def _labels(column: Categorical, index: NDArray[np.intp], missing: NDArray[np.bool_]) -> RawColumn:
    labels = all_labels(column)
    if column.label_type is str:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return RawColumn(array[index], missing, PhysicalType("text", "str"))
    if column.label_type is bool:
        return RawColumn(np.array(labels, dtype=np.bool_)[index], missing, PhysicalType("boolean", "bool"))
    if column.label_type is float:
        return RawColumn(np.array(labels, dtype=np.float64)[index], missing, PhysicalType("float", "float64"))
    numbers = [int(v) for v in labels]
    values = np.array(numbers, dtype=integer_dtype(min(numbers), max(numbers)))
    return RawColumn(values[index], missing, PhysicalType("integer", str(values.dtype)))


def surrogates(column: Identifier, missing: NDArray[np.bool_], first_row: int) -> RawColumn:
    """Return running numbers, written as the column declares.

    Args:
        column: The declaration.
        missing: Which cells are [n].
        first_row: Position of the first of these rows in the whole table; it would have this number plus 1.
    """
    numbers = range(first_row + 1, first_row + missing.size + 1)
    if column.integer:
        return RawColumn(np.array(numbers, dtype=np.int64), missing, PhysicalType("integer", "int64"))
    width = column.width or 1
    values = np.empty(missing.size, dtype=object)
    values[:] = [f"{column.prefix}{i:0{width}d}" for i in numbers]
    return RawColumn(values, missing, PhysicalType("text", "str"))
