"""Reads text cells into raw columns of the kinds that a schema declares, and writes values in a declared format.

Text files store no types. With a schema, the type of every column follows from its declaration alone, and the value
of a cell from that cell and the declaration alone, so no cell changes how another one is read:

- text categories and identifiers keep the text as written: 007 stays 007, NA stays NA;
- numbers may have a sign, leading zeros, a decimal point and an exponent, or be infinite; they are exact whole
  numbers if the column declares these, and nan is missing;
- true, t, yes, y, 1 and 1.0 are true; false, f, no, n, 0 and 0.0 are false; case does not matter;
- days are ISO 8601 dates, or the day of an ISO 8601 time without an offset;
- datetimes are ISO 8601 times or dates; without an offset they are in the declared zone, and a column without a
  zone accepts no offset;
- clock times have hours and minutes, and may have seconds;
- days, times and numbers with a declared format are also, or if numbers only, read in this format; years of two digits
  are those within the declared bounds, or else from 1969 to 2068;
- a cell of a column of numbers may hold one of its declared texts.

White space around anything but text is ignored, and an empty cell is missing; only in a column of text, a quoted
empty cell is the empty string. A text that the column declares for that is missing, even if it looks like a value, such
as -999; and so are NA and the like in columns of other kinds. Any other cell is unreadable, and the codec treats it as a
value outside the domain.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.table.database import at_hand, interruptible, quoted, read_values
from syntabula.table.frames.object_columns import object_array, to_objects
from syntabula.table.raw import MISSING_TEXTS, PhysicalType, RawColumn, RepeatedTexts
from syntabula.table.schema.columns import FALSE_TEXTS, TRUE_TEXTS, Identifier, Ordered
from syntabula.table.schema.schema import Schema
from syntabula.table.schema.text_formats import NumberFormat, in_years, quarter_groups, week_pattern
from syntabula.table.schema.time_columns import MICROSECONDS, microseconds, time_zone

_PLAIN_TIME = "%Y-%m-%d %H:%M:%S.%f"
_PLAIN_CLOCK = "%H:%M:%S.%f"
_UNREADABLE = "'??'"
_QUARTER = "{q}"
"""Stands for the quarter in formats of the database, which has none."""


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
        time = _time_in(cell, physical.format, physical.years)
        zone = "Z" if physical.format.endswith("Z") else ""
        usual = _PLAIN_CLOCK if physical.kind == "time" else _PLAIN_TIME + zone
        read = f"strftime({time}, {quoted(usual)})"
        if physical.kind == "time" and "%p" not in physical.format:
            # DuckDB has the end of a day as a time, but reads it in no other format.
            end = re.sub("%-?[A-Z]", "00", re.sub("%-?H", "24", physical.format))
            read += f", CASE {cell} WHEN {quoted(end)} THEN '24:00:00' END"
        return f"coalesce({read}, {cell})"
    form = NumberFormat.of(physical.format)
    if form.is_usual:
        return cell
    digits = f"regexp_replace({cell}, {quoted(form.unread)}, '', 'g')"
    number = f"replace({digits}, {quoted(form.mark)}, '.')" if form.mark else digits
    fits = f"regexp_full_match({cell}, {quoted(form.pattern)})"
    is_gap = f"{cell} IS NULL OR lower({cell}) = 'nan'"
    return f"CASE WHEN {is_gap} THEN {cell} WHEN {fits} THEN {number} ELSE {_UNREADABLE} END"


def _time_in(cell: str, format: str, years: tuple[int, int] | None) -> str:
    """Return the SQL of the time that a cell writes in a format; null if it is not in it."""
    if "%q" not in format:
        time = f"try_strptime({cell}, {quoted(format)})"
        if "%V" not in format:
            return in_years(time, years) if "%y" in format and years is not None else time
        # DuckDB reads week 53 of a year of 52 weeks as the first of the next year.
        week = f"TRY_CAST(regexp_extract({cell}, {quoted(week_pattern(format))}, 1) AS INTEGER)"
        return f"CASE WHEN week({time}) = {week} THEN {time} END"
    # DuckDB reads no quarters.
    pattern, *groups = quarter_groups(format)
    year, quarter = (f"regexp_extract({cell}, {quoted(pattern)}, {group})::INTEGER" for group in groups)
    return (
        f"CASE WHEN {matches(cell, pattern)} THEN make_timestamp({year}, 3 * {quarter} - 2, 1, 0, 0, 0) END"
    )


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
    time = "make_timestamp(v)"
    text = f"strftime({time}, {quoted(written)})"
    if "%q" in written:
        text = f"replace({text.replace('%q', _QUARTER)}, '{_QUARTER}', quarter({time})::VARCHAR)"
    with at_hand() as database:
        database.register("times", {"v": values})
        texts = database.execute(f"SELECT {text} AS t FROM times").fetchnumpy()["t"]
    return np.ma.getdata(texts).astype(object)


def _numbers(column: RawColumn, form: NumberFormat) -> NDArray[Any]:
    zero = column.values.dtype.type(0) if column.values.dtype != object else 0
    distinct, places = np.unique(np.where(column.missing, zero, column.values), return_inverse=True)
    return object_array([form.written(value) for value in distinct.tolist()])[places]


_WHOLE = r"[+-]?[0-9]+"
NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity))"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_LOCAL = _DAY + r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?"
_ZONED = _DAY + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_EPOCH = dt.datetime(1970, 1, 1)
_TEXT = PhysicalType("text", "VARCHAR")


def written_cells(texts: Sequence[str], names: Sequence[str], schema: Schema) -> str:
    """Return the SQL columns of the table `cells` that `read_declared` reads.

    Args:
        texts: SQL of each column's text, null if there is none.
        names: Name of each column.
        schema: Declares the columns.
    """
    columns = []
    for i, (text, name) in enumerate(zip(texts, names, strict=True)):
        physical = read_as(schema, name)
        bare = stripped(text)
        cell = text if physical.kind == "text" else plain(bare, physical)
        if cell not in (text, bare):
            # Neither texts beside numbers nor those for missing cells have a usual form.
            kept = [*texts_beside(schema, name), *_usual_gaps(schema, name)]
            cell = f"CASE WHEN {bare} IN ({_listed(kept)}) THEN {bare} ELSE {cell} END"
        if (gap := _declared_gap(schema, name)) is not None:
            # It may look like a value, such as -999, which is the same as -999.0.
            cell = (
                f"CASE WHEN {bare} = {quoted(gap)}{_or_equal(cell, gap, physical)} THEN NULL ELSE {cell} END"
            )
        columns.append(f"{cell} AS c{i}")
    return ", ".join(columns)


def read_declared(database: Any, names: Sequence[str], schema: Schema) -> tuple[dict[str, RawColumn], int]:
    """Read cells of text as a schema declares them.

    Args:
        database: Connection with a table `cells`, whose columns come from `written_cells`.
        names: Name of each column by position. Undeclared columns are read as text.
        schema: Declares the columns.

    Returns:
        The columns, and the number of rows. Cells that cannot be read are missing, and marked as unreadable.
    """
    types = [read_as(schema, name) for name in names]
    parsed = [parsed_as(f"c{i}", physical) for i, physical in enumerate(types)]
    wide = _with_wide_numbers(database, types, parsed)
    for i in wide:
        parsed[i] = _when(f"c{i}", NUMBER, f"c{i}")
    columns, n_rows = read_values(database, "cells", dict(zip(names, parsed, strict=True)))
    texts = [texts_beside(schema, name) for name in names]
    marks = _marks(database, types, texts)
    for i, (name, physical) in enumerate(zip(names, types, strict=True)):
        column = _decimals(columns[name]) if i in wide else replace(columns[name], physical=physical)
        if physical.timezone is not None:
            column = replace(column, cells=_in_utc(column.values, marks[f"l{i}"], physical.timezone))
        unreadable = column.missing & ~marks[f"g{i}"]
        if texts[i]:
            column = replace(column, beside=RepeatedTexts.placed(["", *texts[i]], marks[f"b{i}"]))
            unreadable &= marks[f"b{i}"] == 0
        if unreadable.any() and physical.kind != "text":
            # Most columns have none, and are not asked.
            unreadable &= ~_hold(database, f"c{i}", _usual_gaps(schema, name))
        columns[name] = replace(column, unreadable=unreadable if unreadable.any() else None)
    return columns, n_rows


def read_written(database: Any, names: Sequence[str], schema: Schema) -> tuple[dict[str, RawColumn], int]:
    """Read the declared columns of a table `written` of texts c0, c1, ..., as the schema declares them.

    Args:
        database: Connection that keeps the order of rows.
        names: Name of each column by position.
        schema: Declares some of them.

    Returns:
        The declared columns, and the number of rows.
    """
    texts = {f"c{i}": name for i, name in enumerate(names) if name in schema}
    cells = written_cells([*texts], [*texts.values()], schema)
    database.execute(f"CREATE TEMP TABLE cells AS SELECT {cells} FROM written")
    return read_declared(database, [*texts.values()], schema)


def read_texts(texts: Mapping[str, Sequence[str | None]], schema: Schema) -> tuple[dict[str, RawColumn], int]:
    """Read columns of text by the rules of `declared_cells`.

    Args:
        texts: The cells of each column [n], None for empty ones.
        schema: Declares the columns.

    Returns:
        The columns, and the number of rows.
    """
    arrays, selected = {}, []
    for i, cells in enumerate(texts.values()):
        arrays[f"v{i}"] = object_array([text or "" for text in cells])
        arrays[f"m{i}"] = np.fromiter((text is None for text in cells), np.bool_, count=len(cells))
        selected.append(f"CASE WHEN m{i} THEN NULL ELSE v{i}::VARCHAR END")
    with at_hand(cells=sum(map(len, texts.values()))) as database:
        database.register("texts", arrays)
        database.execute(
            f"CREATE TEMP TABLE cells AS SELECT {written_cells(selected, [*texts], schema)} FROM texts"
        )
        return interruptible(database, lambda: read_declared(database, [*texts], schema))


def read_as(schema: Schema, name: str) -> PhysicalType:
    """Return the type as which a column of text is read."""
    # Identifiers are made anew, so their cells are not read.
    learned = name in schema and not isinstance(schema[name], Identifier)
    return schema[name].stored if learned else _TEXT


def texts_beside(schema: Schema, name: str) -> tuple[str, ...]:
    """Return the texts that cells of a column may hold in place of a value; none if it is not declared."""
    column = schema.columns.get(name)
    return column.beside if isinstance(column, Ordered) else ()


def _usual_gaps(schema: Schema, name: str) -> tuple[str, ...]:
    """Return the usual texts for missing cells that are so in a column of another kind than text."""
    beside = texts_beside(schema, name)
    return tuple(text for text in MISSING_TEXTS if text not in beside)


def _declared_gap(schema: Schema, name: str) -> str | None:
    column = schema.columns.get(name)
    return None if column is None else column.missing_as


def _or_equal(cell: str, gap: str, physical: PhysicalType) -> str:
    """Return the SQL that adds to a comparison of texts one of the values that they write, if a text writes one."""
    if physical.kind in ("text", "boolean") or not re.search("[0-9]", gap):
        return ""
    as_value = PhysicalType("float", "DOUBLE") if physical.kind == "integer" else physical
    texts = (cell, f"({plain(quoted(gap), physical)})")
    one, other = (parsed_as(text, as_value) for text in texts)
    equal = f"({one}) = ({other})"
    if physical.timezone is not None:
        # A time without an offset is not yet in its zone.
        local, also = (matches(text, _LOCAL) for text in texts)
        equal += f" AND {local} = {also}"
    return f" OR coalesce({equal}, false)"


def _hold(database: Any, column: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which cells of a column of the table `cells` hold one of some texts [n]."""
    found = database.sql(
        f"SELECT coalesce({column} IN ({_listed(texts)}), false) AS h FROM cells"
    ).fetchnumpy()
    return np.ma.getdata(found["h"]).astype(np.bool_)


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(map(quoted, texts))


def stripped(text: str) -> str:
    """Return the SQL of a text without white space around it; null if nothing is left."""
    # Looking for white space takes a tenth of what trimming does.
    white = " OR ".join(f"contains({text}, {mark})" for mark in (r"' '", r"e'\t'", r"e'\r'", r"e'\n'"))
    return rf"nullif(CASE WHEN {white} THEN trim({text}, e' \t\r\n') ELSE {text} END, '')"


def matches(cell: str, pattern: str) -> str:
    """Return the SQL that tests whether a whole text matches a pattern."""
    return f"regexp_full_match({cell}, {quoted(pattern)})"


def _when(cell: str, pattern: str, value: str) -> str:
    return f"CASE WHEN {matches(cell, pattern)} THEN {value} END"


def parsed_as(cell: str, physical: PhysicalType) -> str:
    """Return the SQL of a cell's value; null if it has none."""
    match physical.kind:
        case "integer":
            return _when(cell, _WHOLE, f"TRY_CAST({cell} AS {physical.name})")
        case "float":
            return _when(cell, NUMBER, f"TRY_CAST({cell} AS DOUBLE)")
        case "boolean":
            true, false = (f"lower({cell}) IN ({_listed(texts)})" for texts in (TRUE_TEXTS, FALSE_TEXTS))
            return f"CASE WHEN {true} THEN true WHEN {false} THEN false END"
        case "date":
            return _when(cell, _LOCAL, f"TRY_CAST({cell} AS TIMESTAMP)::DATE")
        case "time":
            return _when(cell, _CLOCK, f"TRY_CAST({cell} AS TIME)")
        case "datetime" if physical.timezone is not None:
            # Times without an offset are first read as UTC.
            return _when(cell, f"{_LOCAL}|{_ZONED}", f"TRY_CAST({cell} AS TIMESTAMPTZ)")
        case "datetime":
            return _when(cell, _LOCAL, f"TRY_CAST({cell} AS TIMESTAMP)")
    return cell


def _with_wide_numbers(database: Any, physical: Sequence[PhysicalType], parsed: Sequence[str]) -> set[int]:
    """Return the integer columns with a number that is not whole or exceeds 64 bits."""
    whole = [i for i, p in enumerate(physical) if p.kind == "integer"]
    if not whole:
        return set()
    counts = [f"count(*) FILTER (WHERE ({parsed[i]}) IS NULL AND {matches(f'c{i}', NUMBER)})" for i in whole]
    row = database.execute(f"SELECT {', '.join(counts)} FROM cells").fetchall()[0]
    return {i for i, count in zip(whole, row, strict=True) if count}


def _marks(
    database: Any, physical: Sequence[PhysicalType], texts: Sequence[tuple[str, ...]]
) -> dict[str, NDArray[Any]]:
    """Return which cells of each column are empty, which zoned times have no offset, and which text a cell holds.

    Args:
        database: See `read_declared`.
        physical: Type of each column.
        texts: Those that each column may hold beside its values; the first is at position 1.
    """
    marks = []
    for i, p in enumerate(physical):
        nan = f" OR lower(c{i}) = 'nan'" if p.kind in ("integer", "float") else ""
        marks.append(f"(c{i} IS NULL{nan}) AS g{i}")
        if p.timezone is not None:
            marks.append(f"coalesce({matches(f'c{i}', _LOCAL)}, false) AS l{i}")
        if texts[i]:
            cases = " ".join(f"WHEN {quoted(text)} THEN {place}" for place, text in enumerate(texts[i], 1))
            marks.append(f"(CASE c{i} {cases} ELSE 0 END)::UTINYINT AS b{i}")
    fetched = database.sql(f"SELECT {', '.join(marks)} FROM cells").fetchnumpy()
    return {
        name: np.ma.getdata(mark).astype(np.uint8 if name.startswith("b") else np.bool_)
        for name, mark in fetched.items()
    }


def _decimals(column: RawColumn) -> RawColumn:
    """Return texts of numbers as decimals, which are exact."""
    pairs = zip(column.values.tolist(), column.missing.tolist(), strict=True)
    values = object_array([Decimal(0) if gap else _decimal(text) for text, gap in pairs])
    return RawColumn(values, column.missing, PhysicalType("decimal", "text"))


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        # The exponent exceeds that of decimals: practically zero, or infinite.
        return Decimal(float(text))


def _in_utc(moments: NDArray[Any], local: NDArray[np.bool_], timezone: str) -> NDArray[Any]:
    """Return microseconds in UTC, converting those given as wall-clock times of a zone."""
    zone, moments = time_zone(timezone), moments.copy()
    distinct, places = np.unique(moments[local], return_inverse=True)
    moments[local] = np.array([_shifted(m, zone) for m in distinct.tolist()], dtype=np.int64)[places]
    return moments


def _shifted(moment: int, zone: dt.tzinfo) -> int:
    try:
        return microseconds((_EPOCH + dt.timedelta(microseconds=moment)).replace(tzinfo=zone))
    except OverflowError:
        # At the ends of the calendar, beyond any bound of a schema.
        return moment
