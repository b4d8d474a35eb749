"""Types of undeclared text cells, inferred by rules that never change a value.

Without a schema, a column has the first of these types that fits all its cells: true/false; whole numbers of at most 64
bits without leading zeros; numbers; ISO 8601 dates; ISO 8601 times, with or without an offset; text. Numbers beyond 64
bits and codes such as 007 therefore stay text, unless all cells are digits of clock times, such as 0905 and 1435. White
space around anything but text is ignored. NA, NULL and the like are missing cells beside other types than text.

If a type must be found under differential privacy, it is found from the kinds of single cells; see `cell_kinds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from syntabula.table.coordinate_names import decimal_comma_of, kinds_of_decimals
from syntabula.table.database import quoted
from syntabula.table.files.cell_kinds import (
    CELL_KINDS,
    column_type,
    has_decimal_comma,
    kinds_by_column,
    shows_thousands,
)
from syntabula.table.files.declared_cells import NUMBER, matches, parsed_as, plain, stripped
from syntabula.table.raw import MISSING_TEXTS, PhysicalType, RawColumn

SAMPLE_ROWS = 1000
_TEXTS_AT_ONCE = 2_000_000
_MOST_COLUMNS = 8
"""Columns of one query, whose time to prepare grows faster than their number."""
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
_WHOLE = "-?(0|[1-9][0-9]{0,19})"
# In a column with fractions, whole numbers are exact as floats up to 15 digits; longer ones stay text.
_REAL = (
    r"[+-]?((0|[1-9][0-9]{0,14})|(0|[1-9][0-9]*)?\.[0-9]+|(0|[1-9][0-9]*)\."
    r"|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+|inf|Inf|INF|infinity|Infinity)|nan|NaN|NAN"
)
_LISTED = ", ".join(map(quoted, MISSING_TEXTS))
_PATTERNS = {
    "BOOLEAN": "true|false|True|False|TRUE|FALSE",
    "BIGINT": _WHOLE,
    "UBIGINT": _WHOLE,
    "DOUBLE": _REAL,
    "DATE": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "TIMESTAMP": _TIME,
    "TIMESTAMPTZ": _TIME + "(Z|[+-][0-9]{2}(:?[0-9]{2})?)",
}


def types_of(database: Any, places: Sequence[int]) -> tuple[dict[int, str], dict[int, str]]:
    """Return the types of columns of a table `written` of texts c0, c1, ...: guessed from the first rows, then verified.

    Args:
        database: Connection with the table.
        places: Positions of the columns.

    Returns:
        The types, and the most frequent text for a missing cell of those columns that have any.
    """
    candidates = _candidates(database, places)
    types = dict.fromkeys(places, "VARCHAR")
    missing: dict[int, int] = {}
    open_columns = dict(candidates)
    while open_columns:
        tests = [(i, kinds[0]) for i, kinds in open_columns.items() if kinds]
        proven = _proven(database, "written", tests)
        types |= dict(proven.keys())
        missing |= {i: n for (i, _), n in proven.items() if n}
        done = {i for i, _ in proven}
        open_columns = {i: kinds[1:] for i, kinds in open_columns.items() if i not in done and kinds[1:]}
    held = _counts(database, [f"count({stripped(f'c{i}')})" for i in places], "written")
    for i, n in zip(places, held, strict=True):
        if n == missing.get(i, 0):
            types[i] = "VARCHAR"
    return types, missing_texts_of(database, [i for i in missing if types[i] != "VARCHAR"])


def with_missing_texts(
    database: Any,
    columns: Mapping[str, RawColumn],
    places: Mapping[str, int],
    types: Mapping[int, str],
    missing: Mapping[int, str],
) -> dict[str, RawColumn]:
    """Return columns that know by which text their file writes a missing cell.

    Args:
        database: Connection with the table `written`.
        columns: The columns, as read.
        places: Positions of those whose types were found.
        types: See `types_of`.
        missing: See `types_of`.
    """
    # Columns of a form of their own were texts until it was found.
    formed = [i for n, i in places.items() if types[i] == "VARCHAR" and columns[n].physical.kind != "text"]
    known = {**missing, **missing_texts_of(database, formed)}
    found = dict(columns)
    for name, i in places.items():
        if i in known:
            found[name] = replace(found[name], physical=replace(found[name].physical, missing_as=known[i]))
    return found


def missing_texts_of(database: Any, places: Sequence[int]) -> dict[int, str]:
    """Return the most frequent text for a missing cell in each column of a table `written` that has any."""
    cells = [stripped(f"c{i}") for i in places]
    found = _counts(database, [f"mode({c}) FILTER (WHERE {c} IN ({_LISTED}))" for c in cells], "written")
    return {i: str(text) for i, text in zip(places, found, strict=True) if text is not None}


def forms_of(
    database: Any, types: Mapping[int, str], names: Sequence[str], by_form: bool
) -> dict[int, PhysicalType]:
    """Return the types of those columns that have a format of their own, by all of their cells.

    Args:
        database: Connection with the table `written`.
        types: Types as `types_of` returns them.
        names: Name of each column of the table by position.
        by_form: Whether the form of the file speaks for decimal commas; see `has_decimal_comma`.
    """
    forms: dict[int, PhysicalType] = {}
    looked_at = [i for i, kind in types.items() if kind not in ("BIGINT", "UBIGINT", "DATE")]
    first = dict(counts_by_column(database, looked_at, SAMPLE_ROWS, first=True))
    # A column of texts may hold anything.
    present = {i: [kind for kind, n in counts.items() if n] for i, counts in first.items()}
    shown = [
        k for i, kinds in present.items() if "text" not in kinds for k in kinds_of_decimals(names[i], kinds)
    ]
    of_file, by_cells = (has_decimal_comma(shown, by_form=speaks) for speaks in (by_form, False))
    commas = {
        i: decimal_comma_of(names[i], present[i], by_cells if shows_thousands(present[i]) else of_file)
        for i in looked_at
    }
    open_columns = []
    for i, counts in first.items():
        form = column_type(counts, 0, decimal_comma=commas[i])
        # Of a column of many texts the first tell enough. In a table in the order of its days, as a ledger is, the first
        # ones may all be of a month's first days, which leave open which part is the month.
        is_open = types[i] == "VARCHAR" or form is None or form.kind == "integer"
        if not counts["text"] and (is_open or _is_form(form, types[i])):
            open_columns.append(i)
    (n_rows,) = database.execute("SELECT count(*) FROM written").fetchall()[0]
    for i, counts in counts_by_column(database, open_columns, n_rows):
        form = column_type(counts, 0, decimal_comma=commas[i])
        if form is not None and _is_form(form, types[i]):
            forms[i] = form
    return forms


def counts_by_column(
    database: Any, places: Sequence[int], n_rows: int, *, first: bool = False
) -> Iterator[tuple[int, dict[str, int]]]:
    """Yield the number of non-empty cells of each kind in columns of a table `written`, by their positions.

    Args:
        database: Connection with the table, of texts c0, c1, ....
        places: Positions of the columns.
        n_rows: Number of its rows, or more.
        first: Whether only the first `n_rows` rows are looked at.
    """
    for some in _held_texts(database, places, n_rows, first=first):
        counts = {i: dict.fromkeys(CELL_KINDS, 0) for i in some}
        for i, kind, n in kinds_by_column(database, "texts"):
            counts[i][CELL_KINDS[kind]] = n
        yield from counts.items()


def _held_texts(
    database: Any, places: Sequence[int], n_rows: int, *, first: bool = False
) -> Iterator[list[int]]:
    """Hold the distinct texts of columns of `written` in a table `texts`, and yield the positions of those that it holds.

    It has the position i of a column, a text c, null among them, and its number n of cells, and holds as many columns at
    once as `_TEXTS_AT_ONCE` allows. It is a table, as DuckDB prepares tests of the parts of a union for each part: tests
    of kinds take a tenth of a second to prepare for each column, and of a table a third of a second in all.

    Args:
        database: Connection with the table, of texts c0, c1, ....
        places: Positions of the columns.
        n_rows: Number of its rows, or more.
        first: Whether only the first `n_rows` rows are looked at.
    """
    limit = f"LIMIT {n_rows}" if first else ""
    n_columns = min(max(1, _TEXTS_AT_ONCE // max(n_rows, 1)), _MOST_COLUMNS)
    held: list[int] = []
    n_texts = 0
    for begin in range(0, len(places), n_columns):
        some = places[begin : begin + n_columns]
        texts = " UNION ALL ".join(
            f"SELECT {i} AS i, c, count(*) AS n FROM (SELECT c{i} AS c FROM written {limit}) GROUP BY c"
            for i in some
        )
        if not held:
            database.execute("CREATE OR REPLACE TEMP TABLE texts (i INTEGER, c VARCHAR, n BIGINT)")
        n_texts += database.execute(f"INSERT INTO texts {texts}").fetchall()[0][0]
        held += some
        if n_texts > _TEXTS_AT_ONCE or begin + n_columns >= len(places):
            yield held
            held, n_texts = [], 0
    # A query that breaks ends the connection, and the table with it.
    database.execute("DROP TABLE IF EXISTS texts")


def _is_form(form: PhysicalType | None, kind: str) -> bool:
    if form is None:
        return False
    if form.kind in ("text", "boolean"):
        return form.name not in ("VARCHAR", "BOOLEAN")
    name = "TIMESTAMPTZ" if form.timezone is not None else form.name
    if form.format == "1.234":
        # 1.234 can be read as a number with decimals.
        name = "DOUBLE"
    is_own = form.format is not None or form.timezone not in (None, "UTC")
    return form.kind == "time" or (is_own and kind in ("VARCHAR", name))


def _candidates(database: Any, places: Sequence[int]) -> dict[int, list[str]]:
    """Return the types that read all present cells of each column in the first rows, in the order of preference.

    One test of each type for all columns, as tests take longer to prepare than a few rows to read.
    """
    unread = ", ".join(f"count(*) FILTER (WHERE NOT {_reads('c', kind)})" for kind in _PATTERNS)
    left: dict[int, list[int]] = {}
    for _ in _held_texts(database, places, SAMPLE_ROWS, first=True):
        texts = f"SELECT i, {stripped('c')} AS c FROM texts"
        query = f"SELECT i, {unread} FROM ({texts}) WHERE c IS NOT NULL AND c NOT IN ({_LISTED}) GROUP BY i"
        left |= {i: counts for i, *counts in database.execute(query).fetchall()}
    # A column without any such cell is read by all types.
    none = [0] * len(_PATTERNS)
    return {i: [k for k, n in zip(_PATTERNS, left.get(i, none), strict=True) if not n] for i in places}


def _proven(database: Any, source: str, tests: list[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """Return the columns and types that read all present cells, and how many texts stand for missing ones."""
    cells = [stripped(f"c{i}") for i, _ in tests]
    unread = [
        f"{cell} IS NOT NULL AND NOT {_reads(cell, kind)}"
        for cell, (_, kind) in zip(cells, tests, strict=True)
    ]
    left = dict(
        zip(tests, _counts(database, [f"count(*) FILTER (WHERE {u})" for u in unread], source), strict=True)
    )
    # Most columns have no such texts, and are not asked for them.
    asked = [k for k, test in enumerate(tests) if left[test]]
    missing = [f"count(*) FILTER (WHERE {unread[k]} AND {cells[k]} IN ({_LISTED}))" for k in asked]
    found = dict(zip((tests[k] for k in asked), _counts(database, missing, source), strict=True))
    return {test: n for test, n in left.items() if n == found.get(test, 0)}


def _counts(database: Any, expressions: list[str], source: str) -> tuple[Any, ...]:
    found: list[Any] = []
    for begin in range(0, len(expressions), _MOST_COLUMNS):
        some = expressions[begin : begin + _MOST_COLUMNS]
        found += database.execute(f"SELECT {', '.join(some)} FROM {source}").fetchall()[0]
    return tuple(found)


def _reads(column: str, kind: str) -> str:
    fits = matches(column, _PATTERNS[kind])
    return fits if kind in ("BOOLEAN", "DOUBLE") else f"({fits} AND TRY_CAST({column} AS {kind}) IS NOT NULL)"


def cast(column: str, kind: str, *, has_missing: bool) -> str:
    """Return the SQL of the value of a cell, given its type, and whether some texts stand for missing ones."""
    if kind == "VARCHAR":
        return column
    cell = stripped(column)
    return (
        f"(CASE WHEN {cell} NOT IN ({_LISTED}) THEN {cell} END)::{kind}" if has_missing else f"{cell}::{kind}"
    )


def found_value(column: str, physical: PhysicalType) -> str:
    """Return the SQL of a cell's value in a type that was found; null if the cell cannot be read as this type."""
    if physical.kind == "text":
        return column
    cell = plain(stripped(column), physical)
    if physical.kind == "integer":
        return f"CASE WHEN {matches(cell, NUMBER)} THEN TRY_CAST({cell} AS BIGINT) END"
    return parsed_as(cell, physical)
