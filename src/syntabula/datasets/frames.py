"""Make frames from plain columns or a Parquet file, with whichever dataframe library is installed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from syntabula._arguments import count
from syntabula._memory import memory_for
from syntabula.errors import DatasetError, MissingExtraError

Library = Literal["pandas", "polars", "pyarrow"]
_LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class Cells:
    """One simulated column.

    Attributes:
        values: One value per row: bool, int64, float64, datetime64[D], datetime64[us], text as objects, or
            the position in `categories`.
        missing: True where a cell is missing; None if no cell is.
        categories: Labels of a categorical column.
        ordered: Whether the order of the categories has a meaning.
    """

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None
    categories: tuple[str, ...] | None = None
    ordered: bool = False


def installed_library() -> Library:
    """Return the first installed library of pandas, polars and pyarrow, with which frames are made.

    Raises:
        MissingExtraError: If none is installed.
    """
    for library in _LIBRARIES:
        if find_spec(library) is not None:
            return library
    raise MissingExtraError(
        "a frame needs pandas, polars or pyarrow, and none is installed; "
        'run pip install "syntabula[pandas]" (or [polars], or [arrow])'
    )


def make_frame(columns: Mapping[str, Cells], library: Library | None = None) -> Any:
    """Return columns as a frame.

    Args:
        columns: Columns by name, all of one length.
        library: Library to use; the first one that is installed by default.

    Returns:
        A pandas.DataFrame, polars.DataFrame or pyarrow.Table.

    Raises:
        MissingExtraError: If no dataframe library is installed.
    """
    chosen = library or installed_library()
    if chosen == "pandas":
        import pandas as pd

        return pd.DataFrame({name: _pandas_column(cells) for name, cells in columns.items()})
    if chosen == "polars":
        import polars as pl

        return pl.DataFrame([_polars_column(name, cells) for name, cells in columns.items()])
    import pyarrow as pa

    return pa.table({name: _arrow_column(cells) for name, cells in columns.items()})


def read_parquet(path: str | os.PathLike[str], library: Library | None = None) -> Any:
    """Read a Parquet file into a frame.

    Args:
        path: File to read.
        library: Library to use; the first one that is installed by default.

    Returns:
        A pandas.DataFrame, polars.DataFrame or pyarrow.Table.

    Raises:
        MissingExtraError: If no dataframe library is installed.
        DatasetError: If the file cannot be read.
        ResourceError: If there is too little memory for it.
    """
    chosen = library or installed_library()
    with memory_for(f"read {os.fspath(path)!r}"):
        return _read_with(chosen, path)


def _read_with(chosen: Library, path: str | os.PathLike[str]) -> Any:
    try:
        if chosen == "pandas":
            # Through DuckDB: pandas itself would need pyarrow for it.
            import duckdb

            with duckdb.connect() as connection:
                source = [literal_path(path)]
                return connection.execute("SELECT * FROM read_parquet(?)", source).df()
        if chosen == "polars":
            import polars as pl

            return pl.read_parquet(path)
        import pyarrow.parquet as pq

        return pq.read_table(path)
    except MissingExtraError:
        raise
    except Exception as error:
        # The reader's own message may show cells.
        raise DatasetError(f"{os.fspath(path)} cannot be read as Parquet ({type(error).__name__})") from None


def literal_path(path: str | os.PathLike[str]) -> str:
    """Return a path that DuckDB takes literally; it would read *, ? and [ as patterns."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in os.fspath(path))


def _pandas_column(cells: Cells) -> Any:
    import pandas as pd

    values, missing = cells.values, cells.missing
    if cells.categories is not None:
        codes = values if missing is None else np.where(missing, -1, values)
        return pd.Categorical.from_codes(codes, list(cells.categories), ordered=cells.ordered)
    if values.dtype == object:
        return pd.Series(values, dtype="str")
    if values.dtype.kind == "M":
        # pandas has no type for days, so they are stored as midnights, to the second.
        stored = values.astype("datetime64[s]") if values.dtype == "datetime64[D]" else values
        return stored if missing is None else np.where(missing, np.datetime64("NaT", "us"), stored)
    if missing is None:
        return values
    if values.dtype.kind == "f":
        return np.where(missing, np.nan, values)
    array = pd.arrays.BooleanArray if values.dtype.kind == "b" else pd.arrays.IntegerArray
    return array(values, missing)


def _polars_column(name: str, cells: Cells) -> Any:
    import polars as pl

    if cells.categories is not None:
        texts = np.array([*cells.categories, None], dtype=object)
        codes = cells.values if cells.missing is None else np.where(cells.missing, -1, cells.values)
        return pl.Series(name, texts[codes].tolist(), dtype=pl.Enum(list(cells.categories)))
    values = cells.values.tolist() if cells.values.dtype == object else cells.values
    series = pl.Series(name, values)
    if cells.missing is None:
        return series
    absent = pl.Series("absent", cells.missing)
    return pl.select(pl.when(~absent).then(series).alias(name))[name]


def _arrow_column(cells: Cells) -> Any:
    import pyarrow as pa

    if cells.categories is None:
        return pa.array(cells.values, mask=cells.missing)
    codes = pa.array(cells.values.astype(np.int32), mask=cells.missing)
    return pa.DictionaryArray.from_arrays(codes, pa.array(cells.categories), ordered=cells.ordered)


MAX_ROWS = 100_000_000


def check_n_rows(n_rows: object) -> int:
    """Return a number of rows as an int; raises ArgumentError unless it is from 1 to 100 million."""
    checked: int = count(1, MAX_ROWS)("n_rows", n_rows)
    return checked


def check_seed(seed: object) -> int:
    """Return a seed as an int; raises ArgumentError unless it is a whole number from 0 to 2**64 - 1."""
    checked: int = count(0, 2**64 - 1)("seed", seed)
    return checked
