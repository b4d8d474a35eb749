"""Days and times that are written as whole numbers, 20240131 and 20240131093000: which columns hold nothing else."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np

from syntabula.table.raw import PhysicalType, RawColumn, RawTable

NOTE = (
    "holds whole numbers that are days or times, such as 20240131, so it is treated as such; if they are other numbers, "
    "declare it numeric"
)
FORMATS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
"""The format of days and times as numbers, by how many digits they have."""

_FEWEST = 20
_FIRST, _LAST = 1900, 2099
_EPOCH = dt.datetime(1970, 1, 1)


def with_days_read(table: RawTable) -> RawTable:
    """Return a table with days and times for columns of whole numbers that hold nothing else; sensitive.

    Of numbers of eight digits between 19000101 and 20991231 one in 27 is a day, so that more than 20 of them are not by
    chance.
    """
    found = {name: column for name, raw in table.columns.items() if (column := _read(raw)) is not None}
    return replace(table, columns=table.columns | found) if found else table


def _read(raw: RawColumn) -> RawColumn | None:
    if raw.physical.kind not in ("integer", "float") or raw.beside is not None:
        return None
    values = raw.values
    missing = raw.missing | np.isnan(values) if raw.physical.kind == "float" else raw.missing
    # Columns of many other numbers are told by a few of them.
    if not all(_time(value) for value in values[~missing][:_FEWEST].tolist()):
        return None
    distinct, places = np.unique(values[~missing], return_inverse=True)
    formats = {_format(value) for value in (distinct[:1], distinct[-1:]) for value in value.tolist()}
    format = formats.pop() if len(formats) == 1 else None
    times = [_time(value) for value in distinct.tolist()] if distinct.size > _FEWEST and format else [None]
    if format is None or None in times:
        return None
    since = np.array([(time - _EPOCH) // dt.timedelta(microseconds=1) for time in times if time])
    read = np.zeros(values.size, dtype=np.int64)
    if format == FORMATS[8]:
        read[~missing] = (since // 86_400_000_000)[places]
        return RawColumn(read, missing, PhysicalType("date", raw.physical.name, format=format))
    read[~missing] = since[places]
    return RawColumn(read, missing, PhysicalType("datetime", raw.physical.name, format=format))


def _format(value: float) -> str | None:
    return FORMATS.get(len(str(int(value)))) if value == value // 1 and value > 0 else None


def _time(value: float) -> dt.datetime | None:
    """Return the time that a number writes; None if it writes none."""
    format = _format(value)
    if format is None:
        return None
    try:
        time = dt.datetime.strptime(str(int(value)), format)
    except ValueError:
        return None
    return time if _FIRST <= time.year <= _LAST else None
