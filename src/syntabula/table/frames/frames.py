"""Convert tables in memory to raw tables and back: pandas, polars, Arrow, DuckDB and others through narwhals.

A library is imported only if one of its tables was given. The index of a pandas data frame is not part of the
table; if it has a name, a warning says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from syntabula._extras import require
from syntabula._memory import memory_for
from syntabula.errors import CoercionWarning, DataError, MissingExtraError, warn_caller
from syntabula.table.frames.conform import conform
from syntabula.table.raw import CELLS_AT_ONCE, Container, Origin, RawColumn, RawTable, check_names

_LIBRARIES: tuple[Container, ...] = ("pandas", "polars", "pyarrow")
_WHAT = "a pandas or polars data frame, an Arrow table, a DuckDB relation, or the path of a file"


def from_frame(frame: Any) -> RawTable:
    """Read a table in memory, every value exactly.

    None, NaN, pandas.NA and NaT are missing; the empty string is not. Infinite numbers stay. Times are kept to the
    microsecond, rounded down. Columns of mixed or nested values, and integers beyond 64 bits, have the kind "other",
    which is read cell by cell if a schema declares the column (see `retyping`), and otherwise not at all. Each cell of
    text that is not valid Unicode is unreadable.

    Args:
        frame: A pandas DataFrame, polars DataFrame or LazyFrame, pyarrow Table, DuckDB relation, or any other
            table that narwhals understands.

    Returns:
        The table.

    Raises:
        DataError: If it is not such a table, has no columns, repeats a column name, or has a name that is not text.
        ResourceError: If there is too little memory for it.
    """
    with memory_for("read the table"):
        return _from_any(frame)


def _from_any(frame: Any) -> RawTable:
    import narwhals as nw
    from narwhals import dependencies

    try:
        if isinstance(frame, nw.DataFrame | nw.LazyFrame):
            return _from_any(frame.to_native())
        if dependencies.is_pandas_dataframe(frame):
            return _from_pandas(frame)
        if dependencies.is_polars_lazyframe(frame):
            return _from_polars(frame.collect())
        if dependencies.is_polars_dataframe(frame):
            return _from_polars(frame)
        if dependencies.is_pyarrow_table(frame):
            return _from_arrow(frame)
        if dependencies.is_duckdb_relation(frame):
            return _from_relation(frame)
        return _from_other(frame)
    except (DataError, MissingExtraError):
        raise
    except Exception as error:
        # The library's own message may quote a cell.
        raise DataError(
            f"the table cannot be read ({type(error).__name__} from its library); check that it can be "
            "computed and converted, or write it to a Parquet file and give its path"
        ) from None


def _table(columns: dict[str, RawColumn], n_rows: int, container: Container) -> RawTable:
    return RawTable(columns, n_rows, Origin(container, {n: c.physical.written for n, c in columns.items()}))


def _from_pandas(frame: Any) -> RawTable:
    from syntabula.table.frames.pandas_columns import read_series

    check_names(frame.columns)
    if named := [name for name in frame.index.names if name is not None]:
        warn_caller(
            CoercionWarning(
                f"the frame's index {', '.join(map(repr, named))} is not a column and is left out; frame.reset_index() "
                "makes it one, and frame.reset_index(drop=True) drops it without this warning"
            )
        )
    return _table({n: read_series(n, frame[n]) for n in frame.columns}, len(frame), "pandas")


def _from_polars(frame: Any) -> RawTable:
    from syntabula.table.frames.polars_columns import read_series

    check_names(frame.columns)
    return _table({n: read_series(frame[n]) for n in frame.columns}, frame.height, "polars")


def _from_arrow(table: Any) -> RawTable:
    from syntabula.table.frames.arrow_tables import read_chunks

    check_names(table.column_names)
    pairs = zip(table.column_names, table.columns, strict=True)
    return _table({n: read_chunks(n, chunks) for n, chunks in pairs}, table.num_rows, "pyarrow")


def _from_relation(relation: Any) -> RawTable:
    from syntabula.table.database import is_interrupt, read_relation

    check_names(relation.columns)
    try:
        columns, n_rows = read_relation(relation, relation.columns)
    except RuntimeError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise
    return _table(columns, n_rows, "parquet")


def _from_other(frame: Any) -> RawTable:
    import narwhals as nw

    known = nw.from_native(frame, pass_through=True)
    if isinstance(known, nw.LazyFrame):
        require("pyarrow", "arrow")
        known = known.collect("pyarrow")
    if not isinstance(known, nw.DataFrame):
        # Named tables of this package hold one, and those of scikit-learn.
        remedy = "; pass its frame" if hasattr(frame, "frame") else ""
        raise DataError(f"a table must be {_WHAT}, not {type(frame).__name__}{remedy}")
    native = known.to_native()
    if native is frame:
        require("pyarrow", "arrow")
        native = known.to_arrow()
    return _from_any(native)


def to_frame(
    columns: Mapping[str, RawColumn],
    origin: Origin,
    *,
    categories: Mapping[str, Sequence[Any]] | None = None,
) -> Any:
    """Make a table of the original's kind and types.

    If the original type cannot hold the values, the next wider one is used: see `make_series` of each library. Values
    of an entirely different kind, such as running numbers for a text identifier, keep their own type.

    Args:
        columns: Columns in order.
        origin: Kind of table and types of its columns.
        categories: Categories of columns that are stored as categories; by default those that occur.

    Returns:
        A pandas or polars DataFrame or a pyarrow Table; for a table read from a file the first of these whose
        library is installed.

    Raises:
        MissingExtraError: If the library is not installed.
    """
    known = categories or {}
    typed = {n: conform(c, origin.physical.get(n)) for n, c in columns.items()}
    container = frame_library(origin.container)
    if container == "pandas":
        from syntabula.table.frames import pandas_columns

        pandas = require("pandas", "pandas")
        series = {n: pandas_columns.make_series(c, known.get(n)) for n, c in typed.items()}
        # pandas would copy all columns of one type in one call, which no interrupt stops; few rows are faster together.
        long = any(column.missing.size > CELLS_AT_ONCE for column in typed.values())
        return pandas.DataFrame(series, copy=False if long else None)
    if container == "polars":
        from syntabula.table.frames import polars_columns

        polars = require("polars", "polars")
        return polars.DataFrame([polars_columns.make_series(n, c, known.get(n)) for n, c in typed.items()])
    from syntabula.table.frames.arrow_tables import make_array

    return require("pyarrow", "arrow").table({n: make_array(c, known.get(n)) for n, c in typed.items()})


def frame_library(container: Container) -> Container:
    """Return the library of a table in memory; for a table from a file, the first that is installed.

    Raises:
        MissingExtraError: If none is installed.
    """
    if container in _LIBRARIES:
        return container
    for library in _LIBRARIES:
        if find_spec(library) is not None:
            return library
    raise MissingExtraError(
        'a table in memory needs pandas, polars or pyarrow; run: pip install "syntabula[pandas]", or write '
        "the table to a file"
    )
