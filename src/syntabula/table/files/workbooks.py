"""The first sheet of an Excel workbook, read by pandas."""

from __future__ import annotations

import os

from syntabula._extras import require
from syntabula._memory import memory_for
from syntabula.errors import DataError
from syntabula.table.files.formats import check_readable
from syntabula.table.raw import RawTable, check_names


def read_workbook(path: str | os.PathLike[str]) -> RawTable:
    """Read the first sheet of a workbook, whose first row holds the names of columns.

    Cells have types, as pandas infers them for each column; empty cells are missing, and texts such as NA are texts.

    Raises:
        DataError: If it cannot be read; the message never shows a cell's value.
        MissingExtraError: If pandas or openpyxl is not installed.
        ResourceError: If memory runs out.
    """
    from syntabula.table.frames.frames import from_frame

    pandas = require("pandas", "excel")
    require("openpyxl", "excel")
    place = os.path.abspath(os.fspath(path))
    check_readable(place)
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
