"""Read and write tables of any supported kind: frames of several libraries, or files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntabula.errors import DataError
from syntabula.table.files.formats import is_workbook
from syntabula.table.frames.retyping import typed_as_declared
from syntabula.table.raw import Origin, RawColumn, RawTable

if TYPE_CHECKING:
    from syntabula.table.schema.schema import SchemaSource


def read(source: Any, schema: SchemaSource | None = None) -> RawTable:
    """Read a table.

    Args:
        source: The path of a file, a workbook (.xlsx) among them, a pandas or polars data frame, an Arrow table, a DuckDB
            relation, or a raw table.
        schema: Declares columns, which are read as declared, whatever their stored types. For undeclared columns,
            the types of text files and of Python objects are inferred from the cells. This function does not check
            that the column names fit the schema.

    Returns:
        The table; a raw table is returned unchanged.

    Raises:
        SchemaError: If the schema is not a schema.
        DataError: If it cannot be read; the message never shows a cell's value.
        ArgumentError: If the suffix of a path is not supported.
        MissingExtraError: If an optional library is needed.
    """
    if schema is not None:
        from syntabula.table.schema.schema import as_schema

        schema = as_schema(schema)
    if is_workbook(source):
        from syntabula.table.files.workbooks import read_workbook

        source = read_workbook(source)
    if isinstance(source, str | Path | os.PathLike):
        from syntabula.table.files.files import read_table

        source = read_table(source, schema)
    if isinstance(source, RawTable):
        return source if schema is None else typed_as_declared(source, schema)
    if source is None:
        raise DataError("no table was given; give a data frame, an Arrow table or the path of a file")
    from syntabula.table.frames.frames import from_frame

    return read(from_frame(source), schema)


def write_like(
    columns: Mapping[str, RawColumn], origin: Origin, path: str | os.PathLike[str] | None = None
) -> Any:
    """Make a table with the origin's types: in memory, or in a file if a path is given (then returns None)."""
    if path is None:
        from syntabula.table.frames.frames import to_frame

        return to_frame(columns, origin)
    from syntabula.table.files.files import write_table

    write_table(columns, path, origin)
    return None
