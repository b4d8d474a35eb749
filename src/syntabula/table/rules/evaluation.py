"""Runs expressions of rules on rows: pieces of decoded columns, cells of a domain, or a table as read."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import DataError, SchemaError
from syntabula.table.coding.column_codes import present_cells
from syntabula.table.database import at_hand, interruptible, quoted, read_relation
from syntabula.table.frames.object_columns import object_array
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.rules.expressions import Expression, alias, instant_alias
from syntabula.table.schema.columns import (
    MICROSECONDS,
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Numeric,
    Time,
    time_zone,
)

Cells = Mapping[str, RawColumn]

_MEMORY = "1GB"
_MOST_DIGITS = 18
_ROWS_AT_ONCE = 250_000


def rows_database() -> AbstractContextManager[Any]:
    """Open a connection that cannot reach files or the network, with bounded memory and settings that stay."""
    return at_hand(memory=_MEMORY)


def result_types(
    columns: Mapping[str, Column], expressions: Sequence[Expression]
) -> list[PhysicalType | SchemaError]:
    """Return the stored type of each expression's result, or why it has none."""
    import duckdb

    empty = {name: _without_rows(columns[name]) for e in expressions for name in e.columns}
    found: list[PhysicalType | SchemaError] = []
    with rows_database() as database:
        arrays, source = _source(columns, empty)
        database.register("cells", arrays)
        for expression in expressions:
            try:
                result = database.sql(f"SELECT {expression.sql} AS r0 FROM ({source})")
                read, _ = read_relation(result, ["r0"])
                found.append(read["r0"].physical)
            except duckdb.Error as error:
                found.append(SchemaError(_reason(error, columns)))
    return found


def values_of(
    database: Any,
    columns: Mapping[str, Column],
    cells: Cells,
    n_rows: int,
    expressions: Sequence[Expression],
    longest: Sequence[int | None] | None = None,
) -> list[RawColumn]:
    """Return the value of each expression in each row.

    An expression that cannot be computed for a row, because a number is too large or a text is no number, is missing.

    Args:
        database: From `rows_database`.
        columns: The declared columns.
        cells: Values of the columns that the expressions use, as read or decoded.
        n_rows: Number of rows.
        expressions: What to compute.
        longest: For each, the number of characters of its text that matter; None for no text.
    """
    used = dict.fromkeys(name for e in expressions for name in e.columns)
    cut = longest or [None] * len(expressions)
    wanted = [
        f"TRY({e.sql}) AS r{i}" if most is None else f"left(TRY({e.sql}), {most}) AS r{i}"
        for i, (e, most) in enumerate(zip(expressions, cut, strict=True))
    ]
    names = [f"r{i}" for i in range(len(expressions))]
    pieces: list[dict[str, RawColumn]] = []
    for start in range(0, max(n_rows, 1), _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, n_rows)
        rows = np.arange(start, stop)
        part = {name: cells[name] if len(rows) == n_rows else cells[name].take(rows) for name in used}
        arrays, source = _source(columns, part, len(rows))
        database.register("cells", arrays)
        query = f"SELECT {', '.join(wanted)} FROM ({source})"
        pieces.append(interruptible(database, partial(_fetched, database, query, names)))
        database.unregister("cells")
    return [_joined([piece[name] for piece in pieces]) for name in names]


def _fetched(database: Any, query: str, names: Sequence[str]) -> dict[str, RawColumn]:
    import duckdb

    try:
        return read_relation(database.sql(query), names)[0]
    except duckdb.Error as error:
        if isinstance(error, duckdb.InterruptException):
            raise
        # Its message may show a cell.
        raise DataError(
            "a rule of the schema cannot be computed for some rows: it may need more than "
            f"{_MEMORY} of memory; make its expression simpler"
        ) from None


def satisfied(
    database: Any, columns: Mapping[str, Column], cells: Cells, n_rows: int, conditions: Sequence[Expression]
) -> list[NDArray[np.bool_]]:
    """Return for each condition the rows that satisfy it; where it is missing, it counts as satisfied."""
    if not conditions:
        return []
    found = values_of(database, columns, cells, n_rows, conditions)
    return [one.missing | one.values.astype(np.bool_) for one in found]


def _joined(pieces: list[RawColumn]) -> RawColumn:
    if len(pieces) == 1:
        return pieces[0]
    return RawColumn(
        np.concatenate([p.values for p in pieces]),
        np.concatenate([p.missing for p in pieces]),
        pieces[0].physical,
    )


def _source(
    columns: Mapping[str, Column], cells: Cells, n_rows: int = 0
) -> tuple[dict[str, NDArray[Any]], str]:
    """Return arrays for DuckDB, and the query that gives each column its SQL type and its alias."""
    place = {name: i for i, name in enumerate(columns)}
    arrays: dict[str, NDArray[Any]] = {"n": np.zeros(n_rows, np.bool_)}
    selected = ["n"]
    for name, raw in cells.items():
        column, i = columns[name], place[name]
        values, missing = plain_cells(column, raw)
        arrays |= {f"v{i}": values, f"m{i}": missing}
        selected.append(f"CASE WHEN m{i} THEN NULL ELSE {_typed(column, f'v{i}')} END AS {alias(i)}")
        if isinstance(column, Datetime) and column.timezone is not None:
            selected.append(f"CASE WHEN m{i} THEN NULL ELSE make_timestamp(v{i}) END AS {instant_alias(i)}")
    return arrays, f"SELECT {', '.join(selected)} FROM cells"


def plain_cells(column: Column, raw: RawColumn) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the cells of a column as numbers, flags or texts of its declaration's kind, and which are missing.

    Values outside the declared domain stay as they are, if the kind can hold them; else they are missing. Weeks, months
    and quarters are their first days, as in released rows.
    """
    missing = ~present_cells(raw)
    values, kind = raw.values, raw.physical.kind
    wants = _kind(column)
    if wants == "text":
        return object_array(["" if gap else str(v) for v, gap in zip(values, missing, strict=True)]), missing
    if wants == "integer" and kind == "integer":
        return np.where(missing, 0, values), missing
    if wants == "boolean":
        return np.where(missing, False, values).astype(np.bool_), missing
    if kind == "decimal":
        values = np.array(
            [0.0 if gap else float(v) for v, gap in zip(values, missing, strict=True)], np.float64
        )
    if kind == "datetime" and isinstance(column, Date):
        values = values // MICROSECONDS["day"]
    elif kind == "date" and isinstance(column, Datetime):
        values = values * MICROSECONDS["day"]
    if wants == "float":
        return np.where(missing, 0.0, values).astype(np.float64), missing
    if values.dtype.kind == "f":
        too_large = ~(np.abs(np.where(missing, 0.0, values)) < 2.0**63)
        missing = missing | too_large
        values = np.rint(np.where(missing, 0.0, values))
    whole = np.where(missing, 0, values).astype(np.int64)
    return (column.first_days(column.periods(whole)) if isinstance(column, Date) else whole), missing


def _kind(column: Column) -> str:
    """Return the kind of array that holds a column's values."""
    if isinstance(column, Categorical):
        return {str: "text", bool: "boolean", int: "integer", float: "float"}[column.label_type]
    if isinstance(column, Boolean):
        return "boolean"
    if isinstance(column, Numeric):
        return "integer" if column.integer else "float"
    return "integer" if isinstance(column, Date | Datetime | Time) else "text"


def _typed(column: Column, source: str) -> str:
    """Return the SQL of a column's value; decimals are exact, and times with a zone are its wall-clock times."""
    if isinstance(column, Date):
        return f"(DATE '1970-01-01' + {source}::INTEGER)"
    if isinstance(column, Datetime):
        if column.timezone is None:
            return f"make_timestamp({source})"
        zone = time_zone(column.timezone)
        if isinstance(zone, dt.timezone):
            return f"make_timestamp({source} + {zone.utcoffset(None) // dt.timedelta(microseconds=1)})"
        return f"make_timestamptz({source}) AT TIME ZONE {quoted(column.timezone)}"
    if isinstance(column, Time) and not column.is_number:
        return f"make_timestamp({source})::TIME"
    places = _places(column) if isinstance(column, Numeric) else None
    if isinstance(column, Numeric) and places is not None:
        digits = len(str(math.ceil(max(abs(column.lower), abs(column.upper)))))
        return f"TRY_CAST({source} AS DECIMAL({min(_MOST_DIGITS, digits + places + 1)},{places}))"
    if isinstance(column, Numeric) and column.integer and column.upper >= 2**63:
        # A difference of unsigned integers may be negative.
        return f"{source}::HUGEINT"
    return f"{source}::VARCHAR" if _kind(column) == "text" else source


def _places(column: Numeric) -> int | None:
    """Return how many decimal places the values of a column have; None for whole numbers and for any."""
    if column.integer or column.grid() is None:
        return None
    exponent = Decimal(repr(float(column.unit))).as_tuple().exponent
    return max(-int(exponent), 0)


def _without_rows(column: Column) -> RawColumn:
    dtype = {"text": object, "boolean": np.bool_, "integer": np.int64, "float": np.float64}[_kind(column)]
    return RawColumn(np.zeros(0, dtype), np.zeros(0, np.bool_), column.stored)


def _reason(error: Exception, columns: Mapping[str, Column]) -> str:
    """Return the first line of DuckDB's message, with the schema's names of columns."""
    line = str(error).splitlines()[0].partition(": ")[2] or "it cannot be computed"
    line = line.partition(". You might")[0].rstrip(".")
    names = [*columns]
    return re.sub(r"\bc(\d+)\b", lambda m: names[int(m[1])] if int(m[1]) < len(names) else m[0], line)
