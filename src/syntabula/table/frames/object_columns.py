"""Make raw columns from Python objects, and find the kind of values that a list holds."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import SchemaError
from syntabula.table.raw import PhysicalKind, PhysicalType, RawColumn, RepeatedTexts, sliced
from syntabula.table.schema.clock_columns import microseconds_of_day
from syntabula.table.schema.time_columns import MICROSECOND, microseconds, time_zone

_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.UTC)
_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_EXACT = 2**53
_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}


def object_array(values: list[Any]) -> NDArray[Any]:
    """Return a one-dimensional array of objects, whatever the objects are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def in_microseconds(values: NDArray[Any], unit: str) -> NDArray[Any]:
    """Return times [n] of a unit, "s", "ms", "us" or "ns", in whole microseconds, rounded down."""
    return values // 1000 if unit == "ns" else values * _MICROSECONDS[unit]


def is_missing(value: object) -> bool:
    """Return whether a Python object means a missing cell: None or NaN."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return isinstance(value, Decimal) and value.is_nan()


def column_from_objects(values: NDArray[Any], missing: NDArray[np.bool_], printed: str) -> RawColumn:
    """Find the one kind that all present objects share, without changing any value.

    Args:
        values: Objects of any types [n].
        missing: True where a cell is missing [n].
        printed: The column's type as the source prints it.

    Returns:
        A column of kind "other" if the objects are mixed, nested or not exactly representable, and of kind "text" if
        there are none. Text that is not valid Unicode is unreadable.
    """
    present = values[~missing].tolist()
    types = {*map(type, present)}
    kind, data, timezone = _typed(present, types)
    full: NDArray[Any] = np.zeros(values.size, dtype=data.dtype)
    full[~missing] = data
    physical = PhysicalType(kind, printed, timezone=timezone)
    return text_column(full, missing, physical) if kind == "text" else RawColumn(full, missing, physical)


def text_column(texts: NDArray[Any], missing: NDArray[np.bool_], physical: PhysicalType) -> RawColumn:
    """Return a column of texts [n]; those that are not valid Unicode, which no file can hold, are unreadable."""
    cells = RepeatedTexts.of(texts.tolist(), missing)
    distinct = cells.distinct.tolist()
    try:
        "".join(distinct).encode()
    except UnicodeEncodeError:
        strange = np.array([not is_unicode(text) for text in distinct])
        unreadable = strange[cells.places] & ~missing
        return RawColumn(cells, missing | unreadable, physical, unreadable)
    return RawColumn(cells, missing, physical)


def is_unicode(text: str) -> bool:
    """Return whether a text is valid Unicode; lone surrogates are not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def zone_name(zone: dt.tzinfo | None) -> str | None:
    """Return the name of a time zone: "Europe/Paris", "UTC" or an offset such as "+02:00"."""
    if zone is None:
        return None
    text = str(zone)
    return text.removeprefix("UTC") if text.startswith(("UTC+", "UTC-")) else text


_Typed = tuple[PhysicalKind, NDArray[Any], str | None]


def _typed(values: list[Any], types: set[type]) -> _Typed:
    other: _Typed = "other", object_array(values), None
    if all(issubclass(t, str) for t in types):
        return "text", object_array([str(v) for v in values]), None
    if all(issubclass(t, bool | np.bool_) for t in types):
        return "boolean", np.array(values, dtype=np.bool_), None
    if any(issubclass(t, bool | np.bool_) for t in types):
        return other
    if any(issubclass(t, np.timedelta64) for t in types):
        return other  # numpy takes these for integers
    if all(issubclass(t, int | np.integer) for t in types):
        integers = exact_integers([int(v) for v in values])
        return other if integers is None else ("integer", integers, None)
    if all(issubclass(t, int | float | np.integer | np.floating) for t in types):
        exact = all(abs(int(v)) <= _EXACT for v in values if isinstance(v, int | np.integer))
        return ("float", np.array(values, dtype=np.float64), None) if exact else other
    if all(issubclass(t, Decimal) for t in types):
        return "decimal", object_array(values), None
    if all(issubclass(t, dt.datetime) for t in types):
        zones = {zone_name(v.tzinfo) for v in values}
        zone = zones.pop()
        moments = np.array([microseconds(v) for v in values], dtype=np.int64)
        return other if zones or not _are_representable(moments, zone) else ("datetime", moments, zone)
    if all(issubclass(t, dt.date) and not issubclass(t, dt.datetime) for t in types):
        return "date", np.array([v.toordinal() - _FIRST_DAY for v in values], dtype=np.int64), None
    if all(issubclass(t, dt.time) for t in types) and all(v.tzinfo is None for v in values):
        return "time", np.array([microseconds_of_day(v) for v in values], dtype=np.int64), None
    if all(issubclass(t, dt.timedelta) for t in types):
        return "duration", np.array([v // MICROSECOND for v in values], dtype=np.int64), None
    return other


def whole_decimals(values: list[Any], missing: NDArray[np.bool_], printed: str) -> RawColumn:
    """Return integers of more than 64 bits, or their texts, as decimals.

    Small ones become decimals too: the type of a column must not depend on its cells.
    """
    pairs = zip(values, missing.tolist(), strict=True)
    decimals = object_array([Decimal(0) if gap else Decimal(value) for value, gap in pairs])
    return RawColumn(decimals, missing, PhysicalType("decimal", printed, scale=0))


def _are_representable(moments: NDArray[np.int64], zone: str | None) -> bool:
    """Return whether times can be turned back into objects: the zone is known, and they are within the calendar."""
    if zone is None:
        return True
    try:
        time_zone(zone)
    except SchemaError:
        return False
    first, last = (microseconds(dt.datetime(*day)) for day in ((1, 1, 2), (9999, 12, 31)))
    return bool(((first <= moments) & (moments < last)).all())


def exact_integers(values: list[int]) -> NDArray[Any] | None:
    """Return integers as int64, else as uint64; None if 64 bits cannot hold them."""
    low, high = (min(values), max(values)) if values else (0, 0)
    if low >= -(2**63) and high < 2**63:
        return np.array(values, dtype=np.int64)
    return np.array(values, dtype=np.uint64) if low >= 0 and high < 2**64 else None


def to_objects(column: RawColumn) -> NDArray[Any]:
    """Return a column as Python objects [n], None where missing."""
    return sliced(column, object, _objects)


def _objects(column: RawColumn) -> NDArray[Any]:
    values: list[Any]
    match column.physical.kind:
        case "date":
            values = [dt.date.fromordinal(_FIRST_DAY + d) for d in _where(column)]
        case "datetime" if column.physical.timezone is not None:
            zone = time_zone(column.physical.timezone)
            values = [(_EPOCH_UTC + dt.timedelta(microseconds=m)).astimezone(zone) for m in _where(column)]
        case "datetime":
            values = [_EPOCH + dt.timedelta(microseconds=m) for m in _where(column)]
        case "time":
            values = [(_EPOCH + dt.timedelta(microseconds=m)).time() for m in _where(column)]
        case "duration":
            values = [dt.timedelta(microseconds=m) for m in _where(column)]
        case _:
            values = column.values.tolist()
    array = object_array(values)
    array[column.missing] = None
    return array


def _where(column: RawColumn) -> list[int]:
    numbers: list[int] = np.where(column.missing, 0, column.values).tolist()
    return numbers
