"""DuckDB as the reader and writer of files: an isolated connection, interruptible queries, and their columns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from syntabula.table.frames.object_columns import object_array, whole_decimals
from syntabula.table.raw import (
    CELLS_AT_ONCE,
    PhysicalKind,
    PhysicalType,
    RawColumn,
    RepeatedTexts,
)

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_TIMESTAMPS = {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
_ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"}
"""Types of points in time; since DuckDB 2.0 nanoseconds, which pandas writes to Parquet files, have one of their own."""
_LAST = 2**63 - 1
_FEW_ROWS = 100_000
"""Up to so many rows an object for each cell takes less time than the distinct texts take queries."""
_COLUMNS_AT_ONCE = 64
"""Columns of one query, whose time to prepare grows faster than their number."""
_MOST_TEXTS = 2**16
"""Texts of a column that are enumerated; of more, hardly any would be equal."""


@contextmanager
def connection() -> Iterator[Any]:
    """Open a database in memory that fetches no extensions and spills nothing to disk."""
    database = _opened()
    try:
        yield database
    finally:
        database.close()


@contextmanager
def at_hand(*, memory: str | None = None, cells: int = 0) -> Iterator[Any]:
    """Open a connection for queries on values at hand; it reaches no file, keeps the order of rows and its settings.

    All of them are to one database, as opening another takes longer than most such queries. So whatever is created must
    be temporary: other connections do not see it, and it is gone once its own is closed.

    Args:
        memory: The most that the queries may take, such as "1GB", of the database for all of that limit.
        cells: Cells to be held. A database of their own frees the memory of many, which the one for all keeps.
    """
    if cells > 200_000:
        with connection() as own:
            in_order(own)
            yield own
        return
    database = _shared(os.getpid(), memory).cursor()
    try:
        yield database
    except Exception:
        # After some errors DuckDB takes no more queries.
        _shared.cache_clear()
        raise
    finally:
        database.close()


@cache
def _shared(process: int, memory: str | None) -> Any:
    """Open the database of a process; that of a process from which it was forked may be in use."""
    database = _opened()
    in_order(database)
    database.execute("SET GLOBAL TimeZone = 'UTC'")
    if memory is not None:
        database.execute(f"SET memory_limit = '{memory}'")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def _opened() -> Any:
    import duckdb

    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        # Sensitive rows must not end up in a spill file.
        "temp_directory": "",
    }
    database = duckdb.connect(":memory:", config=settings)
    database.execute("SET TimeZone = 'UTC'")
    # With separate writer threads, an interrupted COPY sometimes waits for them forever (seen with DuckDB 2.0; earlier
    # versions have no such threads).
    with suppress(duckdb.CatalogException):
        database.execute("SET async_threads = 0")
    return database


def in_order(database: Any) -> None:
    """Make later statements keep the order of rows, by using one thread: one of several may overtake another.

    DuckDB 2.0 changed the order in expressions over tables of more than 122,880 rows (a row group), although it
    promises to keep it.
    """
    database.execute("SET threads = 1")


def quoted(text: str) -> str:
    """Return an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def one_file(path: str) -> str:
    """Return the SQL string literal of a path whose characters are all taken literally."""
    return quoted("".join(f"[{c}]" if c in "*?[" else c for c in path))


def identifier(name: str) -> str:
    """Return a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def read_relation(relation: Any, names: Sequence[str]) -> tuple[dict[str, RawColumn], int]:
    """Fetch all columns of a DuckDB relation exactly.

    Args:
        relation: Relation to fetch.
        names: Name of each column by position; DuckDB may alter names, because it ignores case.

    Returns:
        The columns, and the number of rows.
    """
    selected = ["count(*) OVER () AS n"] if not names else []
    types = [str(t) for t in relation.types]
    for i, (source, printed) in enumerate(zip(relation.columns, types, strict=True)):
        column = identifier(source)
        selected += [f"{_exact(column, printed)} AS v{i}", f"({column} IS NULL) AS m{i}"]
    fetched = relation.project(", ".join(selected)).fetchnumpy()
    columns = {}
    for i, (name, printed) in enumerate(zip(names, types, strict=True)):
        missing = _marks(fetched[f"m{i}"])
        columns[name] = _column(np.ma.getdata(fetched[f"v{i}"]), missing, printed)
    return columns, next(iter(columns.values())).missing.size


def read_query(database: Any, query: str, names: Sequence[str]) -> tuple[dict[str, RawColumn], int]:
    """Fetch all columns of a query exactly, few at a time, so that no more than these are held twice.

    Args:
        database: Connection of our own. It must keep the order of rows, because the query is run several times.
        query: SQL of the query.
        names: Name of each column by position.

    Returns:
        The columns, and the number of rows. Texts of few distinct values never become a Python object for each cell.
    """
    database.execute(f"CREATE OR REPLACE TEMP VIEW fetched AS {query}")
    n_rows = int(database.execute("SELECT count(*) FROM fetched").fetchall()[0][0])
    described = [(row[0], str(row[1])) for row in database.execute("DESCRIBE fetched").fetchall()]
    columns: dict[str, RawColumn] = {}
    plain: list[tuple[str, str]] = []
    for name, (source, printed) in zip(names, described, strict=True):
        repeated = printed == "VARCHAR" and n_rows > _FEW_ROWS
        column = _repeated(database, identifier(source), printed) if repeated else None
        if column is None:
            plain.append((name, source))
        else:
            columns[name] = column
    at_once = max(1, CELLS_AT_ONCE // max(n_rows, 1))
    for start in range(0, len(plain), at_once):
        some = plain[start : start + at_once]
        selected = ", ".join(identifier(source) for _, source in some)
        columns |= read_relation(database.sql(f"SELECT {selected} FROM fetched"), [name for name, _ in some])[
            0
        ]
    database.execute("DROP VIEW fetched")
    return {name: columns[name] for name in names}, n_rows


def read_values(database: Any, source: str, values: Mapping[str, str]) -> tuple[dict[str, RawColumn], int]:
    """Fetch values computed from a table exactly, as `read_query`, by a query for each few of them.

    Args:
        database: Connection of our own, which keeps the order of rows.
        source: SQL of the table.
        values: SQL of each column's values by its name; there is one column at least.

    Returns:
        The columns, and the number of rows.
    """
    columns: dict[str, RawColumn] = {}
    names, n_rows = [*values], 0
    for begin in range(0, len(names), _COLUMNS_AT_ONCE):
        some = names[begin : begin + _COLUMNS_AT_ONCE]
        selected = ", ".join(f"{values[name]} AS v{i}" for i, name in enumerate(some))
        found, n_rows = read_query(database, f"SELECT {selected} FROM {source}", some)
        columns |= found
    return columns, n_rows


def _repeated(database: Any, column: str, printed: str) -> RawColumn | None:
    """Return a column of texts through an enumeration of them; None if it has too many distinct ones for that."""
    distinct = f"SELECT DISTINCT {column} FROM fetched WHERE {column} IS NOT NULL LIMIT {_MOST_TEXTS + 1}"
    database.execute(f"CREATE TEMP TYPE texts AS ENUM ({distinct})")
    try:
        texts = [row[0] for row in database.execute("SELECT unnest(enum_range(NULL::texts))").fetchall()]
        if len(texts) > _MOST_TEXTS:
            return None
        fetched = database.execute(
            f"SELECT coalesce(enum_code({column}::texts), 0) AS v, ({column} IS NULL) AS m FROM fetched"
        ).fetchnumpy()
    finally:
        database.execute("DROP TYPE texts")
    missing = _marks(fetched["m"])
    return RawColumn(
        RepeatedTexts.placed(texts, np.ma.getdata(fetched["v"])), missing, PhysicalType("text", printed)
    )


def _marks(fetched: Any) -> NDArray[np.bool_]:
    """Return marks of cells [n] as fetched; if there are none, in an array of zeros, whose pages take no memory."""
    marks: NDArray[np.bool_] = np.ma.getdata(fetched).astype(np.bool_, copy=False)
    return marks if marks.any() else np.zeros(marks.size, dtype=np.bool_)


def _exact(column: str, printed: str) -> str:
    """Return the expression that brings a column over as a number or text without loss."""
    if printed in ("BOOLEAN", "DOUBLE", "VARCHAR"):
        return column
    if printed in _INTEGERS:
        return f"{column}::BIGINT"
    if printed == "UBIGINT":
        return column
    if printed == "FLOAT":
        return f"{column}::DOUBLE"
    if printed == "DATE":
        return f"({column} - DATE '1970-01-01')::BIGINT"
    if printed == "INTERVAL":
        return f"epoch_us({column})"
    if printed in ("TIME", "TIME_NS"):
        return f"epoch_us({column})"
    if printed in _TIMESTAMPS or printed in _ZONED:
        # Infinite times have no microseconds; as the first or last time of all they are clipped to the nearest bound.
        column = f"{column}::TIMESTAMPTZ" if printed == "TIMESTAMPTZ_NS" else column
        ends = f"CASE WHEN {column} > TIMESTAMP '1970-01-01' THEN {_LAST} ELSE {-_LAST} END"
        return f"coalesce(epoch_us({column}), {ends})"
    return f"{column}::VARCHAR"


def _column(values: NDArray[Any], missing: NDArray[np.bool_], printed: str) -> RawColumn:
    if printed == '"NULL"':
        printed = "VARCHAR"  # a column without a value, which Arrow reads as texts too
    if printed in ("DOUBLE", "FLOAT"):
        reals = np.where(missing, np.nan, values.astype(np.float64))
        return RawColumn(reals, np.isnan(reals), PhysicalType("float", printed))
    if printed.startswith("DECIMAL"):
        scale = int(printed.removesuffix(")").rpartition(",")[2])
        decimals = [
            None if gap else Decimal(text)
            for text, gap in zip(values.tolist(), missing.tolist(), strict=True)
        ]
        return RawColumn(object_array(decimals), missing, PhysicalType("decimal", printed, scale=scale))
    if printed.startswith("ENUM"):
        return RawColumn(RepeatedTexts.of(values.tolist(), missing), missing, PhysicalType("text", "ENUM"))
    if printed in ("HUGEINT", "UHUGEINT"):
        return whole_decimals(values.tolist(), missing, printed)
    kind, dtype = _kind(printed)
    if kind == "text":
        return RawColumn(RepeatedTexts.of(values.tolist(), missing), missing, PhysicalType(kind, printed))
    zone = "UTC" if printed in _ZONED else None
    # Missing cells may hold anything, for instance the smallest integer.
    return RawColumn(values.astype(dtype, copy=False), missing, PhysicalType(kind, printed, timezone=zone))


def _kind(printed: str) -> tuple[PhysicalKind, Any]:
    if printed == "BOOLEAN":
        return "boolean", np.bool_
    if printed in _INTEGERS:
        return "integer", np.int64
    if printed == "UBIGINT":
        return "integer", np.uint64
    if printed in ("VARCHAR", "UUID"):
        return "text", object
    if printed == "DATE":
        return "date", np.int64
    if printed in _TIMESTAMPS or printed in _ZONED:
        return "datetime", np.int64
    if printed in ("TIME", "TIME_NS"):
        return "time", np.int64
    return ("duration", np.int64) if printed == "INTERVAL" else ("other", object)


ResultT = TypeVar("ResultT")

_LOOK_EVERY = 0.05
"""Seconds between two attempts to stop; an attempt between two queries is lost."""


def interruptible(database: Any, work: Callable[[], ResultT]) -> ResultT:
    """Run queries so that an interrupt stops them.

    In the main thread DuckDB turns some interrupts into a RuntimeError and misses others until the query ends. So the
    work runs in its own thread, while this one waits for signals.

    Args:
        database: Connection that the work uses.
        work: Function to run; it should do little besides its queries, because only these are stopped.

    Returns:
        The result of the work.

    Raises:
        KeyboardInterrupt: If the user interrupts; the work has ended by then. Errors of the work are raised unchanged.
    """
    results: list[ResultT] = []
    errors: list[BaseException] = []
    # Plain locks, because a second signal breaks an Event that the first one has just left.
    begin, end = threading.Lock(), threading.Lock()
    begin.acquire()
    end.acquire()
    started = stopped = finished = False
    interrupt: KeyboardInterrupt | None = None

    def run() -> None:
        nonlocal finished
        begin.acquire()
        try:
            if not stopped:
                results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            finished = True
            end.release()

    thread = threading.Thread(target=run, name="duckdb", daemon=True)
    try:
        thread.start()
        started = True
        begin.release()
    except KeyboardInterrupt as error:
        interrupt = error
    if not started:
        stopped = True
        begin.release()
    while started:
        # A further signal changes nothing: wait again.
        try:
            if interrupt is not None:
                stopped = True
                database.interrupt()
            if not finished:
                # With a timeout, because some systems cannot interrupt a wait without one.
                end.acquire(timeout=1.0 if interrupt is None else _LOOK_EVERY)
                continue
            # The thread must release everything: an interpreter that exits now would abort within DuckDB.
            thread.join()
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if errors:
        raise errors[0]
    return results[0]


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error of DuckDB means an interrupt, for queries on the user's own connection."""
    return isinstance(error, RuntimeError) and str(error) == "Query interrupted"
