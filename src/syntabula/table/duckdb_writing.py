"""Raw columns to Parquet, delimited text and JSON Lines, by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import DataError
from syntabula.table.conform import as_integers
from syntabula.table.csv_safety import DELIMITERS, neutralised, neutralised_sql
from syntabula.table.duckdb_columns import connection, identifier, quoted
from syntabula.table.object_columns import object_array, to_objects
from syntabula.table.raw import RawColumn

_INTEGERS = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
}  # fmt: skip
_NUMPY = {sql.lower(): name for name, sql in _INTEGERS.items()}
_NARROW_FLOATS = {"float", "float32", "float16", "halffloat"}
_DECIMAL = re.compile(r"decimal(?:\d+)?\((?:precision=)?(\d+), ?(?:scale=)?(\d+)\)")
_UNIT = re.compile(r"(?:\[|time_unit=')(s|ms|us|ns)\b")
_MOMENTS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
_NS_LIMIT = np.iinfo(np.int64).max // 1000


def write_parquet(columns: Mapping[str, RawColumn], path: str) -> None:
    """Write Parquet; raises DataError for names that differ in case only, which DuckDB cannot keep apart."""
    _check_case(columns)
    arrays, selected = _arrays(columns), []
    for i, (name, column) in enumerate(columns.items()):
        value, expression = _native(name, column, f"v{i}")
        arrays[f"v{i}"] = value
        selected.append(f"CASE WHEN m{i} THEN NULL ELSE {expression} END AS {identifier(name)}")
    _copy(arrays, ", ".join(selected), path, "FORMAT parquet, COMPRESSION zstd")


def write_json_lines(columns: Mapping[str, RawColumn], path: str, compression: str) -> None:
    """Write one JSON object per line; times as ISO 8601 text, missing cells as null."""
    _check_case(columns)
    arrays, selected = _arrays(columns), []
    for i, (name, column) in enumerate(columns.items()):
        if column.physical.kind == "float" and not np.isfinite(column.values[~column.missing]).all():
            raise DataError(
                f"column {name!r} holds infinite numbers, which JSON has not; write another format"
            )
        plain = column.physical.kind in ("boolean", "integer", "float")
        value, expression = (_native if plain else _text)(name, column, f"v{i}")
        arrays[f"v{i}"] = value
        selected.append(f"CASE WHEN m{i} THEN NULL ELSE {expression} END AS {identifier(name)}")
    _copy(arrays, ", ".join(selected), path, f"FORMAT json, ARRAY false, COMPRESSION {compression}")


def write_delimited(
    columns: Mapping[str, RawColumn], path: str, compression: str, delimiter: str, *, neutralise: bool
) -> None:
    """Write delimited text with a header; raises DataError for a name that holds a carriage return."""
    arrays, selected, header = _arrays(columns), [], []
    ambiguous = []
    for i, (name, column) in enumerate(columns.items()):
        value, expression = _text(name, column, f"v{i}")
        arrays[f"v{i}"] = value
        if neutralise and column.physical.kind == "text":
            expression = neutralised_sql(expression)
        selected.append(f"CASE WHEN m{i} THEN NULL ELSE {expression} END AS c{i}")
        header.append(f"{quoted(neutralised(name) if neutralise else name)} AS c{i}")
        if "\r" in name:
            raise DataError(
                f"the name of column {name!r} holds a carriage return, which delimited text cannot keep in a header; "
                "rename it, or write Parquet"
            )
        # A reader may take another delimiter's character in a bare header for the file's own.
        if any(character in name for character in DELIMITERS):
            ambiguous.append(f"c{i}")
    # The header is a row of its own, as DuckDB would rename columns that differ in case only.
    options = f"FORMAT csv, HEADER false, DELIMITER {quoted(delimiter)}, COMPRESSION {compression}"
    if ambiguous:
        options += f", FORCE_QUOTE ({', '.join(ambiguous)})"
    _copy(arrays, ", ".join(selected), path, options, first=f"SELECT {', '.join(header)} UNION ALL ")


def _arrays(columns: Mapping[str, RawColumn]) -> dict[str, NDArray[Any]]:
    return {f"m{i}": column.missing for i, column in enumerate(columns.values())}


def _copy(
    arrays: Mapping[str, NDArray[Any]], selected: str, path: str, options: str, *, first: str = ""
) -> None:
    with connection() as database:
        database.register("cells", arrays)
        database.execute(
            f"COPY ({first}SELECT {selected} FROM cells) TO {quoted(path)} ({options}, USE_TMP_FILE false)"
        )


def _check_case(columns: Mapping[str, RawColumn]) -> None:
    folded: dict[str, str] = {}
    for name in columns:
        if (other := folded.setdefault(name.casefold(), name)) != name:
            raise DataError(
                f"the columns {other!r} and {name!r} differ in case only, which this format's writer cannot "
                "keep apart; rename one, or write CSV or Arrow"
            )


def _native(name: str, column: RawColumn, source: str) -> tuple[NDArray[Any], str]:
    """Return an array for DuckDB and the expression that gives it its SQL type."""
    physical, printed = column.physical, column.physical.name.lower()
    match physical.kind:
        case "boolean":
            return column.values.astype(np.bool_), source
        case "integer":
            wanted = _NUMPY.get(printed, printed)
            values = as_integers(column, np.dtype(wanted) if wanted in _INTEGERS else column.values.dtype)
            return values, f"{source}::{_INTEGERS[values.dtype.name]}"
        case "float":
            return column.values, f"{source}::FLOAT" if printed in _NARROW_FLOATS else source
        case "decimal":
            return _texts(column), f"{source}::{_decimal_type(name, column)}"
        case "date":
            return _numbers(column), f"(DATE '1970-01-01' + {source}::INTEGER)"
        case "datetime" if physical.timezone is not None:
            return _numbers(column), f"make_timestamptz({source})"
        case "datetime":
            return _numbers(column), f"make_timestamp({source})::{_moment_type(column)}"
        case "duration":
            return _numbers(column), f"to_microseconds({source})"
        case "text":
            return _texts(column), f"{source}::VARCHAR"
    raise DataError(
        f"column {name!r} holds mixed or nested values ({physical.name}), which cannot be written"
    )


def _text(name: str, column: RawColumn, source: str) -> tuple[NDArray[Any], str]:
    """Return an array for DuckDB and the expression that writes it as text."""
    match column.physical.kind:
        case "datetime" if column.physical.timezone is not None:
            moments = ["" if m is None else m.isoformat() for m in to_objects(column).tolist()]
            return object_array(moments), f"{source}::VARCHAR"
        case "datetime":
            return _numbers(column), f"replace(make_timestamp({source})::VARCHAR, ' ', 'T')"
        case "decimal":
            return _texts(column), f"{source}::VARCHAR"
    value, expression = _native(name, column, source)
    return value, f"({expression})::VARCHAR"


def _numbers(column: RawColumn) -> NDArray[Any]:
    return np.where(column.missing, 0, column.values).astype(np.int64)


def _texts(column: RawColumn) -> NDArray[Any]:
    gap = "0" if column.physical.kind == "decimal" else ""
    pairs = zip(column.values.tolist(), column.missing.tolist(), strict=True)
    if column.physical.kind == "decimal":
        return object_array([gap if missing else f"{value:f}" for value, missing in pairs])
    return object_array([gap if missing else value for value, missing in pairs])


def _decimal_type(name: str, column: RawColumn) -> str:
    if matched := _DECIMAL.search(column.physical.name.lower()):
        return f"DECIMAL({min(int(matched[1]), 38)},{matched[2]})"
    present = column.values[~column.missing].tolist()
    scale = max((-value.as_tuple().exponent for value in present), default=0)
    if scale > 38:
        raise DataError(f"column {name!r} has decimals with more than 38 digits, which Parquet cannot hold")
    return f"DECIMAL(38,{max(scale, 0)})"


def _moment_type(column: RawColumn) -> str:
    matched = _UNIT.search(column.physical.name)
    named = column.physical.name.upper()
    unit = matched[1] if matched else next((u for u, t in _MOMENTS.items() if t == named), "us")
    present = column.values[~column.missing]
    if unit == "ns" and present.size and np.abs(present).max() > _NS_LIMIT:
        unit = "us"
    return _MOMENTS[unit]
