"""Days, times and numbers in the form that a column's format gives: read into the usual form, and written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import connection, quoted
from syntabula.table.frames.object_columns import object_array, to_objects
from syntabula.table.raw import PhysicalType, RawColumn
from syntabula.table.schema.text_formats import NumberFormat
from syntabula.table.schema.time_columns import MICROSECONDS, microseconds

_PLAIN_TIME = "%Y-%m-%d %H:%M:%S.%f"
_PLAIN_CLOCK = "%H:%M:%S.%f"
_UNREADABLE = "'?'"


def plain(cell: str, physical: PhysicalType) -> str:
    """Return the SQL of a cell's text in the usual form of its kind: ISO 8601, or digits with a point.

    A day or a time that is not in the format stays as it is, because ISO 8601 is always read. A number that is not has
    no usual form, so that 1.234 is never taken for 1.234 where it means 1234.

    Args:
        cell: SQL of the text without white space around it, null if it is missing.
        physical: Type of the column.
    """
    if physical.format is None:
        return cell
    if physical.kind in ("date", "datetime", "time"):
        time = f"try_strptime({cell}, {quoted(physical.format)})"
        zone = "Z" if physical.format.endswith("Z") else ""
        usual = _PLAIN_CLOCK if physical.kind == "time" else _PLAIN_TIME + zone
        return f"coalesce(strftime({time}, {quoted(usual)}), {cell})"
    form = NumberFormat.of(physical.format)
    if form.is_usual:
        return cell
    digits = f"regexp_replace({cell}, {quoted(f'[^0-9{form.mark}+-]')}, '', 'g')"
    number = f"replace({digits}, {quoted(form.mark)}, '.')" if form.mark else digits
    fits = f"regexp_full_match({cell}, {quoted(form.pattern)})"
    is_gap = f"{cell} IS NULL OR lower({cell}) = 'nan'"
    return f"CASE WHEN {is_gap} THEN {cell} WHEN {fits} THEN {number} ELSE {_UNREADABLE} END"


def formatted(column: RawColumn, physical: PhysicalType) -> NDArray[Any]:
    """Return the values of a column as texts [n] in the format of a type of text; arbitrary where missing."""
    assert physical.format is not None
    if column.physical.kind not in ("date", "datetime", "time"):
        return _numbers(column, NumberFormat.of(physical.format))
    values = np.where(column.missing, 0, column.values).astype(np.int64)
    if column.physical.kind == "date":
        values = values * MICROSECONDS["day"]
    elif column.physical.timezone not in (None, "UTC"):
        moments = to_objects(column).tolist()
        local = [0 if m is None else microseconds(m.replace(tzinfo=None)) for m in moments]
        values = np.array(local, dtype=np.int64)
    return _times(values, physical.format, physical.scale)


def _times(values: NDArray[np.int64], format: str, places: int | None) -> NDArray[Any]:
    # DuckDB has a directive of its own for three decimals of a second.
    written = format.replace("%f", "%g") if places == 3 else format
    with connection() as database:
        database.register("times", {"v": values})
        texts = database.execute(
            f"SELECT strftime(make_timestamp(v), {quoted(written)}) AS t FROM times"
        ).fetchnumpy()["t"]
    return np.ma.getdata(texts).astype(object)


def _numbers(column: RawColumn, form: NumberFormat) -> NDArray[Any]:
    zero = column.values.dtype.type(0) if column.values.dtype != object else 0
    distinct, places = np.unique(np.where(column.missing, zero, column.values), return_inverse=True)
    return object_array([form.written(value) for value in distinct.tolist()])[places]
