"""Tables in and out, whatever they are: frames of several libraries, or files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from syntabula.errors import DataError
from syntabula.table.raw import Origin, RawColumn, RawTable


def read(source: Any) -> RawTable:
    """Read a table.

    Args:
        source: The path of a file, a pandas or polars data frame, an Arrow table, a DuckDB relation, or a raw
            table, which is returned as it is.

    Returns:
        The table.

    Raises:
        DataError: If it cannot be read; the message never holds a cell's value.
        ArgumentError: If the suffix of a path is not supported.
        MissingExtraError: If an optional library is needed.
    """
    if isinstance(source, RawTable):
        return source
    if isinstance(source, str | Path | os.PathLike):
        from syntabula.table.files import read_table

        return read_table(source)
    if source is None:
        raise DataError("no table was given; give a data frame, an Arrow table or the path of a file")
    from syntabula.table.frames import from_frame

    return from_frame(source)


def write_like(
    columns: Mapping[str, RawColumn], origin: Origin, path: str | os.PathLike[str] | None = None
) -> Any:
    """Make a table of the origin's types: in memory, or in a file if a path is given (returns None then)."""
    if path is None:
        from syntabula.table.frames import to_frame

        return to_frame(columns, origin)
    from syntabula.table.files import write_table

    write_table(columns, path, origin)
    return None
