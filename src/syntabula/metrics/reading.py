"""Reads tables of any kind into a common coding."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import near
from syntabula.errors import ArgumentError, CoercionWarning, DataError, SchemaError, warn_caller
from syntabula.marginals.domain import Codes, code_dtype
from syntabula.metrics.comparison import Comparison, Floats, View
from syntabula.table.draft import whole_schema
from syntabula.table.files.formats import file_format, is_workbook
from syntabula.table.finite import finite_table
from syntabula.table.frames.text_numbers import with_texts_read
from syntabula.table.raw import TEXT_FORMATS, RawColumn, RawTable
from syntabula.table.read import read
from syntabula.table.rules.at_work import row_rules
from syntabula.table.schema.columns import (
    MICROSECONDS,
    Boolean,
    Categorical,
    Date,
    Datetime,
    Identifier,
    Numeric,
)
from syntabula.table.schema.schema import Schema, SchemaSource, as_schema, columns_listed
from syntabula.table.unit_rows import units_of_rows, warn_of_shared_units

_NUMBERS = {"integer", "float", "decimal"}
_TIMES = {"date", "datetime", "time"}
_LARGEST = 1e150
"""The squares of larger numbers, which many scores need, would be infinite."""
_CODES = _NUMBERS | {"boolean"}


def compare(
    real: Any,
    synthetic: Any,
    *,
    holdout: Any = None,
    target: str | None = None,
    schema: SchemaSource | None = None,
) -> Comparison:
    """Read tables and give them a common coding.

    Args:
        real: The table that the synthetic one was made from: path, data frame, Arrow table or relation.
        synthetic: The table to score; it must have the real table's columns, in any order.
        holdout: Real records that the synthesizer has not seen, or None.
        target: Column to predict, or None.
        schema: Says which columns are numeric, categorical or identifiers. For undeclared columns, or without a
            schema, this is inferred from the real table by the rules of `draft_schema`. Text files are parsed by
            the schema, so that the cells of all tables are read alike; its bounds and categories are not used
            otherwise. Days of a column declared as weeks, months or quarters are taken as the first day of each. If it
            names a unit, splits of the real table keep all rows of a unit together, and a SplitWarning says if one has
            rows in the real and in the holdout table.

    Returns:
        The comparison. Identifiers are left out, as their synthetic values are generated without the data. A
        cell of a text file that cannot be parsed as its column's type counts as missing, as in a fit, and so does an
        infinite number of any table, with a CoercionWarning.

    Raises:
        DataError: If a table cannot be read, has no rows, holds numbers beyond 1e150, or stores a column as a
            different kind than the real table; the message names the column and never a cell's value.
        SchemaError: If the tables have different columns, or do not match the schema.
        ArgumentError: If the target is not one of the columns, or the only one.
    """
    declared = None if schema is None else as_schema(schema)
    original = _read("real", real, declared)
    # The others are read as this schema says, so that texts of times are times in all tables.
    original = with_texts_read(original, declared)
    kinds = whole_schema(original, declared)
    others = {"synthetic": synthetic} | ({} if holdout is None else {"holdout": holdout})
    # For files without stored types, a value in only one table must not change the type of its column.
    tables = {"real": original} | {role: _read(role, table, kinds) for role, table in others.items()}
    check_columns(tables)
    left_out = tuple(name for name in kinds if isinstance(kinds[name], Identifier))
    columns = tuple(name for name in tables["real"].columns if name not in left_out)
    if not columns:
        raise SchemaError(
            "no column is left to compare; declare some columns in a schema that are not identifiers"
        )
    if target is not None and target not in columns:
        raise ArgumentError(
            f"target is {target!r}; it must be one of the columns {', '.join(columns)}{near(target, columns)}"
        )
    if columns == (target,):
        raise ArgumentError(f"target {target!r} is the only column; leave it out, as nothing can predict it")

    numbers: dict[str, dict[str, Floats]] = {role: {} for role in tables}
    codes: dict[str, dict[str, Codes]] = {role: {} for role in tables}
    categories: dict[str, tuple[Any, ...]] = {}
    for name in columns:
        parts = {role: table.columns[name] for role, table in tables.items()}
        if isinstance(kinds[name], Categorical | Boolean):
            found, categories[name] = _coded(name, parts)
            for role, column in found.items():
                codes[role][name] = column
        else:
            for role, part in parts.items():
                numbers[role][name] = _as_numbers(name, role, part)
            _narrow(name, parts, numbers)
    views = {
        # The units of synthetic rows are made, one key as likely as another, so they say nothing.
        role: View(
            numbers[role],
            codes[role],
            table.n_rows,
            None if role == "synthetic" else units_of_rows(table, kinds),
        )
        for role, table in tables.items()
    }
    if "holdout" in tables:
        warn_of_shared_units({role: tables[role] for role in ("real", "holdout")}, kinds)
    return Comparison(
        real=views["real"],
        synthetic=views["synthetic"],
        holdout=views.get("holdout"),
        columns=columns,
        categories=categories,
        target=target,
        left_out=left_out,
        rules=row_rules(kinds),
        dated=tuple(name for name in columns if isinstance(kinds[name], Date | Datetime)),
    )


def _read(role: str, source: Any, schema: Schema | None) -> RawTable:
    """Read a table, refuse one without rows, and warn of cells in a text file that cannot be parsed."""
    # What a folder holds is refused by `read`, which says so.
    is_file = isinstance(source, str | os.PathLike) and not (is_workbook(source) or os.path.isdir(source))
    of_text = is_file and file_format(source).container in TEXT_FORMATS
    table = read(source, schema if of_text else None)
    if not table.n_rows:
        raise DataError(f"the {role} table has no rows")
    if schema is not None:
        if not table.origin.is_text:
            _check_kinds(role, table, schema)
        table = read(table, schema)
    table = _in_periods(finite_table(table, None), schema)
    names = [repr(name) for name, column in table.columns.items() if column.unreadable is not None]
    if names:
        warn_caller(
            CoercionWarning(
                f"cells of the {role} table cannot be read as their column's type and count as missing, in "
                f"{', '.join(names)}; {_REMEDIES.get(role, _REMEDY)}"
            )
        )
    return table


_REMEDY = "correct them, or declare the column as text in a schema"
_REMEDIES = {
    "synthetic": 'where they hold "other" or new keys, noise hid the values of the real table, and scores say so; else '
    f"{_REMEDY}"
}
"""What to do about cells that cannot be read, by the table that holds them."""


def _in_periods(table: RawTable, schema: Schema | None) -> RawTable:
    """Replace days of columns declared as weeks, months or quarters by the first day of each, as synthetic rows have."""
    found: dict[str, RawColumn] = {}
    for name, column in ({} if schema is None else schema.columns).items():
        raw = table.columns.get(name)
        if not isinstance(column, Date) or column.resolution == "day" or raw is None:
            continue
        if raw.physical.kind in ("date", "datetime"):
            days = np.where(raw.missing, 0, raw.values)
            if raw.physical.kind == "datetime":
                days //= MICROSECONDS["day"]
            values, physical = column.values(column.periods(days))
            found[name] = replace(raw, cells=values, physical=physical)
    return RawTable({**table.columns, **found}, table.n_rows, table.origin) if found else table


def _check_kinds(role: str, table: RawTable, schema: Schema) -> None:
    """Refuse a column that cannot be compared, such as times declared as numbers; scores are not private anyway."""
    for name, column in schema.columns.items():
        raw = table.columns.get(name)
        if raw is None or raw.missing.all() or (reason := column.objection(raw.physical)) is None:
            continue
        codes = raw.physical.kind in _CODES and isinstance(column, Numeric | Categorical | Boolean)
        if not (codes or raw.physical.kind == "text" or raw.physical.name == "object"):
            raise DataError(f"column {name!r} of the {role} table {reason}")


def check_columns(tables: Mapping[str, RawTable]) -> None:
    """Refuse tables, by what messages call them, whose columns are not those of the first; raises SchemaError."""
    expected = next(iter(tables.values())).columns
    for role, table in tables.items():
        absent = [name for name in expected if name not in table.columns]
        extra = [name for name in table.columns if name not in expected]
        if absent or extra:
            lacking = [f"lacks {columns_listed(absent)}"] if absent else []
            more = [f"has {columns_listed(extra)} besides"] if extra else []
            raise SchemaError(
                f"the {role} table {' and '.join([*lacking, *more])}; both tables must have the same columns"
            )


def _as_numbers(name: str, role: str, column: RawColumn) -> Floats:
    kind = column.physical.kind
    if column.missing.all():
        # A column without any value has no meaningful type.
        return np.full(column.missing.size, np.nan)
    if kind not in _NUMBERS | _TIMES:
        raise DataError(
            f"column {name!r} of the {role} table is stored as {kind}, but compared as numbers; convert it, or declare "
            "it as categories in a schema"
        )
    values = np.where(column.missing, 0, column.values).astype(np.float64)
    if kind == "date":
        values *= MICROSECONDS["day"]
    values[column.missing] = np.nan
    if np.abs(values, where=~column.missing, out=np.zeros(values.size)).max() > _LARGEST:
        raise DataError(
            f"column {name!r} of the {role} table holds numbers beyond {_LARGEST:g}, too large to compute scores; "
            "rescale the column, or drop them"
        )
    return values


def _narrow(name: str, parts: Mapping[str, RawColumn], numbers: Mapping[str, dict[str, Floats]]) -> None:
    """Round a column of all tables to the coarsest type of floats that one stores it in.

    A column declared as numbers comes out as float64. A value of .1 then equals the .1 of 32 bits, which is .100000001.
    """
    types = sorted({narrow for part in parts.values() if (narrow := part.physical.narrow_float)})
    if types:
        # Numbers beyond the range of the type stay as they are.
        for role in parts:
            with np.errstate(over="ignore"):
                rounded = numbers[role][name].astype(types[0]).astype(np.float64)
            numbers[role][name] = np.where(np.isinf(rounded), numbers[role][name], rounded)


def _coded(name: str, parts: Mapping[str, RawColumn]) -> tuple[dict[str, Codes], tuple[Any, ...]]:
    """Give every value a code that is the same in all tables, and missing cells the last code."""
    _check_one_kind(name, parts)
    lists = {role: _labels(column) for role, column in parts.items()}
    known = {label for labels in lists.values() for label in set(labels)} - {None}
    categories = (*sorted(known), None)
    lookup = {label: code for code, label in enumerate(categories)}
    dtype = code_dtype(len(categories))
    return {
        role: np.fromiter(map(lookup.__getitem__, labels), dtype, count=len(labels))
        for role, labels in lists.items()
    }, categories


def _check_one_kind(name: str, parts: Mapping[str, RawColumn]) -> None:
    kinds = {role: _family(c) for role, c in parts.items() if not c.missing.all()}
    if len(set(kinds.values())) > 1:
        stored = ", ".join(f"{kind} in the {role} table" for role, kind in kinds.items())
        raise DataError(f"column {name!r} is stored as {stored}; convert it to one kind in all tables")


def _family(column: RawColumn) -> str:
    return "numbers" if column.physical.kind in _NUMBERS else column.physical.kind


def _labels(column: RawColumn) -> list[Any]:
    """Return the cells as Python values, None where missing; NaN is also missing."""
    values: NDArray[Any] = column.values
    missing = column.missing
    if column.physical.kind == "decimal":
        values = np.where(missing, 0, values).astype(np.float64)
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    labels: list[Any] = values.tolist()
    for row in np.flatnonzero(missing):
        labels[row] = None
    return labels
