"""The first sheet of an Excel workbook, read by pandas and written row by row."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from syntabula._extras import require
from syntabula._memory import above_limit, available_bytes, memory_for
from syntabula.errors import CoercionWarning, DataError, ResourceError, warn_caller
from syntabula.table.files.formats import MOST_SHEET_ROWS, check_readable
from syntabula.table.raw import Origin, RawColumn, RawTable, check_names
from syntabula.table.schema.schema import columns_listed

MOST_UNPACKED = 2**30
"""Bytes of a workbook's parts, unpacked: a million rows of some thirty columns, which take minutes to read."""
_MEMORY_PER_BYTE = 3
"""Bytes of memory for each of these, as measured on tables of numbers and texts."""
_LONGEST_CELL = 32_767
_MOST_EXACT = 2**53
"""Workbooks hold numbers as floats, which hold all whole numbers up to this one."""
_FIRST_YEAR = 1900
"""Workbooks count days from the beginning of this year."""


def read_workbook(path: str | os.PathLike[str]) -> RawTable:
    """Read the first sheet of a workbook, whose first row holds the names of columns.

    Cells have types, as pandas infers them for each column; empty cells are missing, and texts such as NA are texts.
    A `CoercionWarning` names columns of whole numbers that are longer than workbooks can hold.

    Raises:
        DataError: If it cannot be read; the message never shows a cell's value.
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
            header = pandas.read_excel(place, engine="openpyxl", header=None, nrows=1, dtype=object)
            frame = pandas.read_excel(place, engine="openpyxl", keep_default_na=False, na_values=[""])
        except MemoryError:
            raise
        except Exception:
            raise DataError(
                f"{place!r} cannot be read as an Excel workbook: it is damaged, protected or in another format; save "
                "its sheet as CSV"
            ) from None
        _keep_long_numbers(frame, place)
    # pandas renames columns of a name that stands there twice.
    check_names([] if header.empty else [str(name) for name in header.iloc[0].dropna()])
    return from_frame(frame)


def _keep_long_numbers(frame: Any, place: str) -> None:
    """Put all digits of long whole numbers that are texts in the workbook into a frame; warns of other long ones.

    pandas reads texts of digits as numbers, and where some cells are empty as floats, which lose the last digits.
    """
    long = [name for name in frame if _is_long(frame[name])]
    if not long:
        return
    pandas = require("pandas", "excel")
    cells = pandas.read_excel(
        place,
        engine="openpyxl",
        keep_default_na=False,
        na_values=[""],
        usecols=[*map(frame.columns.get_loc, long)],
        dtype=object,
    )
    are_texts = [name for name in long if {*map(type, cells[name].dropna())} == {str}]
    if cut := [name for name in long if name not in are_texts]:
        warn_caller(
            CoercionWarning(
                f"{columns_listed(cut)}: a number in a workbook has 15 to 17 digits, and some numbers here are longer: "
                "their last digits were lost when the file was saved. If they are keys, save them as texts, or save "
                "the table as CSV or Parquet"
            )
        )
    for name in are_texts:
        if frame[name].dtype.kind == "f":
            frame[name] = _as_whole(cells[name])


def _as_whole(texts: Any) -> Any:
    """Return texts as 64-bit whole numbers with gaps; as they are if some are none, or are too long."""
    pandas = require("pandas", "excel")
    try:
        whole = [None if gap else int(text) for text, gap in zip(texts, texts.isna(), strict=True)]
        return pandas.Series(pandas.array(whole, dtype="Int64"), index=texts.index)
    except (ValueError, OverflowError, TypeError):
        return texts


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
    workbook.save(path)


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
