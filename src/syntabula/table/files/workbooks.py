"""The first sheet of an Excel workbook, read by pandas and written row by row."""

from __future__ import annotations

import datetime as dt
import io
import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

from syntabula._extras import require
from syntabula._memory import above_limit, available_bytes, memory_for
from syntabula.errors import CoercionWarning, DataError, ResourceError, warn_caller
from syntabula.table.files.formats import MOST_SHEET_ROWS, check_readable
from syntabula.table.files.formulas import check_computed
from syntabula.table.raw import Origin, RawColumn, RawTable, check_names
from syntabula.table.schema.schema import columns_listed

MOST_UNPACKED = 2**30
"""Bytes of a workbook's parts, unpacked: a million rows of some thirty columns, which take minutes to read."""
_MEMORY_PER_BYTE = 3
"""Bytes of memory for each of these, as measured on tables of numbers and texts."""
_LONGEST_CELL = 32_767
_MOST_EXACT = 2**53
"""Workbooks hold numbers as floats, which hold all whole numbers up to this one."""
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_REAL = re.compile(r"-?(0|[1-9][0-9]{0,14}|(0|[1-9][0-9]*)\.[0-9]+([eE][+-]?[0-9]{1,2})?)")
"""Texts of whole numbers and of others. Unlike text files, 1E5 is a code, as it would be a number if one were meant."""
_FIRST_YEAR = 1900
"""Workbooks count days from the beginning of this year."""


def read_workbook(path: str | os.PathLike[str]) -> RawTable:
    """Read the first sheet of a workbook, whose first row that is not empty holds the names of columns.

    Cells have types, and the column has the one that they share; empty cells are missing, and texts such as NA are
    texts. Texts are numbers where all of a column are written as such: codes such as 007 stay texts. Numbers beside
    texts are texts. A `CoercionWarning` names columns of whole numbers that are longer than workbooks can hold, and the
    sheet that is read if there are several.

    Raises:
        DataError: If it cannot be read, a column with cells has no name, or formulas have no values, as in workbooks that
            openpyxl wrote; the message never shows a cell's value.
        MissingExtraError: If pandas or openpyxl is not installed.
        ResourceError: If it holds more than 1,024 MB when unpacked, which is seen before it is opened, or memory runs
            out.
    """
    from syntabula.table.frames.frames import from_frame

    pandas = require("pandas", "excel")
    require("openpyxl", "excel")
    place = os.path.abspath(os.fspath(path))
    check_readable(place)
    _check_unpacked(place)
    with memory_for(f"read {place!r}"):
        try:
            with pandas.ExcelFile(place, engine="openpyxl") as book:
                sheets = book.sheet_names
                part = book.book.worksheets[0]._worksheet_path
                # Types are found here, column by column: pandas would read the text 007 as the number 7.
                cells = pandas.read_excel(
                    book, header=None, keep_default_na=False, na_values=[""], dtype=object
                )
        except MemoryError:
            raise
        except Exception:
            raise DataError(
                f"{place!r} cannot be read as an Excel workbook: it is damaged, protected or in another format; save "
                "its sheet as CSV"
            ) from None
        check_computed(place, part, _header(cells))
        names, rows = _named(cells)
        if len(sheets) > 1:
            warn_caller(
                CoercionWarning(
                    f"of {len(sheets)} sheets of the workbook only the first is read: {sheets[0]!r}"
                )
            )
        return from_frame(_typed(names, rows, pandas))


def _named(cells: Any) -> tuple[list[str], Any]:
    """Return the names of columns and the rows below them, without columns that are empty and have no name.

    Args:
        cells: All cells of a sheet from its first row on, NaN where they are empty.
    """
    while len(cells) and cells.iloc[0].isna().all():
        cells = cells.iloc[1:]
    if cells.empty:
        raise DataError(
            "the first sheet of the workbook is empty; move the sheet of the table to the front, or save it as CSV"
        )
    header, rows = cells.iloc[0], cells.iloc[1:]
    is_named = header.notna().to_numpy()
    nameless = np.flatnonzero(~is_named & rows.notna().any().to_numpy())
    if nameless.size:
        letters = require("openpyxl.utils", "excel").get_column_letter
        raise DataError(
            f"the first sheet of the workbook has cells without a name in column {letters(int(nameless[0]) + 1)}: its "
            "first row must hold the names of all columns, each in a cell of its own. Remove titles, totals and merged "
            "cells above or beside the table, or name the column"
        )
    names = [*map(_name, header[is_named])]
    check_names(names)
    return names, rows.loc[:, is_named].reset_index(drop=True)


def _header(cells: Any) -> dict[int, str]:
    """Return the names of columns by their places, as far as the first row that is not empty has them."""
    rows = cells.dropna(how="all")
    return {} if rows.empty else {place: _name(cell) for place, cell in rows.iloc[0].dropna().items()}


def _name(cell: object) -> str:
    """Return the name that a cell holds; of years, other numbers and days, as text files write them."""
    if isinstance(cell, dt.datetime):
        return cell.isoformat() if cell.time() != dt.time() else cell.date().isoformat()
    return str(cell)


def _typed(names: list[str], cells: Any, pandas: Any) -> Any:
    """Return a frame of the rows of a sheet, each column in the type that its cells share.

    Numbers that are held as texts, as some programs export them, are numbers.
    """
    columns = {}
    long = []
    for place, name in enumerate(names):
        column = cells.iloc[:, place]
        kinds = {*map(type, column.dropna())}
        if str in kinds and kinds <= {str, int, float}:
            column = _of_texts(column, pandas)
        else:
            column = column.infer_objects()
            if _is_long(column):
                long.append(name)
        columns[name] = column
    if long:
        warn_caller(
            CoercionWarning(
                f"{columns_listed(long)}: a number in a workbook has 15 to 17 digits, and some numbers here are longer: "
                "their last digits were lost when the file was saved. If they are keys, save them as texts, or save "
                "the table as CSV or Parquet"
            )
        )
    return pandas.DataFrame(columns)


def _of_texts(column: Any, pandas: Any) -> Any:
    """Return a column of texts, and of numbers among them, as numbers if all texts are written as such; else as texts."""
    present = column.dropna()
    texts = {cell for cell in present if type(cell) is str}
    if not any(type(cell) is float for cell in present) and all(map(_WHOLE.fullmatch, texts)):
        whole = [None if gap else int(cell) for cell, gap in zip(column, column.isna(), strict=True)]
        try:
            # Numbers that are too large for int64 would be others without a word.
            found = pandas.Series(pandas.array(whole, dtype="Int64"))
        except OverflowError:
            pass
        else:
            return found if None in whole else found.astype("int64")
    elif all(map(_REAL.fullmatch, texts)):
        return column.astype("float64")
    return column.where(column.isna(), column.map(str))


def _is_long(series: Any) -> bool:
    """Return whether a column holds whole numbers alone, some of which are too long to be told from their neighbours."""
    if series.dtype.kind not in "iuf":
        return False
    values = series.dropna().to_numpy()
    if not ((values > _MOST_EXACT) | (values < -_MOST_EXACT)).any():
        return False
    return bool((values == np.rint(values)).all())


def _check_unpacked(place: str) -> None:
    """Refuse a workbook whose parts hold too much; what is no archive of parts is left to the reader.

    The sizes are those that the archive states. Reading stops there, so a false one gains nothing.
    """
    try:
        with ZipFile(place) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
    except (BadZipFile, NotImplementedError, OSError, ValueError):
        return
    free = available_bytes()
    limit = min(MOST_UNPACKED, math.inf if free is None else free / _MEMORY_PER_BYTE)
    if unpacked > limit:
        raise ResourceError(
            f"{place!r} holds {above_limit(unpacked / 2**20, limit / 2**20)} for workbooks, when unpacked; save "
            "its sheet as CSV or Parquet, which need less memory"
        )


def write_workbook(pieces: Iterable[Mapping[str, RawColumn]], path: str) -> None:
    """Write the pieces of a table as the only sheet of a workbook, its first row the names of the columns.

    Numbers, flags, days and times are cells of their own kind, and texts are texts even if they begin like a formula.
    Times with a zone, days before 1900 and whole numbers beyond 2**53, which no cell can hold, are texts.

    Raises:
        DataError: If there are more rows than a sheet holds, or a text that no cell can hold.
        MissingExtraError: If pandas or openpyxl is not installed.
    """
    require("pandas", "excel")
    workbook = require("openpyxl", "excel").Workbook(write_only=True)
    sheet = _Sheet(workbook.create_sheet("Sheet1"))
    try:
        sheet.append(pieces)
    finally:
        # Also after an error, or the end of the program would complain of a file left open.
        sheet.sheet.close()
    # The archive of `Workbook.save` would be left open where it does not fit, and complain of that later.
    with _UntilFull(path, "wb") as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
        require("openpyxl.writer.excel", "excel").ExcelWriter(workbook, archive).save()


class _UntilFull(io.FileIO):
    """A file that fails to be written once: an archive that did not fit would print an error again when it is closed."""

    has_failed = False

    def write(self, data: Any, /) -> int:
        """Write data, all of it; drop it after a failure."""
        size = memoryview(data).nbytes
        try:
            written = 0 if self.has_failed else super().write(data)
            while not self.has_failed and written < size:
                written += super().write(memoryview(data).cast("B")[written:])
        except OSError:
            self.has_failed = True
            raise
        return size


class _Sheet:
    """A sheet that is written row by row."""

    def __init__(self, sheet: Any) -> None:
        self.sheet = sheet
        self._cell_of = require("openpyxl.cell", "excel").WriteOnlyCell
        self._illegal = require("openpyxl.utils.exceptions", "excel").IllegalCharacterError

    def append(self, pieces: Iterable[Mapping[str, RawColumn]]) -> None:
        """Append the names of columns and the rows of all pieces."""
        from syntabula.table.frames.frames import to_frame

        n_rows = 0
        for place, columns in enumerate(pieces):
            frame = to_frame(columns, Origin("pandas", {}))
            if not place:
                self.sheet.append([self._cell(name, name) for name in columns])
            n_rows += len(frame)
            if n_rows > MOST_SHEET_ROWS:
                raise DataError(
                    f"a sheet of a workbook holds at most {MOST_SHEET_ROWS:,} rows; draw fewer, or write CSV or Parquet"
                )
            cells = [_values(frame[name], raw) for name, raw in columns.items()]
            for row in zip(*cells, strict=True):
                self.sheet.append([self._cell(value, name) for name, value in zip(columns, row, strict=True)])

    def _cell(self, value: Any, name: str) -> Any:
        """Return what is appended for a value; a cell of its own for a text, which would else be read as a formula."""
        if isinstance(value, dt.datetime):
            is_held = value.tzinfo is None and value.year >= _FIRST_YEAR
            return dt.datetime.combine(value.date(), value.time()) if is_held else value.isoformat()
        if isinstance(value, dt.date) and value.year < _FIRST_YEAR:
            return value.isoformat()
        if isinstance(value, int) and abs(value) > _MOST_EXACT:
            # Keys of 17 digits and more would end in other digits.
            value = str(value)
        if not isinstance(value, str):
            return value
        if len(value) > _LONGEST_CELL:
            raise DataError(
                f"column {name!r} has a text of more than {_LONGEST_CELL:,} characters, which no cell of a workbook "
                "holds; write CSV or Parquet"
            )
        try:
            cell = self._cell_of(self.sheet, value)
        except self._illegal:
            raise DataError(
                f"column {name!r} has a text with control characters, which no cell of a workbook holds; write CSV or "
                "Parquet"
            ) from None
        cell.data_type = "s"
        return cell


def _values(series: Any, raw: RawColumn) -> list[Any]:
    """Return the values of a column as Python's own, None where they are missing."""
    values: list[Any] = series.astype(object).where(~raw.missing, None).tolist()
    if raw.physical.kind == "date":
        return [value.date() if isinstance(value, dt.datetime) else value for value in values]
    return values
