"""Read a table from anything: a data frame, an Arrow table or the path of a file."""

from __future__ import annotations

import os
from typing import Any

from syntabula.table.raw import RawTable


def read(source: Any) -> RawTable:
    """Read a table.

    Args:
        source: A pandas or polars data frame, an Arrow table, a DuckDB relation, or the path of a file.

    Raises:
        DataError: If it is none of these or cannot be read; the message names the column or the file.
    """
    if isinstance(source, RawTable):
        return source
    if isinstance(source, str | os.PathLike):
        from syntabula.table.files import read_table

        return read_table(source)
    from syntabula.table.frames import from_frame

    return from_frame(source)
