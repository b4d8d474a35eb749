"""Values that stand for missing cells in tables that store values, as -999 does in a column of numbers."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.raw import PhysicalKind, PhysicalType, RawColumn, RepeatedTexts
from syntabula.table.schema.columns import MICROSECONDS, Column, Identifier, Ordered
from syntabula.table.schema.schema import Schema
from syntabula.table.schema.time_columns import microseconds, time_zone

_NUMBERS = ("integer", "float", "decimal")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MOST = 2**127
"""No type of integers holds more."""
_DAY = MICROSECONDS["day"]


@lru_cache(maxsize=1024)
def missing_value(column: Column) -> int | float | None:
    """Return the value that the declared text for missing cells writes, in the units of raw columns.

    Args:
        column: The declaration.

    Returns:
        The value; None if there is no such text, if it writes no finite value of the column's type, or if values are
        texts.
    """
    text = column.missing_as
    if text is None or isinstance(column, Identifier) or not re.search("[0-9]", text):
        return None
    beside = isinstance(column, Ordered) and column.beside
    if beside or column.stored.kind in ("text", "boolean"):
        return None
    from syntabula.table.files.declared_cells import read_texts

    read = read_texts({"x": [text]}, Schema({"x": replace(column, missing_as=None)}))[0]["x"]
    if read.missing[0]:
        return None
    value = read.values[0]
    if isinstance(value, Decimal):
        if abs(value) > _MOST:
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    found: int | float = value.item()
    return found if math.isfinite(found) else None


def without_missing_values(raw: RawColumn, column: Column) -> RawColumn:
    """Return a column with the cells that hold the value of missing ones as missing."""
    value = missing_value(column)
    if value is None or isinstance(raw.cells, RepeatedTexts):
        return raw
    zone, own = column.stored.timezone, raw.physical.timezone
    if zone is None and own is not None:
        # Read by its texts, which are its zone's wall-clock times.
        return raw
    if zone is not None and own is None:
        value = _wall_clock(value, zone)
    sought = None if value is None else _stored(value, column.stored.kind, raw.physical.kind)
    if sought is None:
        return raw
    held = np.asarray(raw.cells == _as_held(sought, raw.physical), dtype=np.bool_)
    return replace(raw, missing=raw.missing | held) if held.any() else raw


def with_missing_value(physical: PhysicalType, column: Column) -> PhysicalType:
    """Return the type of a column in a table that stores values, with the value of its missing cells if it can hold it.

    Else these are stored as missing: integers from 0 on that need all 64 bits have no room for -999, and a zone may take
    the end of the calendar beyond it.
    """
    value = missing_value(column)
    found = None if value is None else _stored(value, column.stored.kind, physical.kind)
    if found is None:
        return physical
    if physical.timezone is not None and _wall_clock(found, physical.timezone) is None:
        return physical
    if physical.kind == "integer":
        least, most = physical.limits
        if not isinstance(found, int) or not least <= found <= most:
            return physical
    return replace(physical, missing_value=found)


def filled(cells: NDArray[Any], missing: NDArray[np.bool_], physical: PhysicalType) -> RawColumn:
    """Return a column of a type with the value of missing cells in these, if the type states one, which it holds."""
    value = physical.missing_value
    if value is None or not missing.any():
        return RawColumn(cells, missing, physical)
    if cells.dtype.kind in "iu":
        held = np.iinfo(cells.dtype)
        if not held.min <= value <= held.max:
            # The type holds this value beside all others.
            cells = cells.astype(np.uint64 if physical.limits[0] == 0 else np.int64)
    return RawColumn(np.where(missing, cells.dtype.type(value), cells), np.zeros_like(missing), physical)


def _wall_clock(moment: int | float, timezone: str) -> int | None:
    """Return the wall-clock time of a zone at a moment in UTC, in microseconds; None if one is beyond the calendar."""
    try:
        local = (_EPOCH + dt.timedelta(microseconds=moment)).astimezone(time_zone(timezone))
    except OverflowError:
        return None
    return microseconds(local.replace(tzinfo=None))


def _as_held(value: int | float, physical: PhysicalType) -> int | float | Decimal:
    """Return a value as cells of a type hold it: the decimal that it writes, or what a narrow float keeps of it."""
    if physical.kind == "decimal":
        return Decimal(repr(value))
    narrow = physical.narrow_float
    with np.errstate(over="ignore"):
        return value if narrow is None else float(np.dtype(narrow).type(value))


def _stored(value: int | float, of: PhysicalKind, kind: PhysicalKind) -> int | float | None:
    """Return a value of one kind as one of another kind; None if it is none."""
    if of in _NUMBERS and kind in _NUMBERS:
        return value
    if of == kind:
        return value
    if (of, kind) == ("date", "datetime"):
        return value * _DAY
    if (of, kind) == ("datetime", "date"):
        return value // _DAY if value % _DAY == 0 else None
    return None
