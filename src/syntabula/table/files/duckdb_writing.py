"""Write raw columns as Parquet, delimited text or JSON Lines with DuckDB, in one piece or many."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from itertools import islice
from operator import attrgetter
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syntabula.errors import DataError
from syntabula.table.database import connection, identifier, in_order, interruptible, one_file, quoted
from syntabula.table.files.pieces import drained, release_each
from syntabula.table.frames.conform import as_integers, held_unit
from syntabula.table.frames.object_columns import object_array, to_objects
from syntabula.table.raw import DELIMITERS, Dialect, PhysicalType, RawColumn, RepeatedTexts
from syntabula.table.schema.text_formats import NumberFormat

_INTEGERS = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
}  # fmt: skip
_NUMPY = {sql.lower(): name for name, sql in _INTEGERS.items()}
_NARROW_FLOATS = {"float", "float32", "float16", "halffloat"}
_DECIMAL = re.compile(r"decimal(?:\d+)?\((?:precision=)?(\d+), ?(?:scale=)?(\d+)\)")
_UNIT = re.compile(r"(?:\[|time_unit=')(s|ms|us|ns)\b")
_TIMESTAMPS = {"s": "TIMESTAMP_S", "ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
_Cell = Callable[[str, RawColumn, str], tuple[NDArray[Any], str]]
"""From a column's name, values and alias, returns an array for DuckDB and the expression to write."""
# White space and characters that are not shown: spreadsheets may drop them from the beginning of a cell.
_UNSEEN = r"\x00-\x20\x7f-\xa0" + "".join(
    chr(first) if first == last else f"{chr(first)}-{chr(last)}"
    for first, last in (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x1680, 0x1680), (0x17B4, 0x17B5),
        (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800), (0x3000, 0x3000),
        (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0xE0000, 0xE0FFF),
    )
)  # fmt: skip
# Characters that may begin a formula (OWASP, CSV Injection), in half and full width. Plain numbers are harmless,
# and negative numbers are common labels. So are phones, as digits and marks alone name no function, cell or program.
_STARTS_FORMULA = rf"^([\t\r\n]|[{_UNSEEN}]*[=+\-@＝＋－＠])"
_HARMLESS = r" *([+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\+[0-9][0-9 ()/.-]*)"

Pieces = Iterable[Mapping[str, RawColumn]]
"""A table as pieces of some rows each, with the same columns and types; at least one."""


def write_parquet(pieces: Pieces, path: str) -> None:
    """Write Parquet; raises DataError for names that differ only in case, which DuckDB cannot distinguish."""

    def prepare(columns: Mapping[str, RawColumn]) -> _Prepared:
        _check_case(columns)
        return _Prepared.of(columns, _native)

    iterator = iter(pieces)
    begun = [next(iterator)]
    options = "FORMAT parquet, COMPRESSION zstd"
    zones = {n: zone for n, c in begun[0].items() if (zone := c.physical.timezone) not in (None, "UTC")}
    if zones and find_spec("pyarrow") is not None:
        from syntabula.table.files.arrow_notes import KEY, note_of

        empty = {name: column.take(slice(0)) for name, column in begun[0].items()}
        with TemporaryDirectory() as folder:
            file = os.path.join(folder, "empty.parquet")
            _copy(iter([prepare(empty)]), file, options)
            options += f", KV_METADATA {{{quoted(KEY)}: {quoted(note_of(file, zones))}}}"
    _copy(map(prepare, drained(begun, iterator)), path, options)


def write_json_lines(pieces: Pieces, path: str, compression: str) -> None:
    """Write one JSON object per line; times as ISO 8601 text, missing cells as null.

    Decimals are numbers, or text if one has more digits than JSON readers keep.
    """

    def cell(name: str, column: RawColumn, source: str) -> tuple[NDArray[Any], str]:
        if column.physical.kind == "float" and not np.isfinite(column.values[~column.missing]).all():
            raise DataError(
                f"column {name!r} holds infinite numbers, which JSON cannot hold; write another format"
            )
        if column.physical.kind == "decimal" and _are_floats(column):
            return np.where(column.missing, 0, column.values).astype(np.float64), source
        plain = column.physical.kind in ("boolean", "integer", "float")
        return (_native if plain else _text)(name, column, source)

    def prepare(columns: Mapping[str, RawColumn]) -> _Prepared:
        _check_case(columns)
        return _Prepared.of(columns, cell)

    _copy(map(prepare, pieces), path, f"FORMAT json, ARRAY false, COMPRESSION {compression}")


def write_delimited(
    pieces: Pieces, path: str, compression: str, dialect: Dialect, *, neutralise: bool
) -> None:
    """Write delimited text with a header; raises DataError for a name that holds a carriage return."""

    def cell(name: str, column: RawColumn, source: str) -> tuple[NDArray[Any], str]:
        value, expression = _text(name, column, source)
        true, slash, false = column.physical.name.partition("/")
        if column.physical.kind == "boolean" and slash:
            return value, f"CASE WHEN {expression} THEN {quoted(true)} ELSE {quoted(false)} END"
        # Numbers in a format are no formulas, though some begin with a minus.
        text = neutralise and column.physical.kind == "text" and column.physical.format is None
        expression = _neutralised_sql(expression) if text else expression
        return value, _in_quotes(expression, column.physical, dialect) if quotes_texts else expression

    def gap(physical: PhysicalType) -> str | None:
        text = physical.missing_as
        if quotes_texts and dialect.every:
            # Of texts a missing cell has none, as an empty one in quotes is the empty text.
            is_text = physical.kind == "text" and physical.format is None
            return None if is_text and text is None else _quoted_text(text or "")
        return _if_needed(text, dialect) if quotes_texts and text is not None else text

    iterator = iter(pieces)
    begun = [next(iterator)]
    while not (some := _n_rows(begun[0])) and (piece := next(iterator, None)) is not None:
        begun = [piece]
    names = list(begun[0])
    shown = [_neutralised(name) if neutralise else name for name in names]
    for name in names:
        if "\r" in name:
            raise DataError(
                f"the name of column {name!r} holds a carriage return, which the header of delimited text cannot hold; "
                "rename it, or write Parquet"
            )
    options = f"FORMAT csv, HEADER false, DELIMITER {quoted(dialect.delimiter)}, COMPRESSION {compression}"
    ending = "\r\n" if dialect.returns else "\n"
    options += f", NEW_LINE {quoted(ending)}" if dialect.returns else ""
    mark = "\ufeff" if dialect.marked else ""
    # The header is written as a row, because DuckDB would rename columns that differ only in case.
    header = [f"{quoted(name)} AS c{i}" for i, name in enumerate(shown)]
    first = f"SELECT {', '.join(header)} UNION ALL "
    quotes_texts = dialect.quoted and some > 0
    in_quotes: list[str] = []
    if quotes_texts:
        line = dialect.delimiter.join(map(_quoted_text, shown))
        mark, first = f"{mark}{line}{ending}", ""
        # Each cell brings its own quotes.
        options += ", QUOTE ''"
    elif dialect.quoted:
        in_quotes = names
    else:
        # In a header without quotes, a reader may mistake another delimiter character for the file's delimiter.
        in_quotes = [name for name in names if any(c in name for c in DELIMITERS)]
    if mark:
        # The last row ends with what comes after all rows.
        options += f", PREFIX {quoted(mark)}, SUFFIX {quoted(ending)}"
    if in_quotes:
        options += f", FORCE_QUOTE ({', '.join(f'c{names.index(name)}' for name in in_quotes)})"

    def prepare(columns: Mapping[str, RawColumn]) -> _Prepared:
        return _Prepared.of(columns, cell, names=[f"c{i}" for i in range(len(names))], gap=gap)

    _copy(map(prepare, drained(begun, iterator)), path, options, first=first)


@dataclass(frozen=True)
class _Prepared:
    """One piece of a table as DuckDB takes it: arrays by name, and the expressions over them."""

    arrays: Mapping[str, NDArray[Any]]
    selected: str

    @classmethod
    def of(
        cls,
        columns: Mapping[str, RawColumn],
        cell: _Cell,
        names: Sequence[str] | None = None,
        gap: Callable[[PhysicalType], str | None] = attrgetter("missing_as"),
    ) -> _Prepared:
        arrays: dict[str, NDArray[Any]] = {}
        selected: list[str] = []
        shown = names or [identifier(name) for name in columns]
        for i, (name, column) in enumerate(columns.items()):
            value, expression = cell(name, column, f"v{i}")
            arrays |= {f"v{i}": value, f"m{i}": column.missing}
            text = gap(column.physical)
            missing = "NULL" if text is None else quoted(text)
            selected.append(f"CASE WHEN m{i} THEN {missing} ELSE {expression} END AS {shown[i]}")
        return cls(arrays, ", ".join(selected))


def _copy(pieces: Iterator[_Prepared], path: str, options: str, *, first: str = "") -> None:
    """Write a table's pieces; several pieces are gathered in temporary files, never in memory.

    A database file would not help: DuckDB keeps its blocks in memory up to a limit, so the peak grew with the rows.
    """
    begun = list(islice(pieces, 2))
    target = f"TO {quoted(path)} ({options}, USE_TMP_FILE false)"
    if len(begun) == 1:
        with connection() as database:
            database.register("cells", begun[0].arrays)
            _run(database, f"COPY ({first}SELECT {begun[0].selected} FROM cells) {target}")
        return
    folder = TemporaryDirectory(dir=os.path.dirname(path), prefix=f"{os.path.basename(path)}.")
    with folder as gathered, connection() as database:
        database.execute("SET enable_external_file_cache = false")
        in_order(database)
        selected = _gather(database, drained(begun, pieces), gathered)
        _run(database, f"COPY ({first}{selected}) {target}")


def _gather(database: Any, pieces: Iterator[_Prepared], folder: str) -> str:
    """Write each piece to a file of a folder, and return the query that reads them all."""
    columns: list[tuple[str, str]] = []
    files: list[str] = []

    def keep(piece: _Prepared) -> None:
        file = os.path.join(folder, f"{len(files)}.parquet")
        database.register("cells", piece.arrays)
        selected = f"SELECT {piece.selected} FROM cells"
        if not columns:
            columns.extend(row[:2] for row in database.execute(f"DESCRIBE {selected}").fetchall())
        _run(database, f"COPY ({selected}) TO {quoted(file)} (FORMAT parquet)")
        database.unregister("cells")
        files.append(one_file(file))

    release_each(keep, pieces)
    # By position and with types: the reader's options would clash with names, and Parquet has fewer units of time.
    aliases = [f"c{i}" for i in range(len(columns))]
    cells = [f"{a}::{kind} AS {identifier(n)}" for a, (n, kind) in zip(aliases, columns, strict=True)]
    source = f"read_parquet([{', '.join(files)}], hive_partitioning = false)"
    return f"SELECT {', '.join(cells)} FROM {source} AS pieces({', '.join(aliases)})"


def _n_rows(piece: Mapping[str, RawColumn]) -> int:
    return max((column.missing.size for column in piece.values()), default=0)


def _is_in_quotes(physical: PhysicalType) -> bool:
    if physical.kind != "text" or physical.format is None:
        return physical.kind == "text"
    return "%" in physical.format or not NumberFormat.of(physical.format).is_usual


def _in_quotes(cell: str, physical: PhysicalType, dialect: Dialect) -> str:
    """Return the SQL of a cell that is present, in quotes if it is a text.

    R and most others that put names in quotes do so with texts, but not with usual numbers, days and flags; nor with NA,
    which R writes for a missing text. Where all cells are in quotes, these are too.
    """
    in_quotes = f"""'"' || replace({cell}::VARCHAR, '"', '""') || '"'"""
    if dialect.every:
        return in_quotes
    if physical.kind != "text":
        return cell
    if _is_in_quotes(physical):
        return f"CASE WHEN {cell} = 'NA' THEN {cell} ELSE {in_quotes} END"
    return f"CASE WHEN regexp_matches({cell}, {quoted(_apart(dialect))}) THEN {in_quotes} ELSE {cell} END"


def _if_needed(text: str, dialect: Dialect) -> str:
    """Return a text in quotes if it holds what ends a cell."""
    return _quoted_text(text) if re.search(_apart(dialect), text) else text


def _apart(dialect: Dialect) -> str:
    return rf'["\r\n{dialect.delimiter}]'


def _quoted_text(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _run(database: Any, statement: str) -> None:
    interruptible(database, lambda: database.execute(statement))


def _check_case(columns: Mapping[str, RawColumn]) -> None:
    folded: dict[str, str] = {}
    for name in columns:
        if (other := folded.setdefault(name.casefold(), name)) != name:
            raise DataError(
                f"the columns {other!r} and {name!r} differ only in case, which this format's writer cannot "
                "distinguish; rename one, or write CSV or Arrow"
            )


def _native(name: str, column: RawColumn, source: str) -> tuple[NDArray[Any], str]:
    """Return an array for DuckDB and the expression that gives it its SQL type."""
    physical, printed = column.physical, column.physical.name.lower()
    match physical.kind:
        case "boolean":
            return column.values.astype(np.bool_), source
        case "integer":
            wanted = _NUMPY.get(printed, printed)
            values = as_integers(column, np.dtype(wanted) if wanted in _INTEGERS else column.values.dtype)
            return values, f"{source}::{_INTEGERS[values.dtype.name]}"
        case "float":
            return column.values, f"{source}::FLOAT" if printed in _NARROW_FLOATS else source
        case "decimal":
            return _texts(column), f"{source}::{_decimal_type(name, column)}"
        case "date":
            return _numbers(column), f"(DATE '1970-01-01' + {source}::INTEGER)"
        case "datetime" if physical.timezone is not None:
            return _numbers(column), f"make_timestamptz({source})"
        case "datetime":
            return _numbers(column), f"make_timestamp({source})::{_timestamp_type(column)}"
        case "time":
            return _numbers(column), f"make_timestamp({source})::TIME"
        case "duration":
            return _numbers(column), f"to_microseconds({source})"
        case "text":
            return _texts(column), f"{source}::VARCHAR"
    raise DataError(
        f"column {name!r} holds mixed or nested values ({physical.name}), which cannot be written; drop it"
    )


def _text(name: str, column: RawColumn, source: str) -> tuple[NDArray[Any], str]:
    """Return an array for DuckDB and the expression that writes it as text."""
    match column.physical.kind:
        case "datetime" if column.physical.timezone is not None:
            moments = ["" if m is None else m.isoformat() for m in to_objects(column).tolist()]
            return object_array(moments), f"{source}::VARCHAR"
        case "datetime":
            return _numbers(column), f"replace(make_timestamp({source})::VARCHAR, ' ', 'T')"
        case "decimal":
            return _texts(column), f"{source}::VARCHAR"
    value, expression = _native(name, column, source)
    return value, f"({expression})::VARCHAR"


def _numbers(column: RawColumn) -> NDArray[Any]:
    return np.where(column.missing, 0, column.values).astype(np.int64)


def _texts(column: RawColumn) -> NDArray[Any]:
    if isinstance(column.cells, RepeatedTexts):
        return column.cells.texts()
    gap = "0" if column.physical.kind == "decimal" else ""
    pairs = zip(column.values.tolist(), column.missing.tolist(), strict=True)
    if column.physical.kind == "decimal":
        return object_array([gap if missing else f"{value:f}" for value, missing in pairs])
    return object_array([gap if missing else value for value, missing in pairs])


def _are_floats(column: RawColumn) -> bool:
    """Return whether every decimal is the shortest text of a float, so that none loses a digit as a float."""
    present = column.values[~column.missing].tolist()
    return all(value.is_finite() and Decimal(repr(float(value))) == value for value in present)


def _decimal_type(name: str, column: RawColumn) -> str:
    if matched := _DECIMAL.search(column.physical.name.lower()):
        return f"DECIMAL({min(int(matched[1]), 38)},{matched[2]})"
    present = column.values[~column.missing].tolist()
    scale = max((-value.as_tuple().exponent for value in present), default=0)
    if scale > 38:
        raise DataError(
            f"column {name!r} has decimals of more than 38 digits, which Parquet cannot hold; write CSV"
        )
    return f"DECIMAL(38,{max(scale, 0)})"


def _timestamp_type(column: RawColumn) -> str:
    matched = _UNIT.search(column.physical.name)
    named = column.physical.name.upper()
    unit = matched[1] if matched else next((u for u, t in _TIMESTAMPS.items() if t == named), "us")
    return _TIMESTAMPS[held_unit(column, unit)]


def _neutralised(text: str) -> str:
    """Put an apostrophe before text that starts like a formula, unless it is a plain number or a phone."""
    if re.match(_STARTS_FORMULA, text) and not re.fullmatch(_HARMLESS, text):
        return f"'{text}"
    return text


def _neutralised_sql(column: str) -> str:
    """Return the SQL expression that applies `_neutralised` to a column of text."""
    return (
        f"CASE WHEN regexp_matches({column}, '{_STARTS_FORMULA}') AND NOT "
        f"regexp_full_match({column}, '{_HARMLESS}') THEN '''' || {column} ELSE {column} END"
    )
