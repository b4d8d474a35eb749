"""Delimited text to raw columns, typed by a schema, or else by rules that never change a value.

A cell with nothing in it is missing; a quoted empty cell ("") is the empty string in a column of text, and
missing in every other column. With a schema, columns are typed as `declared_cells` says. Without one, a column has
the first of these types that all its cells have: true/false; whole numbers of at most 64 bits without leading
zeros; numbers; ISO 8601 dates; ISO 8601 times, with or without an offset; text. Numbers beyond 64 bits and
codes such as 007 therefore stay text. So are columns read that a schema leaves to be found. White space around
anything but text is passed over.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from syntabula.errors import DataError
from syntabula.table.database import connection, in_order, interruptible, one_file, quoted, read_relation
from syntabula.table.files.declared_cells import matches, read_declared, read_written, stripped, written_cells
from syntabula.table.files.formats import DELIMITERS
from syntabula.table.raw import RawColumn, check_names
from syntabula.table.schema.schema import Schema, is_whole

FIRST_LINES = 100
SAMPLE_ROWS = 1000

_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_WHOLE = "-?(0|[1-9][0-9]{0,19})"
# Whole numbers among fractions are exact as floats up to 15 digits; longer ones stay text.
_REAL = (
    r"[+-]?((0|[1-9][0-9]{0,14})|(0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\."
    r"|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+|inf|Inf|INF|infinity|Infinity)|nan|NaN|NAN"
)
PATTERNS = {
    "BOOLEAN": "true|false|True|False|TRUE|FALSE",
    "BIGINT": _WHOLE,
    "UBIGINT": _WHOLE,
    "DOUBLE": _REAL,
    "DATE": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "TIMESTAMP": _TIME,
    "TIMESTAMPTZ": _TIME + "(Z|[+-][0-9]{2}(:?[0-9]{2})?)",
}
_RECORD = re.compile(r"Invalid Input Error: CSV Error on Line: ([0-9]+)")


def read_delimited(
    path: str, compression: str, delimiter: str | None, schema: Schema | None = None
) -> tuple[dict[str, RawColumn], int]:
    """Read a delimited file in UTF-8 with a header.

    Args:
        path: File to read.
        compression: "none", "gzip" or "zstd".
        delimiter: Character between cells; found from the header among , ; tab and | if None.
        schema: Declares the columns; the types of what it does not declare are read off the cells.

    Returns:
        The columns, and the number of rows.

    Raises:
        DataError: If the file is empty, repeats a name, or has a line that does not fit; the message names
            the line, never its content.
    """
    import duckdb

    with connection() as database:
        reader = _Reader(database, path, compression)
        try:
            return interruptible(database, lambda: _read(reader, delimiter, schema))
        except duckdb.Error as error:
            raise DataError(reader.explained(str(error), delimiter)) from None


def load_texts(
    database: Any, path: str, compression: str, delimiter: str | None, schema: Schema | None = None
) -> list[str]:
    """Load all cells of a delimited file, as they are written, into a table `written` of columns c0, c1, and so on.

    Nothing but the header and the schema say what the delimiter is, so that no record changes how the others are read.

    Args:
        database: Connection that gets the table.
        path: File to read.
        compression: "none", "gzip" or "zstd".
        delimiter: Character between cells; the one of , ; tab and | that makes most names of the header if None.
        schema: Declares some of the columns, or None.

    Returns:
        The names of the columns.

    Raises:
        DataError: As `read_delimited`.
    """
    import duckdb

    reader = _Reader(database, path, compression)

    def load() -> list[str]:
        names, found = _header(reader, delimiter, schema, by_header=True)
        check_names(names)
        source = reader.source(found, quote='"', names=[f"c{i}" for i in range(len(names))], header=True)
        database.execute(f"CREATE TABLE written AS SELECT * FROM {source}")
        return names

    try:
        return interruptible(database, load)
    except duckdb.Error as error:
        raise DataError(reader.explained(str(error), delimiter)) from None


def _read(reader: _Reader, delimiter: str | None, schema: Schema | None) -> tuple[dict[str, RawColumn], int]:
    database = reader.database
    names, found = _header(reader, delimiter, schema)
    check_names(names)
    plain = [f"c{i}" for i in range(len(names))]
    source = reader.source(found, quote='"', names=plain, header=True)
    if is_whole(schema):
        database.execute(f"CREATE TABLE cells AS SELECT {written_cells(plain, names, schema)} FROM {source}")
        in_order(database)
        return read_declared(database, names, schema)
    database.execute(f"CREATE TABLE written AS SELECT * FROM {source}")
    places = [i for i, name in enumerate(names) if schema is None or name not in schema]
    typed = _types(database, places)
    in_order(database)
    cells = ", ".join(_cast(f"c{i}", kind) + f" AS c{i}" for i, kind in typed.items())
    read: dict[str, RawColumn] = {}
    n_rows = 0
    if places:
        read, n_rows = read_relation(database.sql(f"SELECT {cells} FROM written"), [names[i] for i in places])
    if schema is not None and len(places) < len(names):
        declared, n_rows = read_written(database, names, schema)
        read |= declared
    return {name: read[name] for name in names}, n_rows


def _header(
    reader: _Reader, delimiter: str | None, schema: Schema | None, *, by_header: bool = False
) -> tuple[list[str], str]:
    """Return the column names and the delimiter, found if it is not given: by the schema alone if its names fit."""
    lines = reader.fetch("\x01", quote="", names=["line"], limit=FIRST_LINES)
    texts = [(line or "") + "\n" for (line,) in lines]
    if not "".join(texts).strip("\n\r\ufeff"):
        raise DataError(
            f"{reader.path!r} is empty; a table needs at least a header line with the column names"
        )
    records = {d: _records(texts, d, reader.path) for d in ([delimiter] if delimiter else DELIMITERS)}
    for mark, rows in records.items():
        names = [rows[0][0].removeprefix("\ufeff"), *rows[0][1:]]
        if schema is not None and (set(schema) <= set(names) if schema.others else set(names) == set(schema)):
            return names, mark
    widths = {mark: [len(row) for row in rows] for mark, rows in records.items()}
    # A delimiter that only the header has belongs to a name.
    likely = [d for d, w in widths.items() if w[0] > 1 and (by_header or 2 * w[1:].count(w[0]) >= len(w) - 1)]
    chosen = max(likely, key=lambda d: widths[d][0]) if likely else next(iter(widths))
    record = reader.fetch(chosen, quote='"', names=[f"c{i}" for i in range(widths[chosen][0])], limit=1)[0]
    names = [name or "" for name in record]
    return [names[0].removeprefix("\ufeff"), *names[1:]], chosen


def _records(lines: Sequence[str], delimiter: str, path: str) -> list[list[str]]:
    """Return the header and the first records."""
    csv.field_size_limit(2**31 - 1)
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        raise DataError(
            f"the first lines of {path!r} cannot be read as delimited text; quote names and cells that hold special "
            "characters"
        ) from None


@dataclass(frozen=True)
class _Reader:
    database: Any
    path: str
    compression: str

    def source(self, delimiter: str, *, quote: str, names: Sequence[str], header: bool) -> str:
        """Return the SQL of a table of text."""
        columns = ", ".join(f"{quoted(n)}: 'VARCHAR'" for n in names)
        return (
            f"read_csv({one_file(self.path)}, auto_detect=false, header={header}, delim={quoted(delimiter)}, "
            f"quote={quoted(quote)}, escape={quoted(quote)}, nullstr='', allow_quoted_nulls=false, "
            f"compression={quoted(self.compression)}, columns={{{columns}}}, hive_partitioning=false, "
            f"strict_mode={bool(quote)})"
        )

    def fetch(self, delimiter: str, *, quote: str, names: Sequence[str], limit: int) -> list[tuple[Any, ...]]:
        """Return the first records, the header among them."""
        source = self.source(delimiter, quote=quote, names=names, header=False)
        rows: list[tuple[Any, ...]] = self.database.execute(
            f"SELECT * FROM {source} LIMIT {limit}"
        ).fetchall()
        return rows

    def explained(self, message: str, delimiter: str | None) -> str:
        """Return what is wrong with a file that DuckDB refused; its own words may hold cells, and are not passed on."""
        from syntabula.table.files.text_faults import delimited_fault

        fault = delimited_fault(self.path, self.compression, delimiter or DELIMITERS)
        if fault is not None:
            return fault
        record = _RECORD.match(message)
        where = f"{self.path!r}, near line {record[1]}," if record else f"{self.path!r}"
        return (
            f"{where} cannot be read as delimited text in UTF-8; check its delimiter, quotes and compression"
        )


def _types(database: Any, places: Sequence[int]) -> dict[int, str]:
    """Return the type of some columns, by position: guessed on the first rows, then proven on all."""
    sample = f"(SELECT * FROM written LIMIT {SAMPLE_ROWS})"
    tests = [(i, kind) for i in places for kind in PATTERNS]
    fits = _proven(database, sample, tests)
    candidates = {i: [kind for j, kind in tests if j == i and (j, kind) in fits] for i in places}
    types = dict.fromkeys(places, "VARCHAR")
    open_columns = dict(candidates)
    while open_columns:
        tests = [(i, kinds[0]) for i, kinds in open_columns.items() if kinds]
        proven = _proven(database, "written", tests)
        for i, kind in proven:
            types[i] = kind
        done = {i for i, _ in proven}
        open_columns = {i: kinds[1:] for i, kinds in open_columns.items() if i not in done and kinds[1:]}
    present = _counts(database, [f"count({stripped(f'c{i}')})" for i in places], "written")
    return {i: kind if some else "VARCHAR" for (i, kind), some in zip(types.items(), present, strict=True)}


def _proven(database: Any, source: str, tests: list[tuple[int, str]]) -> set[tuple[int, str]]:
    failures = []
    for i, kind in tests:
        cell = stripped(f"c{i}")
        failures.append(f"count(*) FILTER (WHERE {cell} IS NOT NULL AND NOT {_test(cell, kind)})")
    return {t for t, count in zip(tests, _counts(database, failures, source), strict=True) if not count}


def _counts(database: Any, expressions: list[str], source: str) -> tuple[int, ...]:
    if not expressions:
        return ()
    row: tuple[int, ...] = database.execute(f"SELECT {', '.join(expressions)} FROM {source}").fetchall()[0]
    return row


def _test(column: str, kind: str) -> str:
    fits = matches(column, PATTERNS[kind])
    return fits if kind in ("BOOLEAN", "DOUBLE") else f"({fits} AND TRY_CAST({column} AS {kind}) IS NOT NULL)"


def _cast(column: str, kind: str) -> str:
    return column if kind == "VARCHAR" else f"{stripped(column)}::{kind}"
