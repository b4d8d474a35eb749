"""The first sheet of an Excel workbook, read by pandas."""

from __future__ import annotations

import math
import os
from zipfile import BadZipFile, ZipFile

from syntabula._extras import require
from syntabula._memory import above_limit, available_bytes, memory_for
from syntabula.errors import DataError, ResourceError
from syntabula.table.files.formats import check_readable
from syntabula.table.raw import RawTable, check_names

MOST_UNPACKED = 2**30
"""Bytes of a workbook's parts, unpacked: a million rows of some thirty columns, which take minutes to read."""
_MEMORY_PER_BYTE = 3
"""Bytes of memory for each of these, as measured on tables of numbers and texts."""


def read_workbook(path: str | os.PathLike[str]) -> RawTable:
    """Read the first sheet of a workbook, whose first row holds the names of columns.

    Cells have types, as pandas infers them for each column; empty cells are missing, and texts such as NA are texts.

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
    # pandas renames columns of a name that stands there twice.
    check_names([] if header.empty else [str(name) for name in header.iloc[0].dropna()])
    return from_frame(frame)


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
