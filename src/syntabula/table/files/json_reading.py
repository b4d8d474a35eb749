"""Read JSON Lines as raw columns: one object per line, every number exact."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np

from syntabula.errors import CoercionWarning, DataError, warn_caller
from syntabula.table.database import connection, in_order, interruptible, one_file, quoted
from syntabula.table.files.declared_cells import read_texts
from syntabula.table.frames.object_columns import column_from_objects, is_missing, object_array
from syntabula.table.raw import RawColumn, check_names
from syntabula.table.schema.columns import Column, Numeric
from syntabula.table.schema.schema import Schema, is_whole
from syntabula.table.schema.text_formats import NumberFormat

ROWS_AT_ONCE = 2**14
"""Objects of a batch: with twenty keys each they take about 40 MB."""

NULL = b"null"
"""How a missing cell is written."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?")


def read_json_lines(
    path: str, compression: str, schema: Schema | None = None
) -> tuple[dict[str, RawColumn], int]:
    """Read a JSON Lines file; null and absent keys are missing.

    With a schema, the table has its columns, whichever keys occur, and each cell's text (that of a string, or a number
    as written) is read by the rules of `declared_cells`. Other keys are ignored, with a warning. Without a schema, or
    if it leaves others to be found, the columns are the keys that occur; undeclared ones of ISO dates or times are
    read as dates or times.

    Args:
        path: File to read.
        compression: "none", "gzip" or "zstd".
        schema: Declares the columns; None to take names and types from the file. If it leaves others to be found, a
            declared column that no record has is absent.

    Returns:
        The columns, in the schema's order or in that of first appearance, and the number of rows.

    Raises:
        DataError: If a line is not a JSON object, or there is no line and no schema; the message names the line,
            never its content.
    """
    if is_whole(schema):
        return _declared(path, compression, schema)
    # Declared columns are read as written.
    batches = row_batches(path, compression, Any if schema is None else msgspec.Raw)
    rows = [row for batch in batches for row in batch]
    names = list(dict.fromkeys(key for row in rows for key in row))
    if not rows:
        raise DataError(f"{path!r} is empty; write one object per line, with a key for each column")
    check_names(names)
    if schema is None:
        return {name: _column([row.get(name) for row in rows]) for name in names}, len(rows)
    texts = {name: texts_in(rows, name, schema[name]) for name in names if name in schema}
    declared = read_texts(texts, schema)[0] if texts else {}
    found = {name: _column([value_of(row.get(name)) for row in rows]) for name in names if name not in schema}
    return {name: (declared | found)[name] for name in names}, len(rows)


def row_batches(path: str, compression: str, cell: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the objects of a file, some at a time: by key what `cell` decodes each value to; see `record_batches`."""
    return record_batches(path, compression, dict[str, cell])


def record_batches(path: str, compression: str, kind: Any) -> Iterator[list[Any]]:
    """Yield the objects of a file, some at a time, as what a type of msgspec decodes them to.

    DuckDB cuts the text into objects, in one thread, and holds no more than it is asked for. Arrow's own reader of JSON
    is not used, since it rounds numbers to floats.

    Raises:
        DataError: If a line is not a JSON object; the message names the line, never its content.
    """
    import duckdb

    # DuckDB 1 has another word than its reader of delimited text.
    packed = "uncompressed" if compression == "none" else compression
    query = (
        f"SELECT json::VARCHAR FROM read_json_objects({one_file(path)}, format='newline_delimited', "
        f"compression={quoted(packed)})"
    )
    decoder = msgspec.json.Decoder(kind)
    with connection() as database:
        in_order(database)
        try:
            interruptible(database, lambda: database.execute(query))
            while lines := interruptible(database, lambda: database.fetchmany(ROWS_AT_ONCE)):
                yield [decoder.decode(text) for (text,) in lines]
        except duckdb.OutOfMemoryException:
            raise
        except (duckdb.Error, msgspec.DecodeError, RecursionError):
            raise DataError(_fault(path, compression)) from None


def _fault(path: str, compression: str) -> str:
    from syntabula.table.files.text_faults import json_fault

    known = json_fault(path, compression)
    return (
        known
        or f"{path!r} is not valid JSON Lines in UTF-8; write one object of finite numbers and texts per line"
    )


def _declared(path: str, compression: str, schema: Schema) -> tuple[dict[str, RawColumn], int]:
    texts: dict[str, list[str | None]] = {name: [] for name in schema}
    warned = False
    for rows in row_batches(path, compression, msgspec.Raw):
        warned = warned or warn_of_other_keys(rows, schema)
        for name, cells in texts.items():
            cells += texts_in(rows, name, schema[name])
    return read_texts(texts, schema)


def warn_of_other_keys(rows: list[dict[str, Any]], schema: Schema) -> bool:
    """Warn of keys that a schema of all columns does not declare; returns whether there are any."""
    declared = schema.columns.keys()
    others = any(not row.keys() <= declared for row in rows)
    if others:
        warn_caller(
            CoercionWarning("some records have keys that the schema does not declare; they are ignored")
        )
    return others


def texts_in(rows: list[dict[str, Any]], name: str, column: Column) -> list[str | None]:
    """Return the text of each cell of a declared column: that of a string, or anything else as written."""
    form = number_format(column)
    return [text_of(NULL if (cell := row.get(name)) is None else bytes(cell), form) for row in rows]


def number_format(column: Column) -> NumberFormat | None:
    """Return the form that a column declares for its numbers, if any."""
    stated = column.format if isinstance(column, Numeric) else None
    return None if stated is None else NumberFormat.of(stated)


def text_of(written: bytes, form: NumberFormat | None) -> str | None:
    """Return the text of a string, and anything else as written; a number in the form that its column declares."""
    if written.startswith(b'"'):
        return msgspec.json.decode(written, type=str)
    if form is not None and written[:1] in b"-0123456789":
        return form.written(Decimal(written.decode()))
    return None if written == NULL else written.decode()


def value_of(cell: msgspec.Raw | None) -> Any:
    """Return a value that is held as written."""
    return None if cell is None else msgspec.json.decode(cell)


def _column(cells: list[Any]) -> RawColumn:
    values = object_array(cells)
    missing = np.fromiter((is_missing(c) for c in cells), np.bool_, count=len(cells))
    present = values[~missing].tolist()
    if present and all(isinstance(v, str) for v in present):
        moments = parsed(present)
        if moments is not None:
            values[~missing] = object_array(moments)
    return column_from_objects(values, missing, "JSON")


def parsed(texts: list[str]) -> list[Any] | None:
    """Return dates, or times (in UTC if they have an offset); None if some text is neither."""
    try:
        if all(map(_DATE.fullmatch, texts)):
            return [dt.date.fromisoformat(t) for t in texts]
        if all(map(_TIMESTAMP.fullmatch, texts)):
            moments = [dt.datetime.fromisoformat(t) for t in texts]
            if all(m.tzinfo is not None for m in moments):
                return [m.astimezone(dt.UTC) for m in moments]
            return moments if all(m.tzinfo is None for m in moments) else None
    except (ValueError, OverflowError):
        pass
    return None
