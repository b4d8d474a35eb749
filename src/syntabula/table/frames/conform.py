"""The types of columns in synthetic tables: from the declaration, or from the original table."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.frames.object_columns import exact_integers, object_array, to_objects
from syntabula.table.raw import (
    TEXT_FORMATS,
    Container,
    Origin,
    PhysicalKind,
    PhysicalType,
    RawColumn,
    RepeatedTexts,
    sliced,
    slices,
)
from syntabula.table.schema.columns import MICROSECONDS, SPELLINGS, Column, Datetime, Numeric
from syntabula.table.schema.text_formats import SHORTEST, WITH_POINT

_DAY = MICROSECONDS["day"]
_TIMES = ("date", "datetime", "time")
_EXACT = 2**53
_WHOLE = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 20


def output_type(column: Column, container: Container) -> PhysicalType:
    """Return the type of a declared column in a data frame or file.

    It follows from the declaration and the kind of table, not from the original's stored type, because a single cell
    may decide that: a blank turns the integers of a pandas column into floats, and its flags into objects.

    Integers have 64 bits. In pandas they are int64 and flags are bool, or the nullable Int64 and boolean if cells may
    be missing; texts have pandas' default text type, and days are times at midnight, because pandas has no type for
    days. Elsewhere each kind has its own type, which supports missing cells; text files hold days, times and numbers as
    texts if the declaration gives their format, except that JSON has its own numbers. Numbers that may have texts beside
    them are texts everywhere. Where a declared text for missing cells writes a value of the column's type, as -999 does,
    this value stands for them in every kind of table whose type can hold it.

    Args:
        column: The declaration.
        container: Library or file format.
    """
    found = _output_type(column, container, nullable=column.nullable)
    if column.missing_as is None:
        return found
    if container in ("csv", "tsv"):
        return replace(found, missing_as=column.missing_as)
    from syntabula.table.frames.missing_values import with_missing_value

    found = with_missing_value(found, column)
    if found.missing_value is None:
        return found
    return replace(_output_type(column, container, nullable=False), missing_value=found.missing_value)


def _output_type(column: Column, container: Container, *, nullable: bool) -> PhysicalType:
    stored, pandas = column.stored, container == "pandas"
    if isinstance(column, Numeric) and column.texts:
        return _as_text(column)
    if stored.format is not None:
        as_text = container in TEXT_FORMATS if stored.kind in _TIMES else container in ("csv", "tsv")
        if as_text:
            return PhysicalType("text", "VARCHAR", scale=stored.scale, format=stored.format)
        stored = replace(stored, format=None, scale=None)
    match stored.kind:
        case "integer":
            name = {"BIGINT": "int64", "UBIGINT": "uint64"}[stored.name]
            if container == "polars" or (pandas and nullable):
                name = {"int64": "Int64", "uint64": "UInt64"}[name]
            return replace(stored, name=name)
        case "boolean" if container not in ("csv", "tsv"):
            # The spelling of flags only matters in text files.
            return replace(stored, name="boolean" if pandas and nullable else "bool")
        case "date" if pandas:
            return PhysicalType("datetime", "datetime64[us]")
    return stored


def _as_text(column: Numeric) -> PhysicalType:
    """Return the type of numbers that are written as texts, like those that no texts stand beside."""
    stored = column.stored
    usual = SHORTEST if stored.kind == "integer" else WITH_POINT
    return PhysicalType("text", "VARCHAR", scale=stored.scale, format=stored.format or usual)


def undeclared_types(
    origin: Origin, columns: Mapping[str, Column], container: Container
) -> dict[str, PhysicalType]:
    """Return how a library or file format stores the undeclared columns of a table: as the original did.

    Texts have the format that was found for what they say. Pandas, which reads workbooks too, has no type for days, so
    that text files and workbooks hold its times as days where all are days.

    Args:
        origin: Their stored types in the original.
        columns: Their domains, as they were found.
        container: The library or file format.
    """
    without_days = origin.container == "pandas" and container in (*TEXT_FORMATS, "xlsx")
    return {n: _written_as(p, columns[n], without_days=without_days) for n, p in origin.physical.items()}


def _written_as(physical: PhysicalType, column: Column, *, without_days: bool) -> PhysicalType:
    if isinstance(column, Numeric) and (column.texts or physical.kind == "text"):
        name = physical.name if physical.kind == "text" else "VARCHAR"
        return replace(_as_text(column), name=name)
    if without_days and physical.kind == "datetime" and isinstance(column, Datetime):
        is_day = column.resolution == "day" and column.timezone is None
        return PhysicalType("date", "DATE") if is_day else physical
    if physical.kind != "text" or column.stored.kind not in _TIMES:
        return physical
    return replace(physical, format=column.stored.format, scale=column.stored.scale)


def is_null(physical: PhysicalType) -> bool:
    """Return whether no cell of a type can hold a value, as in Arrow's and polars' type of columns without any."""
    return physical.name.removesuffix("[pyarrow]").lower() == "null"


def conform(column: RawColumn, physical: PhysicalType | None) -> RawColumn:
    """Return a column with the physical type of the original.

    Args:
        column: Column to convert.
        physical: Type of the original; None if it had no such column.

    Returns:
        The column with the type `physical`, or unchanged if that type cannot hold its values, such as fractions in an
        integer type. A number with a fixed number of decimals becomes exactly that decimal. In a type without values all
        cells are missing: what noise would put there no cell of the original can have held.
    """
    if physical is None:
        return column
    if is_null(physical):
        return RawColumn(column.cells, np.ones_like(column.missing), physical)
    cells = _converted(column, physical)
    if cells is None:
        return column
    if column.beside is not None and physical.kind == "text":
        assert not isinstance(cells, RepeatedTexts)
        held = column.beside.places > 0
        return RawColumn(np.where(held, column.beside.texts(), cells), column.missing & ~held, physical)
    if physical.kind == "datetime" and (physical.timezone is None) != (column.physical.timezone is None):
        return column
    if physical.missing_value is None or isinstance(cells, RepeatedTexts):
        return RawColumn(cells, column.missing, physical)
    from syntabula.table.frames.missing_values import filled

    return filled(cells, column.missing, physical)


def _converted(column: RawColumn, physical: PhysicalType) -> NDArray[Any] | RepeatedTexts | None:
    if isinstance(column.cells, RepeatedTexts) and physical.kind == "text":
        return column.cells
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
        case _, "text":
            if physical.format is not None:
                from syntabula.table.files.declared_cells import formatted

                return formatted(column, physical)
            return object_array(_texts(column))
        case "text", "boolean" | "integer" | "float":
            return _from_texts(column, physical)
        case "boolean", "integer" | "float":
            return values.astype(np.int64 if physical.kind == "integer" else np.float64)
        case "integer" | "float", "boolean":
            known = values[~column.missing]
            return values.astype(np.bool_) if ((known == 0) | (known == 1)).all() else None
    return None


def _texts(column: RawColumn) -> list[str]:
    """Return values as written in text files, with arbitrary text for missing cells."""
    true, slash, false = column.physical.name.partition("/")
    if column.physical.kind == "boolean":
        true, false = (true, false) if slash else ("true", "false")
        return [true if value else false for value in column.values.tolist()]
    values = to_objects(column).tolist()
    if column.physical.kind == "datetime":
        return ["" if value is None else value.isoformat() for value in values]
    return ["" if value is None else str(value) for value in values]


def _from_texts(column: RawColumn, physical: PhysicalType) -> NDArray[Any] | None:
    """Parse texts as numbers or flags; None if one of them is neither."""
    distinct = {text: _meant(text, physical.kind) for text in {*column.values[~column.missing].tolist()}}
    if None in distinct.values():
        return None
    read: list[Any] = [
        0 if gap else distinct[text] for text, gap in zip(column.values, column.missing, strict=True)
    ]
    if physical.kind == "integer":
        return exact_integers(read)
    return np.array(read, dtype=np.float64 if physical.kind == "float" else np.bool_)


def _meant(text: str, kind: PhysicalKind) -> int | float | None:
    if kind == "boolean":
        return next((s.startswith(f"{text}/") for s in SPELLINGS if text in s.split("/")), None)
    number = as_number(text)
    return None if kind == "integer" and isinstance(number, float) else number


def as_number(text: str) -> int | float | None:
    """Return the number whose Python form is this text; None if there is none."""
    if _WHOLE.fullmatch(text):
        return int(text) if len(text) <= _MOST_DIGITS else None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and repr(number) == text else None


def _decimals(column: RawColumn, physical: PhysicalType) -> NDArray[Any] | None:
    known: list[Any] = np.where(column.missing, 0, column.values).tolist()
    # The shortest text of a float is the decimal that it represents.
    decimals = [Decimal(repr(v)) if isinstance(v, float) else Decimal(v) for v in known]
    if not all(d.is_finite() for d in decimals):
        return None
    if physical.scale is not None and physical.scale >= 0:
        unit = Decimal(1).scaleb(-physical.scale)
        rounded = [round_to(d, unit) for d in decimals]
        return None if None in rounded else object_array(rounded)
    return object_array(decimals)


def round_to(value: Decimal, unit: Decimal) -> Decimal | None:
    """Round to a multiple of a power of ten, at any precision; None if even 76 digits are too few."""
    from decimal import Context, InvalidOperation

    try:
        return value.quantize(unit, context=Context(prec=76))
    except InvalidOperation:
        return None


def narrowest(column: RawColumn, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return an integer dtype if it can hold the column's present values, else the dtype of its values."""
    info = np.iinfo(dtype)
    for cut in slices(column.missing.size):
        present = column.values[cut][~column.missing[cut]]
        if present.size and not (int(present.min()) >= info.min and int(present.max()) <= info.max):
            return column.values.dtype
    return dtype


def as_integers(column: RawColumn, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return values of an integer type, zero where missing."""
    zero = column.values.dtype.type(0)
    return sliced(column, narrowest(column, dtype), lambda part: np.where(part.missing, zero, part.values))


def held_unit(column: RawColumn, unit: str) -> str:
    """Return a unit of time if it can hold the column's present values in 64 bits, else "us"."""
    present = column.values[~column.missing]
    beyond = unit == "ns" and present.size and np.abs(present).max() > np.iinfo(np.int64).max // 1000
    return "us" if beyond else unit
