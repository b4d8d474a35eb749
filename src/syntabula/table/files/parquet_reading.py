"""Read Parquet files exactly, with what Arrow's libraries note of types that Parquet lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from syntabula.errors import CoercionWarning, DataError, warn_caller
from syntabula.table.database import connection, in_order, interruptible, one_file, quoted, read_query
from syntabula.table.files.arrow_notes import KEY, Noted
from syntabula.table.raw import RawColumn, check_names


def read_parquet(path: str, *, empty: bool = False) -> tuple[dict[str, RawColumn], int]:
    """Read a Parquet file exactly, or no row of it; return the columns and the number of rows. Raises DataError.

    Times have the zone that is noted for them, or else UTC. Durations are the whole numbers that are stored for them, of
    which a CoercionWarning tells.
    """
    import duckdb

    with connection() as database:

        def fetch() -> tuple[dict[str, RawColumn], int, Noted]:
            described = database.execute(
                f"SELECT name, num_children FROM parquet_schema({one_file(path)})"
            ).fetchall()
            notes = database.execute(
                f"SELECT value FROM parquet_kv_metadata({one_file(path)}) WHERE key = {quoted(KEY)}::BLOB"
            ).fetchall()
            names = _top_level(described)
            check_names(names)
            aliases = ", ".join(f"c{i}" for i in range(len(names)))
            in_order(database)
            rows = f"SELECT * FROM read_parquet({one_file(path)}, hive_partitioning=false) AS t({aliases})"
            rows += " LIMIT 0" if empty else ""
            return *read_query(database, rows, names), Noted.of(notes[0][0] if notes else None)

        try:
            columns, n_rows, noted = interruptible(database, fetch)
        except duckdb.Error:
            raise DataError(
                f"{path!r} cannot be read as Parquet: it is truncated, damaged or in another format; check the file"
            ) from None
    _tell_of_durations(columns, noted)
    return _with_zones(columns, noted.zones), n_rows


def _with_zones(columns: Mapping[str, RawColumn], zones: Mapping[str, str]) -> dict[str, RawColumn]:
    return {
        name: replace(column, physical=replace(column.physical, timezone=zones[name]))
        if name in zones and column.physical.timezone is not None
        else column
        for name, column in columns.items()
    }


def _tell_of_durations(columns: Mapping[str, RawColumn], noted: Noted) -> None:
    # Imported late, as a schema is not needed to read a file.
    from syntabula.table.schema.schema import columns_listed

    names = [n for n in noted.durations if n in columns and columns[n].physical.kind == "integer"]
    if names:
        warn_caller(
            CoercionWarning(
                f"{columns_listed(names)}: Parquet stores durations as whole numbers, such as nanoseconds, and they are "
                "read, learned and written as such numbers; convert them to seconds or days first, which read better"
            )
        )


def _top_level(described: list[tuple[Any, ...]]) -> list[str]:
    """Return the names of the root's children from a schema listed depth first."""
    names, position = [], 1

    def skip(start: int) -> int:
        end = start + 1
        for _ in range(described[start][1] or 0):
            end = skip(end)
        return end

    while position < len(described):
        names.append(str(described[position][0]))
        position = skip(position)
    return names
