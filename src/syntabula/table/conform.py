"""Bring decoded columns to the types of the original table, as far as these can hold their values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.object_columns import exact_integers, object_array
from syntabula.table.raw import PhysicalType, RawColumn

_DAY = 86_400_000_000
_EXACT = 2**53


def conform(column: RawColumn, physical: PhysicalType | None) -> RawColumn:
    """Return a column with the physical type of the original.

    Args:
        column: Column to convert.
        physical: Type of the original; None if it had no such column.

    Returns:
        The column with `physical`; the column as it is where that type cannot hold its values, for instance
        fractions for integers. A number written with a fixed count of decimals becomes exactly that decimal.
    """
    if physical is None:
        return column
    values = _converted(column, physical)
    if values is None:
        return column
    if physical.kind == "datetime" and (physical.timezone is None) != (column.physical.timezone is None):
        return column
    return RawColumn(values, column.missing, physical)


def _converted(column: RawColumn, physical: PhysicalType) -> NDArray[Any] | None:
    values = column.values
    match column.physical.kind, physical.kind:
        case a, "decimal" if a in ("integer", "float", "decimal"):
            return _decimals(column, physical)
        case a, b if a == b:
            return values
        case "float", "integer":
            known = np.where(column.missing, 0.0, values)
            whole = (np.rint(known) == known).all() and (np.abs(known) <= _EXACT).all()
            return known.astype(np.int64) if whole else None
        case "integer", "float":
            floats = values.astype(np.float64)
            return floats if (np.abs(floats[~column.missing]) <= _EXACT).all() else None
        case "decimal", "integer":
            present: list[Any] = np.where(column.missing, 0, values).tolist()
            return exact_integers([int(v) for v in present]) if all(v == int(v) for v in present) else None
        case "decimal", "float":
            return np.where(column.missing, 0, values).astype(np.float64)
        case "date", "datetime":
            return values * _DAY
        case "datetime", "date":
            return values // _DAY
    return None


def _decimals(column: RawColumn, physical: PhysicalType) -> NDArray[Any] | None:
    known: list[Any] = np.where(column.missing, 0, column.values).tolist()
    # The shortest text of a float is the decimal that it stands for.
    decimals = [Decimal(repr(v)) if isinstance(v, float) else Decimal(v) for v in known]
    if not all(d.is_finite() for d in decimals):
        return None
    if physical.scale is not None and physical.scale >= 0:
        unit = Decimal(1).scaleb(-physical.scale)
        rounded = [round_to(d, unit) for d in decimals]
        return None if None in rounded else object_array(rounded)
    return object_array(decimals)


def round_to(value: Decimal, unit: Decimal) -> Decimal | None:
    """Round to a multiple of a power of ten, whatever the precision; None if even 76 digits are too few."""
    from decimal import Context, InvalidOperation

    try:
        return value.quantize(unit, context=Context(prec=76))
    except InvalidOperation:
        return None


def narrowest(column: RawColumn, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return an integer dtype if it can hold the column's present values, else the dtype of its values."""
    present = column.values[~column.missing]
    info = np.iinfo(dtype)
    if not present.size or (int(present.min()) >= info.min and int(present.max()) <= info.max):
        return dtype
    return column.values.dtype


def as_integers(column: RawColumn, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values of an integer type, zero where missing."""
    return np.where(column.missing, column.values.dtype.type(0), column.values).astype(
        narrowest(column, dtype)
    )
