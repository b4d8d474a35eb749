"""Convert columns of pandas data frames to raw columns and back, type by type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._extras import require
from syntabula.errors import SchemaError
from syntabula.table.frames.conform import as_integers, held_unit
from syntabula.table.frames.object_columns import (
    column_from_objects,
    in_microseconds,
    is_missing,
    object_array,
    text_column,
    to_objects,
    zone_name,
)
from syntabula.table.raw import PhysicalType, RawColumn, RepeatedTexts, parts_of, sliced, slices

_EXACT = 2**53
_NUMPY_INTEGER = re.compile(r"u?int(8|16|32|64)")
_NULLABLE_INTEGER = re.compile(r"U?Int(8|16|32|64)")
_ORDERED, _TRUE_FIRST = "category[ordered]", "category[ordered, True first]"
_TIMES = re.compile(r"(datetime64|timedelta64)\[(s|ms|us|ns)(?:, (.+))?\]")


def read_series(name: str, series: Any) -> RawColumn:
    """Read a pandas series of any dtype."""
    pandas = require("pandas", "pandas")
    dtype = series.dtype
    if isinstance(dtype, pandas.ArrowDtype):
        from syntabula.table.frames.arrow_tables import read_chunks

        column = read_chunks(name, require("pyarrow", "arrow").chunked_array(series.array.__arrow_array__()))
        return _renamed(column, str(dtype))
    if isinstance(dtype, pandas.CategoricalDtype):
        return _read_categories(name, series)
    if isinstance(dtype, pandas.SparseDtype):
        return read_series(name, series.sparse.to_dense())
    missing = _gaps(series)
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return _times(moments, missing, PhysicalType("datetime", str(dtype), timezone=zone_name(dtype.tz)))
    if isinstance(dtype, pandas.StringDtype):
        return _read_texts(series, missing, PhysicalType("text", _string_name(dtype)))
    if pandas.api.types.is_object_dtype(dtype):
        return column_from_objects(series.to_numpy(), missing, "object")
    return _read_plain(series, missing, str(dtype))


def _gaps(series: Any) -> NDArray[np.bool_]:
    """Return which cells are missing [n]."""
    try:
        gaps: NDArray[np.bool_] = series.isna().to_numpy(dtype=np.bool_)
    except ArithmeticError:
        # A signalling NaN of `decimal` cannot be compared, which pandas tries.
        pandas = require("pandas", "pandas")
        kinds = (type(pandas.NaT), type(pandas.NA))
        cells = series.to_numpy(dtype=object)
        gaps = np.fromiter((is_missing(c) or isinstance(c, kinds) for c in cells), np.bool_, count=cells.size)
    return gaps


def _read_plain(series: Any, missing: NDArray[np.bool_], printed: str) -> RawColumn:
    kind = series.dtype.kind
    # Only the masked types of pandas have missing integers and flags.
    is_complete = isinstance(series.dtype, np.dtype)
    if kind == "M":
        return _times(series.to_numpy(), missing, PhysicalType("datetime", printed))
    if kind == "m":
        return _times(series.to_numpy(), missing, PhysicalType("duration", printed))
    if kind == "b":
        return RawColumn(
            _filled(series, np.bool_), missing, PhysicalType("boolean", printed, is_complete=is_complete)
        )
    if kind in "iu":
        wide = np.uint64 if printed.lower() == "uint64" else np.int64
        return RawColumn(
            _filled(series, wide), missing, PhysicalType("integer", printed, is_complete=is_complete)
        )
    if kind == "f" and series.dtype.itemsize <= 8:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return RawColumn(values, missing | np.isnan(values), PhysicalType("float", printed))
    return RawColumn(object_array(series.tolist()), missing, PhysicalType("other", printed))


def _filled(series: Any, dtype: Any) -> NDArray[Any]:
    """Return values with gaps filled, so that integers never pass through floats."""
    mask = getattr(series.array, "_mask", None)
    source = series if mask is None else series.fillna(series.dtype.type(0))
    array: NDArray[Any] = source.to_numpy(dtype=dtype)
    return array


def _read_categories(name: str, series: Any) -> RawColumn:
    pandas = require("pandas", "pandas")
    codes = series.cat.codes.to_numpy()
    missing = codes < 0
    labels = read_series(name, pandas.Series(series.cat.categories))
    if not labels.missing.size:
        none = RepeatedTexts.placed([], np.zeros(codes.size, dtype=np.uint8))
        return RawColumn(none, missing, PhysicalType("text", "category"))
    label = np.where(missing, 0, codes)
    unreadable = labels.missing[label] & ~missing
    marked = unreadable if unreadable.any() else None
    column = RawColumn(labels.cells[label], missing | unreadable, labels.physical, marked)
    if series.dtype.ordered and labels.physical.kind == "boolean":
        # A column of flags lists no categories whose order a release could keep: their type says which comes first.
        return _renamed(
            column, _TRUE_FIRST if bool(labels.values[0]) and labels.values.size > 1 else _ORDERED
        )
    # Categories are found in their order, and so come out in it, only where they are texts or numbers.
    if not series.dtype.ordered or labels.physical.kind not in ("text", "integer", "float"):
        return _renamed(column, "category")
    ranked = tuple(
        label for label, gap in zip(labels.values.tolist(), labels.missing, strict=True) if not gap
    )
    renamed = _renamed(column, _ORDERED)
    return replace(renamed, physical=replace(renamed.physical, order=ranked))


def _renamed(column: RawColumn, printed: str) -> RawColumn:
    physical = column.physical
    renamed = PhysicalType(physical.kind, printed, timezone=physical.timezone, scale=physical.scale)
    return RawColumn(column.cells, column.missing, renamed, column.unreadable)


def _read_texts(series: Any, missing: NDArray[np.bool_], physical: PhysicalType) -> RawColumn:
    """Read a series of texts; those that Arrow holds, without a Python object for each cell."""
    if series.dtype.storage == "python":
        return text_column(series.to_numpy(dtype=object), missing, physical)
    from syntabula.table.frames.arrow_tables import read_chunks

    arrow = require("pyarrow", "arrow")
    held = series.array.__arrow_array__()
    cells = read_chunks(
        "", held if isinstance(held, arrow.ChunkedArray) else arrow.chunked_array([held])
    ).cells
    return RawColumn(cells, missing, physical)


def _times(values: NDArray[Any], missing: NDArray[np.bool_], physical: PhysicalType) -> RawColumn:
    """Return whole microseconds, rounded down."""
    unit, count = np.datetime_data(values.dtype)
    numbers = np.where(missing, 0, values.view(np.int64) * count)
    return RawColumn(in_microseconds(numbers, unit), missing, physical)


def _string_name(dtype: Any) -> str:
    pandas = require("pandas", "pandas")
    name = str(dtype)
    return name if dtype == pandas.StringDtype(na_value=dtype.na_value) else f"{name}[{dtype.storage}]"


def make_series(column: RawColumn, categories: Sequence[Any] | None) -> Any:
    """Return a column in a form that pandas data frames accept, of the physical type if that can hold it.

    Types that cannot hold the values are widened as pandas does: plain integers with missing cells become float64, or
    Int64 beyond 2**53; plain booleans with missing cells become objects.
    """
    name = column.physical.name
    if name.startswith("category"):
        return _make_categories(column, categories)
    if (
        name.endswith("[pyarrow]")
        and not name.startswith("str[")
        and (made := _make_arrow(column)) is not None
    ):
        return made
    match column.physical.kind:
        case "integer":
            return _make_integers(column)
        case "float":
            return _make_floats(column)
        case "boolean":
            return _make_booleans(column)
        case "text":
            return _make_text(column)
        case "datetime" | "duration" if name != "object":
            return _make_times(column)
    return _objects(column)


def _objects(column: RawColumn) -> Any:
    # Without an explicit dtype, pandas converts objects such as datetimes to its own type.
    return require("pandas", "pandas").Series(to_objects(column), dtype=object)


def _make_arrow(column: RawColumn) -> Any:
    from syntabula.table.frames.arrow_tables import make_array, parse_type

    pandas, name = require("pandas", "pandas"), column.physical.name.removesuffix("[pyarrow]")
    if parse_type(name) is None:
        return None
    array = make_array(_renamed(column, name))
    return pandas.Series(pandas.arrays.ArrowExtensionArray(array))


def _make_categories(column: RawColumn, categories: Sequence[Any] | None) -> Any:
    pandas = require("pandas", "pandas")
    present = ~column.missing
    physical = _renamed(column, "").physical
    plain = RawColumn(column.cells[present], np.zeros(int(present.sum()), dtype=np.bool_), physical)
    if physical.kind == "boolean" and column.physical.name in (_ORDERED, _TRUE_FIRST):
        # Both flags, as everyone knows them.
        categories = (True, False) if column.physical.name == _TRUE_FIRST else (False, True)
    cells = pandas.Series(make_series(plain, None))
    found = pandas.Index(pandas.concat([cells[cut].drop_duplicates() for cut in slices(cells.size)]).unique())
    if categories is None:
        known = found.sort_values()
    else:
        known = pandas.Index(categories)
        known = known if found.isin(known).all() else known.append(found.difference(known))
    codes = np.full(column.missing.size, -1, dtype=np.int64)
    codes[present] = np.concatenate([known.get_indexer(cells[cut]) for cut in slices(cells.size)])
    # Without stated categories nobody knows their order: that of the original's type may follow from its cells.
    ordered = column.physical.name in (_ORDERED, _TRUE_FIRST) and categories is not None
    return pandas.Categorical.from_codes(codes, categories=known, ordered=ordered)


def _make_integers(column: RawColumn) -> Any:
    pandas, name = require("pandas", "pandas"), column.physical.name
    if name == "object":
        return _objects(column)
    nullable = _NULLABLE_INTEGER.fullmatch(name) is not None
    known = nullable or _NUMPY_INTEGER.fullmatch(name) is not None
    values = as_integers(column, np.dtype(name.lower()) if known else column.values.dtype)
    if nullable:
        return pandas.arrays.IntegerArray(values, column.missing.copy())
    if not column.missing.any():
        return values
    if values.size and (int(values.max()) > _EXACT or int(values.min()) < -_EXACT):
        return pandas.arrays.IntegerArray(values, column.missing.copy())
    return sliced(column, np.float64, _with_nan)


def _with_nan(column: RawColumn) -> NDArray[Any]:
    return np.where(column.missing, np.nan, column.values)


def _make_floats(column: RawColumn) -> Any:
    name = column.physical.name
    if name == "object":
        return _objects(column)
    if name in ("Float32", "Float64"):
        pandas = require("pandas", "pandas")
        values = sliced(column, name.lower(), lambda part: np.where(part.missing, 0.0, part.values))
        return pandas.arrays.FloatingArray(values, column.missing.copy())
    return sliced(column, name if name in ("float16", "float32") else np.float64, _with_nan)


def _make_booleans(column: RawColumn) -> Any:
    if column.physical.name == "boolean":
        pandas = require("pandas", "pandas")
        values = sliced(column, np.bool_, lambda part: np.where(part.missing, False, part.values))
        return pandas.arrays.BooleanArray(values, column.missing.copy())
    if column.physical.name == "object" or column.missing.any():
        return _objects(column)
    return column.values.astype(np.bool_)


def _make_text(column: RawColumn) -> Any:
    pandas, name = require("pandas", "pandas"), column.physical.name
    if name == "object":
        return _objects(column)
    family, _, storage = name.removesuffix("]").partition("[")
    if family == "str" and not storage:
        return _text_series(column, "str")
    if family == "str":
        return _text_series(column, pandas.StringDtype(storage, na_value=np.nan))
    if family == "string":
        return _text_series(column, pandas.StringDtype(storage or None))
    return _text_series(column, _default_text())


def _text_series(column: RawColumn, dtype: Any) -> Any:
    """Return texts as a series, made in slices, because no interrupt stops a call of pandas."""
    pandas = require("pandas", "pandas")

    def made(part: RawColumn) -> Any:
        if not isinstance(part.cells, RepeatedTexts):
            return pandas.Series(to_objects(part), dtype=dtype)
        return pandas.Series(pandas.Series(part.cells.distinct, dtype=dtype).array.take(part.cells.places))

    parts = [made(part).where(~part.missing, None) for part in parts_of(column)]
    return parts[0] if len(parts) == 1 else pandas.concat(parts, ignore_index=True)


def _default_text() -> Any:
    pandas = require("pandas", "pandas")
    return pandas.Series(["a"]).dtype


def _make_times(column: RawColumn) -> Any:
    pandas = require("pandas", "pandas")
    matched = _TIMES.fullmatch(column.physical.name)
    family = "datetime64" if column.physical.kind == "datetime" else "timedelta64"
    unit = held_unit(column, matched[2] if matched else "us")
    none = np.iinfo(np.int64).min
    series = pandas.Series(
        sliced(
            column,
            f"{family}[{unit}]",
            lambda part: np.where(part.missing, none, part.values).astype(f"{family}[us]"),
        )
    )
    zone = column.physical.timezone
    if zone is None:
        return series
    try:
        return series.dt.tz_localize("UTC").dt.tz_convert(zone)
    except (LookupError, ValueError):
        raise SchemaError(
            "the time zone of a column is unknown on this machine; declare another timezone in the schema"
        ) from None
