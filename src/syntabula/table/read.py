"""Read and write tables of any supported kind, and say which are read in parts: folders, large files, lazy tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntabula.errors import DataError
from syntabula.table.files.formats import file_format, is_workbook
from syntabula.table.frames.retyping import typed_as_declared
from syntabula.table.parts.part_reading import Snapshot
from syntabula.table.parts.raw_parts import ROWS_AT_ONCE, RawParts
from syntabula.table.raw import TEXT_FORMATS, Container, Origin, RawColumn, RawTable, check_names
from syntabula.table.schema.schema import Schema, is_whole

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


LARGE_FILE = 2**27
"""A file of more bytes is read in parts."""

_PATTERN = "*?["

Batches = Callable[[list[str] | None], Iterable[Any]]


def is_many_files(source: object) -> bool:
    """Return whether a path is a folder, or a pattern that is not itself the name of a file."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = os.fspath(source)
    if isinstance(path, bytes) or os.path.isfile(path):
        return False
    return os.path.isdir(path) or any(c in path for c in _PATTERN)


def is_large_file(source: object) -> bool:
    """Return whether a path is of a file that is better read in parts."""
    if not isinstance(source, str | os.PathLike) or find_spec("pyarrow") is None:
        return False
    path = os.fspath(source)
    if not isinstance(path, str) or is_workbook(path):
        return False
    return os.path.isfile(path) and os.path.getsize(path) > LARGE_FILE


def is_json_lines(source: str | os.PathLike[str]) -> bool:
    """Return whether a path is of JSON Lines."""
    return not is_workbook(source) and file_format(source).container == "jsonl"


def needs_parts(source: object) -> bool:
    """Return whether a table can be read in parts alone."""
    return (
        is_many_files(source)
        or _is_dataset(source)
        or _is_ibis(source)
        or _is_spark(source)
        or isinstance(source, RawParts)
    )


def may_have_parts(source: object) -> bool:
    """Return whether a table is better read in parts, where a schema allows that."""
    return needs_parts(source) or is_large_file(source) or _is_lazy_frame(source) or _is_relation(source)


def parts_of(source: Any, schema: Schema | None, *, workers: int = 1) -> RawParts:
    """Return a table in parts.

    Args:
        source: A folder, a pattern or the path of a file, a polars LazyFrame, a DuckDB relation, a pyarrow dataset, an
            Ibis table, a Spark frame, or a table in parts.
        schema: Declares all columns, or some; None for none.
        workers: Number of processes that read files; the others are read in this one, by their library.

    Raises:
        DataError: If it cannot be read.
        SchemaError: If the names of its columns do not fit the schema.
    """
    if isinstance(source, RawParts):
        return source
    if isinstance(source, str | os.PathLike):
        from syntabula.table.parts.files import file_parts

        parts = file_parts(source, schema, workers=workers)
    elif _is_spark(source):
        from syntabula.table.parts.spark_parts import spark_parts

        parts = spark_parts(source, schema)
    else:
        from syntabula.table.parts.arrow_parts import ArrowStream

        if _is_dataset(source):
            from syntabula.table.parts.datasets import united

            source = united(source)
        place, container, names, batches = _stream_of(source)
        check_names(names)
        if schema is not None:
            schema.check_names(names)
        stream = ArrowStream(place, container, batches)
        parts = RawParts(container, schema, (stream,), snapshot=_snapshot_of(source))
    if is_whole(schema) or parts.container in TEXT_FORMATS:
        return parts
    from syntabula.table.parts.stored import with_stored_types

    return with_stored_types(parts, _empty(source, parts))


def _empty(source: Any, parts: RawParts) -> RawTable:
    """Return a table like this one without records, as the reader of whole tables reads it."""

    if isinstance(source, str | os.PathLike):
        from syntabula.table.parts.arrow_parts import ArrowPart, ParquetPart

        first = parts.parts[0]
        assert isinstance(first, ParquetPart | ArrowPart)
        return first.empty()
    if _is_lazy_frame(source):
        return read(source.head(0).collect())
    if _is_relation(source):
        return read(source.limit(0))
    if _is_spark(source):
        from syntabula.table.parts.spark_parts import empty_table

        return read(empty_table(source))
    return read((source.schema if _is_dataset(source) else source.schema().to_pyarrow()).empty_table())


def _stream_of(source: Any) -> tuple[str, Container, list[str], Batches]:
    """Return what a message calls a lazy table, its kind, the names of its columns, and how its batches are read."""
    if _is_lazy_frame(source):
        return (
            "the LazyFrame",
            "polars",
            source.collect_schema().names(),
            lambda names: _of_polars(source, names),
        )
    if _is_relation(source):
        return "the relation", "parquet", list(source.columns), lambda names: _of_duckdb(source, names)
    if _is_dataset(source):
        from syntabula.table.parts.datasets import batches_of

        return "the dataset", "pyarrow", list(source.schema.names), lambda names: batches_of(source, names)
    if _is_ibis(source):
        return "the table", "pyarrow", list(source.columns), lambda names: _of_ibis(source, names)
    raise DataError(f"a table of the kind {type(source).__name__} cannot be read in parts")


def _of_polars(frame: Any, names: list[str] | None) -> Iterable[Any]:
    chosen = frame if names is None else frame.select(names)
    # Without rows there may be no batch, and the columns are checked all the same.
    yield from (frame.head(0).collect().to_arrow(),)
    for batch in chosen.collect_batches(chunk_size=ROWS_AT_ONCE, maintain_order=True):
        yield batch.to_arrow()


def _of_duckdb(relation: Any, names: list[str] | None) -> Iterable[Any]:
    from syntabula.table.database import identifier, is_interrupt

    chosen = relation if names is None else relation.project(", ".join(map(identifier, names)))
    try:
        yield from chosen.to_arrow_reader(ROWS_AT_ONCE)
    except RuntimeError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise


def _of_ibis(table: Any, names: list[str] | None) -> Iterable[Any]:
    chosen = table if names is None else table.select(names)
    yield from chosen.to_pyarrow_batches(chunk_size=ROWS_AT_ONCE)


def _snapshot_of(source: Any) -> Snapshot | None:
    """Return the files of a dataset on this machine; nothing says what else a lazy table reads."""
    files, system = getattr(source, "files", None), getattr(source, "filesystem", None)
    if not _is_dataset(source) or not files or getattr(system, "type_name", None) != "local":
        return None
    return Snapshot.of(lambda: files)


def _is_lazy_frame(source: object) -> bool:
    return _is_of(source, "polars", "LazyFrame")


def _is_relation(source: object) -> bool:
    return _is_of(source, "duckdb", "DuckDBPyRelation") or _is_of(source, "_duckdb", "DuckDBPyRelation")


def _is_dataset(source: object) -> bool:
    return _is_of(source, "pyarrow", "Dataset")


def _is_ibis(source: object) -> bool:
    return _is_of(source, "ibis", "Table")


def _is_spark(source: object) -> bool:
    # Frames of pyspark.pandas have the same name.
    return _is_of(source, "pyspark", "DataFrame") and not type(source).__module__.startswith("pyspark.pandas")


def _is_of(source: object, library: str, name: str) -> bool:
    """Return whether a value is of a library's class, without importing the library."""
    kinds = type(source).__mro__
    return any(kind.__module__.split(".")[0] == library and kind.__name__ == name for kind in kinds)
