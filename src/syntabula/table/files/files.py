"""Tables in files: CSV, TSV, JSON Lines, Parquet and Arrow, read exactly and written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from syntabula._files import whole_file
from syntabula._memory import memory_for
from syntabula.errors import DataError, SyntabulaError
from syntabula.table.files.formats import FileFormat, check_readable, file_format, output_format
from syntabula.table.frames.conform import conform
from syntabula.table.raw import Dialect, Origin, PhysicalType, RawColumn, RawTable, check_names

if TYPE_CHECKING:
    from syntabula.table.schema.schema import Schema


def read_table(path: str | os.PathLike[str], schema: Schema | None = None) -> RawTable:
    """Read a table from a file; the suffix gives the format.

    With a schema, the cells of text files are read as it declares (see `declared_cells`). Without one, the types
    depend on the cells, by the rules of `cell_types` for delimited text and of `json_reading` for JSON Lines. Parquet
    and Arrow files keep their types; times in Parquet have the zone that Arrow's libraries note beside them, or else UTC.
    Nothing is fetched from a network and nothing is written.

    Args:
        path: File with one of the suffixes of `formats`.
        schema: Declares all columns of a text file or some, or is None.

    Returns:
        The table.

    Raises:
        ArgumentError: If the suffix is not supported.
        DataError: If the file does not exist, is a folder, or cannot be read; the message names file and line, never a
            cell's value.
        MissingExtraError: If an Arrow file is given and pyarrow is not installed.
        ResourceError: If there is too little memory for it.
    """
    if isinstance(path, str | os.PathLike) and os.path.isdir(path):
        raise DataError(
            f"{os.fspath(path)!r} is a folder, which only `fit`, `synth` and `plan` read; give one of its files"
        )
    kind = file_format(path)
    place = os.path.abspath(os.fspath(path))
    check_readable(place, once=kind.container == "jsonl")
    with memory_for(f"read {place!r}"):
        return _read(place, kind, schema)


def _read(place: str, kind: FileFormat, schema: Schema | None) -> RawTable:
    if kind.container == "arrow":
        return _read_arrow(place)
    dialect = None
    if kind.container == "parquet":
        from syntabula.table.files.parquet_reading import read_parquet

        columns, n_rows = read_parquet(place)
    elif kind.container == "jsonl":
        from syntabula.table.files.json_reading import read_json_lines

        columns, n_rows = read_json_lines(place, kind.compression, schema)
    else:
        from syntabula.table.files.delimited import read_delimited

        delimiter = "\t" if kind.container == "tsv" else None
        columns, n_rows, found = read_delimited(place, kind.compression, delimiter, schema)
        dialect = None if found == kind.dialect else found
    physical = {n: c.physical for n, c in columns.items()}
    return RawTable(columns, n_rows, Origin(kind.container, physical, dialect))


def write_table(
    columns: Mapping[str, RawColumn],
    path: str | os.PathLike[str],
    origin: Origin | None = None,
    *,
    neutralise_formulas: bool = True,
) -> None:
    """Write a table to a file, completely or not at all; the suffix gives the format.

    Delimited text follows RFC 4180, in the dialect and encoding of the origin, or else UTF-8: missing cells are empty,
    the empty string is "", booleans are true and false unless a schema spells them otherwise, numbers are as short as
    possible (12.5, not 12.50), dates and times follow ISO 8601, zoned times with the offset of their zone, unless a
    schema declares another format. Workbooks hold one sheet. Parquet and Arrow files keep the types of the origin;
    in Parquet, categories become plain text, and zones are noted as Arrow's libraries do if pyarrow is installed, or
    else become UTC.

    Args:
        columns: Columns in order, of one length.
        path: File to write; an existing file, or symbolic link, is replaced at the very end.
        origin: Types to write; the columns' own if None.
        neutralise_formulas: Whether text in delimited files that a spreadsheet would run as a formula gets a leading
            apostrophe: text that starts with = + - @, in half or full width, a tab, a carriage return or a line feed,
            and is not a plain number or a phone.

    Raises:
        ArgumentError: If the suffix is not supported.
        DataError: If the file cannot be written; the old file is unchanged.
        MissingExtraError: If an Arrow file is asked for and pyarrow is not installed, or a workbook and openpyxl is not.
    """
    write_pieces([columns], path, origin, neutralise_formulas=neutralise_formulas)


def write_pieces(
    pieces: Iterable[Mapping[str, RawColumn]],
    path: str | os.PathLike[str],
    origin: Origin | None = None,
    *,
    neutralise_formulas: bool = True,
) -> None:
    """Write a table given as pieces of some rows each, like `write_table`.

    Two or more pieces are gathered in temporary files beside the target (see `whole_file`), so memory holds only a few
    pieces, however many there are. A killed process leaves the files behind, so pieces must not hold sensitive rows.

    Args:
        pieces: At least one piece; all have the same columns and types.
        path: See `write_table`.
        origin: See `write_table`.
        neutralise_formulas: See `write_table`.
    """
    kind = output_format(path)
    physical = origin.physical if origin is not None else {}
    with memory_for(f"write {os.fspath(path)!r}"), _target(path) as temporary:
        # Not a generator expression, which would keep a piece while the next is made.
        conformed = map(partial(_conformed, physical=physical), pieces)
        dialect = origin.dialect if origin is not None and origin.container == kind.container else None
        _write(conformed, temporary, kind, dialect or kind.dialect, neutralise_formulas)


def _conformed(
    columns: Mapping[str, RawColumn], physical: Mapping[str, PhysicalType]
) -> dict[str, RawColumn]:
    check_names(columns)
    if len({c.missing.size for c in columns.values()}) > 1:
        raise DataError("the columns of a table differ in length")
    return {n: conform(c, physical.get(n)) for n, c in columns.items()}


def _write(
    pieces: Iterator[dict[str, RawColumn]], path: str, kind: FileFormat, dialect: Dialect, neutralise: bool
) -> None:
    if kind.container == "arrow":
        from syntabula.table.frames.arrow_tables import write_arrow

        write_arrow(pieces, path)
        return
    if kind.container == "xlsx":
        from syntabula.table.files.workbooks import write_workbook

        write_workbook(pieces, path)
        return
    from syntabula.table.files import duckdb_writing

    if kind.container == "parquet":
        duckdb_writing.write_parquet(pieces, path)
    elif kind.container == "jsonl":
        duckdb_writing.write_json_lines(pieces, path, kind.compression)
    else:
        duckdb_writing.write_delimited(pieces, path, kind.compression, dialect, neutralise=neutralise)
        if dialect.encoding != "utf-8":
            from syntabula.table.files.encodings import encode_file

            encode_file(path, kind.compression, dialect.encoding)


@contextmanager
def _target(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield a temporary file of the target's name; every failure becomes a DataError that shows no cell."""
    try:
        with whole_file(path) as temporary:
            yield str(temporary)
    except (SyntabulaError, MemoryError):
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _unwritten(path, reason) from None
    except Exception as error:
        raise _unwritten(path, _reason(error)) from None


def _unwritten(path: str | os.PathLike[str], reason: str) -> DataError:
    return DataError(f"cannot write {os.fspath(path)!r}: {reason}; an old file of this name is unchanged")


def _reason(error: Exception) -> str:
    """Return the operating system's message, if a library passed it on, and nothing that could be a cell."""
    import errno

    text = str(error)
    known = (os.strerror(code) for code in errno.errorcode)
    return next((k for k in known if k in text), f"{type(error).__name__} while rows were drawn or written")


def _read_arrow(path: str) -> RawTable:
    from syntabula._extras import require
    from syntabula.table.frames.frames import from_frame

    feather = require("pyarrow.feather", "arrow")
    try:
        table = feather.read_table(path)
    except Exception:
        raise DataError(
            f"{path!r} cannot be read as an Arrow file: it is truncated, damaged or in another format; check the file"
        ) from None
    raw = from_frame(table)
    return replace(raw, origin=raw.origin.with_container("arrow"))
