"""Delimited files: cells are read as text, and columns are typed as declared, as found, or by all of their cells.

An empty cell is missing; a quoted empty cell ("") is the empty string in a column of text, and missing in every other
column. Declared columns are typed by the rules of `declared_cells`, others by those of `cell_types`.
"""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from syntabula._memory import memory_for
from syntabula.errors import DataError
from syntabula.table.database import connection, in_order, interruptible, read_query, read_values
from syntabula.table.files.declared_cells import read_declared, read_written, written_cells
from syntabula.table.files.formats import check_readable, file_format, is_workbook
from syntabula.table.files.text_reader import TextReader, encoding_in, text_reader
from syntabula.table.raw import (
    DELIMITERS,
    Container,
    Dialect,
    Origin,
    PhysicalType,
    RawColumn,
    RawTable,
    check_names,
)
from syntabula.table.schema.schema import Schema, is_whole

FIRST_LINES = 100

_TEXT = PhysicalType("text", "VARCHAR")


def read_delimited(
    path: str, compression: str, delimiter: str | None, schema: Schema | None = None
) -> tuple[dict[str, RawColumn], int, Dialect]:
    """Read a delimited file with a header, in UTF-8 or the encoding that the schema declares.

    Args:
        path: File to read.
        compression: "none", "gzip" or "zstd".
        delimiter: Character between cells; if None, chosen among , ; tab and | by the header.
        schema: Declares the columns; the types of undeclared ones are inferred from the cells.

    Returns:
        The columns, the number of rows, and the form of the text.

    Raises:
        DataError: If the file is empty, repeats a name, or has a malformed line; the message names the line, never its
            content.
    """
    import duckdb

    with connection() as database, text_reader(database, path, compression, encoding_in(schema)) as reader:
        try:
            return interruptible(database, lambda: _read(reader, delimiter, schema))
        except duckdb.Error as error:
            raise reader.refusal(error, delimiter) from None


class DelimitedFile:
    """The cells of a delimited file, as written: each cell has a kind, but columns have no types yet.

    Attributes:
        names: Names of the columns, in order.
        container: Format of the file.
        n_rows: Number of rows (sensitive).
    """

    def __init__(
        self, database: Any, names: list[str], container: Container, dialect: Dialect | None
    ) -> None:
        self._database = database
        self.names = tuple(names)
        self.container = container
        self._dialect = dialect
        self._kinds: dict[str, list[int]] = {}
        self.n_rows = int(database.execute("SELECT count(*) FROM written").fetchall()[0][0])

    @property
    def decimal_comma(self) -> bool:
        """Whether 1,234 is rather a number with decimals than one of thousands, by the separator of cells."""
        return self._dialect is not None and self._dialect.delimiter == ";"

    @property
    def physical(self) -> dict[str, PhysicalType]:
        """Stored type of each column: text."""
        return dict.fromkeys(self.names, _TEXT)

    def count_kinds(self, names: Iterable[str]) -> None:
        """Count the kinds of the cells of some columns, by a few queries for all of them."""
        from syntabula.table.files.cell_kinds import CELL_KINDS
        from syntabula.table.files.cell_types import counts_by_column

        places = [self.names.index(name) for name in names]
        with memory_for("find the types of the table's columns"):
            found = interruptible(
                self._database,
                lambda: dict(counts_by_column(self._database, places, self.n_rows)),
            )
        for i, counts in found.items():
            self._kinds[self.names[i]] = [counts[kind] for kind in CELL_KINDS]

    def cell_kinds(self, name: str) -> NDArray[np.int64]:
        """Return the position in `CELL_KINDS` of each non-empty cell of a column; sensitive."""
        if name not in self._kinds:
            self.count_kinds([name])
        counts = self._kinds[name]
        return np.repeat(np.arange(len(counts)), counts)

    def texts(self, name: str) -> RawColumn:
        """Return the cells of a column as written; sensitive."""
        in_order(self._database)
        cells = f"SELECT c{self.names.index(name)} FROM written"
        with memory_for("read the table"):
            columns, _ = interruptible(self._database, lambda: read_query(self._database, cells, [name]))
        return columns[name]

    def keep(self, rows: NDArray[np.intp]) -> None:
        """Drop all rows but some, given by their rising positions."""
        in_order(self._database)
        kept = np.zeros(self.n_rows, dtype=np.bool_)
        kept[rows] = True
        self._database.register("marks", {"kept": kept})
        with memory_for("read the table"):
            self._database.execute(
                "CREATE TABLE fewer AS SELECT written.* FROM written POSITIONAL JOIN marks WHERE marks.kept"
            )
        self._database.unregister("marks")
        self._database.execute("DROP TABLE written")
        self._database.execute("ALTER TABLE fewer RENAME TO written")
        self.n_rows = rows.size
        self._kinds = {}

    def typed(self, physical: Mapping[str, PhysicalType], schema: Schema | None = None) -> RawTable:
        """Return the table with columns of these types, and free the texts; call it once, at the end.

        Cells that cannot be read as their type are missing. In integer columns, fractions are rounded, and numbers beyond
        64 bits are missing.

        Args:
            physical: Type of each undeclared column.
            schema: Declares the other columns, which are read by the rules of `declared_cells`.
        """
        from syntabula.table.files.cell_types import found_value

        values = {
            name: found_value(f"c{i}", physical[name])
            for i, name in enumerate(self.names)
            if name in physical
        }
        in_order(self._database)
        with memory_for("read the table"):
            columns, n_rows = interruptible(
                self._database, lambda: typed_columns(self._database, self.names, values, schema)
            )
        columns = in_forms(columns, physical)
        self._database.execute("DROP TABLE written")
        # Text stores no types: those of the synthetic table follow from the domains, declared or found.
        return RawTable(columns, n_rows, Origin(self.container, {}, self._dialect))

    def __repr__(self) -> str:
        return f"DelimitedFile({len(self.names)} columns)"


@contextmanager
def delimited_file(
    path: str | os.PathLike[str], schema: Schema | None = None, columns: Sequence[str] | None = None
) -> Iterator[DelimitedFile]:
    """Read a delimited file and hold it in memory until the end of the context.

    Args:
        path: File to read.
        schema: Declares some of its columns, or None.
        columns: Those to read, in this order; None for all.

    Raises:
        DataError: If the file cannot be read; the message names the file and the line, never a cell's value.
        ResourceError: If there is too little memory for it.
    """
    kind = file_format(path)
    place = os.path.abspath(os.fspath(path))
    check_readable(place)
    with connection() as database:
        delimiter = "\t" if kind.container == "tsv" else None
        with memory_for(f"read {place!r}"):
            names, dialect = _load_texts(database, place, kind.compression, delimiter, schema, columns)
        yield DelimitedFile(database, names, kind.container, None if dialect == kind.dialect else dialect)


def is_delimited(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether the source of a table is the path of a delimited file."""
    if not isinstance(source, str | os.PathLike) or is_workbook(source):
        return False
    return file_format(source).container in ("csv", "tsv")


def _load_texts(
    database: Any,
    path: str,
    compression: str,
    delimiter: str | None,
    schema: Schema | None,
    columns: Sequence[str] | None,
) -> tuple[list[str], Dialect]:
    """Load all cells of a delimited file, as written, into a table `written` of columns c0, c1, ....

    Only the header and the schema decide the delimiter, so no record changes how the others are read.

    Args:
        database: Connection in which the table is created.
        path: File to read.
        compression: "none", "gzip" or "zstd".
        delimiter: Character between cells; if None, the one of , ; tab and | that gives the header most names.
        schema: Declares some of the columns, or None.
        columns: Those to load, or None for all.

    Returns:
        The names of the loaded columns, and the form of the text.

    Raises:
        DataError: As `read_delimited`.
    """
    import duckdb

    def load(reader: TextReader) -> tuple[list[str], Dialect]:
        names, found = found_header(reader, delimiter, schema, by_header=True)
        check_names(names)
        source = reader.source(
            found.delimiter, quote='"', names=[f"c{i}" for i in range(len(names))], header=True
        )
        chosen = names if columns is None else [*columns]
        cells = ", ".join(f"c{names.index(name)} AS c{i}" for i, name in enumerate(chosen))
        database.execute(f"CREATE TABLE written AS SELECT {cells} FROM {source}")
        return chosen, found

    with text_reader(database, path, compression, encoding_in(schema)) as reader:
        try:
            return interruptible(database, lambda: load(reader))
        except duckdb.Error as error:
            raise reader.refusal(error, delimiter) from None


def _read(
    reader: TextReader, delimiter: str | None, schema: Schema | None
) -> tuple[dict[str, RawColumn], int, Dialect]:
    database = reader.database
    names, found = found_header(reader, delimiter, schema)
    check_names(names)
    plain = [f"c{i}" for i in range(len(names))]
    source = reader.source(found.delimiter, quote='"', names=plain, header=True)
    if is_whole(schema):
        database.execute(f"CREATE TABLE cells AS SELECT {written_cells(plain, names, schema)} FROM {source}")
        in_order(database)
        return *read_declared(database, names, schema), found
    database.execute(f"CREATE TABLE written AS SELECT * FROM {source}")
    # Most tables are declared whole, and need no types found.
    from syntabula.table.files.cell_types import cast, forms_of, found_value, types_of, with_missing_texts

    types, missing = types_of(
        database, [i for i, name in enumerate(names) if schema is None or name not in schema]
    )
    values = {names[i]: cast(f"c{i}", kind, has_missing=i in missing) for i, kind in types.items()}
    forms = {names[i]: form for i, form in forms_of(database, types, names, found.delimiter == ";").items()}
    values |= {name: found_value(f"c{names.index(name)}", form) for name, form in forms.items()}
    in_order(database)
    columns, n_rows = typed_columns(database, names, values, schema)
    columns = in_forms(columns, forms)
    return with_missing_texts(database, columns, {names[i]: i for i in types}, types, missing), n_rows, found


def in_forms(columns: Mapping[str, RawColumn], physical: Mapping[str, PhysicalType]) -> dict[str, RawColumn]:
    """Return columns with the formats of their types, and with the spelling of flags."""
    return {
        name: replace(column, physical=physical[name])
        if name in physical and column.physical.kind == physical[name].kind
        else column
        for name, column in columns.items()
    }


def typed_columns(
    database: Any, names: Sequence[str], values: Mapping[str, str], schema: Schema | None
) -> tuple[dict[str, RawColumn], int]:
    """Read the columns of the table `written`, in order, and their number of rows.

    Args:
        database: Connection with the table, which keeps the order of rows.
        names: Name of each column by position.
        values: SQL of the values of each column that is not declared.
        schema: Declares the others.
    """
    read: dict[str, RawColumn] = {}
    n_rows = 0
    if values:
        read, n_rows = read_values(database, "written", values)
    if schema is not None and len(values) < len(names):
        declared, n_rows = read_written(database, names, schema)
        read |= declared
    return {name: read[name] for name in names}, n_rows


def found_header(
    reader: TextReader, delimiter: str | None, schema: Schema | None, *, by_header: bool = False
) -> tuple[list[str], Dialect]:
    """Return the column names and the dialect; its delimiter is found by the schema alone if its names fit."""
    lines = reader.fetch("\x01", quote="", names=["line"], limit=FIRST_LINES)
    texts = [(line or "") + "\n" for (line,) in lines]
    if not "".join(texts).strip("\n\r\ufeff"):
        raise DataError(f"{reader.path!r} is empty; give it at least a header line with the column names")
    records = {d: _records(texts, d, reader.path) for d in ([delimiter] if delimiter else DELIMITERS)}
    for mark, rows in records.items():
        names = [rows[0][0].removeprefix("\ufeff"), *rows[0][1:]]
        if not schema:
            break
        if set(schema) <= set(names) if schema.others else set(names) == set(schema):
            return names, _dialect(texts, mark, reader, schema)
    widths = {mark: [len(row) for row in rows] for mark, rows in records.items()}
    # A delimiter that occurs only in the header is part of a name.
    likely = [d for d, w in widths.items() if w[0] > 1 and (by_header or 2 * w[1:].count(w[0]) >= len(w) - 1)]
    chosen = max(likely, key=lambda d: widths[d][0]) if likely else next(iter(widths))
    record = reader.fetch(chosen, quote='"', names=[f"c{i}" for i in range(widths[chosen][0])], limit=1)[0]
    names = [name or "" for name in record]
    return [names[0].removeprefix("\ufeff"), *names[1:]], _dialect(texts, chosen, reader, schema)


def _dialect(lines: Sequence[str], delimiter: str, reader: TextReader, schema: Schema | None) -> Dialect:
    """Return the form of a file, by its header and its schema alone."""
    header = next(text for line in lines if (text := line.strip("\r\n\ufeff")))
    name = '"([^"]|"")*"'
    quoted_names = re.fullmatch(f"{name}({re.escape(delimiter)}{name})*", header) is not None
    start = reader.start()
    returns = start.partition(b"\n")[0].endswith(b"\r")
    marked, every = start.startswith(codecs.BOM_UTF8), schema is not None and schema.quotes == "all"
    return Dialect(delimiter, quoted_names or every, marked, returns, every, reader.encoding)


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
