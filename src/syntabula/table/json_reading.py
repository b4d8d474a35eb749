"""JSON Lines to raw columns: one object per line, every number exact."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import msgspec
import numpy as np

from syntabula.errors import DataError
from syntabula.table.duckdb_columns import connection, one_file, quoted
from syntabula.table.interrupts import interruptible
from syntabula.table.object_columns import column_from_objects, is_missing, object_array
from syntabula.table.raw import RawColumn

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?")


def read_json_lines(path: str, compression: str) -> tuple[dict[str, RawColumn], int]:
    """Read a JSON Lines file; null and absent keys are missing, columns of ISO dates or times become such.

    Args:
        path: File to read.
        compression: "none", "gzip" or "zstd".

    Returns:
        The columns in order of first appearance, and the number of rows.

    Raises:
        DataError: If a line is not a JSON object, or there is none; names the line, never its content.
    """
    from syntabula.table.frames import check_names

    rows = _rows(path, compression)
    names = list(dict.fromkeys(key for row in rows for key in row))
    if not rows:
        raise DataError(f"{path!r} is empty; JSON Lines without a line have no columns")
    check_names(names)
    return {name: _column(name, [row.get(name) for row in rows]) for name in names}, len(rows)


def _rows(path: str, compression: str) -> list[dict[str, Any]]:
    import duckdb

    query = (
        f"SELECT json::VARCHAR FROM read_json_objects({one_file(path)}, format='newline_delimited', "
        f"compression={quoted(compression)})"
    )
    with connection() as database:
        try:
            lines = interruptible(database, lambda: database.execute(query).fetchall())
        except duckdb.Error as error:
            line = re.search(r"in line (\d+)", str(error))
            where = f"line {line[1]} of {path!r}" if line else f"{path!r}"
            raise DataError(f"{where} is not valid JSON; write one object per line") from None
    decoder = msgspec.json.Decoder(dict[str, Any])
    rows = []
    for number, (text,) in enumerate(lines, start=1):
        try:
            rows.append(decoder.decode(text))
        except (msgspec.DecodeError, RecursionError):
            raise DataError(f"object {number} of {path!r} is not a JSON object with text as keys") from None
    return rows


def _column(name: str, cells: list[Any]) -> RawColumn:
    values = object_array(cells)
    missing = np.fromiter((is_missing(c) for c in cells), np.bool_, count=len(cells))
    present = values[~missing].tolist()
    if present and all(isinstance(v, str) for v in present):
        moments = _parsed(present)
        if moments is not None:
            values[~missing] = object_array(moments)
    return column_from_objects(name, values, missing, "JSON")


def _parsed(texts: list[str]) -> list[Any] | None:
    """Return dates, or times without or with an offset (in UTC then); None if some text is neither."""
    try:
        if all(map(_DATE.fullmatch, texts)):
            return [dt.date.fromisoformat(t) for t in texts]
        if all(map(_MOMENT.fullmatch, texts)):
            moments = [dt.datetime.fromisoformat(t) for t in texts]
            if all(m.tzinfo is not None for m in moments):
                return [m.astimezone(dt.UTC) for m in moments]
            return moments if all(m.tzinfo is None for m in moments) else None
    except (ValueError, OverflowError):
        pass
    return None
