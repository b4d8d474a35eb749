"""Convert columns of polars data frames to raw columns and back, type by type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.table.frames.conform import as_integers, held_unit, is_null
from syntabula.table.frames.object_columns import in_microseconds, object_array, to_objects, whole_decimals
from syntabula.table.raw import PhysicalType, RawColumn, RepeatedTexts, slices

_TIME_UNIT = re.compile(r"time_unit='(ms|us|ns)'")
_DECIMAL = re.compile(r"Decimal\(precision=(\d+), scale=(\d+)\)")


def read_series(series: Any) -> RawColumn:
    """Read a polars series of any type; nested types are of kind "other"."""
    polars = require("polars", "polars")
    dtype, printed = series.dtype, _printed(series.dtype)
    missing = series.is_null().to_numpy().astype(np.bool_)
    if dtype == polars.Boolean:
        return RawColumn(series.fill_null(False).to_numpy(), missing, PhysicalType("boolean", printed))
    if dtype in (polars.Int128, getattr(polars, "UInt128", polars.Int128)):
        return whole_decimals(series.fill_null(0).to_list(), missing, printed)
    if dtype.is_integer():
        wide = np.uint64 if dtype == polars.UInt64 else np.int64
        values = series.fill_null(0).to_numpy().astype(wide)
        return RawColumn(values, missing, PhysicalType("integer", printed))
    if dtype.is_float():
        reals = series.cast(polars.Float64).fill_null(float("nan")).to_numpy()
        return RawColumn(reals, missing | np.isnan(reals), PhysicalType("float", printed))
    if dtype.is_decimal():
        return RawColumn(
            object_array(series.to_list()), missing, PhysicalType("decimal", printed, scale=dtype.scale)
        )
    if dtype == polars.Enum:
        ranked = dtype.categories.to_list()
        physical = PhysicalType("text", printed, order=tuple(ranked))
        return RawColumn(RepeatedTexts.placed(ranked, _physical(series)), missing, physical)
    # Categories with a name of their own equal no other type.
    if dtype in (polars.String, polars.Null) or isinstance(dtype, polars.Categorical):
        return RawColumn(_texts(series.cast(polars.String)), missing, PhysicalType("text", printed))
    if dtype == polars.Date:
        return RawColumn(_physical(series), missing, PhysicalType("date", printed))
    if dtype == polars.Time:
        return RawColumn(_physical(series) // 1000, missing, PhysicalType("time", printed))
    if dtype == polars.Datetime:
        physical = PhysicalType("datetime", printed, timezone=dtype.time_zone)
        return RawColumn(in_microseconds(_physical(series), dtype.time_unit), missing, physical)
    if dtype == polars.Duration:
        values = in_microseconds(_physical(series), dtype.time_unit)
        return RawColumn(values, missing, PhysicalType("duration", printed))
    return RawColumn(object_array(series.to_list()), missing, PhysicalType("other", printed))


def _texts(series: Any) -> RepeatedTexts:
    """Return texts without a Python object for each cell."""
    distinct = series.drop_nulls().unique(maintain_order=True)
    if not distinct.len():
        return RepeatedTexts.placed([], np.zeros(series.len(), dtype=np.uint8))
    places = series.replace_strict(
        distinct, range(distinct.len()), default=0, return_dtype=require("polars", "polars").UInt32
    )
    return RepeatedTexts.placed(distinct.to_list(), places.to_numpy())


def _printed(dtype: Any) -> str:
    """Return a type's name, without the categories of an enumeration."""
    text = str(dtype)
    return text.partition("(")[0] if text.startswith(("Enum", "Categorical")) else text


def _physical(series: Any) -> NDArray[Any]:
    array: NDArray[Any] = series.to_physical().fill_null(0).to_numpy().astype(np.int64)
    return array


def make_series(name: str, column: RawColumn, categories: Sequence[Any] | None) -> Any:
    """Return a column as a polars series, of the physical type if that can hold it."""
    polars = require("polars", "polars")
    printed = column.physical.name
    match column.physical.kind:
        case "integer":
            dtype = np.dtype(printed.lower()) if re.fullmatch(r"U?Int(8|16|32|64)", printed) else None
            series = polars.Series(name, as_integers(column, dtype or column.values.dtype))
            return _gaps(series.cast(polars.Int128) if printed == "Int128" else series, column)
        case "float":
            narrow = polars.Float32 if printed == "Float32" else polars.Float64
            series = polars.Series(name, np.where(column.missing, 0.0, column.values))
            return _gaps(series.cast(narrow), column)
        case "boolean":
            return _gaps(polars.Series(name, column.values.astype(np.bool_)), column)
        case "text":
            if isinstance(column.cells, RepeatedTexts):
                distinct = polars.Series(name, column.cells.distinct.tolist(), dtype=polars.String)
                texts = _gaps(distinct.gather(column.cells.places), column)
                return texts.cast(_text_type(column, categories))
            objects = to_objects(column)
            parts = [
                polars.Series(name, objects[cut].tolist(), dtype=polars.String)
                for cut in slices(objects.size)
            ]
            texts = parts[0] if len(parts) == 1 else polars.concat(parts)
            return texts.cast(_text_type(column, categories))
        case "decimal":
            matched = _DECIMAL.fullmatch(printed)
            decimal = polars.Decimal(int(matched[1]), int(matched[2])) if matched else None
            return polars.Series(name, to_objects(column).tolist(), dtype=decimal)
        case "date":
            days = polars.Series(name, np.where(column.missing, 0, column.values).astype(np.int32))
            return _gaps(days.cast(polars.Date), column)
        case "time":
            clock = polars.Series(name, np.where(column.missing, 0, column.values) * 1000)
            return _gaps(clock.cast(polars.Time), column)
        case "datetime" | "duration":
            return _make_times(name, column)
    return polars.Series(name, to_objects(column).tolist(), dtype=polars.Object)


def _gaps(series: Any, column: RawColumn) -> Any:
    return series.scatter(np.flatnonzero(column.missing), None) if column.missing.any() else series


def _text_type(column: RawColumn, categories: Sequence[Any] | None) -> Any:
    polars = require("polars", "polars")
    if is_null(column.physical):
        return polars.Null
    if column.physical.name == "Enum":
        present = sorted(set(column.values[~column.missing].tolist()))
        known = list(categories) if categories is not None else []
        return polars.Enum(known + [v for v in present if v not in set(known)])
    return polars.Categorical if column.physical.name == "Categorical" else polars.String


def _make_times(name: str, column: RawColumn) -> Any:
    polars = require("polars", "polars")
    matched = _TIME_UNIT.search(column.physical.name)
    unit = held_unit(column, matched[1] if matched else "us")
    values = polars.Series(name, np.where(column.missing, 0, column.values))
    if column.physical.kind == "duration":
        times = values.cast(polars.Duration("us")).cast(polars.Duration(unit))
    else:
        zone = column.physical.timezone
        times = values.cast(polars.Datetime("us", zone)).cast(polars.Datetime(unit, zone))
    return _gaps(times, column)
