"""The first sheet of an Excel workbook, read by pandas."""

from __future__ import annotations

import os

from syntabula._extras import require
from syntabula.errors import DataError
from syntabula.table.files.formats import check_readable
from syntabula.table.raw import RawTable


def read_workbook(path: str | os.PathLike[str]) -> RawTable:
    """Read the first sheet of a workbook, whose first row holds the names of columns.

    Cells have types, as pandas infers them for each column; empty cells are missing, and texts such as NA are texts.

    Raises:
        DataError: If it cannot be read; the message never shows a cell's value.
        MissingExtraError: If pandas or openpyxl is not installed.
    """
    from syntabula.table.frames.frames import from_frame

    pandas = require("pandas", "excel")
    require("openpyxl", "excel")
    place = os.path.abspath(os.fspath(path))
    check_readable(place)
    try:
        frame = pandas.read_excel(place, engine="openpyxl", keep_default_na=False, na_values=[""])
    except Exception:
        raise DataError(
            f"{place!r} cannot be read as an Excel workbook: it is damaged, protected or in another format; save its "
            "sheet as CSV"
        ) from None
    return from_frame(frame)
